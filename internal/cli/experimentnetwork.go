package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/iperf3"
	"headroom/internal/prose"
	"headroom/internal/store"
	"headroom/internal/suite"
)

// An experiment on a network is measured between as many pairs of clients and servers as headroom net would: the first
// of them is the measurement, the others are its peers, so that what is kept of a test is what all pairs carried
// together.

// loadRole is the role of the machine that loads run on, of several clients the first.
func (x *experiment) loadRole() string {
	if x.network != nil {
		return x.network.pairs[0].Client
	}
	return storageRole
}

// networkSuite is the suite of an experiment on a network; nil for any other.
func (x *experiment) networkSuite(args []string) (*suite.Suite, error) {
	if len(args) == 0 {
		return nil, nil // which is said later
	}
	su, err := loadSuite(args[0])
	if err != nil || su.Place != suite.Network {
		return nil, err
	}
	switch {
	case len(args) > 1:
		return nil, usage("the suite "+su.Name+" measures a network, and no "+args[1],
			"name its ends with --on client=TARGET and --on server=TARGET")
	case x.options.commits != nil:
		return nil, usage(
			"commits are told apart by a command that runs what was built, and the suite "+su.Name+" measures a network",
			"write a suite with exec:, docs/suites.md")
	case x.options.destroy != "" || x.options.sampled != "" || x.options.writes != "" || x.options.size != "":
		return nil, usage("--destroy, --sampled, --max-writes and --size are for storage", "leave them out")
	}
	return &su, nil
}

// ofStorage refuses what is said of a network.
func (x *experiment) ofStorage() error {
	for _, c := range x.choices {
		if c.Scheme.Name == pinScheme {
			return usage(c.Factor()+" places the load generators of a network, and the suite measures none",
				"fio's own is job:cpus_allowed")
		}
		if c.Role != "" {
			return usage(c.Factor()+" is about an end of a network, and the suite measures none",
				"leave out "+c.Role+":")
		}
	}
	if len(x.options.addresses) > 0 || x.options.port != 0 || x.options.networkPairs != 0 {
		return usage("--address, --port and --net-pairs are for a suite that measures a network",
			"headroom "+x.kind+" network --on server=ssh://db1 …")
	}
	return nil
}

// openEnds opens the clients and the servers, and makes the measurements between them.
func (x *experiment) openEnds(ctx context.Context, su suite.Suite) error {
	if x.boots() {
		return usage("a setting of the boot is varied for storage only",
			"measure before and after the boot with headroom net, and compare the runs")
	}
	o := netOptions{runOptions: x.options.runOptions(), addresses: x.options.addresses, port: x.options.port,
		pairs: x.options.networkPairs}
	o.on = x.options.ends
	if o.port == 0 {
		o.port = iperf3.Port
	}
	n := newNetwork(x.program, x.store, o)
	x.network = &n
	if err := n.name(); err != nil {
		return err
	}
	if err := n.needsOf(su); err != nil {
		return err
	}
	if err := n.open(ctx); err != nil {
		return err
	}
	if err := n.pair(ctx); err != nil {
		return err
	}
	if err := x.canAddUp(su); err != nil {
		return err
	}
	if err := n.snapshotEnds(ctx); err != nil {
		return err
	}
	x.makePairs()
	return x.locate(ctx)
}

// canAddUp refuses several pairs of what has no rates by the second, of which there is no sum.
func (x *experiment) canAddUp(su suite.Suite) error {
	i := slices.IndexFunc(su.Jobs, func(j suite.Job) bool {
		return j.Network != nil && j.Network.Engine == lab.EnginePerftest
	})
	if i < 0 || len(x.network.pairs) == 1 {
		return nil
	}
	return usage(fmt.Sprintf("%s measures RDMA, of which %s have no sum: perftest tells no rates by the second",
		su.Jobs[i].Name, prose.Count(len(x.network.pairs), "pair")),
		"take one client, one server and one address")
}

// makePairs makes the measurements of all pairs.
func (x *experiment) makePairs() {
	x.measurement = x.network.part(0)
	for i := range x.network.pairs[1:] {
		x.measurement.peers = append(x.measurement.peers, x.network.part(i+1))
	}
}

