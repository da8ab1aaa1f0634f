package vary

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// entering makes the levels of arms effective. It is the effect of settings and mounts of running machines.
type entering struct {
	sides    sides
	varies   variation
	carried  *experiment.Plan
	settings *settings
	booting  *booting
	building *building
	// levels are the levels of the arm that was entered last; nil before the first.
	levels map[string]string
	// snapshots has the arms whose machine was recorded.
	snapshots map[string]bool
	// runMu is held while the results of boots are added to the run.
	runMu sync.Mutex
}

// Open begins the journals, and tries each level.
func (e *entering) Open(ctx context.Context) error {
	m := e.sides.under
	if err := e.settings.open(ctx, m.App, m.Store, m.Run.ID, m.Run.Experiment.Keep); err != nil {
		return err
	}
	if err := e.tryLevels(ctx); err != nil {
		return errors.Join(err, e.settings.restore(ctx))
	}
	return nil
}

// Reach mounts the place again if the run ends between two arms: its scratch file is stored on a server.
func (e *entering) Reach(ctx context.Context) error { return e.mountToClean(ctx) }

// Close restores every setting.
func (e *entering) Close(ctx context.Context, _ error) error { return e.settings.restore(ctx) }

// tryLevels sets each level once, and restores the old one.
func (e *entering) tryLevels(ctx context.Context) error {
	var first string
	for _, t := range e.varies.levelTrials() {
		e.carried.Tell(runner.Progress{Doing: t.Text(), Begins: true})
		if err := e.settings.try(ctx, t, func() error {
			if t.Factor != mount.NFSFactor {
				return nil
			}
			return e.sameRoot(ctx, t.Level, &first)
		}); err != nil {
			return err
		}
	}
	return nil
}

// enter makes an arm's levels effective.
func (e *entering) enter(ctx context.Context, id string) (runner.ArmEntry, error) {
	arm := e.sides.arm(id)
	var in runner.ArmEntry
	if e.sides.unvaried(arm) {
		return in, nil
	}
	for _, step := range e.armSteps(e.levels, arm.Levels) {
		e.carried.Tell(runner.Progress{Doing: step.text, Begins: true})
		in.Did = append(in.Did, step.text)
		e.levels = arm.Levels // a failed step may have changed something, which must be restored too
		if err := step.do(ctx); err != nil {
			return in, err
		}
		in.Booted, in.Mounted = in.Booted || step.boot, in.Mounted || step.mount
	}
	e.levels = arm.Levels
	// Settings can undo each other, and an interrupt does not always move when its affinity is set.
	return in, errors.Join(e.settings.inEffect(ctx), e.snapshotArm(ctx, arm))
}

// verifyBoot checks, on a machine that was just booted for an arm, what its kernel shows about the arguments. Arguments
// without a visible effect are saved on disk before any measurement, so no verdict calls them harmless.
func (e *entering) verifyBoot(ctx context.Context, t host.Target, levels map[string]string) error {
	unverified, err := app.UnverifiedLevels(ctx, t, levels)
	if err != nil {
		return err
	}
	e.runMu.Lock() // peers are started at the same time
	defer e.runMu.Unlock()
	all := lab.WithUnverified(e.sides.under.Run.NotVerified, unverified...)
	if len(all) == len(e.sides.under.Run.NotVerified) {
		return nil
	}
	e.sides.under.Run.NotVerified = all
	return e.carried.Writer().Update(func(r *lab.Run) { r.NotVerified = all })
}

// enterPeer makes an arm effective on a peer.
func (e *entering) enterPeer(m *experiment.Measurement) func(context.Context, string) (runner.ArmEntry, error) {
	return func(ctx context.Context, id string) (runner.ArmEntry, error) {
		if !e.varies.boots() {
			return runner.ArmEntry{}, nil
		}
		b, ok := m.Target.(host.Booter)
		if !ok {
			return runner.ArmEntry{}, e.booting.impossible()
		}
		levels := e.sides.arm(id).Levels
		spec := factor.BootSpec(levels)
		in := runner.ArmEntry{Did: []string{bootText(spec)}, Booted: true}
		if err := b.Boot(ctx, spec); err != nil {
			return in, err
		}
		return in, e.verifyBoot(ctx, m.Target, levels)
	}
}

// snapshotArm records the machine in an arm of a sweep that rebooted it, once: kernels differ in more than the
// requested version. It skips sweeps that vary only the machine around a kernel: no report needs it, and on an emulated
// guest it takes as long as a boot.
func (e *entering) snapshotArm(ctx context.Context, arm lab.Arm) error {
	if e.varies.kind != app.SweepKind || !e.varies.kernel() || !e.booting.ofLoadTarget() || e.snapshots[arm.ID] ||
		arm.Role == ReferenceArm {
		return nil
	}
	d, err := e.sides.under.App.SnapshotWithin(ctx, bootedSnapshotLimit, e.sides.under.Target, e.sides.under.Place())
	if err != nil {
		return err
	}
	e.snapshots[arm.ID] = true
	return e.carried.Writer().Facts(results.ArmRole(arm.ID), store.Before, d)
}

