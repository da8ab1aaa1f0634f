package network

import (
	"context"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/facts/network"
)

// Machines are the ends of the network, the clients first, each with the adapters that the tests take, those of several
// pairs once. A client and a server may be one target: what the journal of the first has changed there is in effect for
// the second already.
func (n *Network) Machines(ctx context.Context) ([]*VariedMachine, error) {
	var all []*VariedMachine
	add := func(kind, role string, adapters []string) {
		t := n.End(role).Target
		i := slices.IndexFunc(all, func(m *VariedMachine) bool {
			return m.Kind == kind && m.Where[0].Target == t
		})
		if i < 0 {
			i, all = len(all),
				append(all, &VariedMachine{Role: role, Kind: kind, Where: []scheme.Scope{{Target: t}}})
		}
		m := all[i]
		for _, adapter := range adapters {
			switch {
			case m.Where[0].Adapter == "":
				m.Where[0].Adapter = adapter
			case !slices.ContainsFunc(m.Where, func(w scheme.Scope) bool { return w.Adapter == adapter }):
				m.Where = append(m.Where, scheme.Scope{Target: t, Adapter: adapter})
			}
		}
	}
	looked := map[string]bool{}
	for _, pair := range n.Pairs {
		key := pair.Client + " " + pair.Server + " " + pair.Address
		if looked[key] {
			continue
		}
		looked[key] = true
		at, there, err := network.FindPorts(ctx, n.End(pair.Client).Target, n.End(pair.Server).Target, pair.Address)
		if err != nil {
			return nil, err
		}
		add(experiment.ClientRole, pair.Client, at.Expected)
		add(experiment.ServerRole, pair.Server, there.Expected)
	}
	slices.SortStableFunc(all, func(a, b *VariedMachine) int { return strings.Compare(a.Kind, b.Kind) })
	return all, nil
}
