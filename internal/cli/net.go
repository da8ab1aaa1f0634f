package cli

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

	"github.com/spf13/cobra"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/served"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// The roles of the two ends of a network's tests.
const (
	clientRole = "client"
	serverRole = "server"
)

// netOptions are the flags of net.
type netOptions struct {
	runOptions
	addresses []string
	port      int
	pairs     int
}

func (p *program) netCommand() *cobra.Command {
	var o netOptions
	c := &cobra.Command{
		Use:   "net [SUITE]",
		Short: "Measure a network between clients and servers",
		Long: `Measures a network between clients and servers: what goes through it, with iperf3 and the built-in suite
network, or how many requests are answered a second and how long an answer takes, with sockperf and the
built-in suite requests; or RDMA, with perftest and the built-in suite rdma; or with a suite of your own.

--on client=TARGET and --on server=TARGET say where; either is this machine where it is not given: with
--on server=local it measures this machine's own loopback. Given more than once, the first client
measures with the first server and so on, all at the same time; beside the numbers of each pair stand
those of all together. --pairs N makes N pairs of them, each with a port of its own. Several --address of
one server are taken in turn.

A server listens on the address under test and nowhere else, for one test, and ends with it. Which
address that is says --address; without it, it is the one by which the server was reached over ssh.

With --event something is done on purpose while each test goes on, at --event-on client, server or another
target: a path is cut, a switch restarts. The report says how deep the rate fell, how long nothing came
through, and when it was back. headroom restore undoes it after a crash.

Ctrl-C ends it in order: what was finished is kept, and --resume goes on with it.`,
		Example: `  headroom net --on server=ssh://db1
  headroom net --on server=local
  headroom net --on client=ssh://web1 --on server=ssh://db1 --address 10.0.0.7
  headroom net --on server=ssh://db1 --pairs 8 --set time=30s --set parallel=1
  headroom net --on client=ssh://a --on client=ssh://b --on server=ssh://storage
  headroom net requests --on server=ssh://db1
  headroom net rdma --on server=ssh://db1 --address 10.0.0.7
  headroom net ./my-network.yaml --on server=ssh://db1 --label 'jumbo frames'
  headroom net --on server=ssh://db1 --set time=60s --event '20s: ip link set eth1 down' --undo 'ip link set eth1 up' --event-on client
  headroom net --resume last`,
		Args:              argumentCount(0, 1, "a suite"),
		ValidArgsFunction: completeSuites,
		RunE: func(c *cobra.Command, args []string) error {
			if o.resume != "" {
				for _, name := range append(eventFlags(), "label", "repeat", "order", "seed", "set", "on",
					"address", "port", "pairs") {
					if c.Flags().Changed(name) {
						return usage("--"+name+" can't be changed when a run is resumed",
							"headroom net --resume "+o.resume)
					}
				}
			}
			if len(args) == 0 && !c.Flags().Changed("resume") && len(o.on)+len(o.addresses) == 0 && !o.dryRun.asked() {
				return usage("measure which network? without --on both ends are this machine, "+
					"and its own loopback is measured",
					"for example: headroom net --on server=ssh://db1", "the loopback: headroom net --on server=local",
					"headroom net --dry-run prints the commands")
			}
			return p.net(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.on, "on", nil,
		"where: client=TARGET or server=TARGET, a target is "+p.allKinds().forms()+" (default local)")
	f.StringArrayVar(&o.addresses, "address", nil,
		"of the server, the one under test; once for each server, or several of one, which pairs take in turn")
	f.IntVar(&o.port, "port", served.Port, "that the first server listens on; each further pair takes the next")
	f.IntVar(&o.pairs, "pairs", 0, "how many pairs measure at the same time (default: one for each client, server or "+
		"address)")
	f.StringVar(&o.label, "label", "", "text to find the run by")
	countVar(f, &o.repeat, "repeat", "repetitions of every cell (default: as the suite says)")
	f.StringVar(&o.order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.Uint64Var(&o.seed, "seed", 0, "of the order; the same seed gives the same order (default: drawn)")
	f.StringArrayVar(&o.set, "set", nil,
		"an option of the load generator for every job, like time=30s or parallel=4; may be repeated")
	p.resumeFlag(c, &o.resume, "go on with an interrupted run")
	dryRunFlag(c, &o.dryRun, "say what would be done, and do nothing"+everyCommand)
	eventFlagsOf(&o.events, f, "where events are: client, server or a target; once for all, or for each")
	completeFlag(c, "on", p.targetNames)
	completeFlag(c, "event-on", p.targetNames)
	completeFlag(c, "event", eventNames)
	p.jsonFlag(c)
	c.AddCommand(p.interferenceCommand())
	return c
}

// networkEnd is a client or a server: a target in a role of its own.
type networkEnd struct {
	role, name string
	target     target.Target
	facts      facts.Document
	recorded   lab.RunTarget
}

// network is what is measured between clients and servers: a measurement of each pair, each on its client.
type network struct {
	*program
	options netOptions
	store   *store.Store
	ends    []*networkEnd
	opened  map[string]target.Target
	// programs that both ends must have, and how each is installed; nil for iperf3.
	programs map[string]string
	parts    []*measurement
	pairs    []lab.NetworkPair
}

func newNetwork(p *program, s *store.Store, o netOptions) network {
	return network{program: p, options: o, store: s, opened: map[string]target.Target{}}
}

func (p *program) net(ctx context.Context, o netOptions, args []string) error {
	s, err := p.openStoreFor(o.resume)
	if err != nil {
		return err
	}
	n := newNetwork(p, s, o)
	defer n.close()
	if o.resume != "" {
		return n.resumeRun(ctx, args)
	}
	if err := n.name(); err != nil {
		return err
	}
	su, err := n.suite(args)
	if err != nil {
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
	if err := n.newHeader(ctx, su); err != nil {
		return err
	}
	t := n.multiTarget()
	if t != nil {
		t.join()
		t.run.Network = n.pairs
	}
	return n.execute(ctx, t)
}

// execute measures, or says what would be: one pair by itself, several together.
func (n *network) execute(ctx context.Context, t *multiTargetRun) error {
	n.printSummary()
	switch {
	case t == nil && n.options.dryRun.asked():
		return n.parts[0].printPlan()
	case t == nil:
		return n.parts[0].execute(ctx)
	case n.options.dryRun.asked():
		return t.printPlan()
	}
	return t.execute(ctx)
}

// multiTarget are the pairs as measurements that are carried out together; nil for one.
func (n *network) multiTarget() *multiTargetRun {
	if len(n.parts) < 2 {
		return nil
	}
	return &multiTargetRun{program: n.program, options: n.options.runOptions, store: n.store, parts: n.parts}
}

// name the ends that the command line says.
func (n *network) name() error {
	named := map[string][]string{}
	for _, typed := range n.options.on {
		role, name := roleOf(typed)
		if role != clientRole && role != serverRole {
			return usage("--on "+typed+" does not say which end it is", "--on client="+name, "--on server="+name)
		}
		named[role] = append(named[role], name)
	}
	for _, role := range []string{clientRole, serverRole} {
		if len(named[role]) == 0 {
			named[role] = []string{localTarget}
		}
		for i, name := range named[role] {
			as := role
			if len(named[role]) > 1 {
				as = fmt.Sprintf("%s-%d", role, i+1)
			}
			n.ends = append(n.ends, &networkEnd{role: as, name: name})
		}
	}
	if servers := len(n.of(serverRole)); len(n.options.addresses) > 1 && servers > 1 &&
		len(n.options.addresses) != servers {
		return usage(fmt.Sprintf("%d addresses are named for %s", len(n.options.addresses),
			prose.Count(servers, "server")),
			"name one for each server, in the order of --on")
	}
	return nil
}

// of are the ends of a kind.
func (n *network) of(role string) []*networkEnd {
	var all []*networkEnd
	for _, e := range n.ends {
		if e.role == role || strings.HasPrefix(e.role, role+"-") {
			all = append(all, e)
		}
	}
	return all
}

func (n *network) end(role string) *networkEnd {
	i := slices.IndexFunc(n.ends, func(e *networkEnd) bool { return e.role == role })
	return n.ends[i]
}

// needsOf notes what both ends must have for a suite.
func (n *network) needsOf(su suite.Suite) error {
	su, err := su.With(n.options.set)
	if err != nil {
		return err
	}
	cells, err := su.Cells(lab.NoPlace, false)
	for _, c := range cells {
		n.needs(c.Engine, c.Params)
	}
	return err
}

// needs notes that both ends must have the load generator of a cell.
func (n *network) needs(engine string, params map[string]string) {
	g, ok := served.Of(engine)
	if !ok {
		return
	}
	if n.programs == nil {
		n.programs = map[string]string{}
	}
	n.programs[g.Program(params)] = g.Install
}

// open the targets of all ends, each once, and make sure that the load generators are there: iperf3, where nothing else
// is said.
func (n *network) open(ctx context.Context) error {
	if !n.options.dryRun.asked() {
		var names []string
		for _, e := range n.ends {
			names = append(names, e.name)
		}
		if err := recoverLeftovers(ctx, n.program, n.store, names...); err != nil {
			return err
		}
	}
	for _, e := range n.ends {
		key := e.name
		if n.traits(e.name).Scheduled {
			key = e.role // two ends of one name are two pods
		}
		if n.opened[key] == nil {
			t, err := n.openTarget(ctx, e.name)
			if err != nil {
				return err
			}
			n.opened[key] = t
			if err := n.require(ctx, t); err != nil && !n.options.dryRun.asked() {
				return err
			}
		}
		e.target = n.opened[key]
	}
	for i := range n.pairs { // of a run that is resumed
		if pod, ok := n.end(n.pairs[i].Server).target.(target.Addressed); ok && n.pairs[i].Assigned {
			var err error
			if n.pairs[i].Address, err = pod.Address(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *network) close() {
	for _, t := range n.opened {
		n.closeTarget(t)
	}
}

// require makes sure that the load generators are on a target before anything is begun there.
func (n *network) require(ctx context.Context, t target.Target) error {
	if n.programs == nil {
		n.needs(lab.EngineIperf3, nil)
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

// pair the clients with the servers and their addresses, each in turn, each pair with a port of its own.
func (n *network) pair(ctx context.Context) error {
	clients, servers := n.of(clientRole), n.of(serverRole)
	count := max(len(clients), len(servers), len(n.options.addresses))
	switch {
	case n.options.pairs < 0 || n.options.pairs > suite.MaxPairs:
		return usage(fmt.Sprintf("the number of pairs, %d, is not from 1 to %d", n.options.pairs, suite.MaxPairs))
	case n.options.pairs > 0 && n.options.pairs < count:
		return usage(fmt.Sprintf("too few pairs, %d, for %s, %s and their addresses: some would have no partner",
			n.options.pairs, prose.Count(len(clients), "client"), prose.Count(len(servers), "server")),
			fmt.Sprintf("take at least %d, or name fewer", count))
	case n.options.pairs > 0:
		count = n.options.pairs
	}
	if n.options.port < 1 || n.options.port+count-1 > 65535 {
		return usage(fmt.Sprintf("there are no ports from %d on for %s", n.options.port, prose.Count(count, "pair")))
	}
	for i := range count {
		pair := lab.NetworkPair{Client: clients[i%len(clients)].role, Server: servers[i%len(servers)].role,
			Port: n.options.port + i}
		pair.Assigned = n.assigned(n.end(pair.Server))
		var err error
		if pair.Address, err = n.address(ctx, i, n.end(pair.Client), n.end(pair.Server)); err != nil {
			return err
		}
		n.pairs = append(n.pairs, pair)
	}
	return nil
}

// address that the server of a pair is to listen on: what the command line says, the one that it was given, or the one
// by which it was reached. There are as many on the command line as servers, or all are of the only one.
func (n *network) address(ctx context.Context, pair int, from, to *networkEnd) (string, error) {
	if all := n.options.addresses; len(all) > 0 {
		typed := all[pair%len(all)]
		if _, err := netip.ParseAddr(typed); err != nil {
			return "", usage("--address "+typed+" is no address",
				"write one of the server's own, which ip address shows: 10.0.0.7")
		}
		return typed, nil
	}
	if pod, ok := to.target.(target.Addressed); ok {
		return pod.Address(ctx)
	}
	if from.name == to.name {
		return "127.0.0.1", nil
	}
	// sshd tells of a connection: the client's address and port, then the server's (ssh(1), SSH_CONNECTION).
	at, end := 2, to
	if n.traits(to.name).Local {
		at, end = 0, from
	}
	out, err := end.target.Run(ctx, "printenv", "SSH_CONNECTION")
	if err != nil {
		return "", err
	}
	if fields := strings.Fields(string(out.Stdout)); len(fields) == 4 {
		if a, err := netip.ParseAddr(fields[at]); err == nil && !a.IsLoopback() {
			return fields[at], nil
		}
	}
	return "", usage("it is not known by which address "+to.name+" is to be reached", "name it: --address 10.0.0.7")
}

// assigned says whether the address of a server is the one that it was given when it was made.
func (n *network) assigned(e *networkEnd) bool {
	_, was := e.target.(target.Addressed)
	return was && len(n.options.addresses) == 0
}

// suite that the command line names.
func (n *network) suite(args []string) (suite.Suite, error) {
	name := "network"
	if len(args) > 0 {
		name = args[0]
	}
	su, err := loadSuite(name)
	if err == nil && su.Place != suite.Network {
		err = usage("the suite "+su.Name+" measures no network", "headroom run "+su.Name)
	}
	return su, err
}

// newHeader makes the header of a new run.
func (n *network) newHeader(ctx context.Context, su suite.Suite) error {
	if err := n.snapshotEnds(ctx); err != nil {
		return err
	}
	if n.options.seed == 0 {
		n.options.seed = rand.Uint64()
	}
	id := store.NewID()
	for i := range n.pairs {
		m := n.part(i)
		if err := m.newHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
		m.run.ID, m.run.Design, m.run.Network = id, lab.DesignNet, n.pairs[i:i+1]
		if len(n.pairs) > 1 {
			m.prefixRole()
		} else {
			m.run.Arms[0].Role = clientRole
		}
		m.run.Targets = []lab.RunTarget{n.end(n.pairs[i].Client).recorded, n.end(n.pairs[i].Server).recorded}
		n.parts = append(n.parts, m)
	}
	return n.planEvents()
}

// planEvents takes up the events, which come upon the tests of all pairs.
func (n *network) planEvents() error {
	err := n.parts[0].planEvents(func(on string) (string, error) {
		for _, e := range n.ends {
			if e.role == on {
				return e.name, nil
			}
		}
		switch {
		case on == "" && len(n.opened) == 1:
			return n.ends[0].name, nil
		case n.allKinds().has(on):
			return on, nil
		}
		var hints []string
		for _, e := range n.ends[:min(len(n.ends), maxNamed)] {
			hints = append(hints, "--event-on "+e.role)
		}
		return "", usage("it is not said where the events are",
			append(hints, "--event-on TARGET, which is "+n.allKinds().forms())...)
	})
	for _, m := range n.parts[1:] {
		m.run.Events = slices.Clone(n.parts[0].run.Events)
	}
	return err
}

// snapshotEnds takes down all machines as they are.
func (n *network) snapshotEnds(ctx context.Context) error {
	defer n.Footprint.withLowMemory()()
	for _, e := range n.ends {
		if err := n.snapshotEnd(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (n *network) snapshotEnd(ctx context.Context, e *networkEnd) (err error) {
	if e.facts, err = n.snapshot(ctx, e.target, lab.Place{Kind: lab.NoPlace}); err != nil {
		return err
	}
	e.recorded = lab.RunTarget{Role: e.role, Target: e.name, Place: lab.Place{Kind: lab.NoPlace},
		Facts: withEmulation(e.target, facts.Brief(e.facts.Facts))}
	e.recorded.NotVerified, err = ownArguments(ctx, e.target)
	return err
}

// pairRole is the role of one of several pairs, counted from 0.
func pairRole(i int) string { return fmt.Sprintf("pair-%d", i+1) }

// part is the measurement of a pair. The first one of an end looks after its snapshots.
func (n *network) part(i int) *measurement {
	pair := n.pairs[i]
	client, server := n.end(pair.Client), n.end(pair.Server)
	first := func(role string) bool {
		return !slices.ContainsFunc(n.pairs[:i], func(o lab.NetworkPair) bool {
			return o.Client == role || o.Server == role
		})
	}
	m := &measurement{program: n.program, options: n.options.runOptions, store: n.store, target: client.target,
		before: client.facts, client: client.role,
		server: &serverEnd{Server: runner.Server{Target: server.target, Address: pair.Address, Port: pair.Port,
			Assigned: pair.Assigned, Role: server.role, ClientRole: client.role},
			before: server.facts}}
	m.snapshotElsewhere, m.observer = !first(pair.Client), i > 0
	m.server.snapshotElsewhere = !first(pair.Server) || pair.Server == pair.Client // a loopback has one end
	if len(n.pairs) > 1 {
		m.role = pairRole(i)
	}
	return m
}

// serverEnd is the server that a measurement on a client has.
type serverEnd struct {
	runner.Server
	before facts.Document
	// snapshotElsewhere says that another part of the run keeps its snapshots.
	snapshotElsewhere bool
}

// resumeRun takes up a run that was interrupted.
func (n *network) resumeRun(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("--resume takes the suite from the run", "headroom net --resume "+n.options.resume)
	}
	b, err := n.store.Find(n.options.resume)
	if err != nil {
		return err
	}
	switch {
	case b.Run.Experiment != nil:
		return usage(fmt.Sprintf("run %s was made by headroom %s", b.Run.ID, b.Run.Experiment.Kind),
			b.Run.MadeBy().Resume(n.options.resume))
	case b.Run.Study != nil:
		return usage(fmt.Sprintf("run %s measured %s", b.Run.ID, b.Run.Study.Kind),
			b.Run.MadeBy().Resume(n.options.resume))
	case len(b.Run.Network) == 0 || b.Run.Source != lab.Measured:
		return usage(fmt.Sprintf("run %s measured no network", b.Run.ID), b.Run.MadeBy().Resume(n.options.resume))
	case b.Run.Status != lab.Interrupted:
		return usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status))
	}
	if err := n.readEnds(b); err != nil {
		return err
	}
	for _, c := range b.Run.Cells {
		n.needs(c.Engine, c.Params)
	}
	if err := n.open(ctx); err != nil {
		return err
	}
	for i := range n.pairs {
		n.parts = append(n.parts, n.part(i))
	}
	t := n.multiTarget()
	if t == nil {
		if err := n.parts[0].resumeFrom(ctx, b, b.Run); err != nil {
			return err
		}
	} else if err := t.resumeFrom(ctx, b); err != nil {
		return err
	}
	return n.execute(ctx, t)
}

// readEnds takes pairs and ends from a run.
func (n *network) readEnds(b *store.Bundle) error {
	n.pairs = slices.Clone(b.Run.Network) // addresses may be others now
	for _, t := range b.Run.Targets {
		n.ends = append(n.ends, &networkEnd{role: t.Role, name: t.Target, recorded: t})
	}
	for _, pair := range n.pairs {
		for _, role := range []string{pair.Client, pair.Server} {
			if !slices.ContainsFunc(n.ends, func(e *networkEnd) bool { return e.role == role }) {
				return &lab.Error{What: fmt.Sprintf("run %s names no target for its %s", b.Run.ID, role)}
			}
		}
	}
	return nil
}

// printPairs names the pairs that measure with a suite, the first of many.
func (n *network) printPairs(suiteName string) {
	where := func(e *networkEnd) string {
		if n.traits(e.name).Local {
			return "this machine"
		}
		return e.name
	}
	for i, pair := range n.pairs {
		if i == maxNamed {
			n.print("", fmt.Sprintf("and %d pairs more", len(n.pairs)-i))
			break
		}
		n.print("", fmt.Sprintf("%s from %s to %s at %s, port %d", suiteName, where(n.end(pair.Client)),
			where(n.end(pair.Server)), pair.Address, pair.Port))
	}
}

// printSummary says on standard error what is about to happen.
func (n *network) printSummary() {
	m := n.parts[0]
	n.printPairs(m.run.Suite)
	loads := m.planned() - len(m.saved)
	text := prose.Count(len(m.run.Cells), "cell") + "; " + prose.Count(loads, "test")
	if len(n.pairs) > 1 {
		text += " of each pair, all pairs at once"
	}
	if t := suite.EstimateTime(m.suiteCells(), m.pause()); t > 0 {
		text += "; about " + unit.Duration(t)
	}
	n.print("  ", text)
	m.printEvents()
}

// maxNamed are the pairs that the preface names.
const maxNamed = 4
