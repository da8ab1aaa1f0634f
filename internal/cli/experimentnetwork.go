package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/iperf3"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
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
	case x.options.destroy != "" || x.options.sampled != "" || x.options.writes != "" || x.options.size != "":
		return nil, usage("--destroy, --sampled, --max-writes and --size are for storage", "leave them out")
	}
	return &su, nil
}

// ofStorage refuses what is said of a network.
func (x *experiment) ofStorage() error {
	for _, c := range x.choices {
		if c.Scheme.Name == pinScheme {
			return usage(c.Factor()+" places the load generators of a network, and the suite measures none", "fio's own is job:cpus_allowed")
		}
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
	return x.locate(ctx)
}

// locate finds out where the adapters of both ends hang, where something is varied that depends on it, and tries each placement there.
func (x *experiment) locate(ctx context.Context) error {
	pins := slices.DeleteFunc(slices.Clone(x.choices), func(c factor.Choice) bool { return c.Scheme.Name != pinScheme })
	if len(pins) == 0 {
		return nil
	}
	x.localities = map[string]factor.Locality{}
	for _, role := range []string{clientRole, serverRole} {
		end := x.network.end(role)
		ports, err := facts.FindPorts(ctx, end.target, x.network.pairs[0].Address, role == serverRole)
		if err != nil {
			return err
		}
		const online = "/sys/devices/system/node/online"
		node := "/sys/class/net/" + ports.Meant + "/device/numa_node"
		files, err := end.target.ReadFiles(ctx, online, node)
		if err != nil {
			return err
		}
		at := factor.Locality{Node: -1, Nodes: factor.ParseNodes(string(files[online].Data))}
		if n, err := strconv.Atoi(strings.TrimSpace(string(files[node].Data))); err == nil {
			at.Node = n
		}
		x.localities[role] = at
		for _, c := range pins {
			for _, level := range c.Levels {
				if err := tryPlacement(ctx, end.target, c.Factor(), level, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

const pinScheme = "pin"

// tryPlacement runs nothing at a level.
func tryPlacement(ctx context.Context, t target.Target, name, level string, at factor.Locality) error {
	argv, err := factor.Placement(map[string]string{name: level}, at)
	if err != nil || len(argv) == 0 {
		return err
	}
	argv = append(argv, "true")
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%s=%s can't be had", name, level), Target: elsewhere(t), Command: argv, Output: strings.TrimSpace(string(out.Stderr)), Err: err,
		Hints: []string{"taskset is in util-linux, numactl in the package of its name; lscpu shows the CPUs and nodes"}}
}

// placement is the commands that put the load generators of both ends where an arm's levels say; nil where they say nothing.
func (x *experiment) placement(levels map[string]string) map[string][]string {
	placed := map[string][]string{}
	for role, at := range x.localities {
		if argv, err := factor.Placement(levels, at); err == nil && len(argv) > 0 { // each was tried
			placed[role] = argv
		}
	}
	if len(placed) == 0 {
		return nil
	}
	return placed
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
	return x.locate(ctx)
}

// machines are the ends of the network, the client first, each with the adapter that the tests take. Both may be one target: what the
// journal of the first has changed there is in effect for the second already.
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
