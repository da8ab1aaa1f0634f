package network

import (
	"context"
	"math/rand/v2"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Run measures between pairs of clients and servers. A dry run only lists the loads. Args may name the suite.
func Run(ctx context.Context, p *app.App, s *store.Store, o Options, args []string) error {
	return experiment.Carry(ctx, p, s, o.Request(lab.DesignNet, args),
		&pairsRun{Network: NewNetwork(p, s, o), args: args})
}

// pairsRun is the design of headroom net: one pair alone, or several that are loaded together.
type pairsRun struct {
	Network
	args []string
	su   suite.Suite
}

// Targets returns the targets of the ends.
func (n *pairsRun) Targets(saved *store.Bundle) ([]string, error) {
	if saved != nil {
		err := n.ReadEnds(saved)
		for _, c := range saved.Run.Cells {
			n.Needs(c.Engine, c.Params)
		}
		return n.Names(), err
	}
	if err := n.Name(); err != nil {
		return nil, err
	}
	var err error
	if n.su, err = n.suite(n.args); err == nil {
		err = n.NeedsOf(n.su)
	}
	return n.Names(), err
}

// Draft pairs the ends, and makes the header of a new run.
func (n *pairsRun) Draft(ctx context.Context, p *experiment.Plan) error {
	if err := n.Open(ctx, p); err != nil {
		return err
	}
	if err := n.Pair(ctx); err != nil {
		return err
	}
	if err := n.newHeader(ctx, n.su); err != nil {
		return err
	}
	if len(n.Parts) == 1 {
		return n.schedule(n.alone().Open(ctx, p))
	}
	t := n.together()
	t.Join()
	t.Run.Network = n.Pairs
	return n.schedule(nil)
}

// Rebuild reads what an interrupted run has measured.
func (n *pairsRun) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	if err := n.Open(ctx, p); err != nil {
		return err
	}
	for i := range n.Pairs {
		n.Parts = append(n.Parts, n.Part(i))
	}
	if len(n.Parts) == 1 {
		return n.schedule(n.alone().Rebuild(ctx, p, saved))
	}
	return n.schedule(n.together().Resume(ctx, saved))
}

// alone is the run of the only pair.
func (n *pairsRun) alone() *experiment.Run { return &experiment.Run{Measurement: n.Parts[0]} }

// together is the run of several pairs, which are the parts of the plan.
func (n *pairsRun) together() *experiment.MultiTargetRun {
	t := &experiment.MultiTargetRun{App: n.App, Options: n.Options.RunOptions, Store: n.Store, Parts: n.Parts}
	n.Plan.LoadTogether(t)
	return t
}

// schedule has the schedule of the plan summarized as a network's, unless there is an error.
func (n *pairsRun) schedule(err error) error {
	n.Plan.Schedule = &pairsSchedule{n.Plan.Schedule, n}
	return err
}

// pairsSchedule is the schedule of pairs.
type pairsSchedule struct {
	experiment.Schedule
	of *pairsRun
}

// Report shows what was measured.
func (n *pairsRun) Report() error { return n.Options.Report(n.Parts[0].Run.ID) }

// suite that the command line names.
func (n *Network) suite(args []string) (suite.Suite, error) {
	name := "network"
	if len(args) > 0 {
		name = args[0]
	}
	su, err := experiment.LoadSuite(name)
	if err == nil && su.Place != suite.Network {
		err = app.Usage("the suite "+su.Name+" measures no network", "headroom run "+su.Name)
	}
	return su, err
}

// newHeader makes the header of a new run.
func (n *Network) newHeader(ctx context.Context, su suite.Suite) error {
	if err := n.SnapshotEnds(ctx); err != nil {
		return err
	}
	if n.Options.Seed == 0 {
		n.Options.Seed = rand.Uint64()
	}
	id := store.NewID()
	for i := range n.Pairs {
		m := n.Part(i)
		if err := m.NewHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
		m.Run.ID, m.Run.Design, m.Run.Network = id, lab.DesignNet, n.Pairs[i:i+1]
		if len(n.Pairs) > 1 {
			m.PrefixRole()
		} else {
			m.Run.Arms[0].Role = experiment.ClientRole
		}
		m.Run.Targets = []lab.RunTarget{n.End(n.Pairs[i].Client).Recorded, n.End(n.Pairs[i].Server).Recorded}
		n.Parts = append(n.Parts, m)
	}
	return n.planEvents()
}

// planEvents reads the events, which happen during the tests of all pairs.
func (n *Network) planEvents() error {
	var ends []lab.RunTarget
	for _, e := range n.Ends {
		ends = append(ends, lab.RunTarget{Role: e.Role, Target: e.Name})
	}
	otherwise := ""
	if len(n.Plan.Targets()) == 1 {
		otherwise = ends[0].Role
	}
	return experiment.PlanEventsOfAll(n.Parts, func(on string) (string, error) {
		return experiment.EventTarget(n.App.AllKinds(), on, otherwise, ends...)
	})
}

// Summarize says on standard error what is about to happen.
func (s *pairsSchedule) Summarize(context.Context) {
	n, m := s.of, s.of.Parts[0]
	n.PrintPairs(m.Run.Suite)
	loads := m.Workload().Planned() - len(m.Saved)
	text := prose.Count(len(m.Run.Cells), "cell") + "; " + prose.Count(loads, "test")
	if len(n.Pairs) > 1 {
		text += " of each pair, all pairs at once"
	}
	n.App.Print("  ", experiment.CostOf(1, m).Text(text, "about %s", false))
	experiment.PrintEvents(n.App, m.Run.Events, m.Target.Name())
}
