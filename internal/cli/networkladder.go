package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/ceiling"
	"headroom/internal/lab"
	"headroom/internal/ladder"
	"headroom/internal/load/iperf3"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
)

// networkLadderKind is the kind of study that goes up from the loopback of a machine to all its ports, both ways.
const networkLadderKind = "ladder"

// The directions in which a network is climbed, seen from the clients.
const bothDirections = "both"

// ofNetwork says whether the targets of a ladder are the ends of a network.
func (o ladderOptions) ofNetwork() bool {
	return len(o.addresses) > 0 || len(o.groups) > 0 || slices.ContainsFunc(o.on, func(typed string) bool {
		role, _ := roleOf(typed)
		return role == clientRole || role == serverRole
	})
}

// networkLadder is the rungs of a network, which are combinations of pairs in one run.
type networkLadder struct {
	concurrentNetwork
	options ladderOptions
	// ports are the pairs of each address, by their place, and loopbacks those of each machine.
	ports     []portPairs
	loopbacks []portPairs
	// onNodes says that the pods at the ends are also there in their nodes' own network; leftOut is why they are not.
	onNodes bool
	leftOut []lab.Warning
}

// portPairs are the pairs over one address, or within one machine.
type portPairs struct {
	// name is the address, or the role of the machine.
	name  string
	pairs []int
}

func runNetworkLadder(ctx context.Context, p *program, o ladderOptions, args []string) error {
	st, err := p.openStore()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return usage("the rungs of a network are addresses of the server, and not "+args[0], "name each with --address")
	}
	if len(o.guests) > 0 || o.size != "" || o.budget != 0 {
		return usage("--guest, --size and --budget are for a ladder of storage", "leave them out")
	}
	if !slices.Contains([]string{lab.Send, lab.Receive, bothDirections}, o.direction) {
		return usage("--direction "+o.direction+" is none", "write send (to the server), receive or both")
	}
	l := &networkLadder{concurrentNetwork: newNetworkStudy(p, st, o.ofEnds(), networkLadderKind), options: o}
	defer l.close()
	if l.terms, err = o.terms(); err != nil {
		return err
	}
	if err := l.openEnds(ctx); err != nil {
		return err
	}
	if err := l.addNodes(ctx); err != nil {
		return err
	}
	rungs := l.rungs
	if l.onNodes {
		rungs = l.podRungs
	}
	if err := rungs(ctx); err != nil {
		return err
	}
	if err := l.newParts(); err != nil {
		return err
	}
	t := l.asMultiTarget()
	t.leftOut = l.leftOut
	t.join()
	t.run.Design, t.run.Network = lab.DesignNetworkLadder, l.pairs
	if o.dryRun.asked() {
		return l.printPlan(t)
	}
	return l.measure(ctx, t)
}

// ofEnds are the options as those of a network's measurement.
func (o ladderOptions) ofEnds() netOptions {
	n := netOptions{port: o.port, pairs: o.pairs}
	n.on, n.set, n.label, n.seed, n.resume, n.dryRun = o.on, o.set, o.label, o.seed, o.resume, o.dryRun
	return n
}

// addressGroups are the ports that --address and --group name, and the groups of several.
func (l *networkLadder) addressGroups(ctx context.Context) (addresses []string, groups []lab.DesignGroup, err error) {
	add := func(flag, list string) ([]string, error) {
		all := strings.Split(list, ",")
		for _, a := range all {
			if _, err := netip.ParseAddr(a); err != nil {
				return nil, usage(flag+": "+strconv.Quote(a)+" is no address",
					"write one of the server's own, which ip address shows: 10.0.0.7")
			}
			if !slices.Contains(addresses, a) {
				addresses = append(addresses, a)
			}
		}
		return all, nil
	}
	for _, typed := range l.options.groups {
		name, over := roleOf(typed)
		if name == "" || over == "" {
			return nil, nil, usage("--group "+typed+" is no name with addresses", "--group data=10.0.3.1,10.0.4.1")
		}
		all, err := add("--group "+typed, over)
		if err != nil {
			return nil, nil, err
		}
		groups = append(groups, lab.DesignGroup{Name: name, Over: all})
	}
	for _, typed := range l.options.addresses {
		if _, err := add("--address "+typed, typed); err != nil {
			return nil, nil, err
		}
	}
	if len(addresses) == 0 {
		address, err := l.address(ctx, 0, l.of(clientRole)[0], l.of(serverRole)[0])
		if err != nil {
			return nil, nil, err
		}
		addresses = []string{address}
	}
	return addresses, groups, nil
}

