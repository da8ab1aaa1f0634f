package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/experiment/parallel"
	"headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/served"
	"headroom/internal/prose"
	"headroom/internal/recovery"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// Machines are the ends of the network, the clients first, each with the adapters that the tests take, those of several
// pairs once. A client and a server may be one target: what the journal of the first has changed there is in effect for
// the second already.
func (n *Network) Machines(ctx context.Context) ([]*experiment.VariedMachine, error) {
	var all []*experiment.VariedMachine
	add := func(kind, role string, adapters []string) {
		t := n.End(role).Target
		i := slices.IndexFunc(all, func(m *experiment.VariedMachine) bool {
			return m.Kind == kind && m.Where[0].Target == t
		})
		if i < 0 {
			i, all = len(all),
				append(all, &experiment.VariedMachine{Role: role, Kind: kind, Where: []factor.Scope{{Target: t}}})
		}
		m := all[i]
		for _, adapter := range adapters {
			switch {
			case m.Where[0].Adapter == "":
				m.Where[0].Adapter = adapter
			case !slices.ContainsFunc(m.Where, func(w factor.Scope) bool { return w.Adapter == adapter }):
				m.Where = append(m.Where, factor.Scope{Target: t, Adapter: adapter})
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
		at, there, err := facts.FindPorts(ctx, n.End(pair.Client).Target, n.End(pair.Server).Target, pair.Address)
		if err != nil {
			return nil, err
		}
		add(experiment.ClientRole, pair.Client, at.Expected)
		add(experiment.ServerRole, pair.Server, there.Expected)
	}
	slices.SortStableFunc(all, func(a, b *experiment.VariedMachine) int { return strings.Compare(a.Kind, b.Kind) })
	return all, nil
}

// Options are the flags of net.
type Options struct {
	experiment.RunOptions
	Addresses []string
	Port      int
	Pairs     int
}

// End is a client or a server: a target in a role of its own.
type End struct {
	Role, Name string
	Target     target.Target
	facts      facts.Document
	Recorded   lab.RunTarget
}

// Network is what is measured between clients and servers: a measurement of each pair, each on its client.
type Network struct {
	*app.App
	Options Options
	Store   *store.Store
	Ends    []*End
	Opened  map[string]target.Target
	// programs that both ends must have, and how each is installed; nil for iperf3.
	programs map[string]string
	Parts    []*experiment.Measurement
	Pairs    []lab.NetworkPair
}

// NewNetwork is a network whose ends are not opened yet.
func NewNetwork(p *app.App, s *store.Store, o Options) Network {
	return Network{App: p, Options: o, Store: s, Opened: map[string]target.Target{}}
}

// Execute measures, or says what would be: one pair by itself, several together.
func (n *Network) Execute(ctx context.Context, t *parallel.MultiTargetRun) error {
	n.printSummary()
	switch {
	case t == nil && n.Options.DryRun.Asked():
		return n.Parts[0].PrintPlan()
	case t == nil:
		return n.Parts[0].Execute(ctx)
	case n.Options.DryRun.Asked():
		return t.PrintPlan()
	}
	return t.Execute(ctx)
}

// MultiTarget are the pairs as measurements that are carried out together; nil for one.
func (n *Network) MultiTarget() *parallel.MultiTargetRun {
	if len(n.Parts) < 2 {
		return nil
	}
	return &parallel.MultiTargetRun{App: n.App, Options: n.Options.RunOptions, Store: n.Store, Parts: n.Parts}
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

// Open the targets of all ends, each once, and make sure that the load generators are there: iperf3, where nothing else
// is said.
func (n *Network) Open(ctx context.Context) error {
	if !n.Options.DryRun.Asked() {
		var names []string
		for _, e := range n.Ends {
			names = append(names, e.Name)
		}
		if err := recovery.RecoverLeftovers(ctx, n.App, n.Store, names...); err != nil {
			return err
		}
	}
	for _, e := range n.Ends {
		key := e.Name
		if n.Traits(e.Name).Scheduled {
			key = e.Role // two ends of one name are two pods
		}
		if n.Opened[key] == nil {
			t, err := n.OpenTarget(ctx, e.Name)
			if err != nil {
				return err
			}
			n.Opened[key] = t
			if err := n.require(ctx, t); err != nil && !n.Options.DryRun.Asked() {
				return err
			}
		}
		e.Target = n.Opened[key]
	}
	for i := range n.Pairs { // of a run that is resumed
		if pod, ok := n.End(n.Pairs[i].Server).Target.(target.Addressed); ok && n.Pairs[i].Assigned {
			var err error
			if n.Pairs[i].Address, err = pod.Address(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close closes the targets that were opened.
func (n *Network) Close() {
	for _, t := range n.Opened {
		n.CloseTarget(t)
	}
}

// require makes sure that the load generators are on a target before anything is begun there.
func (n *Network) require(ctx context.Context, t target.Target) error {
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
		e := &lab.Error{What: program + " can't be used", Target: target.RemoteName(t), Command: argv,
			Output: string(out.Stderr), Err: err, Hints: []string{"install it: " + n.programs[program]}}
		if own, ok := errors.AsType[*lab.Error](err); ok {
			e.Err = own.Err // the command is told already
		}
		return e
	}
	return nil
}

// Pair the clients with the servers and their addresses, each in turn, each pair with a port of its own.
func (n *Network) Pair(ctx context.Context) error {
	clients, servers := n.Of(experiment.ClientRole), n.Of(experiment.ServerRole)
	count := max(len(clients), len(servers), len(n.Options.Addresses))
	switch {
	case n.Options.Pairs < 0 || n.Options.Pairs > suite.MaxPairs:
		return app.Usage(fmt.Sprintf("the number of pairs, %d, is not from 1 to %d", n.Options.Pairs, suite.MaxPairs))
	case n.Options.Pairs > 0 && n.Options.Pairs < count:
		return app.Usage(fmt.Sprintf("too few pairs, %d, for %s, %s and their addresses: some would have no partner",
			n.Options.Pairs, prose.Count(len(clients), "client"), prose.Count(len(servers), "server")),
			fmt.Sprintf("take at least %d, or name fewer", count))
	case n.Options.Pairs > 0:
		count = n.Options.Pairs
	}
	if n.Options.Port < 1 || n.Options.Port+count-1 > 65535 {
		return app.Usage(fmt.Sprintf("there are no ports from %d on for %s", n.Options.Port,
			prose.Count(count, "pair")))
	}
	for i := range count {
		pair := lab.NetworkPair{Client: clients[i%len(clients)].Role, Server: servers[i%len(servers)].Role,
			Port: n.Options.Port + i}
		pair.Assigned = n.Assigned(n.End(pair.Server))
		var err error
		if pair.Address, err = n.Address(ctx, i, n.End(pair.Client), n.End(pair.Server)); err != nil {
			return err
		}
		n.Pairs = append(n.Pairs, pair)
	}
	return nil
}

// Address that the server of a pair is to listen on: what the command line says, the one that it was given, or the one
// by which it was reached. There are as many on the command line as servers, or all are of the only one.
func (n *Network) Address(ctx context.Context, pair int, from, to *End) (string, error) {
	if all := n.Options.Addresses; len(all) > 0 {
		typed := all[pair%len(all)]
		if _, err := netip.ParseAddr(typed); err != nil {
			return "", app.Usage("--address "+typed+" is no address",
				"write one of the server's own, which ip address shows: 10.0.0.7")
		}
		return typed, nil
	}
	if pod, ok := to.Target.(target.Addressed); ok {
		return pod.Address(ctx)
	}
	if from.Name == to.Name {
		return "127.0.0.1", nil
	}
	// sshd tells of a connection: the client's address and port, then the server's (ssh(1), SSH_CONNECTION).
	at, end := 2, to
	if n.Traits(to.Name).Local {
		at, end = 0, from
	}
	out, err := end.Target.Run(ctx, "printenv", "SSH_CONNECTION")
	if err != nil {
		return "", err
	}
	if fields := strings.Fields(string(out.Stdout)); len(fields) == 4 {
		if a, err := netip.ParseAddr(fields[at]); err == nil && !a.IsLoopback() {
			return fields[at], nil
		}
	}
	return "", app.Usage("it is not known by which address "+to.Name+" is to be reached", "name it: --address 10.0.0.7")
}

// Assigned says whether the address of a server is the one that it was given when it was made.
func (n *Network) Assigned(e *End) bool {
	_, was := e.Target.(target.Addressed)
	return was && len(n.Options.Addresses) == 0
}

// Suite that the command line names.
func (n *Network) Suite(args []string) (suite.Suite, error) {
	name := "network"
	if len(args) > 0 {
		name = args[0]
	}
	su, err := experiment.LoadSuite(name)
	if err == nil && su.Place != suite.Network {
		err = app.Usage("the suite "+su.Name+" measures no network", "headroom run "+su.Name)
	}
	return su, err
}

// NewHeader makes the header of a new run.
func (n *Network) NewHeader(ctx context.Context, su suite.Suite) error {
	if err := n.SnapshotEnds(ctx); err != nil {
		return err
	}
	if n.Options.Seed == 0 {
		n.Options.Seed = rand.Uint64()
	}
	id := store.NewID()
	for i := range n.Pairs {
		m := n.Part(i)
		if err := m.NewHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
		m.Run.ID, m.Run.Design, m.Run.Network = id, lab.DesignNet, n.Pairs[i:i+1]
		if len(n.Pairs) > 1 {
			m.PrefixRole()
		} else {
			m.Run.Arms[0].Role = experiment.ClientRole
		}
		m.Run.Targets = []lab.RunTarget{n.End(n.Pairs[i].Client).Recorded, n.End(n.Pairs[i].Server).Recorded}
		n.Parts = append(n.Parts, m)
	}
	return n.planEvents()
}

// PlanEvents takes up the events, which come upon the tests of all pairs.
func (n *Network) planEvents() error {
	err := n.Parts[0].PlanEvents(func(on string) (string, error) {
		for _, e := range n.Ends {
			if e.Role == on {
				return e.Name, nil
			}
		}
		switch {
		case on == "" && len(n.Opened) == 1:
			return n.Ends[0].Name, nil
		case n.AllKinds().Has(on):
			return on, nil
		}
		var hints []string
		for _, e := range n.Ends[:min(len(n.Ends), app.MaxNamed)] {
			hints = append(hints, "--event-on "+e.Role)
		}
		return "", app.Usage("it is not said where the events are",
			append(hints, "--event-on TARGET, which is "+n.AllKinds().Forms())...)
	})
	for _, m := range n.Parts[1:] {
		m.Run.Events = slices.Clone(n.Parts[0].Run.Events)
	}
	return err
}

// SnapshotEnds takes down all machines as they are.
func (n *Network) SnapshotEnds(ctx context.Context) error {
	defer n.Footprint.WithLowMemory()()
	for _, e := range n.Ends {
		if err := n.SnapshotEnd(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// SnapshotEnd reads the facts of an end, and keeps what a run records of it.
func (n *Network) SnapshotEnd(ctx context.Context, e *End) (err error) {
	if e.facts, err = n.Snapshot(ctx, e.Target, lab.Place{Kind: lab.NoPlace}); err != nil {
		return err
	}
	e.Recorded = lab.RunTarget{Role: e.Role, Target: e.Name, Place: lab.Place{Kind: lab.NoPlace},
		Facts: app.WithEmulation(e.Target, facts.Brief(e.facts.Facts))}
	e.Recorded.NotVerified, err = app.OwnArguments(ctx, e.Target)
	return err
}

// PairRole is the role of one of several pairs, counted from 0.
func PairRole(i int) string { return fmt.Sprintf("pair-%d", i+1) }

// Part is the measurement of a pair. The first one of an end looks after its snapshots.
func (n *Network) Part(i int) *experiment.Measurement {
	pair := n.Pairs[i]
	client, server := n.End(pair.Client), n.End(pair.Server)
	first := func(role string) bool {
		return !slices.ContainsFunc(n.Pairs[:i], func(o lab.NetworkPair) bool {
			return o.Client == role || o.Server == role
		})
	}
	m := &experiment.Measurement{App: n.App, Options: n.Options.RunOptions, Store: n.Store, Target: client.Target,
		Before: client.facts, Client: client.Role,
		Server: &experiment.ServerEnd{Server: runner.Server{Target: server.Target, Address: pair.Address,
			Port:     pair.Port,
			Assigned: pair.Assigned, Role: server.Role, ClientRole: client.Role},
			Before: server.facts}}
	m.SnapshotElsewhere, m.Observer = !first(pair.Client), i > 0
	m.Server.SnapshotElsewhere = !first(pair.Server) || pair.Server == pair.Client // a loopback has one end
	if len(n.Pairs) > 1 {
		m.Role = PairRole(i)
	}
	return m
}

// ResumeRun takes up a run that was interrupted.
func (n *Network) ResumeRun(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return app.Usage("--resume takes the suite from the run", "headroom net --resume "+n.Options.Resume)
	}
	b, err := n.Store.Find(n.Options.Resume)
	if err != nil {
		return err
	}
	switch {
	case b.Run.Experiment != nil:
		return app.Usage(fmt.Sprintf("run %s was made by headroom %s", b.Run.ID, b.Run.Experiment.Kind),
			b.Run.MadeBy().Resume(n.Options.Resume))
	case b.Run.Study != nil:
		return app.Usage(fmt.Sprintf("run %s measured %s", b.Run.ID, b.Run.Study.Kind),
			b.Run.MadeBy().Resume(n.Options.Resume))
	case len(b.Run.Network) == 0 || b.Run.Source != lab.Measured:
		return app.Usage(fmt.Sprintf("run %s measured no network", b.Run.ID), b.Run.MadeBy().Resume(n.Options.Resume))
	case b.Run.Status != lab.Interrupted:
		return app.Usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status))
	}
	if err := n.ReadEnds(b); err != nil {
		return err
	}
	for _, c := range b.Run.Cells {
		n.Needs(c.Engine, c.Params)
	}
	if err := n.Open(ctx); err != nil {
		return err
	}
	for i := range n.Pairs {
		n.Parts = append(n.Parts, n.Part(i))
	}
	t := n.MultiTarget()
	if t == nil {
		if err := n.Parts[0].ResumeFrom(ctx, b, b.Run); err != nil {
			return err
		}
	} else if err := t.ResumeFrom(ctx, b); err != nil {
		return err
	}
	return n.Execute(ctx, t)
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

// PrintPairs names the pairs that measure with a suite, the first of many.
func (n *Network) PrintPairs(suiteName string) {
	where := func(e *End) string {
		if n.Traits(e.Name).Local {
			return "this machine"
		}
		return e.Name
	}
	for i, pair := range n.Pairs {
		if i == app.MaxNamed {
			n.Print("", fmt.Sprintf("and %d pairs more", len(n.Pairs)-i))
			break
		}
		n.Print("", fmt.Sprintf("%s from %s to %s at %s, port %d", suiteName, where(n.End(pair.Client)),
			where(n.End(pair.Server)), pair.Address, pair.Port))
	}
}

// PrintSummary says on standard error what is about to happen.
func (n *Network) printSummary() {
	m := n.Parts[0]
	n.PrintPairs(m.Run.Suite)
	loads := m.Planned() - len(m.Saved)
	text := prose.Count(len(m.Run.Cells), "cell") + "; " + prose.Count(loads, "test")
	if len(n.Pairs) > 1 {
		text += " of each pair, all pairs at once"
	}
	if t := suite.EstimateTime(m.SuiteCells(), m.Pause()); t > 0 {
		text += "; about " + unit.Duration(t)
	}
	n.Print("  ", text)
	m.PrintEvents()
}
