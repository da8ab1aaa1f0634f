package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

// WithEmulation adds what the host knows of a guest and the guest itself may have been too slow to say: that its
// processor is a program. Every report of it must say so.
func WithEmulation(t host.Target, all []lab.Fact) []lab.Fact {
	const key = "vm.emulated"
	if e, ok := t.(host.MaybeEmulated); !ok || !e.Emulated() {
		return all
	}
	all = slices.DeleteFunc(all, func(f lab.Fact) bool { return f.Key == key })
	return append(all, lab.Fact{Key: key, Value: "on", Source: "QEMU's -accel"})
}

// OwnArguments compares a target with the kernel arguments that it was started with, and returns those that nothing
// shows the effect of.
func OwnArguments(ctx context.Context, t host.Target) ([]lab.Unverified, error) {
	g, ok := t.(host.HasBootArguments)
	if !ok {
		return nil, nil
	}
	levels := map[string]string{}
	for _, argument := range g.BootArguments() {
		name, value, _ := strings.Cut(argument, "=")
		levels["cmdline:"+name] = value
	}
	return UnverifiedLevels(ctx, t, levels)
}

// UnverifiedLevels returns the levels of an arm that nothing shows the effect of; a level without effect is an error.
func UnverifiedLevels(ctx context.Context, t host.Target, levels map[string]string) ([]lab.Unverified, error) {
	whys, err := factor.UnverifiedLevels(ctx, t, levels)
	var all []lab.Unverified
	for name, why := range whys {
		all = lab.WithUnverified(all, lab.Unverified{Factor: name, Level: levels[name], Reason: why})
	}
	return all, err
}

// OpenTarget opens a place where commands run; CloseTarget gives it back.
func (p *App) OpenTarget(ctx context.Context, name string) (host.Target, error) {
	name = spelling(name)
	kind := p.AllKinds().Of(name)
	if kind == nil {
		return nil, Usage(fmt.Sprintf("%q is no target", name),
			append(p.nameHints(name), "a target is "+p.AllKinds().Forms())...)
	}
	t, err := kind.Open(ctx, name)
	if err != nil && ctx.Err() != nil {
		return nil, StoppedOpening(ctx, name, err)
	}
	return t, err
}

