package ladderrun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// addressGroups returns the addresses of --address and --group, and the groups of several.
func (l *networkLadder) addressGroups(ctx context.Context) (addresses []string, groups []lab.DesignGroup, err error) {
	add := func(flag, list string) ([]string, error) {
		all := strings.Split(list, ",")
		for _, a := range all {
			if _, err := netip.ParseAddr(a); err != nil {
				return nil, app.Usage(flag+": "+strconv.Quote(a)+" is no address",
					"write one of the server's own, which ip address shows: 10.0.0.7")
			}
			if !slices.Contains(addresses, a) {
				addresses = append(addresses, a)
			}
		}
		return all, nil
	}
	for _, typed := range l.options.Groups {
		name, over := app.RoleOf(typed)
		if name == "" || over == "" {
			return nil, nil, app.Usage("--group "+typed+" is no name with addresses", "--group data=10.0.3.1,10.0.4.1")
		}
		all, err := add("--group "+typed, over)
		if err != nil {
			return nil, nil, err
		}
		groups = append(groups, lab.DesignGroup{Name: name, Over: all})
	}
	for _, typed := range l.options.Addresses {
		if _, err := add("--address "+typed, typed); err != nil {
			return nil, nil, err
		}
	}
	if len(addresses) == 0 {
		address, err := l.Address(ctx, 0, l.Of(experiment.ClientRole)[0], l.Of(experiment.ServerRole)[0])
		if err != nil {
			return nil, nil, err
		}
		addresses = []string{address}
	}
	return addresses, groups, nil
}

// rungs makes the pairs, and chooses the pairs that each rung loads.
func (l *networkLadder) rungs(ctx context.Context) error {
	addresses, groups, err := l.addressGroups(ctx)
	if err != nil {
		return err
	}
	each := max(1, l.options.Pairs)
	for _, a := range addresses {
		server, err := l.ListenerOf(a)
		if err != nil {
			return err
		}
		port := portPairs{name: a}
		for range each {
			port.pairs = append(port.pairs, len(l.Pairs))
			l.Join(server, a)
			l.Pairs[len(l.Pairs)-1].Assigned = len(l.options.Addresses)+len(l.options.Groups) == 0 &&
				l.Assigned(l.End(server))
		}
		l.ports = append(l.ports, port)
	}
	if err := l.addLoopbacks(ctx, len(l.Pairs)); err != nil {
		return err
	}
	for _, b := range l.loopbacks {
		l.addRung("", "loopback-"+b.name, ladder.Loopback, b.name)
	}
	l.addRung("", "flow", ladder.Flow, addresses[0])
	for i, a := range addresses {
		l.addRung("", fmt.Sprintf("port-%d", i+1), ladder.Port, a)
	}
	for _, g := range groups {
		if len(g.Over) > 1 && len(g.Over) < len(addresses) {
			l.addRung("", "group-"+g.Name, ladder.Ports, g.Over...)
		}
	}
	if len(addresses) > 1 {
		l.addRung("", "all", ladder.Ports, addresses...)
	}
	l.addBothDirections("", "both-ways", addresses...)
	return nil
}

// addLoopbacks makes the pairs within each machine, as many as between two machines.
func (l *networkLadder) addLoopbacks(ctx context.Context, each int) error {
	machines, err := l.machines(ctx)
	if err != nil {
		return err
	}
	between := len(l.Pairs)
	for _, e := range machines {
		loopback := portPairs{name: e.Role}
		for range each {
			loopback.pairs = append(loopback.pairs, len(l.Pairs))
			l.Pairs = append(l.Pairs, lab.NetworkPair{Client: e.Role, Server: e.Role, Address: "127.0.0.1",
				Port: l.options.Port + len(l.Pairs)})
		}
		l.loopbacks = append(l.loopbacks, loopback)
	}
	if between > suite.MaxPairs || l.options.Port+len(l.Pairs) > 65536 {
		return app.Usage(fmt.Sprintf("%s are too many", prose.Count(between, "pair")),
			"take fewer with --pairs, or fewer addresses")
	}
	return nil
}

