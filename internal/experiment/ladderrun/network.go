package ladderrun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/app"
	"headroom/internal/ceiling"
	"headroom/internal/experiment"
	"headroom/internal/experiment/network"
	"headroom/internal/experiment/parallel"
	"headroom/internal/lab"
	"headroom/internal/ladder"
	"headroom/internal/load/iperf3"
	"headroom/internal/prose"
	"headroom/internal/results"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
)

// NetworkLadderKind is the kind of study that goes up from the loopback of a machine to all its ports, both ways.
const NetworkLadderKind = "ladder"

// BothDirections says that a network is measured in either direction, seen from the clients.
const BothDirections = "both"

// OfNetwork says whether the targets of a ladder are the ends of a network.
func (o Options) OfNetwork() bool {
	return len(o.Addresses) > 0 || len(o.Groups) > 0 || slices.ContainsFunc(o.On, func(typed string) bool {
		role, _ := app.RoleOf(typed)
		return role == experiment.ClientRole || role == experiment.ServerRole
	})
}

// networkLadder is the rungs of a network, which are combinations of pairs in one run.
type networkLadder struct {
	network.ConcurrentNetwork
	options Options
	// ports are the pairs of each address, by their place, and loopbacks those of each machine.
	ports     []portPairs
	loopbacks []portPairs
	// onNodes says that the pods at the ends are also there in their nodes' own network; LeftOut is why they are not.
	onNodes bool
	leftOut []lab.Warning
}

// portPairs are the pairs over one address, or within one machine.
type portPairs struct {
	// name is the address, or the role of the machine.
	name  string
	pairs []int
}

// RunNetworkLadder measures the rungs of a network, or says what would be done.
func RunNetworkLadder(ctx context.Context, p *app.App, o Options, args []string) error {
	st, err := p.OpenStore()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return app.Usage("the rungs of a network are addresses of the server, and not "+args[0],
			"name each with --address")
	}
	if len(o.Guests) > 0 || o.Size != "" || o.Budget != 0 {
		return app.Usage("--guest, --size and --budget are for a ladder of storage", "leave them out")
	}
	if !slices.Contains([]string{lab.Send, lab.Receive, BothDirections}, o.Direction) {
		return app.Usage("--direction "+o.Direction+" is none", "write send (to the server), receive or both")
	}
	l := &networkLadder{ConcurrentNetwork: network.NewNetworkStudy(p, st, o.ofEnds(), NetworkLadderKind), options: o}
	defer l.Close()
	if l.Terms, err = o.Terms(); err != nil {
		return err
	}
	if err := l.OpenEnds(ctx); err != nil {
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
	t := l.AsMultiTarget()
	t.LeftOut = l.leftOut
	t.Join()
	t.Run.Design, t.Run.Network = lab.DesignNetworkLadder, l.Pairs
	if o.DryRun.Asked() {
		return l.printPlan(t)
	}
	return l.measure(ctx, t)
}

// ofEnds are the options as those of a network's measurement.
func (o Options) ofEnds() network.Options {
	n := network.Options{Port: o.Port, Pairs: o.Pairs}
	n.On, n.Set, n.Label, n.Seed, n.Resume, n.DryRun = o.On, o.Set, o.Label, o.Seed, o.Resume, o.DryRun
	return n
}

// addressGroups are the ports that --address and --group name, and the groups of several.
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

// rungs makes the pairs, and what of them each rung loads.
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

// addLoopbacks makes the pairs within each machine, as many as go between two.
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

