package vary

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/boot"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/host"
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
func (e *entering) armSteps(from, to map[string]string) []armStep {
	var list []armStep
	live := e.varies.liveFactors(from)
	slices.Reverse(live)
	for i, name := range live {
		step := armStep{text: "put back " + name, do: func(context.Context) error { return nil }}
		if i == 0 { // the journals put all of them back, the last first
			step.do = e.settings.undo
		}
		list = append(list, step)
	}
	if e.varies.boots() {
		spec := boot.Spec(to)
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

// prepareBoots finds out how the machine can be started again, if something that is varied takes that.
func (x *Experiment) prepareBoots(ctx context.Context) error {
	o := x.options
	x.booting = &booting{under: x.under, factor: bootFactor(x.varies.choices), on: o.BootOn, reboot: o.Reboot,
		method: o.BootMethod, limit: o.BootLimit}
	return x.booting.check(ctx, x.varies.choices)
}
