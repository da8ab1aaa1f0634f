package stages

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/ceiling"
	"headroom/internal/lab"
	"headroom/internal/paths"
	"headroom/internal/reference"
	"headroom/internal/stat"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// Options of the tables.
type Options struct {
	// Against says which stage is held against which; nil holds each against the one before it.
	Against []Against
	// Links that the loads of a stage went through, by its name; a stage without has none that is known.
	Links map[string]ceiling.Links
	// Published tables to hold against what was measured.
	Published []reference.Table
	// Warnings that the run has already.
	Warnings []Warning
}

// Warning is one that a run has, about a cell or, where that is empty, about all of it.
type Warning struct {
	Cell string
	lab.Warning
	Repetitions, N int
}

// confidence of the interval of an efficiency, each by itself.
const confidence = 0.95

// Make makes the tables of a run.
func Make(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], o Options) (Document, error) {
	d := Document{Schema: Schema, Run: run.ID, Rows: []Row{}, Findings: []Finding{}, Notes: []string{}}
	d.Stages = stagesOf(run, o.Links)
	if len(d.Stages) == 0 {
		return d, &lab.Error{Kind: lab.Usage, What: "this run has no stages",
			Hints: []string{"an import has those that it is told of: headroom import --stage NAME=FILE --stage " +
				"NAME=FILE",
				"or, of one page, in its order: headroom import --stages NAME,NAME FILE"}}
	}
	if err := d.setAgainst(o.Against); err != nil {
		return d, err
	}
	for name := range o.Links {
		if d.stage(name) < 0 {
			return d, d.noStage(name)
		}
	}
	g, err := gather(run, repetitions, o.Links)
	if err != nil {
		return d, err
	}
	d.addRows(run, g)
	d.group()
	d.setEfficiencies()
	d.addWarnings(o.Warnings)
	d.addFound(g)
	d.addUnlike()
	d.addWrites()
	d.publish(o.Published)
	d.setCodes()
	return d, nil
}

// Of reads "A/B", stage A held against stage B, of a run's stages. Their names may have strokes of their own.
func Of(run lab.Run, text string) (Against, error) {
	d := Document{Stages: stagesOf(run, nil)}
	for i := range len(text) {
		if text[i] != '/' {
			continue
		}
		a := Against{Stage: strings.TrimSpace(text[:i]), Of: strings.TrimSpace(text[i+1:])}
		if d.stage(a.Stage) >= 0 && d.stage(a.Of) >= 0 && a.Stage != a.Of {
			return a, nil
		}
	}
	return Against{}, &lab.Error{Kind: lab.Usage,
		What:  fmt.Sprintf("%q does not hold one stage of this run against another", text),
		Hints: []string{"write STAGE/OTHER, of " + d.stageNames()}}
}

// stagesOf are the stages of a run in their order.
func stagesOf(run lab.Run, links map[string]ceiling.Links) []Stage {
	var all []Stage
	add := func(s lab.Stage) {
		if s.Name == "" || slices.ContainsFunc(all, func(o Stage) bool { return o.Name == s.Name }) {
			return
		}
		stage := Stage{Stage: s}
		if l, ok := links[s.Name]; ok {
			stage.Links, stage.Rate = l.String(), float64(l.N)*l.Rate
		}
		all = append(all, stage)
	}
	for _, s := range run.Stages {
		add(s)
	}
	for _, a := range run.Arms {
		add(lab.Stage{Name: a.Levels[lab.StageLevel]})
	}
	return all
}

// stage is the place of a stage, -1 where there is none of that name.
func (d *Document) stage(name string) int {
	return slices.IndexFunc(d.Stages, func(s Stage) bool { return s.Name == name })
}

