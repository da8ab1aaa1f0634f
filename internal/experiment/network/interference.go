package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/app"
	"headroom/internal/document"
	"headroom/internal/experiment"
	"headroom/internal/experiment/parallel"
	"headroom/internal/facts"
	"headroom/internal/interference"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/load/iperf3"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// interferenceKind is the kind of study that says what loads take from each other.
const interferenceKind = "interference"

// InterferenceOptions are the flags of net interference.
type InterferenceOptions struct {
	Options
	Groups []string
	SetFio []string
	Passes int
	Margin string
	Alpha  float64
	Result results.DocumentOutput
}

// interferenceRun is a network whose groups are loaded in all combinations.
type interferenceRun struct {
	ConcurrentNetwork
	options InterferenceOptions
	// groupOf is the group of each pair.
	groupOf []string
}

// RunInterference measures what groups of loads take from each other, goes on with that, or says what would be done.
func RunInterference(ctx context.Context, p *app.App, o InterferenceOptions) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	st, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	s := &interferenceRun{ConcurrentNetwork: NewNetworkStudy(p, st, o.Options, interferenceKind), options: o}
	defer s.Close()
	if o.Resume != "" {
		return s.resumeInterference(ctx)
	}
	if s.Terms, err = TermsOf(o.Margin, o.Alpha, o.Passes); err != nil {
		return err
	}
	if err := s.named(); err != nil {
		return err
	}
	if err := s.OpenEnds(ctx); err != nil {
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
	for _, typed := range s.options.Groups {
		name, over := app.RoleOf(typed)
		fault := func(why string) error {
			return app.Usage("--group "+typed+" "+why, "--group application=10.0.1.1,10.0.2.1",
				"--group data=/dev/mapper/mpatha")
		}
		switch {
		case name == "":
			return fault("has no name of small letters, digits and hyphens")
		case over == "":
			return fault("says nothing of what it goes through")
		case name == runner.AllTargets || name == experiment.ClientRole || name == experiment.ServerRole:
			return fault("has a name that stands for something else")
		case len(name) > parallel.MaxRoleLength-4:
			return fault("has a name that is too long")
		case slices.ContainsFunc(s.Design.Groups, func(g lab.DesignGroup) bool { return g.Name == name }):
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
		s.Design.Groups = append(s.Design.Groups, g)
	}
	if n := len(s.Design.Groups); n < 2 || n > maxGroups {
		return app.Usage(fmt.Sprintf("interference is between 2 to %d groups, and --group names %d", maxGroups, n),
			"--group application=10.0.1.1,10.0.2.1 --group data=/dev/mapper/mpatha")
	}
	return nil
}

// ofStorage says whether a group is read by fio.
func ofStorage(g lab.DesignGroup) bool { return strings.HasPrefix(g.Over[0], "/") }

// pairUp makes the pairs of all groups of a network: the clients take turns.
func (s *interferenceRun) pairUp() error {
	if s.options.Pairs < 1 || s.options.Pairs > suite.MaxPairs {
		return app.Usage(fmt.Sprintf("--pairs %d is not from 1 to %d", s.options.Pairs, suite.MaxPairs))
	}
	for _, g := range s.Design.Groups {
		if ofStorage(g) {
			continue
		}
		for _, address := range g.Over {
			server, err := s.ListenerOf(address)
			if err != nil {
				return err
			}
			for range s.options.Pairs {
				s.Join(server, address)
				s.groupOf = append(s.groupOf, g.Name)
			}
		}
	}
	if n := len(s.Pairs); n > suite.MaxPairs || s.options.Port+n > 65536 {
		return app.Usage(fmt.Sprintf("%s are too many", prose.Count(n, "pair")),
			"take fewer with --pairs, or fewer addresses")
	}
	return nil
}

// Join makes a further pair: the clients take turns, and each has a port of its own.
func (n *Network) Join(server, address string) {
	clients := n.Of(experiment.ClientRole)
	n.Pairs = append(n.Pairs, lab.NetworkPair{Client: clients[len(n.Pairs)%len(clients)].Role, Server: server,
		Address: address, Port: n.Options.Port + len(n.Pairs)})
}

// ListenerOf is the role of the server that has an address.
func (n *Network) ListenerOf(address string) (string, error) {
	servers := n.Of(experiment.ServerRole)
	if len(servers) == 1 {
		return servers[0].Role, nil
	}
	for _, e := range servers {
		for _, f := range e.facts.Facts {
			if f.Key == "nic.addresses" && slices.ContainsFunc(facts.ParseList(f.Value), func(own string) bool {
				return strings.HasPrefix(own+"/", address+"/")
			}) {
				return e.Role, nil
			}
		}
	}
	return "", app.Usage("no server is known to have the address "+address, "ip address on the server shows its own")
}

// newParts makes the measurements of all loads, with a cell for each combination that they are in.
func (s *interferenceRun) newParts(ctx context.Context) error {
	if s.Network.Options.Seed == 0 {
		s.Network.Options.Seed = rand.Uint64()
	}
	id := store.NewID()
	for i := range s.Design.Groups {
		g := &s.Design.Groups[i]
		var parts []*experiment.Measurement
		if ofStorage(*g) {
			m, err := s.storagePart(*g)
			if err != nil {
				return err
			}
			if m.Run.Targets[0].Place, err = facts.ResolvePlace(ctx, m.Target, g.Over[0]); err != nil {
				return err
			}
			parts = []*experiment.Measurement{m}
		} else {
			for n := range s.Pairs {
				if s.groupOf[n] == g.Name {
					parts = append(parts, s.Part(n))
				}
			}
		}
		for n, m := range parts {
			m.Role = fmt.Sprintf("%s-%d", g.Name, n+1)
			g.Arms = append(g.Arms, m.Role)
			if err := s.newPartHeader(m); err != nil {
				return err
			}
			m.Run.ID = id
			s.Parts = append(s.Parts, m)
		}
	}
	for _, c := range interference.Combinations(len(s.Design.Groups)) {
		o := lab.Combination{}
		for _, g := range c {
			o.Groups = append(o.Groups, s.Design.Groups[g].Name)
		}
		o.ID, o.Title = strings.Join(o.Groups, "+"), strings.Join(o.Groups, ", ")
		s.Design.Combinations = append(s.Design.Combinations, o)
	}
	for _, m := range s.Parts {
		s.addCombinations(m)
		if m.Server == nil {
			if err := m.SecureAndSnapshot(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// storagePart is the measurement of a device or directory of the server.
func (s *interferenceRun) storagePart(g lab.DesignGroup) (*experiment.Measurement, error) {
	servers := s.Of(experiment.ServerRole)
	if len(servers) > 1 {
		return nil, app.Usage("there are several servers, and it is not known which of them has "+g.Over[0],
			"name one server")
	}
	options := s.Network.Options.RunOptions
	options.Set, options.Size = append(s.fioTimes(), s.options.SetFio...), s.options.Size
	m := &experiment.Measurement{App: s.App, Options: options, Store: s.Store, Target: servers[0].Target}
	m.Run.Targets = make([]lab.RunTarget, 1)
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
func (n *Network) networkSuite() (suite.Suite, error) {
	su, err := experiment.LoadSuite("network")
	if err != nil {
		return su, err
	}
	su.Jobs = su.Jobs[:1]
	return su.With(append([]string{"parallel=4"}, n.Options.Set...))
}

// newPartHeader makes the header of the run of one load.
func (s *interferenceRun) newPartHeader(m *experiment.Measurement) error {
	if m.Server == nil {
		place := m.Run.Targets[0].Place
		su, err := experiment.LoadSuite("ladder")
		if err != nil {
			return err
		}
		if err := m.NewHeaderOn(su, place); err != nil {
			return err
		}
		m.Run.Cells = slices.DeleteFunc(m.Run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
		if len(m.Run.Cells) == 0 {
			return app.Usage("what fio would do writes, and groups only read", "leave rw out of --set-fio")
		}
	} else {
		su, err := s.networkSuite()
		if err != nil {
			return err
		}
		m.Options.Set = nil // they are in the suite
		if err := m.NewHeaderOn(su, lab.Place{Kind: lab.NoPlace}); err != nil {
			return err
		}
	}
	m.Run.Cells = m.Run.Cells[:1]
	m.Run.Cells[0].Repetitions = s.options.Passes
	s.SetDesign(m, interferenceKind, s.options.Passes)
	if m.Server != nil {
		return nil
	}
	if place := &m.Run.Targets[0].Place; place.Kind == lab.Device {
		m.Run.Cells[0].Steps = []lab.Step{lab.Load} // nothing is prepared where something may be kept
	}
	return nil
}

// addCombinations gives a part a cell for each combination that its group is in.
func (s *interferenceRun) addCombinations(m *experiment.Measurement) {
	like := m.Run.Cells[0]
	m.Run.Cells = nil
	for _, o := range s.Design.Combinations {
		if slices.ContainsFunc(s.Design.Groups, func(g lab.DesignGroup) bool {
			return slices.Contains(g.Arms, m.Role) && slices.Contains(o.Groups, g.Name)
		}) {
			c := like
			c.ID, c.Job = runner.CellOf(o.ID, m.Role), o.ID
			m.Run.Cells = append(m.Run.Cells, c)
		}
	}
}

// resumeInterference goes on with an interrupted run, or shows a complete one.
func (s *interferenceRun) resumeInterference(ctx context.Context) error {
	b, err := s.Store.Find(s.options.Resume)
	if err != nil {
		return err
	}
	if b.Run.Study == nil || b.Run.Study.Kind != interferenceKind {
		return app.Usage(fmt.Sprintf("run %s says nothing of interference", b.Run.ID),
			b.Run.MadeBy().Resume(s.options.Resume))
	}
	if b.Run.Status != lab.Interrupted {
		return s.show(b)
	}
	s.Design = *b.Run.Study
	if err := s.ReadEnds(b); err != nil {
		return err
	}
	if err := s.Open(ctx); err != nil {
		return err
	}
	at := 0
	for _, g := range s.Design.Groups {
		for _, arm := range g.Arms {
			var m *experiment.Measurement
			if ofStorage(g) {
				i := slices.IndexFunc(b.Run.Targets, func(t lab.RunTarget) bool { return t.Role == arm })
				if i < 0 {
					return &lab.Error{What: fmt.Sprintf("run %s names no target for %s", b.Run.ID, arm)}
				}
				m = &experiment.Measurement{App: s.App, Options: s.Network.Options.RunOptions, Store: s.Store,
					Target: s.Opened[b.Run.Targets[i].Target]}
			} else {
				m = s.Part(at)
				at++
			}
			m.Role = arm
			s.Parts = append(s.Parts, m)
		}
	}
	t := s.AsMultiTarget()
	if err := t.ResumeFrom(ctx, b); err != nil {
		return err
	}
	return s.measure(ctx, t)
}

// execute measures a new run, or says what would be.
func (s *interferenceRun) execute(ctx context.Context) error {
	t := s.AsMultiTarget()
	if err := t.CheckDistinct(ctx); err != nil {
		return err
	}
	t.Join()
	t.Run.Design, t.Run.Network = lab.DesignInterference, s.Pairs
	if s.options.DryRun.Asked() {
		return s.printPlan(t)
	}
	return s.measure(ctx, t)
}

func (s *interferenceRun) measure(ctx context.Context, t *parallel.MultiTargetRun) error {
	return s.ExecuteDesign(ctx, t, s.loads(), s.estimate(t), s.show)
}

// loads are the groups in a line each.
func (s *interferenceRun) loads() []string {
	var lines []string
	for _, g := range s.Design.Groups {
		how := prose.Count(len(g.Arms), "pair") + " of iperf3"
		if ofStorage(g) {
			how = "fio"
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", g.Name, how, strings.Join(g.Over, ", ")))
	}
	return lines
}

// estimate is what the study costs.
func (s *interferenceRun) estimate(t *parallel.MultiTargetRun) string {
	return fmt.Sprintf("%s in %s", prose.Count(len(s.Design.Combinations), "combination"), s.DurationText(t))
}

// PrintPlan is what --dry-run prints: what each load is, and the order of the combinations.
func (s *interferenceRun) printPlan(t *parallel.MultiTargetRun) error {
	l := s.Listing(s.options.DryRun)
	l.Line("%s", s.estimate(t))
	for _, m := range s.Parts {
		l.Line("\n%s, on %s:", m.Role, m.Target.Name())
		one := *m
		one.Run.Cells = m.Run.Cells[:1]
		one.ListPlan(l)
	}
	s.ListOrder(l, t)
	return l.End()
}

// show analyses a saved run.
func (s *interferenceRun) show(b *store.Bundle) error {
	d, err := interferenceOf(b)
	if err != nil {
		return err
	}
	of := func(o report.Options) document.Document { return report.InterferenceDocument(d, o) }
	return results.ShowResult(s.ConcurrentNetwork.Network.App, s.Store,
		results.ResultDocument{Published: d, Document: of, Runs: []lab.Run{b.Run}},
		s.options.Result)
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
	found, err := app.WarningsOf(b)
	if err != nil {
		return interference.Document{}, err
	}
	var warnings []interference.Warning
	for _, w := range found {
		if !ofRates(w.Warning) {
			continue
		}
		i := strings.LastIndex(w.Cell, "@")
		about := -1
		if g, ok := place[w.Cell[i+1:]]; ok && i >= 0 {
			about = g
		}
		warnings = append(warnings, interference.Warning{Groups: append([]int{}, combinations[w.Cell[:max(i, 0)]]...),
			About: about, Warning: w.Warning, Repetitions: w.Repetitions, N: w.N})
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
