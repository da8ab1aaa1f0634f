package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Options are the flags of net.
type Options struct {
	experiment.RunOptions
	Addresses []string
	Port      int
	Pairs     int
}

// End is a client or a server: a target with a role that no other end has.
type End struct {
	Role, Name string
	Target     host.Target
	facts      facts.Document
	Recorded   lab.RunTarget
}

// Network is what is measured between clients and servers: a measurement of each pair, each on its client.
type Network struct {
	App     *app.App
	Options Options
	Store   *store.Store
	Ends    []*End
	// Plan has opened the targets.
	Plan *experiment.Plan
	// programs that both ends must have, and how each is installed; nil for iperf3.
	programs map[string]string
	Parts    []*experiment.Measurement
	Pairs    []lab.NetworkPair
}

// NewNetwork is a network whose ends are not opened yet.
func NewNetwork(p *app.App, s *store.Store, o Options) Network {
	return Network{App: p, Options: o, Store: s}
}

// Name the ends that the command line says.
func (n *Network) Name() error {
	named := map[string][]string{}
	for _, typed := range n.Options.On {
		role, name := app.RoleOf(typed)
		if role != experiment.ClientRole && role != experiment.ServerRole {
			return app.Usage("--on "+typed+" does not say which end it is", "--on client="+name, "--on server="+name)
		}
		named[role] = append(named[role], name)
	}
	for _, role := range []string{experiment.ClientRole, experiment.ServerRole} {
		if len(named[role]) == 0 {
			named[role] = []string{app.LocalTarget}
		}
		for i, name := range named[role] {
			as := role
			if len(named[role]) > 1 {
				as = fmt.Sprintf("%s-%d", role, i+1)
			}
			n.Ends = append(n.Ends, &End{Role: as, Name: name})
		}
	}
	if servers := len(n.Of(experiment.ServerRole)); len(n.Options.Addresses) > 1 && servers > 1 &&
		len(n.Options.Addresses) != servers {
		return app.Usage(fmt.Sprintf("%d addresses are named for %s", len(n.Options.Addresses),
			prose.Count(servers, "server")),
			"name one for each server, in the order of --on")
	}
	return nil
}

// Of are the ends of a kind.
func (n *Network) Of(role string) []*End {
	var all []*End
	for _, e := range n.Ends {
		if e.Role == role || strings.HasPrefix(e.Role, role+"-") {
			all = append(all, e)
		}
	}
	return all
}

// End is the one in a role, which must be there.
func (n *Network) End(role string) *End {
	i := slices.IndexFunc(n.Ends, func(e *End) bool { return e.Role == role })
	return n.Ends[i]
}

// NeedsOf notes what both ends must have for a suite.
func (n *Network) NeedsOf(su suite.Suite) error {
	su, err := su.With(n.Options.Set)
	if err != nil {
		return err
	}
	cells, err := su.Cells(lab.NoPlace, false)
	for _, c := range cells {
		n.Needs(c.Engine, c.Params)
	}
	return err
}

// Needs notes that both ends must have the load generator of a cell.
func (n *Network) Needs(engine string, params map[string]string) {
	g, ok := served.Of(engine)
	if !ok {
		return
	}
	if n.programs == nil {
		n.programs = map[string]string{}
	}
	n.programs[g.Program(params)] = g.Install
}

// Names returns the names of the targets of all ends.
func (n *Network) Names() []string {
	var names []string
	for _, e := range n.Ends {
		names = append(names, e.Name)
	}
	return names
}