func (d *Document) stageNames() string {
	names := make([]string, len(d.Stages))
	for i, s := range d.Stages {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

func (d *Document) noStage(name string) error {
	return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("this run has no stage %q", name),
		Hints: []string{"it has " + d.stageNames()}}
}

func (d *Document) setAgainst(asked []Against) error {
	d.Against = []Against{}
	for _, a := range asked {
		for _, name := range []string{a.Stage, a.Of} {
			if d.stage(name) < 0 {
				return d.noStage(name)
			}
		}
		if !slices.Contains(d.Against, a) {
			d.Against = append(d.Against, a)
		}
	}
	for i := 1; i < len(d.Stages) && len(asked) == 0; i++ {
		d.Against = append(d.Against, Against{Stage: d.Stages[i].Name, Of: d.Stages[i-1].Name})
	}
	return nil
}

// gathered is what is kept of a cell's repetitions.
type gathered struct {
	n      int
	values map[string][]float64
	blocks map[string]map[int]float64
	// samples of the repetition with the highest, by metric.
	samples map[string]lab.Samples
	found   []found
	paths   paths.Counted
}

// found is what the links say of one direction of a load.
type found struct {
	direction string
	lab.Warning
	repetitions int
}

func gather(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], links map[string]ceiling.Links) (
	map[string]*gathered, error) {
	ceilings := map[string][]ceiling.Ceiling{}
	direct := map[string]bool{}
	all := map[string]*gathered{}
	for _, c := range run.Cells {
		all[c.ID] = &gathered{values: map[string][]float64{}, blocks: map[string]map[int]float64{},
			samples: map[string]lab.Samples{}}
		direct[c.ID] = reference.Parameter(c.Params, "direct") != "0"
		if l, ok := links[stageOf(run, c)]; ok {
			ceilings[c.ID] = l.Ceilings()
		}
	}
	for rep, err := range repetitions {
		if err != nil {
			return nil, err
		}
		g, ok := all[rep.Cell]
		if !ok {
			return nil, &lab.Error{What: fmt.Sprintf("run %s: repetition %d belongs to cell %q, which the run does "+
				"not have", run.ID, rep.Number, rep.Cell)}
		}
		g.add(rep)
		for _, direction := range []string{lab.Read, lab.Write} {
			own := slices.DeleteFunc(slices.Clone(ceilings[rep.Cell]), func(c ceiling.Ceiling) bool {
				return c.Metric != lab.Bandwidth(direction)
			})
			for _, w := range slices.Concat(ceiling.Check(rep.Values, rep.Series, own),
				ceiling.CheckExtremes(rep.Samples, rep.Values, own)) {
				g.find(direction, w, direct[rep.Cell])
			}
		}
	}
	return all, nil
}

func (g *gathered) add(rep lab.Repetition) {
	g.n++
	g.paths.Add(rep)
	for metric, v := range rep.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			continue
		}
		g.values[metric] = append(g.values[metric], v)
		if g.blocks[metric] == nil {
			g.blocks[metric] = map[int]float64{}
		}
		if rep.Block > 0 {
			g.blocks[metric][rep.Block] = v
		}
	}
	for metric, s := range rep.Samples {
		if old, ok := g.samples[metric]; !ok || s.Max > old.Max {
			g.samples[metric] = s
		}
	}
}

// find keeps a warning about a repetition, once for each code and direction.
func (g *gathered) find(direction string, w lab.Warning, direct bool) {
	if !direct && strings.HasSuffix(w.Code, "above-ceiling") {
		w.Text += "; the load has no direct=1, so the page cache of the machine that ran it took part"
	}
	i := slices.IndexFunc(g.found, func(o found) bool { return o.Code == w.Code && o.direction == direction })
	if i < 0 {
		i = len(g.found)
		g.found = append(g.found, found{direction: direction, Warning: w})
	}
	g.found[i].repetitions++
}

func stageOf(run lab.Run, c lab.Cell) string {
	for _, a := range run.Arms {
		if a.ID == c.Arm {
			return a.Levels[lab.StageLevel]
		}
	}
	return ""
}

// addRows makes a row of each direction of each cell, stage by stage.
func (d *Document) addRows(run lab.Run, g map[string]*gathered) {
	without := 0
	for _, s := range d.Stages {
		for _, c := range run.Cells {
			if stageOf(run, c) != s.Name {
				continue
			}
			some := false
			for _, direction := range lab.Directions() {
				cell := g[c.ID]
				iops, bandwidth := cell.values[lab.IOPS(direction)], cell.values[lab.Bandwidth(direction)]
				if direction == lab.Sync || len(iops)+len(bandwidth) == 0 {
					continue
				}
				some = true
				r := Row{Stage: s.Name, Cell: c.ID, Job: c.Job, Params: c.Params, Direction: direction,
					N: cell.n, Group: -1,
					Title: suite.Cell{Job: c.Job, Engine: c.Engine, Command: c.Command, Params: c.Params}.Title()}
				if len(iops) > 0 {
					r.IOPS = stat.Median(iops)
				}
				if len(bandwidth) > 0 {
					r.Bandwidth = stat.Median(bandwidth)
				}
				if samples, ok := cell.samples[lab.Bandwidth(direction)]; ok {
					r.Samples = &samples
				}
				r.blocks, r.Paths = cell.blocks[r.metric()], cell.paths.Shares()
				d.Rows = append(d.Rows, r)
			}
			if !some {
				without++
			}
		}
	}
	if without > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("loads without a rate, which are left out: %d", without))
	}
	if n := len(slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return stageOf(run, c) != "" })); n >
		0 {
		d.Notes = append(d.Notes, fmt.Sprintf("loads in no stage, which are left out: %d", n))
	}
}

