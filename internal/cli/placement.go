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
	"headroom/internal/target"
)

// pinScheme is that of factors that say on which CPUs the load generators of a network run.
const pinScheme = "pin"

// locate finds out where the adapters of both ends of each pair hang, where something is varied that depends on it, and
// tries each placement there.
func (x *experiment) locate(ctx context.Context) error {
	pins := slices.DeleteFunc(slices.Clone(x.choices), func(c factor.Choice) bool { return c.Scheme.Name != pinScheme })
	if len(pins) == 0 {
		return nil
	}
	known := map[string]map[string]factor.Locality{} // of pairs that differ in their port only
	for _, pair := range x.network.pairs {
		key := pair.Client + " " + pair.Server + " " + pair.Address
		if known[key] == nil {
			ends, err := x.localitiesOf(ctx, pair, pins)
			if err != nil {
				return err
			}
			known[key] = ends
		}
		x.localities = append(x.localities, known[key])
	}
	return nil
}

// localitiesOf are where the adapters of a client and a server hang.
func (x *experiment) localitiesOf(ctx context.Context, pair lab.NetworkPair,
	pins []factor.Choice) (map[string]factor.Locality, error) {
	client, server := x.network.end(pair.Client).target, x.network.end(pair.Server).target
	at, there, err := facts.FindPorts(ctx, client, server, pair.Address)
	if err != nil {
		return nil, err
	}
	ends := map[string]factor.Locality{}
	for _, e := range []struct {
		kind   string
		target target.Target
		ports  []string
	}{{clientRole, client, at.Expected}, {serverRole, server, there.Expected}} {
		if ends[e.kind], err = localityOf(ctx, e.target, e.ports); err != nil {
			return nil, err
		}
		for _, c := range pins {
			for _, level := range c.Levels {
				if err := tryPlacement(ctx, e.target, c.Factor(), level, ends[e.kind]); err != nil {
					return nil, err
				}
			}
		}
	}
	return ends, nil
}

// localityOf is where some adapters hang; nowhere where they hang on several nodes.
func localityOf(ctx context.Context, t target.Target, adapters []string) (factor.Locality, error) {
	const online = "/sys/devices/system/node/online"
	paths := []string{online}
	for _, name := range adapters {
		paths = append(paths, numaNodeOf(name))
	}
	files, err := t.ReadFiles(ctx, paths...)
	if err != nil {
		return factor.Locality{}, err
	}
	at := factor.Locality{Node: -1, Nodes: factor.ParseNodes(string(files[online].Data))}
	for i, name := range adapters {
		n, err := strconv.Atoi(strings.TrimSpace(string(files[numaNodeOf(name)].Data)))
		if err != nil || i > 0 && n != at.Node {
			at.Node = -1
			break
		}
		at.Node = n
	}
	return at, nil
}

// numaNodeOf is the file with the NUMA node of an adapter.
func numaNodeOf(adapter string) string { return "/sys/class/net/" + adapter + "/device/numa_node" }

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
	return &lab.Error{What: fmt.Sprintf("%s=%s can't be had", name, level), Target: target.RemoteName(t), Command: argv,
		Output: strings.TrimSpace(string(out.Stderr)), Err: err,
		Hints: []string{"taskset is in util-linux, numactl in the package of its name; lscpu shows the CPUs and nodes"}}
}

// placement is the commands that put the load generators of both ends of a pair where an arm's levels say; nil where
// they say nothing.
func (x *experiment) placement(pair int, levels map[string]string) map[string][]string {
	if x.localities == nil {
		return nil
	}
	placed := map[string][]string{}
	for kind, at := range x.localities[pair] {
		if argv, err := factor.Placement(levels, at); err == nil && len(argv) > 0 { // each was tried
			placed[kind] = argv
		}
	}
	if len(placed) == 0 {
		return nil
	}
	return placed
}