// machines are the ends whose loopback is measured: the servers, then the clients, each machine once. A pod has a
// loopback and limits of its own.
func (l *networkLadder) machines(ctx context.Context) ([]*network.End, error) {
	var list []*network.End
	known := map[string]bool{}
	for _, e := range append(l.Of(experiment.ServerRole), l.Of(experiment.ClientRole)...) {
		files, err := e.Target.ReadFiles(ctx, app.BootIDPath)
		if err != nil {
			return nil, err
		}
		machine := strings.TrimSpace(string(files[app.BootIDPath].Data))
		if _, shared := e.Target.(target.SharesKernel); shared {
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

// addRung is measured in both directions, one after the other; a loopback has only one.
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

// addBothDirections is the rung of all that goes one way while as much goes the other.
func (l *networkLadder) addBothDirections(network ladder.Network, id string, over ...string) {
	if l.options.Direction == BothDirections {
		l.Design.Combinations = append(l.Design.Combinations,
			lab.Combination{ID: id, Title: "all, both ways at once", Rung: id,
				Kind: string(ladder.BothWays), Over: over,
				Direction: BothDirections, Network: string(network)})
	}
}

// directions that are climbed.
func (l *networkLadder) directions() []string {
	if l.options.Direction == BothDirections {
		return []string{lab.Send, lab.Receive}
	}
	return []string{l.options.Direction}
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
	if l.Network.Options.Seed == 0 {
		l.Network.Options.Seed = rand.Uint64()
	}
	su, err := experiment.LoadSuite("network")
	if err != nil {
		return err
	}
	su.Jobs = su.Jobs[:1]
	if su, err = su.With(append([]string{"parallel=4", "time=5s"}, l.options.Set...)); err != nil {
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
		m.Role, m.Options.Set = network.PairRole(i), nil // the options are in the suite
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

// directed are the options of a test on an occasion.
func directed(params map[string]string, o lab.Combination) map[string]string {
	own := map[string]string{}
	for name, v := range params {
		own[name] = v
	}
	switch {
	case o.Direction == lab.Receive:
		own["reverse"] = "1"
	case o.Direction == BothDirections:
		own["bidir"] = "1"
	}
	if o.Kind == string(ladder.Flow) {
		own["parallel"] = "1"
	}
	return own
}

func (l *networkLadder) measure(ctx context.Context, t *parallel.MultiTargetRun) error {
	var rungs []string
	for _, r := range rungsOf(t.Run) {
		rungs = append(rungs, "rung "+r.Name)
	}
	return l.ExecuteDesign(ctx, t, rungs, l.estimate(t), func(b *store.Bundle) error {
		return showNetworkLadder(l.ConcurrentNetwork.Network.App, l.Store, b, l.options)
	})
}

// estimate is what the ladder costs.
func (l *networkLadder) estimate(t *parallel.MultiTargetRun) string {
	return fmt.Sprintf("%s on %s by %s, in %s", prose.Count(len(l.Design.Combinations), "test"),
		prose.Count(len(rungsOf(t.Run)), "rung"), prose.Count(len(l.Pairs), "pair"), l.DurationText(t))
}

// PrintPlan is what --dry-run prints: the commands of each rung, and the order.
func (l *networkLadder) printPlan(t *parallel.MultiTargetRun) error {
	list := l.Listing(l.options.DryRun)
	list.Line("%s", l.estimate(t))
	for _, o := range l.Design.Combinations {
		list.Line("\n%s:", o.Title)
		for _, i := range l.loadedPairs(o) {
			m := l.Parts[i]
			for _, c := range m.Run.Cells {
				if c.ID == runner.CellOf(o.ID, m.Role) {
					server, client := m.CommandsOf(c)
					list.Each([]string{fmt.Sprintf("%s from %s to %s", experiment.TitleOf(c), m.Target.Name(),
						m.Server.Target.Name())})
					list.Commands(m.Server.Target.Name()+": "+lab.ShellQuote(server),
						m.Target.Name()+": "+lab.ShellQuote(client))
				}
			}
		}
	}
	l.ListOrder(list, t)
	return list.End()
}

// ResumeNetworkLadder goes on with an interrupted ladder, or shows a complete one.
func ResumeNetworkLadder(ctx context.Context, p *app.App, st *store.Store, b *store.Bundle, o Options) error {
	if b.Run.Status != lab.Interrupted {
		return showNetworkLadder(p, st, b, o)
	}
	l := &networkLadder{ConcurrentNetwork: network.NewNetworkStudy(p, st, o.ofEnds(), NetworkLadderKind), options: o}
	l.Design = *b.Run.Study
	defer l.Close()
	if err := l.ReadEnds(b); err != nil {
		return err
	}
	if err := l.Open(ctx); err != nil {
		return err
	}
	for i := range l.Pairs {
		m := l.Part(i)
		m.Role = network.PairRole(i)
		l.Parts = append(l.Parts, m)
	}
	t := l.AsMultiTarget()
	if err := t.ResumeFrom(ctx, b); err != nil {
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
		return network.PodRungName(run, r)
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
func showNetworkLadder(p *app.App, st *store.Store, b *store.Bundle, o Options) error {
	d, err := networkLadderOf(b)
	if err != nil {
		return err
	}
	if d.Suspects, err = suspects(b, &d, o.Keep); err != nil {
		return err
	}
	if d.TuningRuns, err = otherLadders(st, b, &d, o); err != nil {
		return err
	}
	return results.ShowResult(p, st, Result(d, b.Run), o.Result)
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
			if o.Direction == BothDirections || r.Kind == ladder.Loopback {
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
	found, err := app.WarningsOf(b)
	if err != nil {
		return ladder.Document{}, err
	}
	var warnings []ladder.Warning
	for _, w := range found {
		id, _, _ := strings.Cut(w.Cell, "@")
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
					Repetitions: w.Repetitions, N: w.N})
			}
		}
	}
	return ladder.Analyze(steps, directionLoads(b.Run), measured, warnings, network.PodNotes(b.Run), terms), nil
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
	return strings.HasPrefix(t.Role, network.NodeOf) == (of == ladder.Nodes)
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
		step.CNI = network.CniOf(run)
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