// metric that shares are taken of: bytes, which are the same whatever the size of the pieces, and operations where no
// bytes are known.
func (r *Row) metric() string {
	if r.Bandwidth > 0 {
		return lab.Bandwidth(r.Direction)
	}
	return lab.IOPS(r.Direction)
}

// loadParams are those that make a load what it is.
func loadParams() []string {
	return []string{"rw", "bs", "iodepth", "numjobs", "direct", "ioengine", "size", "rwmixread", "fsync", "fdatasync",
		"sync", "rate", "rate_iops"}
}

// unlike are the parameters in which two loads differ, those that nobody set taken as fio takes them.
func unlike(here, there map[string]string) []Difference {
	var all []Difference
	for _, name := range loadParams() {
		a, b := reference.Parameter(here, name), reference.Parameter(there, name)
		if reference.Plain(a) != reference.Plain(b) {
			all = append(all, Difference{Param: name, Value: a, Other: b})
		}
	}
	return all
}

// kind is what two loads have in common that are set against each other at all: what is done, in pieces of which size.
func (r *Row) kind() string {
	return strings.Join([]string{r.Direction, reference.Parameter(r.Params, "rw"),
		reference.Plain(reference.Parameter(r.Params, "bs"))}, " ")
}

// work is the kind of a load and how many operations it has on their way: what people call one load, whichever tool
// generates it and however it goes to the storage.
func (r *Row) work() string {
	return strings.Join([]string{r.kind(), reference.Parameter(r.Params, "iodepth"),
		reference.Parameter(r.Params, "numjobs")}, " ")
}

// group puts the rows of one load together: those that are alike in everything, then those that do the same work, where
// no stage has two of them, and then those of one kind where it is clear which belongs to which, because no stage has
// both and there is no third.
func (d *Document) group() {
	var groups [][]int
	for i := range d.Rows {
		r := &d.Rows[i]
		at := slices.IndexFunc(groups, func(g []int) bool {
			o := &d.Rows[g[0]]
			return o.Direction == r.Direction && len(unlike(o.Params, r.Params)) == 0
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	groups = d.joinWork(groups)
	for d.join(&groups) {
	}
	rank := func(g []int) int { return slices.Index(lab.Directions(), d.Rows[g[0]].Direction) }
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(rank(a), rank(b)) })
	var sorted []Row
	for n, g := range groups {
		slices.SortStableFunc(g, func(a, b int) int {
			return cmp.Compare(d.stage(d.Rows[a].Stage), d.stage(d.Rows[b].Stage))
		})
		for _, i := range g {
			r := d.Rows[i]
			r.Group = n
			sorted = append(sorted, r)
		}
	}
	d.Rows = append([]Row{}, sorted...)
}

// joinWork puts groups together that do the same work, unless a stage has rows of two of them.
func (d *Document) joinWork(groups [][]int) [][]int {
	var joined [][]int
	done := map[string]bool{}
	for _, g := range groups {
		work := d.Rows[g[0]].work()
		var same [][]int
		for _, o := range groups {
			if d.Rows[o[0]].work() == work {
				same = append(same, o)
			}
		}
		all := slices.Concat(same...)
		stages := map[string]bool{}
		for _, o := range same {
			for _, stage := range d.stagesOf(o) {
				if stages[stage] {
					all = nil // it is not clear which of them belongs to which
				}
				stages[stage] = true
			}
		}
		switch {
		case all == nil:
			joined = append(joined, g)
		case !done[work]:
			joined, done[work] = append(joined, all), true
		}
	}
	return joined
}

// stagesOf are the stages that have rows of a group, each once.
func (d *Document) stagesOf(group []int) []string {
	var names []string
	for _, i := range group {
		if !slices.Contains(names, d.Rows[i].Stage) {
			names = append(names, d.Rows[i].Stage)
		}
	}
	return names
}

// join puts two groups of a kind together, where each is the only one that the other can be put to, and says whether it
// did.
func (d *Document) join(groups *[][]int) bool {
	all := *groups
	partner := func(i int) int {
		found := -1
		for j := range all {
			if j == i || d.Rows[all[i][0]].kind() != d.Rows[all[j][0]].kind() || d.share(all[i], all[j]) {
				continue
			}
			if found >= 0 {
				return -1
			}
			found = j
		}
		return found
	}
	for i := range all {
		if j := partner(i); j > i && partner(j) == i {
			all[i] = append(all[i], all[j]...)
			*groups = slices.Delete(all, j, j+1)
			return true
		}
	}
	return false
}

// share says whether a stage has rows of both groups.
func (d *Document) share(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool {
		return slices.ContainsFunc(b, func(j int) bool { return d.Rows[i].Stage == d.Rows[j].Stage })
	})
}

