package vary

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// An experiment on a network is measured between as many pairs of clients and servers as in headroom net. The first
// pair is the measurement and the others are its peers, so the result of a test is what all pairs carried together.

// networkSuite returns the suite of an experiment on a network; nil for any other.
func (o *Options) networkSuite(args []string) (*suite.Suite, error) {
	if len(args) == 0 {
		return nil, nil // reported later
	}
	su, err := experiment.LoadSuite(args[0])
	if err != nil || su.Place != suite.Network {
		return nil, err
	}
	switch {
	case len(args) > 1:
		return nil, app.Usage("the suite "+su.Name+" measures a network, not "+args[1],
			"name its ends with --on client=TARGET and --on server=TARGET")
	case o.Commits != nil:
		return nil, app.Usage(
			"commits are compared by a command that runs what was built, and the suite "+su.Name+" measures a network",
			"write a suite with exec:, docs/reference/suites.md")
	case o.Destroy != "" || o.Sampled != "" || o.Writes != "" || o.Size != "":
		return nil, app.Usage("--destroy, --sampled, --max-writes and --size are for storage", "leave them out")
	}
	return &su, nil
}

// ofStorage refuses options that are for networks.
func (o *Options) ofStorage(v variation) error {
	for _, c := range v.choices {
		if c.Scheme.Name == experiment.PinScheme {
			return app.Usage(c.Factor()+" places the load generators of a network, and the suite measures none",
				"fio's own is job:cpus_allowed")
		}
		if c.Role != "" {
			return app.Usage(c.Factor()+" is about an end of a network, and the suite measures none",
				"leave out "+c.Role+":")
		}
	}
	if len(o.Addresses) > 0 || o.Port != 0 || o.NetworkPairs != 0 {
		return app.Usage("--address, --port and --net-pairs are for a suite that measures a network",
			"headroom "+v.kind+" network --on server=ssh://db1 …")
	}
	return nil
}

// nameEnds names the clients and the servers of a new experiment.
func (x *Experiment) nameEnds(su suite.Suite) error {
	if err := x.options.Profile.RefuseOnSeveral("a network"); err != nil {
		return err
	}
	if x.varies.boots() {
		return app.Usage("a setting of the boot is varied for storage only",
			"measure before and after the boot with headroom net, and compare the runs")
	}
	o := network.Options{RunOptions: x.options.runOptions(), Addresses: x.options.Addresses,
		Port: cmp.Or(x.options.Port, iperf3.Port), Pairs: x.options.NetworkPairs}
	o.On = x.options.Ends
	n := network.NewNetwork(x.under.App, x.under.Store, o)
	x.network = &n
	if err := n.Name(); err != nil {
		return err
	}
	return n.NeedsOf(su)
}

// pairEnds makes the measurements between the ends.
func (x *Experiment) pairEnds(ctx context.Context, su suite.Suite) error {
	if err := x.network.Pair(ctx); err != nil {
		return err
	}
	if err := canAddUp(su, len(x.network.Pairs)); err != nil {
		return err
	}
	if err := x.network.SnapshotEnds(ctx); err != nil {
		return err
	}
	x.makePairs()
	var err error
	x.placements, err = locate(ctx, x.network, x.varies.choices)
	return err
}

// canAddUp refuses several pairs of a test without rates per second, which has no sum.
func canAddUp(su suite.Suite, pairs int) error {
	i := slices.IndexFunc(su.Jobs, func(j suite.Job) bool {
		return j.Network != nil && j.Network.Engine == lab.EnginePerftest
	})
	if i < 0 || pairs == 1 {
		return nil
	}
	return app.Usage(fmt.Sprintf("%s measures RDMA, of which %s have no sum: perftest reports no rates by the second",
		su.Jobs[i].Name, prose.Count(pairs, "pair")),
		"take one client, one server and one address")
}

// makePairs makes the measurements of all pairs.
func (x *Experiment) makePairs() {
	x.under = x.network.Part(0)
	for i := range x.network.Pairs[1:] {
		x.under.Peers = append(x.under.Peers, x.network.Part(i+1))
	}
}

// newPairs gives the run the targets of all ends, and each further pair the loads of the first pair.
func (x *Experiment) newPairs() {
	x.under.Run.Network, x.under.Run.Targets = x.network.Pairs, nil
	for _, e := range x.network.Ends {
		x.under.Run.Targets = append(x.under.Run.Targets, e.Recorded)
	}
	for i, m := range x.under.Peers {
		m.Run = x.under.Run
		m.Run.Targets, m.Run.Warnings = []lab.RunTarget{x.network.End(x.network.Pairs[i+1].Client).Recorded}, nil
	}
	if n := len(x.network.Pairs); n > 1 {
		x.under.Run.Warnings = append(x.under.Run.Warnings, lab.Warning{Code: "sum-of-targets",
			Text: fmt.Sprintf("each test was carried out by %d pairs at the same moment; its numbers are what they "+
				"did together, in the seconds in which all were running", n)})
	}
	x.placements.setPeerCells(x.under)
}

// readEnds reads the ends of a saved run.
func (x *Experiment) readEnds(b *store.Bundle) error {
	n := network.NewNetwork(x.under.App, x.under.Store, network.Options{})
	x.network = &n
	for _, c := range b.Run.Cells {
		n.Needs(c.Engine, c.Params)
	}
	return n.ReadEnds(b)
}

// resumePairs reads the measured repetitions of the pairs of an interrupted run, after the first pair was read.
func (x *Experiment) resumePairs(ctx context.Context, b *store.Bundle) error {
	x.under.Run.Targets = b.Run.Targets
	for i, m := range x.under.Peers {
		part := x.under.Run
		part.Targets, part.Warnings = []lab.RunTarget{x.network.End(x.network.Pairs[i+1].Client).Recorded}, nil
		if err := m.ResumeFrom(ctx, b, part); err != nil {
			return err
		}
		x.under.TakeWarnings(m)
	}
	x.placements.setPeerCells(x.under)
	return nil
}
