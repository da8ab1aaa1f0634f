package vary

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/boot"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// armStep is one step on the way into an arm.
type armStep struct {
	text string
	do   func(ctx context.Context) error
	boot bool
	// mount says that the place is mounted again.
	mount bool
}

// armSteps are the steps from one arm into another, in order: what the last arm changed is put back first, then the
// machine is started again if anything is decided at a boot, then this arm's levels are set. So each arm is entered
// from what was found.
func (x *Experiment) armSteps(from, to map[string]string) []armStep {
	var list []armStep
	live := x.varies.liveFactors(from)
	slices.Reverse(live)
	for i, name := range live {
		e := armStep{text: "put back " + name, do: func(context.Context) error { return nil }}
		if i == 0 { // the journals put all of them back, the last first
			e.do = x.settings.undo
		}
		list = append(list, e)
	}
	if x.varies.boots() {
		spec := boot.Spec(to)
		list = append(list, x.building.kernelStep(x.under.Run.Experiment.Factors, to, &spec)...)
		list = append(list, armStep{text: bootText(spec), boot: true, do: func(ctx context.Context) error {
			if err := x.booting.boot(ctx, spec); err != nil {
				return err
			}
			return x.verifyBoot(ctx, x.booting.target(), to)
		}})
	}
	for _, name := range x.varies.liveFactors(to) {
		list = append(list, armStep{
			text:  "set " + name + "=" + to[name],
			do:    func(ctx context.Context) error { return x.settings.apply(ctx, name, to[name]) },
			mount: name == mount.NFSFactor,
		})
	}
	return append(list, x.building.commitStep(to)...)
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

// prepareBoots finds out how the machine can be started again, if something that is varied takes that.
func (x *Experiment) prepareBoots(ctx context.Context) error {
	o := x.options
	x.booting = &booting{under: x.under, factor: bootFactor(x.varies.choices), on: o.BootOn, reboot: o.Reboot,
		method: o.BootMethod, limit: o.BootLimit}
	return x.booting.check(ctx, x.varies.choices)
}

// enter makes an arm's levels effective.
func (x *Experiment) enter(ctx context.Context, id string) (runner.ArmEntry, error) {
	arm := x.arm(id)
	var in runner.ArmEntry
	if x.unvaried(arm) {
		return in, nil
	}
	for _, e := range x.armSteps(x.enteredLevels, arm.Levels) {
		x.carried.Tell(runner.Progress{Doing: e.text, Begins: true})
		in.Did = append(in.Did, e.text)
		x.enteredLevels = arm.Levels // what a failed step has changed is put back too
		if err := e.do(ctx); err != nil {
			return in, err
		}
		in.Booted, in.Mounted = in.Booted || e.boot, in.Mounted || e.mount
	}
	x.enteredLevels = arm.Levels
	// Settings can undo each other, and an interrupt need not move when it is told to.
	return in, errors.Join(x.settings.inEffect(ctx), x.snapshotArm(ctx, arm))
}

// verifyBoot holds a machine that was just started for an arm against what its kernel shows of the arguments. Those
// that nothing shows the effect of are on disk before anything is measured, so that no verdict takes them for harmless.
func (x *Experiment) verifyBoot(ctx context.Context, t host.Target, levels map[string]string) error {
	unverified, err := app.UnverifiedLevels(ctx, t, levels)
	if err != nil {
		return err
	}
	x.runMu.Lock() // peers are started at the same time
	defer x.runMu.Unlock()
	all := lab.WithUnverified(x.under.Run.NotVerified, unverified...)
	if len(all) == len(x.under.Run.NotVerified) {
		return nil
	}
	x.under.Run.NotVerified = all
	return x.carried.Writer().Update(func(r *lab.Run) { r.NotVerified = all })
}

// snapshotArm keeps what the machine is like in an arm of a sweep that it was started again for, once: kernels differ
// in more than the version that was asked for. Where only the machine around a kernel is varied nothing asks for it,
// and it takes an emulated guest as long as to start.
func (x *Experiment) snapshotArm(ctx context.Context, arm lab.Arm) error {
	if x.varies.kind != app.SweepKind || !x.varies.kernel() || !x.booting.ofLoadTarget() || x.armSnapshots[arm.ID] ||
		arm.Role == ReferenceArm {
		return nil
	}
	d, err := x.under.App.SnapshotWithin(ctx, bootedSnapshotLimit, x.under.Target, x.under.Place())
	if err != nil {
		return err
	}
	x.armSnapshots[arm.ID] = true
	return x.carried.Writer().Facts(results.ArmRole(arm.ID), store.Before, d)
}

// bootedSnapshotLimit is longer than for a machine that has come to rest: an emulated one is slow.
const bootedSnapshotLimit = 30 * time.Second

func (x *Experiment) arm(id string) lab.Arm {
	i := slices.IndexFunc(x.under.Run.Arms, func(a lab.Arm) bool { return a.ID == id })
	return x.under.Run.Arms[i]
}