func (d *Document) setEfficiencies() {
	for _, a := range d.Against {
		for i := range d.Rows {
			if r := &d.Rows[i]; r.Stage == a.Stage {
				if e, ok := d.efficiency(r, a.Of); ok {
					r.Efficiency = append(r.Efficiency, e)
				}
			}
		}
	}
}

// efficiency of a row against the only row of its load in another stage.
func (d *Document) efficiency(r *Row, of string) (Efficiency, bool) {
	at := -1
	for i, o := range d.Rows {
		if o.Group == r.Group && o.Stage == of {
			if at >= 0 {
				return Efficiency{}, false // two of them: on several targets, say
			}
			at = i
		}
	}
	if at < 0 {
		return Efficiency{}, false
	}
	base := &d.Rows[at]
	e := Efficiency{Of: of, Row: at, Metric: r.metric(), Unlike: unlike(r.Params, base.Params)}
	switch {
	case r.metric() == base.metric() && r.Bandwidth > 0:
		e.Ratio = r.Bandwidth / base.Bandwidth
	case r.IOPS > 0 && base.IOPS > 0:
		e.Metric, e.Ratio = lab.IOPS(r.Direction), r.IOPS/base.IOPS
	default:
		return Efficiency{}, false
	}
	var logs []float64
	for _, block := range slices.Sorted(maps.Keys(r.blocks)) {
		if v, ok := base.blocks[block]; ok && r.metric() == base.metric() {
			logs = append(logs, math.Log(r.blocks[block]/v))
		}
	}
	if c := stat.PairedOnce(logs, confidence); len(logs) > 1 && c.Known() {
		e.Ratio, e.Lo, e.Hi, e.Pairs = c.Ratio, &c.Lo, &c.Hi, c.N
	}
	return e, true
}

// addWarnings takes over what the run was known to have, unless it taints other numbers only.
func (d *Document) addWarnings(known []Warning) {
	for _, w := range known {
		f := Finding{Warning: w.Warning, Repetitions: w.Repetitions, N: w.N}
		for i, r := range d.Rows {
			if r.Cell == w.Cell && (len(w.Taints) == 0 || r.tainted(w.Warning)) {
				f.Rows = append(f.Rows, i)
			}
		}
		if w.Cell == "" || len(f.Rows) > 0 {
			d.add(f)
		}
	}
}

func (r *Row) tainted(w lab.Warning) bool {
	return w.Tainted(lab.IOPS(r.Direction)) || w.Tainted(lab.Bandwidth(r.Direction))
}

// addFound adds what the links say of the rows.
func (d *Document) addFound(g map[string]*gathered) {
	for i, r := range d.Rows {
		for _, w := range g[r.Cell].found {
			if w.direction == r.Direction && !d.has(w.Code, i) {
				d.add(Finding{Warning: w.Warning, Rows: []int{i}, Repetitions: w.repetitions, N: r.N})
			}
		}
	}
}

// has says whether a row has a finding of a code already.
func (d *Document) has(code string, row int) bool {
	return slices.ContainsFunc(d.Findings, func(f Finding) bool {
		return f.Code == code && slices.Contains(f.Rows, row)
	})
}

