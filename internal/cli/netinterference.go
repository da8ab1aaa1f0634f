package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/document"
	"headroom/internal/facts"
	"headroom/internal/interference"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/load/iperf3"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// interferenceKind is the kind of study that says what loads take from each other.
const interferenceKind = "interference"

// interferenceOptions are the flags of net interference.
type interferenceOptions struct {
	netOptions
	groups []string
	setFio []string
	passes int
	margin string
	alpha  float64
	result documentOutput
}

func (p *program) interferenceCommand() *cobra.Command {
	o := interferenceOptions{alpha: interference.DefaultAlpha}
	c := &cobra.Command{
		Use:   "interference",
		Short: "Measure what loads take from each other: each alone, every two, and all together",
		Long: `Measures groups of loads, each alone, every two at the same time, and all of them, in turns; and says what
each keeps of what it does alone beside the others, and whether they share one ceiling.

A group is a name and what its load goes through: addresses of the server, one for each of its ports, with
a pair of iperf3 processes each; or a device or directory of the server, which fio reads. Devices are only
read, whatever is on them; in a directory a scratch file is made, read, and removed.

The clients send to the server. --set changes that: --set reverse=1 has the server send.`,
		Example: `  headroom net interference --on client=ssh://a --on client=ssh://b --on server=ssh://db1 --group application=10.0.1.1,10.0.2.1 --group data=10.0.3.1,10.0.4.1,10.0.5.1,10.0.6.1 --group backup=10.0.7.1,10.0.8.1
  headroom net interference --on server=ssh://db1 --group application=10.0.1.1 --group data=/dev/mapper/mpatha --passes 10
  headroom net interference --resume last`,
		Args: argumentCount(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.resume != "" {
				for _, name := range []string{"label", "passes", "seed", "set", "set-fio", "size", "on", "group",
					"port", "pairs", "margin", "alpha", "dry-run"} {
					if c.Flags().Changed(name) {
						return usage("--"+name+" can't be changed when a run is resumed",
							"headroom net interference --resume "+o.resume)
					}
				}
			}
			return runInterference(c.Context(), p, o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.groups, "group", nil,
		"NAME=ADDRESS[,ADDRESS...] or NAME=/PATH: a load, and what it goes through; twice or more")
	f.StringArrayVar(&o.on, "on", nil,
		"where: client=TARGET or server=TARGET, a target is "+p.allKinds().forms()+" (default local)")
	f.IntVar(&o.port, "port", iperf3.Port, "that the first server process listens on; each further pair takes the next")
	f.IntVar(&o.pairs, "pairs", 1, "pairs of processes for each address")
	f.IntVar(&o.passes, "passes", defaultPasses, "times that each combination is measured")
	f.StringVar(&o.margin, "margin", fmt.Sprintf("%g%%", 100*interference.DefaultMargin),
		"what a load may lose and still keep all")
	f.Float64Var(&o.alpha, "alpha", o.alpha, "probability that any verdict is wrong")
	f.StringArrayVar(&o.set, "set", nil, "an option of iperf3, like time=30s or parallel=4; may be repeated")
	f.StringArrayVar(&o.setFio, "set-fio", nil, "a parameter of fio, like bs=64k or rw=randread; may be repeated")
	f.StringVar(&o.size, "size", "", "of the scratch file in a directory, like 4g")
	f.StringVar(&o.label, "label", "", "text to find the run by")
	f.Uint64Var(&o.seed, "seed", 0, "of the order (default: drawn)")
	p.resumeFlag(c, &o.resume, "go on with an interrupted run, or show a complete one again")
	documentFlags(&o.result, c)
	dryRunFlag(c, &o.dryRun, "say what would be done, and do nothing"+everyCommand)
	completeFlag(c, "on", p.targetNames)
	p.jsonFlag(c)
	return c
}

// interferenceRun is a network whose groups are loaded in all combinations.
type interferenceRun struct {
	concurrentNetwork
	options interferenceOptions
	// groupOf is the group of each pair.
	groupOf []string
}

func runInterference(ctx context.Context, p *program, o interferenceOptions) error {
	if _, _, err := o.result.formats(p.json); err != nil {
		return err // rather now than after the measuring
	}
	st, err := p.openStoreFor(o.resume)
	if err != nil {
		return err
	}
	s := &interferenceRun{concurrentNetwork: newNetworkStudy(p, st, o.netOptions, interferenceKind), options: o}
	defer s.close()
	if o.resume != "" {
		return s.resumeInterference(ctx)
	}
	if s.terms, err = termsOf(o.margin, o.alpha, o.passes); err != nil {
		return err
	}
	if err := s.named(); err != nil {
		return err
	}
	if err := s.openEnds(ctx); err != nil {
		return err
	}
	if err := s.pairUp(); err != nil {
		return err
	}
	if err := s.newParts(ctx); err != nil {
		return err
	}
	return s.execute(ctx)
}

// maxGroups keeps the combinations few enough for a coffee: eight groups have 37.
const maxGroups = 8

// named reads --group.
func (s *interferenceRun) named() error {
	for _, typed := range s.options.groups {
		name, over := roleOf(typed)
		fault := func(why string) error {
			return usage("--group "+typed+" "+why, "--group application=10.0.1.1,10.0.2.1",
				"--group data=/dev/mapper/mpatha")
		}
		switch {
		case name == "":
			return fault("has no name of small letters, digits and hyphens")
		case over == "":
			return fault("says nothing of what it goes through")
		case name == runner.AllTargets || name == clientRole || name == serverRole:
			return fault("has a name that stands for something else")
		case len(name) > maxRoleLength-4:
			return fault("has a name that is too long")
		case slices.ContainsFunc(s.design.Groups, func(g lab.DesignGroup) bool { return g.Name == name }):
			return fault("has the name of another group")
		}
		g := lab.DesignGroup{Name: name, Over: strings.Split(over, ",")}
		for _, what := range g.Over {
			_, err := netip.ParseAddr(what)
			switch isPath := strings.HasPrefix(what, "/"); {
			case isPath && len(g.Over) > 1:
				return fault("names more than one device or directory")
			case !isPath && err != nil:
				return fault("goes through " + strconv.Quote(what) + ", which is neither an address nor a whole path")
			}
		}
		s.design.Groups = append(s.design.Groups, g)
	}
	if n := len(s.design.Groups); n < 2 || n > maxGroups {
		return usage(fmt.Sprintf("interference is between 2 to %d groups, and --group names %d", maxGroups, n),
			"--group application=10.0.1.1,10.0.2.1 --group data=/dev/mapper/mpatha")
	}
	return nil
}

// ofStorage says whether a group is read by fio.
func ofStorage(g lab.DesignGroup) bool { return strings.HasPrefix(g.Over[0], "/") }

// pairUp makes the pairs of all groups of a network: the clients take turns.
func (s *interferenceRun) pairUp() error {
	if s.options.pairs < 1 || s.options.pairs > suite.MaxPairs {
		return usage(fmt.Sprintf("--pairs %d is not from 1 to %d", s.options.pairs, suite.MaxPairs))
	}
	for _, g := range s.design.Groups {
		if ofStorage(g) {
			continue
		}
		for _, address := range g.Over {
			server, err := s.listenerOf(address)
			if err != nil {
				return err
			}
			for range s.options.pairs {
				s.join(server, address)
				s.groupOf = append(s.groupOf, g.Name)
			}
		}
	}
	if n := len(s.pairs); n > suite.MaxPairs || s.options.port+n > 65536 {
		return usage(fmt.Sprintf("%s are too many", prose.Count(n, "pair")),
			"take fewer with --pairs, or fewer addresses")
	}
	return nil
}

// join makes a further pair: the clients take turns, and each has a port of its own.
func (n *network) join(server, address string) {
	clients := n.of(clientRole)
	n.pairs = append(n.pairs, lab.NetworkPair{Client: clients[len(n.pairs)%len(clients)].role, Server: server,
		Address: address, Port: n.options.port + len(n.pairs)})
}

// listenerOf is the role of the server that has an address.
func (n *network) listenerOf(address string) (string, error) {
	servers := n.of(serverRole)
	if len(servers) == 1 {
		return servers[0].role, nil
	}
	for _, e := range servers {
		for _, f := range e.facts.Facts {
			if f.Key == "nic.addresses" && slices.ContainsFunc(facts.ParseList(f.Value), func(own string) bool {
				return strings.HasPrefix(own+"/", address+"/")
			}) {
				return e.role, nil
			}
		}
	}
	return "", usage("no server is known to have the address "+address, "ip address on the server shows its own")
}

// newParts makes the measurements of all loads, with a cell for each combination that they are in.
func (s *interferenceRun) newParts(ctx context.Context) error {
	if s.network.options.seed == 0 {
		s.network.options.seed = rand.Uint64()
	}
	id := store.NewID()
	for i := range s.design.Groups {
		g := &s.design.Groups[i]
		var parts []*measurement
		if ofStorage(*g) {
			m, err := s.storagePart(*g)
			if err != nil {
				return err
			}
			if m.run.Targets[0].Place, err = facts.ResolvePlace(ctx, m.target, g.Over[0]); err != nil {
				return err
			}
			parts = []*measurement{m}
		} else {
			for n := range s.pairs {
				if s.groupOf[n] == g.Name {
					parts = append(parts, s.part(n))
				}
			}
		}
		for n, m := range parts {
			m.role = fmt.Sprintf("%s-%d", g.Name, n+1)
			g.Arms = append(g.Arms, m.role)
			if err := s.newPartHeader(m); err != nil {
				return err
			}
			m.run.ID = id
			s.parts = append(s.parts, m)
		}
	}
	for _, c := range interference.Combinations(len(s.design.Groups)) {
		o := lab.Combination{}
		for _, g := range c {
			o.Groups = append(o.Groups, s.design.Groups[g].Name)
		}
		o.ID, o.Title = strings.Join(o.Groups, "+"), strings.Join(o.Groups, ", ")
		s.design.Combinations = append(s.design.Combinations, o)
	}
	for _, m := range s.parts {
		s.addCombinations(m)
		if m.server == nil {
			if err := m.secureAndSnapshot(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// storagePart is the measurement of a device or directory of the server.
func (s *interferenceRun) storagePart(g lab.DesignGroup) (*measurement, error) {
	servers := s.of(serverRole)
	if len(servers) > 1 {
		return nil, usage("there are several servers, and it is not known which of them has "+g.Over[0],
			"name one server")
	}
	options := s.network.options.runOptions
	options.set, options.size = append(s.fioTimes(), s.options.setFio...), s.options.size
	m := &measurement{program: s.program, options: options, store: s.store, target: servers[0].target}
	m.run.Targets = make([]lab.RunTarget, 1)
	return m, nil
}

// fioTimes have fio run for as long as iperf3 does.
func (s *interferenceRun) fioTimes() []string {
	su, err := s.networkSuite()
	if err != nil || len(su.Jobs) == 0 {
		return nil // it is said where the suite is used
	}
	params := su.Jobs[0].Network.Options
	omit, _ := unit.ParseDuration(params["omit"])
	run := iperf3.TestTime(params) - omit
	return []string{"time_based=1", "runtime=" + strconv.Itoa(int(run.Seconds())) + "s", "ramp_time=" +
		strconv.Itoa(int(omit.Seconds())) + "s"}
}

// networkSuite has the one load of a network that is measured: several streams to the server.
func (n *network) networkSuite() (suite.Suite, error) {
	su, err := loadSuite("network")
	if err != nil {
		return su, err
	}
	su.Jobs = su.Jobs[:1]
	return su.With(append([]string{"parallel=4"}, n.options.set...))
}

// newPartHeader makes the header of the run of one load.
func (s *interferenceRun) newPartHeader(m *measurement) error {
	if m.server == nil {
		place := m.run.Targets[0].Place
		su, err := loadSuite("ladder")
		if err != nil {
			return err
		}
		if err := m.newHeaderOn(su, place); err != nil {
			return err
		}
		m.run.Cells = slices.DeleteFunc(m.run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
		if len(m.run.Cells) == 0 {
			return usage("what fio would do writes, and groups only read", "leave rw out of --set-fio")
		}
	} else {
		su, err := s.networkSuite()
		if err != nil {
			return err
		}
		m.options.set = nil // they are in the suite
		if err := m.newHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
	}
	m.run.Cells = m.run.Cells[:1]
	m.run.Cells[0].Repetitions = s.options.passes
	s.setDesign(m, interferenceKind, s.options.passes)
	if m.server != nil {
		return nil
	}
	if place := &m.run.Targets[0].Place; place.Kind == lab.Device {
		m.run.Cells[0].Steps = []lab.Step{lab.Load} // nothing is prepared where something may be kept
	}
	return nil
}

// addCombinations gives a part a cell for each combination that its group is in.
func (s *interferenceRun) addCombinations(m *measurement) {
	like := m.run.Cells[0]
	m.run.Cells = nil
	for _, o := range s.design.Combinations {
		if slices.ContainsFunc(s.design.Groups, func(g lab.DesignGroup) bool {
			return slices.Contains(g.Arms, m.role) && slices.Contains(o.Groups, g.Name)
		}) {
			c := like
			c.ID, c.Job = runner.CellOf(o.ID, m.role), o.ID
			m.run.Cells = append(m.run.Cells, c)
		}
	}
}

// resumeInterference goes on with an interrupted run, or shows a complete one.
func (s *interferenceRun) resumeInterference(ctx context.Context) error {
	b, err := s.store.Find(s.options.resume)
	if err != nil {
		return err
	}
	if b.Run.Study == nil || b.Run.Study.Kind != interferenceKind {
		return usage(fmt.Sprintf("run %s says nothing of interference", b.Run.ID),
			b.Run.MadeBy().Resume(s.options.resume))
	}
	if b.Run.Status != lab.Interrupted {
		return s.show(b)
	}
	s.design = *b.Run.Study
	if err := s.readEnds(b); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	at := 0
	for _, g := range s.design.Groups {
		for _, arm := range g.Arms {
			var m *measurement
			if ofStorage(g) {
				i := slices.IndexFunc(b.Run.Targets, func(t lab.RunTarget) bool { return t.Role == arm })
				if i < 0 {
					return &lab.Error{What: fmt.Sprintf("run %s names no target for %s", b.Run.ID, arm)}
				}
				m = &measurement{program: s.program, options: s.network.options.runOptions, store: s.store,
					target: s.opened[b.Run.Targets[i].Target]}
			} else {
				m = s.part(at)
				at++
			}
			m.role = arm
			s.parts = append(s.parts, m)
		}
	}
	t := s.asMultiTarget()
	if err := t.resumeFrom(ctx, b); err != nil {
		return err
	}
	return s.measure(ctx, t)
}

// execute measures a new run, or says what would be.
func (s *interferenceRun) execute(ctx context.Context) error {
	t := s.asMultiTarget()
	if err := t.checkDistinct(ctx); err != nil {
		return err
	}
	t.join()
	t.run.Design, t.run.Network = lab.DesignInterference, s.pairs
	if s.options.dryRun.asked() {
		return s.printPlan(t)
	}
	return s.measure(ctx, t)
}

func (s *interferenceRun) measure(ctx context.Context, t *multiTargetRun) error {
	return s.executeDesign(ctx, t, s.loads(), s.estimate(t), s.show)
}

// loads are the groups in a line each.
func (s *interferenceRun) loads() []string {
	var lines []string
	for _, g := range s.design.Groups {
		how := prose.Count(len(g.Arms), "pair") + " of iperf3"
		if ofStorage(g) {
			how = "fio"
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", g.Name, how, strings.Join(g.Over, ", ")))
	}
	return lines
}

// estimate is what the study costs.
func (s *interferenceRun) estimate(t *multiTargetRun) string {
	return fmt.Sprintf("%s in %s", prose.Count(len(s.design.Combinations), "combination"), s.durationText(t))
}

// printPlan is what --dry-run prints: what each load is, and the order of the combinations.
func (s *interferenceRun) printPlan(t *multiTargetRun) error {
	l := s.listing(s.options.dryRun)
	l.line("%s", s.estimate(t))
	for _, m := range s.parts {
		l.line("\n%s, on %s:", m.role, m.target.Name())
		one := *m
		one.run.Cells = m.run.Cells[:1]
		one.listPlan(l)
	}
	s.listOrder(l, t)
	return l.end()
}

// show analyses a saved run.
func (s *interferenceRun) show(b *store.Bundle) error {
	d, err := interferenceOf(b)
	if err != nil {
		return err
	}
	of := func(o report.Options) document.Document { return report.InterferenceDocument(d, o) }
	return showResult(s.concurrentNetwork.network.program, s.store, resultDocument{d, of, []lab.Run{b.Run}},
		s.options.result)
}

// interferenceOf is the document of a saved run.
func interferenceOf(b *store.Bundle) (interference.Document, error) {
	study := *b.Run.Study
	terms := interference.Terms{Margin: interference.DefaultMargin, Alpha: interference.DefaultAlpha,
		Passes: b.Run.Repetitions}
	if t := b.Run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	var groups []interference.Group
	place := map[string]int{} // of groups, and of the arms in them
	for i, g := range study.Groups {
		kind := "network"
		if ofStorage(g) {
			kind = "storage"
		}
		groups = append(groups, interference.Group{Name: g.Name, Kind: kind, Over: g.Over})
		place[g.Name] = i
		for _, arm := range g.Arms {
			place[arm] = i
		}
	}
	combinations := map[string][]int{}
	for _, o := range study.Combinations {
		for _, name := range o.Groups {
			combinations[o.ID] = append(combinations[o.ID], place[name])
		}
	}
	type visit struct {
		combination string
		block       int
	}
	rates := map[visit]map[int]float64{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return interference.Document{}, err
		}
		i := strings.LastIndex(rep.Cell, "@")
		id, arm := rep.Cell[:max(i, 0)], rep.Cell[i+1:]
		if !slices.ContainsFunc(study.Groups, func(g lab.DesignGroup) bool { return g.Name == arm }) {
			continue
		}
		at := visit{id, rep.Block}
		if rates[at] == nil {
			rates[at] = map[int]float64{}
		}
		rates[at][place[arm]] = bitsOf(rep.Values) // 0 where it failed, so that the whole visit does not count
	}
	var measured []interference.Measured
	for at, of := range rates {
		measured = append(measured, interference.Measured{Block: at.block, Rates: of})
	}
	found, err := warningsOf(b)
	if err != nil {
		return interference.Document{}, err
	}
	var warnings []interference.Warning
	for _, w := range found {
		if !ofRates(w.Warning) {
			continue
		}
		i := strings.LastIndex(w.cell, "@")
		about := -1
		if g, ok := place[w.cell[i+1:]]; ok && i >= 0 {
			about = g
		}
		warnings = append(warnings, interference.Warning{Groups: append([]int{}, combinations[w.cell[:max(i, 0)]]...),
			About: about, Warning: w.Warning, Repetitions: w.repetitions, N: w.n})
	}
	d := interference.Analyse(groups, measured, warnings, nil, terms)
	d.Run = b.Run.ID
	return d, nil
}

// ofRates says whether a warning is about the run as a whole, or about what loads are compared by. How many repetitions
// there are the intervals tell.
func ofRates(w lab.Warning) bool {
	if w.Code == "few-repetitions" {
		return false
	}
	return len(w.Taints) == 0 ||
		slices.ContainsFunc([]string{lab.Bitrate(lab.Send), lab.Bitrate(lab.Receive), lab.Bandwidth(lab.Read)},
			w.Tainted)
}

// bitsOf is what a load moved in bit/s, in all directions.
func bitsOf(values map[string]float64) float64 {
	return values[lab.Bitrate(lab.Send)] + values[lab.Bitrate(lab.Receive)] +
		8*(values[lab.Bandwidth(lab.Read)]+values[lab.Bandwidth(lab.Write)])
}
