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

// splitPeers splits the targets of a sweep into the first and its peers.
func (x *experiment) splitPeers(on []string) (first string, peers []string, err error) {
	if x.kind != sweepKind || len(on) < 2 {
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

// peerRole is the role of a peer, counted from 2.
func peerRole(of string, i int) string { return fmt.Sprintf("%s-%d", of, i+2) }

// checkPeers refuses what can't be varied on several targets.
func (x *experiment) checkPeers() error {
	i := slices.IndexFunc(x.choices, func(c factor.Choice) bool { return c.Scheme.Class == factor.Live })
	if len(x.options.peers) == 0 || i < 0 {
		return nil
	}
	return usage(x.choices[i].Factor()+" is set on a running machine, and several are measured", "take one --on",
		"what is decided when they start can be varied on several: guest:, pod:")
}

// addPeers gives a measurement its peers, each with a role of its own, on the targets that were opened with its own.
func (x *experiment) addPeers(of *measurement, role string) {
	last := of
	for i, t := range x.openedEarly {
		m := &measurement{program: x.program, options: of.options, store: x.store, target: t, concurrent: last,
			role: peerRole(role, i), reboots: true}
		of.peers, last = append(of.peers, m), m
	}
	x.openedEarly = nil
}

// newPeers adds the peers of a measurement that is drawn, which have its loads, and makes sure that they can be
// carried out.
func (x *experiment) newPeers(ctx context.Context, of *measurement, role string, args []string) error {
	x.addPeers(of, role)
	for _, m := range of.peers {
		if err := m.newHeader(ctx, args); err != nil {
			return err
		}
		if m.place().Kind != of.place().Kind {
			return usage(fmt.Sprintf("%s is a %s and %s a %s", of.place().Path, of.place().Kind, m.place().Path,
				m.place().Kind), "take targets with places of one kind: the loads must be the same")
		}
		m.run.ID, m.run.Targets[0].Role, m.run.Cells = of.run.ID, m.role, of.run.Cells
		if err := m.secureAndSnapshot(ctx); err != nil {
			return err
		}
		of.run.Warnings = append(of.run.Warnings, m.run.Warnings...)
		m.run.Warnings = nil
	}
	if n := len(of.peers) + 1; n > 1 {
		of.run.Warnings = append(of.run.Warnings,
			lab.Warning{Code: "sum-of-targets",
				Text: fmt.Sprintf("each load of %s was carried out on %d targets at the same moment; its numbers are "+
					"what they did together, in the seconds in which all were running", role, n)})
	}
	return nil
}

// resumePeers finds the peers of an interrupted run again.
func (x *experiment) resumePeers(ctx context.Context, b *store.Bundle, of *measurement, role string) error {
	x.addPeers(of, role)
	was := peersOfRun(b.Run, role)
	for i, m := range of.peers {
		part := of.run
		part.Targets, part.Warnings = []lab.RunTarget{was[i]}, nil
		m.role = was[i].Role
		if err := m.resumeFrom(ctx, b, part); err != nil {
			return err
		}
	}
	return nil
}

// peersOfRun are the peers of a role, as a run has kept them.
func peersOfRun(run lab.Run, role string) []lab.RunTarget {
	return slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool {
		return !strings.HasPrefix(t.Role, role+"-")
	})
}

// targets are the targets of a measurement and of its peers, as the run keeps them.
func (m *measurement) targets() []lab.RunTarget {
	all := []lab.RunTarget{m.run.Targets[0]}
	for _, o := range m.peers {
		all = append(all, o.run.Targets[0])
	}
	return all
}

// enterPeers has the peers of the place under test enter each arm with it, and the run know their targets.
func (x *experiment) enterPeers() {
	for _, m := range x.peers {
		m.enter = x.enterPeer(m)
	}
	x.run.Targets = x.measurement.targets()
}

// enterPeer makes an arm effective on a peer.
func (x *experiment) enterPeer(m *measurement) func(ctx context.Context, id string) (runner.ArmEntry, error) {
	return func(ctx context.Context, id string) (runner.ArmEntry, error) {
		if !x.boots() {
			return runner.ArmEntry{}, nil
		}
		b, ok := m.target.(target.Booter)
		if !ok {
			return runner.ArmEntry{}, x.bootError()
		}
		levels := x.arm(id).Levels
		spec := factor.BootSpec(levels)
		in := runner.ArmEntry{Did: []string{bootText(spec)}, Booted: true}
		if err := b.Boot(ctx, spec); err != nil {
			return in, err
		}
		return in, x.verifyBoot(ctx, m.target, levels)
	}
}

// otherMeasurements are all measurements of the experiment but the one under test.
func (x *experiment) otherMeasurements() []*measurement {
	all := slices.Clone(x.peers)
	if x.reference != nil {
		all = append(append(all, x.reference), x.reference.peers...)
	}
	return all
}

// beginPeers keeps what peers are like before the first load, and has others see which run all companions belong to.
func (x *experiment) beginPeers(ctx context.Context, w *store.Writer) error {
	for _, m := range x.otherMeasurements() {
		if m.target != x.target || m.server != nil {
			if err := m.label(ctx, x.run.ID); err != nil {
				return err
			}
		}
		if m.resumed == nil && m != x.reference {
			if err := m.saveInitialSnapshot(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// endPeers leaves the places of peers clean.
func (x *experiment) endPeers(ctx context.Context) error {
	var errs []error
	for _, m := range x.otherMeasurements() {
		if m != x.reference {
			errs = append(errs, m.cleanDevice(ctx))
		}
	}
	return errors.Join(errs...)
}

// releasePeers gives back what peers hold, and returns their targets, which are still to be closed.
func (x *experiment) releasePeers() []target.Target {
	var targets []target.Target
	for _, m := range x.otherMeasurements() {
		if m != x.reference {
			m.release()
			targets = append(targets, m.target)
		}
	}
	return targets
}
