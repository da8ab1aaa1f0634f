package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/target/kube"
	"headroom/internal/target/qemu"
)

// sshConfigVariable names a configuration file for ssh in place of the user's own.
const sshConfigVariable = "HEADROOM_SSH_CONFIG"

// patienceVariable says how long a lost connection is tried for again.
const patienceVariable = "HEADROOM_SSH_PATIENCE"

// TargetKind is one kind of place where commands run.
type TargetKind struct {
	// Scheme is what its names begin with, "ssh:"; Form is how they are written.
	Scheme, Form string
	Open         func(ctx context.Context, name string) (target.Target, error)
}

// targetKinds is a list of them. Of two that a name fits, the first one counts.
type targetKinds []TargetKind

// kinds are all that this program has.
func (p *program) kinds() targetKinds {
	return append(slices.Clone(targetKinds(p.Kinds)), targetKinds{
		{here, "local", func(context.Context, string) (target.Target, error) { return p.local(), nil }},
		{"ssh:", "ssh://[user@]host[:port]", p.openSSH},
		{guestScheme, "qemu:FILE", p.openGuest},
		{kube.Scheme, kube.Form, p.openPod},
		{talosScheme, "talos://NODE", p.openTalos},
	}...)
}

// of is the kind of a name; nil where it is no target's.
func (k targetKinds) of(name string) *TargetKind {
	i := slices.IndexFunc(k, func(k TargetKind) bool {
		return name == k.Scheme || k.Scheme != here && strings.HasPrefix(name, k.Scheme)
	})
	if i < 0 {
		return nil
	}
	return &k[i]
}

// has says whether an argument names a target and can't be the name of anything else.
func (k targetKinds) has(name string) bool { return k.of(name) != nil }

// forms is how targets are written.
func (k targetKinds) forms() string {
	var forms []string
	for _, k := range k {
		forms = append(forms, k.Form)
	}
	return strings.Join(forms, " or ")
}