// rungs makes the pairs, and what of them each rung loads.
func (l *networkLadder) rungs(ctx context.Context) error {
	addresses, groups, err := l.addressGroups(ctx)
	if err != nil {
		return err
	}
	each := max(1, l.options.pairs)
	for _, a := range addresses {
		server, err := l.listenerOf(a)
		if err != nil {
			return err
		}
		port := portPairs{name: a}
		for range each {
			port.pairs = append(port.pairs, len(l.pairs))
			l.join(server, a)
			l.pairs[len(l.pairs)-1].Assigned = len(l.options.addresses)+len(l.options.groups) == 0 &&
				l.assigned(l.end(server))
		}
		l.ports = append(l.ports, port)
	}
	if err := l.addLoopbacks(ctx, len(l.pairs)); err != nil {
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

// addLoopbacks makes the pairs within each machine, as many as go between two.
func (l *networkLadder) addLoopbacks(ctx context.Context, each int) error {
	machines, err := l.machines(ctx)
	if err != nil {
		return err
	}
	between := len(l.pairs)
	for _, e := range machines {
		loopback := portPairs{name: e.role}
		for range each {
			loopback.pairs = append(loopback.pairs, len(l.pairs))
			l.pairs = append(l.pairs, lab.NetworkPair{Client: e.role, Server: e.role, Address: "127.0.0.1",
				Port: l.options.port + len(l.pairs)})
		}
		l.loopbacks = append(l.loopbacks, loopback)
	}
	if between > suite.MaxPairs || l.options.port+len(l.pairs) > 65536 {
		return usage(fmt.Sprintf("%s are too many", prose.Count(between, "pair")),
			"take fewer with --pairs, or fewer addresses")
	}
	return nil
}

// machines are the ends whose loopback is measured: the servers, then the clients, each machine once. A pod has a
// loopback and limits of its own.
func (l *networkLadder) machines(ctx context.Context) ([]*networkEnd, error) {
	var list []*networkEnd
	known := map[string]bool{}
	for _, e := range append(l.of(serverRole), l.of(clientRole)...) {
		files, err := e.target.ReadFiles(ctx, bootIDPath)
		if err != nil {
			return nil, err
		}
		machine := strings.TrimSpace(string(files[bootIDPath].Data))
		if _, shared := e.target.(target.SharesKernel); shared {
			machine = e.role
		} else if machine == "" {
			machine = e.name
		}
		if !known[machine] {
			list = append(list, e)
		}
		known[machine] = true
	}
	return list, nil
}

// addRung is measured in both directions, one after the other; a loopback has only one.
func (l *networkLadder) addRung(network ladder.Network, id string, kind ladder.Kind, over ...string) {
	for _, direction := range l.directions() {
		o := lab.Combination{ID: id + "-" + direction, Rung: id, Kind: string(kind), Over: over, Direction: direction,
			Network: string(network)}
		o.Title = o.Rung + ", " + direction
		if kind == ladder.Loopback {
			o.ID, o.Title, o.Direction = id, id, lab.Send
		}
		l.design.Combinations = append(l.design.Combinations, o)
		if kind == ladder.Loopback {
			return
		}
	}
}

// addBothDirections is the rung of all that goes one way while as much goes the other.
func (l *networkLadder) addBothDirections(network ladder.Network, id string, over ...string) {
	if l.options.direction == bothDirections {
		l.design.Combinations = append(l.design.Combinations,
			lab.Combination{ID: id, Title: "all, both ways at once", Rung: id,
				Kind: string(ladder.BothWays), Over: over,
				Direction: bothDirections, Network: string(network)})
	}
}

// directions that are climbed.
func (l *networkLadder) directions() []string {
	if l.options.direction == bothDirections {
		return []string{lab.Send, lab.Receive}
	}
	return []string{l.options.direction}
}

// loadedPairs are the pairs that an occasion loads.
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

// newParts makes the measurement of each pair, with a cell for each occasion that loads it.
func (l *networkLadder) newParts() error {
	if l.network.options.seed == 0 {
		l.network.options.seed = rand.Uint64()
	}
	su, err := loadSuite("network")
	if err != nil {
		return err
	}
	su.Jobs = su.Jobs[:1]
	if su, err = su.With(append([]string{"parallel=4", "time=5s"}, l.options.set...)); err != nil {
		return err
	}
	for _, name := range []string{"reverse", "bidir"} {
		if su.Jobs[0].Network.Options[name] != "" {
			return usage("--set "+name+" says the direction, and a ladder climbs in both", "leave it out")
		}
	}
	id := store.NewID()
	for i := range l.pairs {
		m := l.part(i)
		m.role, m.options.set = pairRole(i), nil // the options are in the suite
		if err := m.newHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
		like := m.run.Cells[0]
		m.run.ID, m.run.Cells = id, nil
		for _, o := range l.design.Combinations {
			if slices.Contains(l.loadedPairs(o), i) {
				c := like
				c.ID, c.Job, c.Params, c.Repetitions = o.ID, o.ID, directed(like.Params, o), l.options.passes
				m.run.Cells = append(m.run.Cells, c)
			}
		}
		l.setDesign(m, "network ladder", l.options.passes)
		l.parts = append(l.parts, m)
	}
	return nil
}

// directed are the options of a test on an occasion.
func directed(params map[string]string, o lab.Combination) map[string]string {
	own := map[string]string{}
	for name, v := range params {
		own[name] = v
	}
	switch {
	case o.Direction == lab.Receive:
		own["reverse"] = "1"
	case o.Direction == bothDirections:
		own["bidir"] = "1"
	}
	if o.Kind == string(ladder.Flow) {
		own["parallel"] = "1"
	}
	return own
}

func (l *networkLadder) measure(ctx context.Context, t *multiTargetRun) error {
	var rungs []string
	for _, r := range rungsOf(t.run) {
		rungs = append(rungs, "rung "+r.Name)
	}
	return l.executeDesign(ctx, t, rungs, l.estimate(t), func(b *store.Bundle) error {
		return showNetworkLadder(l.concurrentNetwork.network.program, l.store, b, l.options)
	})
}

// estimate is what the ladder costs.
func (l *networkLadder) estimate(t *multiTargetRun) string {
	return fmt.Sprintf("%s on %s by %s, in %s", prose.Count(len(l.design.Combinations), "test"),
		prose.Count(len(rungsOf(t.run)), "rung"), prose.Count(len(l.pairs), "pair"), l.durationText(t))
}

// printPlan is what --dry-run prints: the commands of each rung, and the order.
func (l *networkLadder) printPlan(t *multiTargetRun) error {
	list := l.listing(l.options.dryRun)
	list.line("%s", l.estimate(t))
	for _, o := range l.design.Combinations {
		list.line("\n%s:", o.Title)
		for _, i := range l.loadedPairs(o) {
			m := l.parts[i]
			for _, c := range m.run.Cells {
				if c.ID == runner.CellOf(o.ID, m.role) {
					server, client := m.commandsOf(c)
					list.each([]string{fmt.Sprintf("%s from %s to %s", titleOf(c), m.target.Name(),
						m.server.Target.Name())})
					list.commands(m.server.Target.Name()+": "+lab.ShellQuote(server),
						m.target.Name()+": "+lab.ShellQuote(client))
				}
			}
		}
	}
	l.listOrder(list, t)
	return list.end()
}

// resumeNetworkLadder goes on with an interrupted ladder, or shows a complete one.
func resumeNetworkLadder(ctx context.Context, p *program, st *store.Store, b *store.Bundle, o ladderOptions) error {
	if b.Run.Status != lab.Interrupted {
		return showNetworkLadder(p, st, b, o)
	}
	l := &networkLadder{concurrentNetwork: newNetworkStudy(p, st, o.ofEnds(), networkLadderKind), options: o}
	l.design = *b.Run.Study
	defer l.close()
	if err := l.readEnds(b); err != nil {
		return err
	}
	if err := l.open(ctx); err != nil {
		return err
	}
	for i := range l.pairs {
		m := l.part(i)
		m.role = pairRole(i)
		l.parts = append(l.parts, m)
	}
	t := l.asMultiTarget()
	if err := t.resumeFrom(ctx, b); err != nil {
		return err
	}
	return l.measure(ctx, t)
}

// networkRung is a rung with the occasions on which it is measured.
type networkRung struct {
	ladder.Rung
	combinations []lab.Combination
}

// rungsOf are the rungs of a saved ladder, from the bottom up.
func rungsOf(run lab.Run) []networkRung {
	var rungs []networkRung
	for _, o := range run.Study.Combinations {
		i := slices.IndexFunc(rungs, func(r networkRung) bool { return r.Name == o.Rung })
		if i < 0 {
			i = len(rungs)
			rungs = append(rungs, networkRung{Rung: ladder.Rung{Name: o.Rung, Kind: ladder.Kind(o.Kind), Places: o.Over,
				Run: run.ID, Network: ladder.Network(o.Network)}})
		}
		rungs[i].combinations = append(rungs[i].combinations, o)
	}
	for i := range rungs {
		r := &rungs[i]
		for _, c := range run.Cells {
			if c.Arm != runner.AllTargets && strings.HasPrefix(c.ID, r.combinations[0].ID+"@") {
				r.Jobs++
			}
		}
		r.Name = rungName(run, r.Rung)
	}
	return rungs
}

// rungName is a rung as people read it.
func rungName(run lab.Run, r ladder.Rung) string {
	if r.Network != "" {
		return podRungName(run, r)
	}
	switch r.Kind {
	case ladder.Loopback:
		for _, t := range run.Targets {
			if t.Role == r.Places[0] && t.Remote() != "" {
				return "loopback of " + t.Target
			}
		}
		return "loopback of this machine"
	case ladder.Flow:
		return "one flow to " + r.Places[0]
	case ladder.Port:
		return r.Places[0]
	case ladder.BothWays:
		return "both ways at once"
	}
	if name, group := strings.CutPrefix(r.Name, "group-"); group {
		return fmt.Sprintf("%s (%d ports)", name, len(r.Places))
	}
	return fmt.Sprintf("all %d ports", len(r.Places))
}

// showNetworkLadder judges what was saved.
func showNetworkLadder(p *program, st *store.Store, b *store.Bundle, o ladderOptions) error {
	d, err := networkLadderOf(b)
	if err != nil {
		return err
	}
	if d.Suspects, err = suspects(b, &d, o.keep); err != nil {
		return err
	}
	if d.TuningRuns, err = otherLadders(st, b, &d, o); err != nil {
		return err
	}
	return showResult(p, st, ladderResult(d, b.Run), o.result)
}

// networkLadderOf is the document of a saved ladder.
func networkLadderOf(b *store.Bundle) (ladder.Document, error) {
	terms := ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: b.Run.Repetitions}
	if t := b.Run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	rungs := rungsOf(b.Run)
	steps := make([]ladder.Step, len(rungs))
	visits := map[string]combinationLoad{}
	for i, r := range rungs {
		steps[i] = stepOfNetwork(b.Run, rungs, i)
		for _, o := range r.combinations {
			directions := []string{o.Direction}
			if o.Direction == bothDirections || r.Kind == ladder.Loopback {
				directions = []string{lab.Send, lab.Receive}
			}
			visits[o.ID] = combinationLoad{i, directions}
		}
	}
	var measured []ladder.Measured
	for rep, err := range b.Repetitions() {
		if err != nil {
			return ladder.Document{}, err
		}
		id, allTargets := strings.CutSuffix(rep.Cell, runner.CellOf("", runner.AllTargets))
		if !allTargets || rep.Failed() {
			continue
		}
		for _, direction := range visits[id].directions {
			values := rep.Values
			if rungs[visits[id].rung].Kind == ladder.Loopback { // which has one direction, whatever one calls it
				values = map[string]float64{lab.Bitrate(direction): rep.Values[lab.Bitrate(lab.Send)]}
			}
			measured = append(measured, ladder.Measured{Rung: visits[id].rung, Cell: direction, Block: rep.Block,
				Values: values})
		}
	}
	found, err := warningsOf(b)
	if err != nil {
		return ladder.Document{}, err
	}
	var warnings []ladder.Warning
	for _, w := range found {
		id, _, _ := strings.Cut(w.cell, "@")
		v, about := visits[id]
		if !about {
			warnings = append(warnings, ladder.Warning{Warning: w.Warning})
			continue
		}
		for _, direction := range v.directions {
			printed := func(o ladder.Warning) bool {
				return o.Rung == v.rung && o.Cell == direction && o.Code == w.Code
			}
			if !slices.ContainsFunc(warnings, printed) { // many pairs of a rung say the same
				warnings = append(warnings, ladder.Warning{Rung: v.rung, Cell: direction, Warning: w.Warning,
					Repetitions: w.repetitions, N: w.n})
			}
		}
	}
	return ladder.Analyze(steps, directionLoads(b.Run), measured, warnings, podNotes(b.Run), terms), nil
}

// combinationLoad is what an occasion measures: a rung, in one direction or in both.
type combinationLoad struct {
	rung       int
	directions []string
}

// directionLoads are the two loads of a ladder.
func directionLoads(run lab.Run) []ladder.Load {
	var loads []ladder.Load
	titles := map[string]string{lab.Send: "to the server", lab.Receive: "from the server"}
	params := map[string]string{}
	for _, c := range run.Cells {
		if c.Params["reverse"] == "" && c.Params["bidir"] == "" && !strings.HasPrefix(c.ID, string(ladder.Flow)+"-") {
			params = c.Params
			break
		}
	}
	for _, direction := range []string{lab.Send, lab.Receive} {
		if !slices.ContainsFunc(run.Study.Combinations, func(o lab.Combination) bool {
			return o.Direction == direction && o.Kind != string(ladder.Loopback)
		}) {
			continue
		}
		loads = append(loads, ladder.Load{Title: iperf3.Title(params) + " " + titles[direction],
			Metric: lab.Bitrate(direction), Cell: lab.Cell{ID: direction, Params: params}})
	}
	return loads
}

// isEnd says whether a target is an end of the loads of a network: of nodes those that are in no pod network, of all
// else the others.
func isEnd(of ladder.Network, t lab.RunTarget) bool {
	return strings.HasPrefix(t.Role, nodeOf) == (of == ladder.Nodes)
}

// clientCeiling is what all clients together can send, by all their ways out: which of them their tests take is not
// known.
func clientCeiling(run lab.Run, network ladder.Network) (all ceiling.Ceiling, known bool) {
	var names []string
	for _, t := range run.Targets {
		if !isEnd(network, t) || !slices.ContainsFunc(run.Network, func(p lab.NetworkPair) bool {
			return p.Client == t.Role && p.Server != t.Role
		}) {
			continue
		}
		c, ok := ceiling.EgressCeiling(t)
		if !ok {
			return ceiling.Ceiling{}, false
		}
		names = append(names, c.Limiter+" of "+t.Target)
		all.Value, all.Most, all.Derivation = all.Value+c.Value, c.Most,
			strings.TrimPrefix(all.Derivation+"; "+c.Derivation, "; ")
	}
	all.Limiter = strings.Join(names, " + ")
	return all, len(names) > 0
}

// serverOf is the server whose ports are climbed. Of pods it is the one in its node's network, which has the node's
// adapters.
func serverOf(run lab.Run) lab.RunTarget {
	if t := serverIn(run, ladder.Nodes); t.Role != "" {
		return t
	}
	return serverIn(run, "")
}

// serverIn is the server in a network.
func serverIn(run lab.Run, network ladder.Network) lab.RunTarget {
	for _, t := range run.Targets {
		if isEnd(network, t) && slices.ContainsFunc(run.Network, func(p lab.NetworkPair) bool {
			return p.Server == t.Role && p.Client != t.Role
		}) {
			return t
		}
	}
	return lab.RunTarget{}
}

// stepOfNetwork is a rung with what is promised to it, and with what the facts of the ends say that it can carry.
func stepOfNetwork(run lab.Run, rungs []networkRung, at int) ladder.Step {
	r := rungs[at]
	step := ladder.Step{Rung: r.Rung, Below: -1, Ceilings: map[string][]ceiling.Ceiling{}}
	server := serverIn(run, r.Network)
	ports := r.Places
	if r.Kind == ladder.Loopback {
		ports = nil
		for _, o := range rungs {
			if o.Kind == ladder.Port && o.Network == r.Network {
				ports = append(ports, o.Places...)
			}
		}
	}
	carries, known := ceiling.Ports(server, ports)
	clients, clientsKnown := clientCeiling(run, r.Network)
	for _, direction := range []string{lab.Send, lab.Receive} {
		if r.Kind != ladder.Loopback && clientsKnown {
			c := clients
			c.Metric = lab.Bitrate(direction)
			step.Ceilings[direction] = append(step.Ceilings[direction], c)
		}
		c := carries
		c.Metric = lab.Bitrate(direction)
		switch {
		case !known:
		case r.Kind != ladder.Loopback:
			step.Ceilings[direction] = append(step.Ceilings[direction], c)
		case r.Places[0] == server.Role:
			if step.Carries == nil {
				step.Carries = map[string]ceiling.Ceiling{}
			}
			step.Carries[direction] = c
		}
	}
	if r.Network == ladder.Pods {
		step.CNI = cniOf(run)
		if r.Kind != ladder.Loopback {
			step.Below = slices.IndexFunc(rungs, func(o networkRung) bool {
				return o.Network == ladder.Nodes && o.Kind == r.Kind
			})
		}
		return step
	}
	switch r.Kind {
	case ladder.Port:
		if r.Network == ladder.Nodes {
			break // there is one, which has no equals
		}
		step.Like = ladder.UnknownSpeed
		if known {
			step.Like = fmt.Sprintf("%.0f", carries.Value)
		}
	case ladder.BothWays:
		step.Below = at - 1
		if r.Network == ladder.Nodes {
			step.Below = slices.IndexFunc(rungs, func(o networkRung) bool {
				return o.Network == ladder.Nodes && o.Kind == ladder.Port
			})
		}
	}
	return step
}