// Open opens the targets of all ends for a plan, each once, and makes sure that the load generators are there: iperf3
// unless others are named.
func (n *Network) Open(ctx context.Context, p *experiment.Plan) (err error) {
	n.Plan = p
	for _, e := range n.Ends {
		key := e.Name
		if n.App.Traits(e.Name).Scheduled {
			key = e.Role // two ends of one name are two pods
		}
		known := p.Opened(key) != nil
		if e.Target, err = p.OpenWith(ctx, key, e.Name, n.App.OpenTarget); err != nil {
			return err
		}
		if !known {
			if err := n.require(ctx, e.Target); err != nil && !n.Options.DryRun.Asked() {
				return err
			}
		}
	}
	for i := range n.Pairs { // of a run that is resumed
		if pod, ok := n.End(n.Pairs[i].Server).Target.(host.Addressed); ok && n.Pairs[i].Assigned {
			if n.Pairs[i].Address, err = pod.Address(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// require makes sure that the load generators are on a target before anything is begun there.
func (n *Network) require(ctx context.Context, t host.Target) error {
	if n.programs == nil {
		n.Needs(lab.EngineIperf3, nil)
	}
	for _, program := range slices.Sorted(maps.Keys(n.programs)) {
		argv := []string{program, "--version"}
		out, err := t.Run(ctx, argv...)
		// The programs of perftest tell their version with an exit status of 1.
		if err == nil && (out.ExitCode == 0 || bytes.HasPrefix(out.Stdout, []byte("Version:"))) {
			continue
		}
		e := &lab.Error{What: program + " can't be used", Target: host.RemoteName(t), Command: argv,
			Output: string(out.Stderr), Err: err, Hints: []string{"install it: " + n.programs[program]}}
		if own, ok := errors.AsType[*lab.Error](err); ok {
			e.Err = own.Err // the command is named already
		}
		return e
	}
	return nil
}

// SnapshotEnds takes down all machines as they are.
func (n *Network) SnapshotEnds(ctx context.Context) error {
	defer n.App.Footprint.WithLowMemory()()
	for _, e := range n.Ends {
		if err := n.SnapshotEnd(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// SnapshotEnd reads the facts of an end, and keeps what a run records of it.
func (n *Network) SnapshotEnd(ctx context.Context, e *End) (err error) {
	if e.facts, err = n.App.Snapshot(ctx, e.Target, lab.Place{Kind: lab.NoPlace}); err != nil {
		return err
	}
	e.Recorded = lab.RunTarget{Role: e.Role, Target: e.Name, Place: lab.Place{Kind: lab.NoPlace},
		Facts: app.WithEmulation(e.Target, facts.Brief(e.facts.Facts))}
	e.Recorded.NotVerified, err = app.OwnArguments(ctx, e.Target)
	return err
}

// ReadEnds takes pairs and ends from a run.
func (n *Network) ReadEnds(b *store.Bundle) error {
	n.Pairs = slices.Clone(b.Run.Network) // addresses may be others now
	for _, t := range b.Run.Targets {
		n.Ends = append(n.Ends, &End{Role: t.Role, Name: t.Target, Recorded: t})
	}
	for _, pair := range n.Pairs {
		for _, role := range []string{pair.Client, pair.Server} {
			if !slices.ContainsFunc(n.Ends, func(e *End) bool { return e.Role == role }) {
				return &lab.Error{What: fmt.Sprintf("run %s names no target for its %s", b.Run.ID, role)}
			}
		}
	}
	return nil
}

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

// VariedMachine is one whose settings an experiment varies: the one under test, or an end of a network.
type VariedMachine struct {
	// Role and Kind name an end of a network, of which there may be several of a kind: client-2, a client. Both
	// are empty for the machine of a storage.
	Role, Kind string
	// Where its settings are found: once for each adapter under test.
	Where []scheme.Scope
	// Settings are its live factors, by name: one that is about the adapter under test is found on each of them.
	Settings map[string][]scheme.Setting
	Journal  *journal.Journal
}

// Find the settings of a machine that a choice is about; none where it is about another.
func (m *VariedMachine) Find(ctx context.Context, c factor.Choice) ([]scheme.Setting, error) {
	if c.Role != "" && c.Role != m.Kind {
		return nil, nil
	}
	places := m.Where
	if !strings.Contains(c.Factor(), scheme.UnderTest) {
		places = places[:1]
	}
	var settings []scheme.Setting
	for _, w := range places {
		s, err := factor.Bind(ctx, w, c.Factor())
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
	}
	return settings, nil
}
