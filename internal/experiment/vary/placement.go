package vary

import (
	"context"
	"slices"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/factor"
	ports "github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// placements has the locality of the adapters of each pair, of its client and its server; nil if nothing depends on it.
type placements []map[string]factor.Locality

// locate finds the locality of the adapters at both ends of each pair, if a factor depends on it, and tries each
// placement there.
func locate(ctx context.Context, n *network.Network, choices []factor.Choice) (placements, error) {
	pins := slices.DeleteFunc(slices.Clone(choices), func(c factor.Choice) bool {
		return c.Scheme.Name != experiment.PinScheme
	})
	if len(pins) == 0 {
		return nil, nil
	}
	var all placements
	known := map[string]map[string]factor.Locality{} // for pairs that differ in their port only
	for _, pair := range n.Pairs {
		key := pair.Client + " " + pair.Server + " " + pair.Address
		if known[key] == nil {
			ends, err := localitiesOf(ctx, n, pair, pins)
			if err != nil {
				return nil, err
			}
			known[key] = ends
		}
		all = append(all, known[key])
	}
	return all, nil
}

// localitiesOf returns the locality of the adapters of a client and a server.
func localitiesOf(ctx context.Context, n *network.Network, pair lab.NetworkPair,
	pins []factor.Choice) (map[string]factor.Locality, error) {
	client, server := n.End(pair.Client).Target, n.End(pair.Server).Target
	at, there, err := ports.FindPorts(ctx, client, server, pair.Address)
	if err != nil {
		return nil, err
	}
	ends := map[string]factor.Locality{}
	for _, e := range []struct {
		kind   string
		target host.Target
		ports  []string
	}{{experiment.ClientRole, client, at.Expected}, {experiment.ServerRole, server, there.Expected}} {
		if ends[e.kind], err = experiment.LocalityOf(ctx, e.target, e.ports); err != nil {
			return nil, err
		}
		for _, c := range pins {
			for _, level := range c.Levels {
				if err := experiment.TryPlacement(ctx, e.target, c.Factor(), level, ends[e.kind]); err != nil {
					return nil, err
				}
			}
		}
	}
	return ends, nil
}

// of returns the commands that place the load generators of both ends of a pair as an arm's levels require; nil if they
// require nothing.
func (p placements) of(pair int, levels map[string]string) map[string][]string {
	if p == nil {
		return nil
	}
	placed := map[string][]string{}
	for kind, at := range p[pair] {
		if argv, err := factor.Placement(levels, at); err == nil && len(argv) > 0 { // each was tried
			placed[kind] = argv
		}
	}
	if len(placed) == 0 {
		return nil
	}
	return placed
}

// setPeerCells gives the peers of a measurement the cells of its run, with each pair's own placement of load
// generators.
func (p placements) setPeerCells(under *experiment.Measurement) {
	for i, m := range under.Peers {
		m.Run.Cells = slices.Clone(under.Run.Cells)
		for j := range m.Run.Cells {
			c := &m.Run.Cells[j]
			c.Placement = p.of(i+1, armOf(under.Run, c.Arm).Levels)
		}
	}
}