// bootedSnapshotLimit is longer than for an idle machine: an emulated one is slow.
const bootedSnapshotLimit = 30 * time.Second

// mountToClean mounts the place again if an experiment ends between two arms: its scratch file is stored on the server.
func (e *entering) mountToClean(ctx context.Context) error {
	if !e.varies.mounts() || e.levels == nil || e.settings.changed(mount.NFSFactor) {
		return nil
	}
	err := e.settings.apply(context.WithoutCancel(ctx), mount.NFSFactor, e.varies.mountLevels()[0])
	if err != nil {
		return errors.Join(&lab.Error{What: "can't mount the server again to remove the scratch file of run " +
			e.sides.under.Run.ID + " there", Hints: []string{"remove it by hand"}}, err)
	}
	return nil
}

// sameRoot refuses mounts of different directories: a scratch file that was laid out in one is not in the other. It
// compares the inode number and the time of the last change, to the nanosecond.
func (e *entering) sameRoot(ctx context.Context, level string, first *string) error {
	m := e.sides.under
	argv := []string{"stat", "-c", "%i %z", "--", m.Place().Path}
	out, err := m.Target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't tell what is mounted", Target: host.RemoteName(m.Target), Command: argv,
			Output: string(out.Stderr)}
	}
	if err != nil {
		return err
	}
	root := strings.TrimSpace(string(out.Stdout))
	if *first == "" {
		*first = root
	}
	if root != *first {
		return &lab.Error{Kind: lab.Refused,
			What:   fmt.Sprintf("%s leads to another directory than the first level of %s", level, mount.NFSFactor),
			Target: host.RemoteName(m.Target),
			Hints: []string{"all levels must be mounts of one directory of one server, by whatever address and " +
				"transport"}}
	}
	return nil
}

// armStep is one step on the way into an arm.
type armStep struct {
	text string
	do   func(ctx context.Context) error
	boot bool
	// mount is true if the place is mounted again.
	mount bool
}

// armSteps returns the steps from one arm into another, in order: the changes of the last arm are undone first, then
// the machine is restarted if a factor takes a boot, then this arm's levels are set. So each arm starts from the state
// that was found.
func (e *entering) armSteps(from, to map[string]string) []armStep {
	var list []armStep
	live := e.varies.liveFactors(from)
	slices.Reverse(live)
	for i, name := range live {
		step := armStep{text: "put back " + name, do: func(context.Context) error { return nil }}
		if i == 0 { // the journals undo all of them, the last first
			step.do = e.settings.undo
		}
		list = append(list, step)
	}
	if e.varies.boots() {
		spec := factor.BootSpec(to)
		list = append(list, e.building.kernelStep(e.sides.under.Run.Experiment.Factors, to, &spec)...)
		list = append(list, armStep{text: bootText(spec), boot: true, do: func(ctx context.Context) error {
			if err := e.booting.boot(ctx, spec); err != nil {
				return err
			}
			return e.verifyBoot(ctx, e.booting.target(), to)
		}})
	}
	for _, name := range e.varies.liveFactors(to) {
		list = append(list, armStep{
			text:  "set " + name + "=" + to[name],
			do:    func(ctx context.Context) error { return e.settings.apply(ctx, name, to[name]) },
			mount: name == mount.NFSFactor,
		})
	}
	return append(list, e.building.commitStep(to)...)
}

func bootText(spec host.BootSpec) string {
	var parts []string
	if spec.Kernel != "" {
		parts = append(parts, "kernel "+spec.Kernel)
	}
	if len(spec.Arguments) > 0 {
		parts = append(parts, "arguments "+strings.Join(spec.Arguments, " "))
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Machine)) {
		parts = append(parts, name+"="+spec.Machine[name])
	}
	text := "boot"
	if len(parts) > 0 {
		text += " with " + strings.Join(parts, ", ")
	}
	if len(spec.Without) > 0 {
		text += " without " + strings.Join(spec.Without, " ")
	}
	return text
}

// prepareBoots finds out how the machine can be restarted, if a factor takes a boot.
func (x *Experiment) prepareBoots(ctx context.Context) error {
	o := x.options
	x.booting = &booting{under: x.under, factor: bootFactor(x.varies.choices), on: o.BootOn, reboot: o.Reboot,
		method: o.BootMethod, limit: o.BootLimit}
	return x.booting.check(ctx, x.varies.choices)
}