// add puts a finding to one with the same words, or behind the others.
func (d *Document) add(f Finding) {
	if f.Taints == nil {
		f.Taints = []string{}
	}
	for i := range d.Findings {
		if o := &d.Findings[i]; o.Code == f.Code && o.Text == f.Text && (len(o.Rows) > 0) == (len(f.Rows) > 0) {
			for _, row := range f.Rows {
				if !slices.Contains(o.Rows, row) {
					o.Rows = append(o.Rows, row)
				}
			}
			o.Published = append(o.Published, f.Published...)
			return
		}
	}
	d.Findings = append(d.Findings, f)
}

// addUnlike points out pairs that are not alike.
func (d *Document) addUnlike() {
	for i, r := range d.Rows {
		for _, e := range r.Efficiency {
			if len(e.Unlike) == 0 {
				continue
			}
			var words []string
			for _, u := range e.Unlike {
				words = append(words, fmt.Sprintf("%s %s against %s", u.Param, orUnset(u.Value), orUnset(u.Other)))
			}
			d.add(Finding{Rows: []int{i},
				Warning: lab.Warning{Code: "unlike-pair", Taints: []string{}, Text: fmt.Sprintf(
					"%s in %s is held against %s in %s (%s): its %.1f%% are not what %s makes of the same load; "+
						"measure both with one load",
					r.Title, r.Stage, d.Rows[e.Row].Title, e.Of, strings.Join(words, ", "), 100*e.Ratio, r.Stage)}})
		}
	}
}

// fasterThanRead is how many times less a write must take than a read of the same size, one at a time, for a cache to
// have answered it.
const fasterThanRead = 3

// addWrites points out writes, one at a time, that take far less than a read does where the same data are read: what
// answered them is not what holds the data. That is no fault by itself, but the number is that of a cache.
func (d *Document) addWrites() {
	for i, w := range d.Rows {
		took, ok := w.each()
		if !ok || w.Direction != lab.Write {
			continue
		}
		for _, r := range d.Rows {
			reads, ok := r.each()
			same := r.Stage == w.Stage && reference.Plain(reference.Parameter(r.Params, "bs")) ==
				reference.Plain(reference.Parameter(w.Params, "bs")) &&
				reference.Parameter(r.Params, "numjobs") == reference.Parameter(w.Params, "numjobs") &&
				strings.HasPrefix(r.Params["rw"], "rand") == strings.HasPrefix(w.Params["rw"], "rand")
			if !ok || r.Direction != lab.Read || !same || took*fasterThanRead > reads {
				continue
			}
			by := "a cache answered them (of the drive, a controller, or the memory of a server that exports async), " +
				"and not what is read from; see what a loss of power would cost, and measure more data than the " +
				"cache holds"
			if !w.passesPageCache() {
				by = "the load has no direct=1, so the page cache of the machine that ran it answered them; use " +
					"direct=1, or end_fsync=1 and more data than memory holds"
			}
			d.add(Finding{Rows: []int{i}, Warning: lab.Warning{Code: "writes-by-cache", Taints: []string{},
				Text: fmt.Sprintf("%s in %s takes %s for each, one at a time, and a read %s: %s", w.Title, w.Stage,
					unit.Latency(took), unit.Latency(reads), by)}})
			break
		}
	}
}

// passesPageCache says whether an operation is over only when it is beyond the page cache.
func (r *Row) passesPageCache() bool {
	return reference.Parameter(r.Params, "direct") == "1" || reference.Parameter(r.Params, "sync") != "0" ||
		reference.Parameter(r.Params, "fsync") == "1" || reference.Parameter(r.Params, "fdatasync") == "1"
}

// each is how many seconds an operation takes of a load that has one at a time in each job; false for any other.
func (r *Row) each() (float64, bool) {
	jobs, err := strconv.ParseFloat(reference.Parameter(r.Params, "numjobs"), 64)
	mixed := strings.HasSuffix(reference.Parameter(r.Params, "rw"), "rw")
	if err != nil || r.IOPS <= 0 || mixed || reference.Parameter(r.Params, "iodepth") != "1" {
		return 0, false
	}
	return jobs / r.IOPS, true
}

func orUnset(v string) string {
	if v == "" {
		return "unset"
	}
	return v
}

// setCodes tells each row the codes of what it is found wanting in.
func (d *Document) setCodes() {
	for _, f := range d.Findings {
		for _, i := range f.Rows {
			if r := &d.Rows[i]; !slices.Contains(r.Warnings, f.Code) && (len(f.Published) == 0) {
				r.Warnings = append(r.Warnings, f.Code)
			}
		}
	}
}