// newPairs gives the run the targets of all ends, and each further pair the loads of the first.
func (x *experiment) newPairs() {
	x.run.Network, x.run.Targets = x.network.pairs, nil
	for _, e := range x.network.ends {
		x.run.Targets = append(x.run.Targets, e.recorded)
	}
	for i, m := range x.peers {
		m.run = x.run
		m.run.Targets, m.run.Warnings = []lab.RunTarget{x.network.end(x.network.pairs[i+1].Client).recorded}, nil
	}
	if n := len(x.network.pairs); n > 1 {
		x.run.Warnings = append(x.run.Warnings, lab.Warning{Code: "sum-of-targets",
			Text: fmt.Sprintf("each test was carried out by %d pairs at the same moment; its numbers are what they "+
				"did together, in the seconds in which all were running", n)})
	}
	x.setPeerCells()
}

// setPeerCells gives the peers the cells of the run; a pair of a network has load generators of its own, where settings
// place them.
func (x *experiment) setPeerCells() {
	for i, m := range x.peers {
		m.run.Cells = slices.Clone(x.run.Cells)
		if x.network == nil {
			continue
		}
		for j := range m.run.Cells {
			c := &m.run.Cells[j]
			c.Placement = x.placement(i+1, x.arm(c.Arm).Levels)
		}
	}
}

// reopenEnds opens the ends of a run that was interrupted.
func (x *experiment) reopenEnds(ctx context.Context, b *store.Bundle) error {
	n := newNetwork(x.program, x.store, netOptions{})
	x.network = &n
	if err := n.readEnds(b); err != nil {
		return err
	}
	for _, c := range b.Run.Cells {
		n.needs(c.Engine, c.Params)
	}
	if err := n.open(ctx); err != nil {
		return err
	}
	x.makePairs()
	return x.locate(ctx)
}

// resumePairs takes up what the pairs of an interrupted run have measured, after the first of them was.
func (x *experiment) resumePairs(ctx context.Context, b *store.Bundle) error {
	x.run.Targets = b.Run.Targets
	for i, m := range x.peers {
		part := x.run
		part.Targets, part.Warnings = []lab.RunTarget{x.network.end(x.network.pairs[i+1].Client).recorded}, nil
		if err := m.resumeFrom(ctx, b, part); err != nil {
			return err
		}
		x.addWarnings(m)
	}
	x.setPeerCells()
	return nil
}

// addWarnings gives the run what was found on the client of a peer.
func (x *experiment) addWarnings(m *measurement) {
	for _, w := range m.run.Warnings {
		w.Text = m.client + ": " + w.Text
		x.run.Warnings = append(x.run.Warnings, w)
	}
	m.run.Warnings = nil
}

// endPairs says what changed on the clients of peers, after a run that ended with runErr.
func (x *experiment) endPairs(ctx context.Context, runErr error) error {
	if x.network == nil || runErr != nil {
		return nil
	}
	for _, m := range x.peers {
		if err := m.compareAfterwards(ctx, x.writer); err != nil {
			return err
		}
		x.addWarnings(m)
	}
	return nil
}

// machines are the ends of the network, the clients first, each with the adapters that the tests take, those of several
// pairs once. A client and a server may be one target: what the journal of the first has changed there is in effect for
// the second already.
func (n *network) machines(ctx context.Context) ([]*variedMachine, error) {
	var all []*variedMachine
	add := func(kind, role string, adapters []string) {
		t := n.end(role).target
		i := slices.IndexFunc(all, func(m *variedMachine) bool { return m.kind == kind && m.where[0].Target == t })
		if i < 0 {
			i, all = len(all), append(all, &variedMachine{role: role, kind: kind, where: []factor.Scope{{Target: t}}})
		}
		m := all[i]
		for _, adapter := range adapters {
			switch {
			case m.where[0].Adapter == "":
				m.where[0].Adapter = adapter
			case !slices.ContainsFunc(m.where, func(w factor.Scope) bool { return w.Adapter == adapter }):
				m.where = append(m.where, factor.Scope{Target: t, Adapter: adapter})
			}
		}
	}
	looked := map[string]bool{}
	for _, pair := range n.pairs {
		key := pair.Client + " " + pair.Server + " " + pair.Address
		if looked[key] {
			continue
		}
		looked[key] = true
		at, there, err := facts.FindPorts(ctx, n.end(pair.Client).target, n.end(pair.Server).target, pair.Address)
		if err != nil {
			return nil, err
		}
		add(clientRole, pair.Client, at.Expected)
		add(serverRole, pair.Server, there.Expected)
	}
	slices.SortStableFunc(all, func(a, b *variedMachine) int { return strings.Compare(a.kind, b.kind) })
	return all, nil
}