// StoppedOpening is the error of a target that the user did not wait for: that is why it could not be had, whatever the
// step at hand says. What could not be removed again is reported all the same; it follows the first error.
func StoppedOpening(ctx context.Context, name string, err error) error {
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

// CloseTarget gives a target back; what goes wrong there is said, and changes no result.
func (p *App) CloseTarget(t host.Target) { p.CloseConcurrently([]host.Target{t}) }

// spelling is the name of a target as runs keep it: localhost is this machine, and a port follows the host.
func spelling(name string) string {
	if name == "localhost" {
		return LocalTarget
	}
	return host.SSHSpelling(name)
}

// nameHints are the configured target that a text is a slip of, and the host that it may be.
func (p *App) nameHints(name string) []string {
	settings, _, _ := p.Config()
	if near := yamlfile.DidYouMean(name, settings.TargetNames()); near != "" {
		return append([]string{near}, hostHint(name)...)
	}
	return hostHint(name)
}

// hostHint returns the hint of how a host is named as a target; none for a text that can't be the name of one.
func hostHint(name string) []string {
	if !regexp.MustCompile(`^([\w.-]+@)?[A-Za-z0-9][\w.-]*(:[0-9]+)?$`).MatchString(name) {
		return nil
	}
	return []string{"a host that ssh reaches: ssh://" + name}
}

// RoleOf splits "[ROLE=]TARGET".
func RoleOf(on string) (role, name string) {
	if m := regexp.MustCompile(`^([a-z][a-z0-9-]*)=(.*)$`).FindStringSubmatch(on); m != nil {
		return m[1], spelling(m[2])
	}
	return "", spelling(on)
}

// OnlyTarget is the target of --on, of which there is one for now; this machine without the flag.
func OnlyTarget(on []string) (string, error) {
	if len(on) == 0 {
		return LocalTarget, nil
	}
	if len(on) > 1 {
		return "", Usage("--on is given more than once; of the commands that measure, only headroom run takes "+
			"several targets", "do it on each, then compare the runs")
	}
	role, name := RoleOf(on[0])
	if role != "" && role != StorageRole {
		return "", Usage(fmt.Sprintf("there is no role %q in a suite of storage jobs", role), "write --on "+name)
	}
	return name, nil
}

// TargetOfRun is the name of the target that a run was measured on.
func TargetOfRun(run lab.Run) string {
	if len(run.Targets) == 0 || run.Targets[0].Target == "" {
		return LocalTarget
	}
	return run.Targets[0].Target
}

// OnThisMachine reports whether a target is this machine, also when it was reached over a network. It reports false if
// that can't be found out.
func OnThisMachine(ctx context.Context, t host.Target) bool {
	if host.IsLocal(t) {
		return true
	}
	if _, shared := t.(host.SharesKernel); shared {
		return false // whatever machine its node is, it sees other files, and may be taken away
	}
	own, err := os.ReadFile(host.BootIDFile)
	if err != nil {
		return false
	}
	files, err := t.ReadFiles(ctx, host.BootIDFile)
	return err == nil && files[host.BootIDFile].Err == nil && string(files[host.BootIDFile].Data) == string(own)
}

// Opened holds the targets that a command has opened, by the names that it gives them, in the order of opening. The
// zero value is empty.
type Opened struct {
	names  []string
	byName map[string]host.Target
}

// Get returns the target of a name; nil if none was opened.
func (o *Opened) Get(name string) host.Target { return o.byName[name] }

// Add adds a target that was opened just now, or one more name of a target.
func (o *Opened) Add(name string, t host.Target) {
	if o.byName == nil {
		o.byName = map[string]host.Target{}
	}
	o.names = append(o.names, name)
	o.byName[name] = t
}

// Remove forgets a target. The caller closes it.
func (o *Opened) Remove(name string) {
	o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
	delete(o.byName, name)
}

// Names returns the names, sorted.
func (o *Opened) Names() []string { return slices.Sorted(maps.Keys(o.byName)) }

// All returns the targets in the order of opening, each once.
func (o *Opened) All() []host.Target {
	var all []host.Target
	for _, name := range o.names {
		if t := o.byName[name]; !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// CloseOpened closes targets, the last that was opened first: a guest may run on a host that was opened before it, and
// a client waits for its server.
func (p *App) CloseOpened(o *Opened) {
	for _, t := range slices.Backward(o.All()) {
		p.CloseTarget(t)
	}
}

// OpenConcurrently opens several targets, in the order of their names. Pods and machines of a cluster start at the same
// time: starting one is mostly waiting, for minutes if an operating system boots. Guests on this machine compete for
// its processors, so they are opened one after the other. If a target is not available, all are closed.
func (p *App) OpenConcurrently(ctx context.Context, names []string) ([]host.Target, error) {
	within, stop := context.WithCancel(ctx)
	defer stop()
	opened, errs := make([]host.Target, len(names)), make([]error, len(names))
	var once sync.Once
	var first error
	open := func(i int) {
		if opened[i], errs[i] = p.OpenTarget(within, names[i]); errs[i] != nil {
			once.Do(func() { first = errs[i]; stop() }) // that others were stopped says nothing
		}
	}
	var wait sync.WaitGroup
	for i, name := range names {
		if p.Traits(name).Scheduled {
			wait.Go(func() { open(i) })
		} else if within.Err() == nil {
			open(i)
		}
	}
	wait.Wait()
	if first == nil {
		return opened, nil
	}
	p.CloseConcurrently(opened)
	return nil, first
}

// CloseConcurrently closes targets at the same time: each pod or machine of a cluster takes a while to be deleted.
func (p *App) CloseConcurrently(targets []host.Target) {
	errs := make([]error, len(targets))
	var wait sync.WaitGroup
	for i, t := range targets {
		if c, ok := t.(host.Closer); ok {
			wait.Go(func() { errs[i] = c.Close() })
		}
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			p.PrintError(err)
		}
	}
}
