package vary

import (
	"context"
	"slices"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/parallel"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/load"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// locate finds out where the adapters of both ends of each pair hang, where something is varied that depends on it, and
// tries each placement there.
func (x *Experiment) locate(ctx context.Context) error {
	pins := slices.DeleteFunc(slices.Clone(x.varies.choices), func(c factor.Choice) bool {
		return c.Scheme.Name != parallel.PinScheme
	})
	if len(pins) == 0 {
		return nil
	}
	known := map[string]map[string]load.Locality{} // of pairs that differ in their port only
	for _, pair := range x.network.Pairs {
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
func (x *Experiment) localitiesOf(ctx context.Context, pair lab.NetworkPair,
	pins []factor.Choice) (map[string]load.Locality, error) {
	client, server := x.network.End(pair.Client).Target, x.network.End(pair.Server).Target
	at, there, err := network.FindPorts(ctx, client, server, pair.Address)
	if err != nil {
		return nil, err
	}
	ends := map[string]load.Locality{}
	for _, e := range []struct {
		kind   string
		target host.Target
		ports  []string
	}{{experiment.ClientRole, client, at.Expected}, {experiment.ServerRole, server, there.Expected}} {
		if ends[e.kind], err = parallel.LocalityOf(ctx, e.target, e.ports); err != nil {
			return nil, err
		}
		for _, c := range pins {
			for _, level := range c.Levels {
				if err := parallel.TryPlacement(ctx, e.target, c.Factor(), level, ends[e.kind]); err != nil {
					return nil, err
				}
			}
		}
	}
	return ends, nil
}

// placement is the commands that put the load generators of both ends of a pair where an arm's levels say; nil where
// they say nothing.
func (x *Experiment) placement(pair int, levels map[string]string) map[string][]string {
	if x.localities == nil {
		return nil
	}
	placed := map[string][]string{}
	for kind, at := range x.localities[pair] {
		if argv, err := load.Placement(levels, at); err == nil && len(argv) > 0 { // each was tried
			placed[kind] = argv
		}
	}
	if len(placed) == 0 {
		return nil
	}
	return placed
}
