package cli

import (
	"context"
	"fmt"

	"headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/iperf3"
	"headroom/internal/store"
	"headroom/internal/suite"
)

// under is the role of the machine that loads run on.
func (x *experiment) under() string {
	if x.network != nil {
		return clientRole
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
		return nil, usage("the suite "+su.Name+" measures a network, and no "+args[1], "name its ends with --on client=TARGET and --on server=TARGET")
	case x.kind == bisecting:
		return nil, usage("a search measures no network yet", "headroom ablate "+args[0]+" prices each setting")
	case x.options.destroy != "" || x.options.writes != "" || x.options.size != "":
		return nil, usage("--destroy, --max-writes and --size are for storage", "leave them out")
	}
	return &su, nil
}

// ofStorage refuses what is said of a network.
func (x *experiment) ofStorage() error {
	for _, c := range x.choices {
		if c.Role != "" {
			return usage(c.Factor()+" is about an end of a network, and the suite measures none", "leave out "+c.Role+":")
		}
	}
	if len(x.options.addresses) > 0 || x.options.port != 0 {
		return usage("--address and --port are for a suite that measures a network", "headroom "+x.kind+" network --on server=ssh://db1 …")
	}
	return nil
}

// reachEnds opens the client and the server, and makes the measurement between them.
func (x *experiment) reachEnds(ctx context.Context) error {
	if x.boots() {
		return usage("a setting of the boot is varied for storage only", "measure before and after the boot with headroom net, and compare the runs")
	}
	o := netOptions{runOptions: x.options.runOptions(), addresses: x.options.addresses, port: x.options.port, pairs: 1}
	o.on = x.options.ends
	if o.port == 0 {
		o.port = iperf3.Port
	}
	n := x.program.network(x.store, o)
	x.network = &n
	if err := n.name(); err != nil {
		return err
	}
	if len(n.ends) > 2 {
		return usage(fmt.Sprintf("%d ends are named, and an experiment measures between one client and one server", len(n.ends)), "more streams between them: --set parallel=8")
	}
	if err := n.open(ctx); err != nil {
		return err
	}
	if err := n.pair(ctx); err != nil {
		return err
	}
	if err := n.lookAtEnds(ctx); err != nil {
		return err
	}
	x.measurement = n.part(0)
	return nil
}

// takeEnds gives the run the targets of the two ends.
func (x *experiment) takeEnds() {
	n := x.network
	x.run.Network = n.pairs
	x.run.Targets = []lab.RunTarget{n.end(clientRole).recorded, n.end(serverRole).recorded}
}

// reachEndsAgain opens the ends of a run that was interrupted.
func (x *experiment) reachEndsAgain(ctx context.Context, b *store.Bundle) error {
	n := x.program.network(x.store, netOptions{})
	x.network = &n
	if err := n.again(b); err != nil {
		return err
	}
	if err := n.open(ctx); err != nil {
		return err
	}
	x.measurement = n.part(0)
	return nil
}

// machines are the ends of the network, the client first, each with the adapter that the tests take. Where both are one target, there is one.
func (n *network) machines(ctx context.Context, add func(role string, w factor.Where)) error {
	address := n.pairs[0].Address
	for _, role := range []string{clientRole, serverRole} {
		end := n.end(role)
		ports, err := facts.FindPorts(ctx, end.target, address, role == serverRole)
		if err != nil {
			return err
		}
		add(role, factor.Where{Target: end.target, Adapter: ports.Meant})
	}
	return nil
}
