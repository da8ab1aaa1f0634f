package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
)

// A sweep may be of several targets that are loaded at the same moment, as the IOThreads report has one machine and
// two. Each level is made effective on all of them, and what is kept of a load is what all did together, so that
// everything else is as with one.

// withMates splits the targets of a sweep into the first and its mates.
func (x *experiment) withMates(on []string) (first string, mates []string, err error) {
	if x.kind != sweeping || len(on) < 2 {
		first, err = onlyTarget(on)
		return first, nil, err
	}
	for _, typed := range on {
		role, name := roleOf(typed)
		if role != "" {
			return "", nil, usage(fmt.Sprintf("there is no role %q in a sweep of several targets, of which what they "+
				"do together is one result", role), "write --on "+name)
		}
		if !x.traits(name).Made() {
			return "", nil, usage(fmt.Sprintf("%s is not headroom's own, so that it can't be one of several in a sweep",
				name),
				"guests, pods and machines of KubeVirt can: qemu:FILE, kube:pod?…, kube:vm?…",
				"of others: headroom run with several --on, at each level by itself")
		}
	}
	return on[0], on[1:], nil
}

// mateRole is the role of a mate, counted from 2.
func mateRole(of string, i int) string { return fmt.Sprintf("%s-%d", of, i+2) }

// checkMates refuses what can't be varied on several targets.
func (x *experiment) checkMates() error {
	i := slices.IndexFunc(x.choices, func(c factor.Choice) bool { return c.Scheme.Class == factor.Live })
	if len(x.options.mates) == 0 || i < 0 {
		return nil
	}
	return usage(x.choices[i].Factor()+" is set on a running machine, and several are measured", "take one --on",
		"what is decided when they start can be varied on several: guest:, pod:")
}

// addMates gives a measurement its mates, each with a role of its own, on the targets that were opened with its own.
func (x *experiment) addMates(of *measurement, role string) {
	last := of
	for i, t := range x.ahead {
		m := &measurement{program: x.program, options: of.options, store: x.store, target: t, beside: last,
			role: mateRole(role, i), reboots: true}
		of.mates, last = append(of.mates, m), m
	}
	x.ahead = nil
}

// drawMates adds the mates of a measurement that is drawn, which have its loads, and makes sure that they can be
// carried out.
func (x *experiment) drawMates(ctx context.Context, of *measurement, role string, args []string) error {
	x.addMates(of, role)
	for _, m := range of.mates {
		if err := m.draft(ctx, args); err != nil {
			return err
		}
		if m.place().Kind != of.place().Kind {
			return usage(fmt.Sprintf("%s is a %s and %s a %s", of.place().Path, of.place().Kind, m.place().Path,
				m.place().Kind), "take targets with places of one kind: the loads must be the same")
		}
		m.run.ID, m.run.Targets[0].Role, m.run.Cells = of.run.ID, m.role, of.run.Cells
		if err := m.ready(ctx); err != nil {
			return err
		}
		of.run.Warnings = append(of.run.Warnings, m.run.Warnings...)
		m.run.Warnings = nil
	}
	if n := len(of.mates) + 1; n > 1 {
		of.run.Warnings = append(of.run.Warnings,
			lab.Warning{Code: "sum-of-targets",
				Text: fmt.Sprintf("each load of %s was carried out on %d targets at the same moment; its numbers are "+
					"what they did together, in the seconds in which all were running", role, n)})
	}
	return nil
}

// takeUpMates finds the mates of an interrupted run again.
func (x *experiment) takeUpMates(ctx context.Context, b *store.Bundle, of *measurement, role string) error {
	x.addMates(of, role)
	was := matesOfRun(b.Run, role)
	for i, m := range of.mates {
		part := of.run
		part.Targets, part.Warnings = []lab.RunTarget{was[i]}, nil
		m.role = was[i].Role
		if err := m.goOn(ctx, b, part); err != nil {
			return err
		}
	}
	return nil
}

// matesOfRun are the mates of a role, as a run has kept them.
func matesOfRun(run lab.Run, role string) []lab.RunTarget {
	return slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool {
		return !strings.HasPrefix(t.Role, role+"-")
	})
}

// targets are the targets of a measurement and of its mates, as the run keeps them.
func (m *measurement) targets() []lab.RunTarget {
	all := []lab.RunTarget{m.run.Targets[0]}
	for _, o := range m.mates {
		all = append(all, o.run.Targets[0])
	}
	return all
}

// enterMates has the mates of the place under test enter each arm with it, and the run know their targets.
func (x *experiment) enterMates() {
	for _, m := range x.mates {
		m.enter = x.enterMate(m)
	}
	x.run.Targets = x.measurement.targets()
}

// enterMate makes an arm effective on a mate.
func (x *experiment) enterMate(m *measurement) func(ctx context.Context, id string) (runner.Entrance, error) {
	return func(ctx context.Context, id string) (runner.Entrance, error) {
		if !x.boots() {
			return runner.Entrance{}, nil
		}
		b, ok := m.target.(target.Booter)
		if !ok {
			return runner.Entrance{}, x.cantBoot()
		}
		levels := x.arm(id).Levels
		spec := factor.BootSpec(levels)
		in := runner.Entrance{Did: []string{bootText(spec)}, Booted: true}
		if err := b.Boot(ctx, spec); err != nil {
			return in, err
		}
		return in, x.verifyBoot(ctx, m.target, levels)
	}
}

// companions are all measurements of the experiment but the one under test.
func (x *experiment) companions() []*measurement {
	all := slices.Clone(x.mates)
	if x.reference != nil {
		all = append(append(all, x.reference), x.reference.mates...)
	}
	return all
}

// beginMates keeps what mates are like before the first load, and has others see which run all companions belong to.
func (x *experiment) beginMates(ctx context.Context, w *store.Writer) error {
	for _, m := range x.companions() {
		if m.target != x.target || m.server != nil {
			if err := m.label(ctx, x.run.ID); err != nil {
				return err
			}
		}
		if m.resume == nil && m != x.reference {
			if err := m.putAside(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// endMates leaves the places of mates clean.
func (x *experiment) endMates(ctx context.Context) error {
	var errs []error
	for _, m := range x.companions() {
		if m != x.reference {
			errs = append(errs, m.leaveClean(ctx))
		}
	}
	return errors.Join(errs...)
}

// releaseMates gives back what mates hold, and returns their targets, which are still to be closed.
func (x *experiment) releaseMates() []target.Target {
	var targets []target.Target
	for _, m := range x.companions() {
		if m != x.reference {
			m.release()
			targets = append(targets, m.target)
		}
	}
	return targets
}