// machines returns the ends whose loopback is measured: the servers, then the clients, each machine once. A pod has a
// separate loopback and separate limits.
func (l *networkLadder) machines(ctx context.Context) ([]*network.End, error) {
	var list []*network.End
	known := map[string]bool{}
	for _, e := range append(l.Of(experiment.ServerRole), l.Of(experiment.ClientRole)...) {
		files, err := e.Target.ReadFiles(ctx, host.BootIDFile)
		if err != nil {
			return nil, err
		}
		machine := strings.TrimSpace(string(files[host.BootIDFile].Data))
		if _, shared := e.Target.(host.SharesKernel); shared {
			machine = e.Role
		} else if machine == "" {
			machine = e.Name
		}
		if !known[machine] {
			list = append(list, e)
		}
		known[machine] = true
	}
	return list, nil
}

// addRung adds a rung in both directions, one after the other; a loopback has only one.
func (l *networkLadder) addRung(network ladder.Network, id string, kind ladder.Kind, over ...string) {
	for _, direction := range l.directions() {
		o := lab.Combination{ID: id + "-" + direction, Rung: id, Kind: string(kind), Over: over, Direction: direction,
			Network: string(network)}
		o.Title = o.Rung + ", " + direction
		if kind == ladder.Loopback {
			o.ID, o.Title, o.Direction = id, id, lab.Send
		}
		l.Design.Combinations = append(l.Design.Combinations, o)
		if kind == ladder.Loopback {
			return
		}
	}
}

// addBothDirections adds the rung of all pairs in both directions at the same time.
func (l *networkLadder) addBothDirections(network ladder.Network, id string, over ...string) {
	if l.options.Direction == results.BothDirections {
		l.Design.Combinations = append(l.Design.Combinations,
			lab.Combination{ID: id, Title: "all, both ways at once", Rung: id,
				Kind: string(ladder.BothWays), Over: over,
				Direction: results.BothDirections, Network: string(network)})
	}
}

// directions returns the measured directions.
func (l *networkLadder) directions() []string {
	if l.options.Direction == results.BothDirections {
		return []string{lab.Send, lab.Receive}
	}
	return []string{l.options.Direction}
}

// loadedPairs returns the pairs that a combination loads.
func (l *networkLadder) loadedPairs(o lab.Combination) []int {
	var pairs []int
	from := l.ports
	if o.Kind == string(ladder.Loopback) {
		from = l.loopbacks
	}
	for _, name := range o.Over {
		for _, p := range from {
			if p.name == name {
				pairs = append(pairs, p.pairs...)
			}
		}
	}
	if o.Kind == string(ladder.Flow) {
		pairs = pairs[:1]
	}
	return pairs
}

// newParts makes the measurement of each pair, with a cell for each combination that loads it.
func (l *networkLadder) newParts() error {
	if l.Network.Options.Seed == 0 {
		l.Network.Options.Seed = rand.Uint64()
	}
	su, err := l.OneLoad("time=5s")
	if err != nil {
		return err
	}
	for _, name := range []string{"reverse", "bidir"} {
		if su.Jobs[0].Network.Options[name] != "" {
			return app.Usage("--set "+name+" says the direction, and a ladder climbs in both", "leave it out")
		}
	}
	id := store.NewID()
	for i := range l.Pairs {
		m := l.Part(i)
		m.Role, m.Options.Set = lab.PairRole(i), nil // the options are in the suite
		if err := m.NewHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
		like := m.Run.Cells[0]
		m.Run.ID, m.Run.Cells = id, nil
		for _, o := range l.Design.Combinations {
			if slices.Contains(l.loadedPairs(o), i) {
				c := like
				c.ID, c.Job, c.Params, c.Repetitions = o.ID, o.ID, directed(like.Params, o), l.options.Passes
				m.Run.Cells = append(m.Run.Cells, c)
			}
		}
		l.SetDesign(m, "network ladder", l.options.Passes)
		l.Parts = append(l.Parts, m)
	}
	return nil
}

// directed returns the options of a test in a combination.
func directed(params map[string]string, o lab.Combination) map[string]string {
	own := map[string]string{}
	for name, v := range params {
		own[name] = v
	}
	switch {
	case o.Direction == lab.Receive:
		own["reverse"] = "1"
	case o.Direction == results.BothDirections:
		own["bidir"] = "1"
	}
	if o.Kind == string(ladder.Flow) {
		own["parallel"] = "1"
	}
	return own
}