func (p *program) openSSH(ctx context.Context, name string) (target.Target, error) {
	o, err := target.ParseSSH(name)
	if err != nil {
		return nil, err
	}
	if config := p.Env(sshConfigVariable); config != "" {
		o.Args = append([]string{"-F", config}, o.Args...)
	}
	if patience := p.Env(patienceVariable); patience != "" {
		if o.Patience, err = time.ParseDuration(patience); err != nil {
			return nil, usage(patienceVariable+"="+patience+" is no time", "write something like 10m")
		}
	}
	s := target.NewSSH(o)
	if err := s.Connect(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// guestScheme begins the name of a guest in QEMU; a description file follows.
const guestScheme = "qemu:"

func (p *program) openGuest(ctx context.Context, name string) (target.Target, error) {
	return p.openGuestWith(ctx, name, os.TempDir())
}

// openGuestWith starts a guest whose blank images are made in a folder.
func (p *program) openGuestWith(ctx context.Context, name, images string) (target.Target, error) {
	if kind := targetKinds(p.Kinds).of(name); kind != nil {
		return kind.Open(ctx, name)
	}
	p.say("", "starting the guest of "+strings.TrimPrefix(name, guestScheme))
	g, err := qemu.OpenOn(ctx, name, strings.TrimPrefix(name, guestScheme),
		qemu.Host{Folder: jobsFolder(), Images: images, Links: &p.links})
	if err != nil {
		return nil, err // and no guest that is nil in an interface which is not
	}
	return g, nil
}

func (p *program) openPod(ctx context.Context, name string) (target.Target, error) {
	o, err := p.podOptions(name)
	if err != nil {
		return nil, err
	}
	if o.Several() {
		return nil, usage(name+" stands for several pods, which headroom run measures and headroom doctor diagnoses",
			"for one node: "+name+"&node=NAME")
	}
	s, err := p.openStore()
	if err == nil {
		err = s.Writable()
	}
	if err != nil {
		return nil, err
	}
	on := kube.Host{Records: s.Pods(), Say: func(text string) { p.say("", text) }}
	if o.Machine != nil {
		return p.openMachine(ctx, o, on)
	}
	pod, err := kube.Open(ctx, o, on)
	if err != nil {
		return nil, err // and no pod that is nil in an interface which is not
	}
	p.say("", "the pod runs on node "+pod.Node())
	return pod, nil
}

// openMachine makes a machine of KubeVirt.
func (p *program) openMachine(ctx context.Context, o kube.Options, on kube.Host) (target.Target, error) {
	if o.Machine.Boot == "" && o.Machine.BootClaim == "" {
		o.Machine.Boot = p.Env(kube.DiskVariable)
	}
	if config := p.Env(sshConfigVariable); config != "" {
		on.SSH = []string{"-F", config}
	}
	m, err := kube.OpenMachine(ctx, o, on)
	if err != nil {
		return nil, err // and no machine that is nil in an interface which is not
	}
	p.say("", "the machine runs on node "+m.Node())
	return m, nil
}

// podOptions are those of a pod, or of several, by its name.
func (p *program) podOptions(name string) (kube.Options, error) {
	o, err := kube.Parse(name)
	if err == nil && o.Image == "" {
		o.Image = p.Env(kube.ImageVariable)
	}
	return o, err
}

// isPod says whether a target is a pod, or a machine of KubeVirt, that is made to be measured.
func isPod(name string) bool { return strings.HasPrefix(name, kube.Scheme) }

// podWord is what such a target is.
func podWord(name string) string {
	if kube.IsMachine(name) {
		return "machine"
	}
	return "pod"
}

// withEmulation adds what QEMU knows of a guest and the guest itself may have been too slow to say: that its processor
// is a program. Every report of it must say so.
func withEmulation(t target.Target, all []lab.Fact) []lab.Fact {
	const key = "vm.emulated"
	g, ok := t.(*qemu.Guest)
	if !ok || g.Accelerator() != qemu.Emulation {
		return all
	}
	all = slices.DeleteFunc(all, func(f lab.Fact) bool { return f.Key == key })
	return append(all, lab.Fact{Key: key, Value: "on", Source: "QEMU's -accel"})
}

// ownArguments holds a guest against the arguments of its description, as it was started with them alone, and returns
// those that nothing shows the effect of.
func ownArguments(ctx context.Context, t target.Target) ([]lab.Unverified, error) {
	g, ok := t.(*qemu.Guest)
	if !ok {
		return nil, nil
	}
	levels := map[string]string{}
	for _, argument := range g.Arguments() {
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

// fleeting says whether nothing that a target holds outlives the headroom that opened it.
func fleeting(name string) bool { return strings.HasPrefix(name, guestScheme) }

// openTarget opens a place where commands run; closeTarget gives it back.
func (p *program) openTarget(ctx context.Context, name string) (target.Target, error) {
	name = spelledHere(name)
	kind := p.kinds().of(name)
	if kind == nil {
		return nil, usage(fmt.Sprintf("%q is no target", name),
			append(hostHint(name), "a target is "+p.kinds().forms())...)
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
func (p *program) closeTarget(t target.Target) { p.closeAtOnce([]target.Target{t}) }

// spelledHere is the name of a target, where localhost is this machine.
func spelledHere(name string) string {
	if name == "localhost" {
		return here
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
		return m[1], spelledHere(m[2])
	}
	return "", spelledHere(on)
}

// onlyTarget is the target of --on, of which there is one for now; this machine without the flag.
func onlyTarget(on []string) (string, error) {
	if len(on) == 0 {
		return here, nil
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
		return here
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

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// onThisMachine says whether a target is this machine, also when it was reached over a network. Where it can't be told
// it is not.
func onThisMachine(ctx context.Context, t target.Target) bool {
	if t.Name() == here {
		return true
	}
	if isPod(t.Name()) {
		return false // whatever machine its node is, it sees other files, and may be taken away
	}
	own, err := os.ReadFile(bootIDPath)
	if err != nil {
		return false
	}
	files, err := t.ReadFiles(ctx, bootIDPath)
	return err == nil && files[bootIDPath].Err == nil && string(files[bootIDPath].Data) == string(own)
}

// elsewhere is how an error names a target; this machine needs no name.
func elsewhere(t target.Target) string {
	if t.Name() == here {
		return ""
	}
	return t.Name()
}
