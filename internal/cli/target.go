package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/target"
)

// sshConfigVariable names a configuration file for ssh in place of the user's own.
const sshConfigVariable = "HEADROOM_SSH_CONFIG"

// patienceVariable says how long a lost connection is tried for again.
const patienceVariable = "HEADROOM_SSH_PATIENCE"

// withEmulation adds what the host knows of a guest and the guest itself may have been too slow to say: that its
// processor is a program. Every report of it must say so.
func withEmulation(t target.Target, all []lab.Fact) []lab.Fact {
	const key = "vm.emulated"
	if e, ok := t.(target.MaybeEmulated); !ok || !e.Emulated() {
		return all
	}
	all = slices.DeleteFunc(all, func(f lab.Fact) bool { return f.Key == key })
	return append(all, lab.Fact{Key: key, Value: "on", Source: "QEMU's -accel"})
}

// ownArguments compares a target with the kernel arguments that it was started with, and returns those that nothing
// shows the effect of.
func ownArguments(ctx context.Context, t target.Target) ([]lab.Unverified, error) {
	g, ok := t.(target.HasBootArguments)
	if !ok {
		return nil, nil
	}
	levels := map[string]string{}
	for _, argument := range g.BootArguments() {
		name, value, _ := strings.Cut(argument, "=")
		levels["cmdline:"+name] = value
	}
	return unverifiedLevels(ctx, t, levels)
}

// unverifiedLevels are those of an arm's levels that nothing shows the effect of; a level without effect is an error.
func unverifiedLevels(ctx context.Context, t target.Target, levels map[string]string) ([]lab.Unverified, error) {
	whys, err := factor.UnverifiedLevels(ctx, t, levels)
	var all []lab.Unverified
	for name, why := range whys {
		all = lab.WithUnverified(all, lab.Unverified{Factor: name, Level: levels[name], Reason: why})
	}
	return all, err
}

// openTarget opens a place where commands run; closeTarget gives it back.
func (p *program) openTarget(ctx context.Context, name string) (target.Target, error) {
	name = localSpelling(name)
	kind := p.allKinds().of(name)
	if kind == nil {
		return nil, usage(fmt.Sprintf("%q is no target", name),
			append(hostHint(name), "a target is "+p.allKinds().forms())...)
	}
	t, err := kind.Open(ctx, name)
	if err != nil && ctx.Err() != nil {
		return nil, stoppedOpening(ctx, name, err)
	}
	return t, err
}

// stoppedOpening is the error of a target that the user did not wait for: that is why it could not be had, whatever the
// step at hand says. What could not be removed again is said all the same; it follows the first error.
func stoppedOpening(ctx context.Context, name string, err error) error {
	stopped := &lab.Error{Kind: lab.Cancelled, What: "stopped before " + name + " was ready", Err: context.Cause(ctx)}
	all := []error{stopped}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap()[1:] {
			if !errors.Is(e, context.Canceled) {
				all = append(all, e)
			}
		}
	}
	return errors.Join(all...)
}

// closeTarget gives a target back; what goes wrong there is said, and changes no result.
func (p *program) closeTarget(t target.Target) { p.closeConcurrently([]target.Target{t}) }

// localSpelling is the name of a target, where localhost is this machine.
func localSpelling(name string) string {
	if name == "localhost" {
		return localTarget
	}
	return name
}

// hostHint says how a host is named as a target; nothing for a text that can't be the name of one.
func hostHint(name string) []string {
	if !regexp.MustCompile(`^([\w.-]+@)?[A-Za-z0-9][\w.-]*(:[0-9]+)?$`).MatchString(name) {
		return nil
	}
	return []string{"a host that ssh reaches: ssh://" + name}
}

// roleOf splits "[ROLE=]TARGET".
func roleOf(on string) (role, name string) {
	if m := regexp.MustCompile(`^([a-z][a-z0-9-]*)=(.*)$`).FindStringSubmatch(on); m != nil {
		return m[1], localSpelling(m[2])
	}
	return "", localSpelling(on)
}

// onlyTarget is the target of --on, of which there is one for now; this machine without the flag.
func onlyTarget(on []string) (string, error) {
	if len(on) == 0 {
		return localTarget, nil
	}
	if len(on) > 1 {
		return "", usage("--on is given more than once; of the commands that measure, only headroom run takes "+
			"several targets", "do it on each, then compare the runs")
	}
	role, name := roleOf(on[0])
	if role != "" && role != storageRole {
		return "", usage(fmt.Sprintf("there is no role %q in a suite of storage jobs", role), "write --on "+name)
	}
	return name, nil
}

// targetOfRun is the name of the target that a run was measured on.
func targetOfRun(run lab.Run) string {
	if len(run.Targets) == 0 || run.Targets[0].Target == "" {
		return localTarget
	}
	return run.Targets[0].Target
}

// targetFor finds out which target the command line, or the run that is to be resumed, means.
func (p *program) targetFor(o runOptions, s *store.Store) (string, error) {
	name, err := onlyTarget(o.on)
	if err != nil || o.resume == "" {
		return name, err
	}
	b, err := s.Find(o.resume)
	if err != nil {
		return "", err
	}
	was := targetOfRun(b.Run)
	if len(o.on) > 0 && name != was {
		return "", usage(fmt.Sprintf("run %s was measured on %s; it can't go on elsewhere", b.Run.ID, was),
			"headroom run --resume "+o.resume)
	}
	return was, nil
}

// bootsFreely says whether a target is booted in any way that an experiment varies, without permission.
func (p *program) bootsFreely(name string) bool { return p.traits(name).OwnBoot }

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// onThisMachine says whether a target is this machine, also when it was reached over a network. Where it can't be told
// it is not.
func onThisMachine(ctx context.Context, t target.Target) bool {
	if target.IsLocal(t) {
		return true
	}
	if _, shared := t.(target.SharesKernel); shared {
		return false // whatever machine its node is, it sees other files, and may be taken away
	}
	own, err := os.ReadFile(bootIDPath)
	if err != nil {
		return false
	}
	files, err := t.ReadFiles(ctx, bootIDPath)
	return err == nil && files[bootIDPath].Err == nil && string(files[bootIDPath].Data) == string(own)
}
