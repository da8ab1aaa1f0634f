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

// Run measures between pairs of clients and servers, or says what would be done. Args may name the suite.
func Run(ctx context.Context, p *app.App, s *store.Store, o Options, args []string) error {
	return experiment.Conduct(ctx, p, s, o.Request(lab.DesignNet, args),
		&pairsRun{Network: NewNetwork(p, s, o), args: args})
}

// pairsRun is the design of headroom net: one pair by itself, or several that are carried out together, as loads.
type pairsRun struct {
	Network
	args  []string
	su    suite.Suite
	loads experiment.Design
}

// Targets are those of the ends.
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

// New pairs the ends, and makes the header of a new run.
func (n *pairsRun) New(ctx context.Context) error {
	if err := n.Pair(ctx); err != nil {
		return err
	}
	if err := n.newHeader(ctx, n.su); err != nil {
		return err
	}
	t := n.takeLoads()
	if t != nil {
		t.Join()
		t.Run.Network = n.Pairs
	}
	return nil
}

// Resume reads what an interrupted run has measured.
func (n *pairsRun) Resume(ctx context.Context, saved *store.Bundle) error {
	for i := range n.Pairs {
		n.Parts = append(n.Parts, n.Part(i))
	}
	n.takeLoads()
	return n.loads.Resume(ctx, saved)
}

// takeLoads has the pairs carried out together; one by itself, and then it returns nil.
func (n *pairsRun) takeLoads() *experiment.MultiTargetRun {
	if len(n.Parts) == 1 {
		n.loads = experiment.PlannedRun(n.Parts[0])
		return nil
	}
	t := &experiment.MultiTargetRun{App: n.App, Options: n.Options.RunOptions, Store: n.Store, Parts: n.Parts}
	n.loads = t
	return t
}

// PrintPlan lists the tests.
func (n *pairsRun) PrintPlan(ctx context.Context) error { return n.loads.PrintPlan(ctx) }

// Measure carries out the tests.
func (n *pairsRun) Measure(ctx context.Context) (experiment.Measured, error) {
	return n.loads.Measure(ctx)
}

// Report shows what was measured.
func (n *pairsRun) Report() error { return n.loads.Report() }

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
	if len(n.Opened.All()) == 1 {
		otherwise = ends[0].Role
	}
	return experiment.PlanEventsOfAll(n.Parts, func(on string) (string, error) {
		return experiment.EventTarget(n.App.AllKinds(), on, otherwise, ends...)
	})
}

// PrintSummary says on standard error what is about to happen.
func (n *pairsRun) PrintSummary(context.Context) {
	m := n.Parts[0]
	n.PrintPairs(m.Run.Suite)
	loads := m.Workload().Planned() - len(m.Saved)
	text := prose.Count(len(m.Run.Cells), "cell") + "; " + prose.Count(loads, "test")
	if len(n.Pairs) > 1 {
		text += " of each pair, all pairs at once"
	}
	n.App.Print("  ", experiment.CostOf(1, m).Text(text, "about %s", false))
	experiment.PrintEvents(n.App, m.Run.Events, m.Target.Name())
}
