package vary

import (
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// A sweep can run on several targets that are loaded at the same time, as the IOThreads report has one machine and two.
// Each level is made effective on all targets. The result of a load is the total of all targets; everything else is as
// with one target.

// splitPeers splits the targets of a sweep into the first and its peers.
func splitPeers(kind string, kinds app.TargetKinds, on []string) (first string, peers []string, err error) {
	if kind != app.SweepKind || len(on) < 2 {
		first, err = app.OnlyTarget(on)
		return first, nil, err
	}
	for _, typed := range on {
		role, name := app.RoleOf(typed)
		if role != "" {
			return "", nil, app.Usage(
				fmt.Sprintf("there is no role %q in a sweep of several targets, whose total is one result", role),
				"write --on "+name)
		}
		if !kinds.Traits(name).Made() {
			return "", nil, app.Usage(
				fmt.Sprintf("%s is not headroom's own, so it can't be one of several in a sweep", name),
				"guests, pods and machines of KubeVirt can: qemu:FILE, kube:pod?…, kube:vm?…",
				"for others: headroom run with several --on, once at each level")
		}
	}
	return on[0], on[1:], nil
}

// checkPeers refuses what can't be varied on several targets.
func (o *Options) checkPeers(choices []factor.Choice) error {
	if len(o.peers) > 0 {
		if err := o.Profile.RefuseOnSeveral("several"); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(choices, func(c factor.Choice) bool { return c.Scheme.Class == scheme.Live })
	if len(o.peers) == 0 || i < 0 {
		return nil
	}
	return app.Usage(choices[i].Factor()+" is set on a running machine, and several are measured", "take one --on",
		"settings that take effect when targets start can be varied on several: guest:, pod:")
}

// addPeers gives a measurement its peers, each with a separate role, on the targets that were opened with it.
func (x *Experiment) addPeers(of *experiment.Measurement, role string) {
	last := of
	for i, t := range x.openedEarly {
		m := &experiment.Measurement{App: x.under.App, Options: of.Options, Store: x.under.Store, Target: t,
			Concurrent: last, Role: experiment.PeerRole(role, i), Reboots: true}
		of.Peers, last = append(of.Peers, m), m
	}
	x.openedEarly = nil
}

// newPeers adds the peers of a new measurement, which have its loads, and checks that they can run.
func (x *Experiment) newPeers(ctx context.Context, of *experiment.Measurement, role string, args []string) error {
	x.addPeers(of, role)
	for _, m := range of.Peers {
		if err := m.NewHeader(ctx, args); err != nil {
			return err
		}
		if m.Place().Kind != of.Place().Kind {
			return app.Usage(fmt.Sprintf("%s is a %s and %s a %s", of.Place().Path, of.Place().Kind, m.Place().Path,
				m.Place().Kind), "take targets with places of one kind: the loads must be the same")
		}
		m.Run.ID, m.Run.Targets[0].Role, m.Run.Cells = of.Run.ID, m.Role, of.Run.Cells
		if err := m.SecureAndSnapshot(ctx); err != nil {
			return err
		}
		of.Run.Warnings = append(of.Run.Warnings, m.Run.Warnings...)
		m.Run.Warnings = nil
	}
	if n := len(of.Peers) + 1; n > 1 {
		of.Run.Warnings = append(of.Run.Warnings,
			lab.Warning{Code: "sum-of-targets",
				Text: fmt.Sprintf("each load of %s was carried out on %d targets at the same moment; its numbers are "+
					"what they did together, in the seconds in which all were running", role, n)})
	}
	return nil
}

// resumePeers restores the peers of an interrupted run.
func (x *Experiment) resumePeers(ctx context.Context, b *store.Bundle, of *experiment.Measurement, role string) error {
	x.addPeers(of, role)
	was := experiment.PeersOfRun(b.Run, role)
	for i, m := range of.Peers {
		part := of.Run
		part.Targets, part.Warnings = []lab.RunTarget{was[i]}, nil
		m.Role = was[i].Role
		if err := m.ResumeFrom(ctx, b, part); err != nil {
			return err
		}
	}
	return nil
}
