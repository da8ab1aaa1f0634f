package ladder

import (
	"fmt"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

const (
	// DefaultMargin and DefaultAlpha are the terms unless others are given.
	DefaultMargin = 0.05
	DefaultAlpha  = 0.05
	// confidence of the interval of a single rate.
	confidence = 0.95
	// near is the share of a ceiling from which it explains why a rung falls short: formulas of links leave out what
	// hand-shakes take.
	near = 0.90
)

// Step is a rung before it is judged.
type Step struct {
	Rung
	// Below is the index of the rung under a volume or a file system, on as many drives and loaded by as many jobs; -1
	// for none. For a rung between pods it is the same rung between their nodes.
	Below int
	// Like is the same text for rungs that should be equally fast: drives of the same model and size; disks of a guest
	// that differ only in their storage; ports with the same capacity. Empty for none.
	Like string
	// Ceilings from the facts of the machine, by cell.
	Ceilings map[string][]ceiling.Ceiling
	// Carries is the capacity of a machine's ports, if its facts have it, by cell: its loopback should reach that rate,
	// too.
	Carries map[string]ceiling.Ceiling
}

// UnknownSpeed is what ports are Like whose speed no fact tells: then all of them are compared with each other.
const UnknownSpeed = "unknown"

// Load is a cell with its title as people read it.
type Load struct {
	lab.Cell
	Title string
	// Metric is the rate to compare; empty for the usual rate of a load on storage.
	Metric string
}

// metric is the rate that people read for a load.
func (l Load) metric() string {
	if l.Metric != "" {
		return l.Metric
	}
	return metricOf(l.Params)
}

// Measured is one repetition, by rung and block.
type Measured struct {
	Rung   int
	Cell   string
	Block  int
	Values map[string]float64
}

// Terms are settled before anything is measured.
type Terms struct {
	Margin, Alpha float64
	Passes        int
	// CPUs of the machine that is not a guest; 0 when that is not known.
	CPUs int
}

// analysis is a ladder that is being judged.
type analysis struct {
	steps []Step
	terms Terms
	// values by rung, cell and block.
	values []map[string]map[int]map[string]float64
}

// Analyze makes the document.
func Analyze(steps []Step, loads []Load, measured []Measured, warnings []RungWarning, notes []string,
	terms Terms) Document {
	c := &analysis{steps: steps, terms: terms,
		values: make([]map[string]map[int]map[string]float64, len(steps))}
	for _, m := range measured {
		if c.values[m.Rung] == nil {
			c.values[m.Rung] = map[string]map[int]map[string]float64{}
		}
		if c.values[m.Rung][m.Cell] == nil {
			c.values[m.Rung][m.Cell] = map[int]map[string]float64{}
		}
		c.values[m.Rung][m.Cell][m.Block] = m.Values
	}
	d := Document{Schema: Schema, Rungs: []Rung{}, Margin: terms.Margin, Alpha: terms.Alpha, Passes: terms.Passes,
		Warnings: append([]RungWarning{}, warnings...), Notes: append([]string{}, notes...)}
	var logs [][][]float64 // by rung and load
	for i, s := range steps {
		rung := s.Rung
		rung.withoutStorageRung = withoutStorageTwin(steps, i)
		rung.Cells = make([]Cell, 0, len(loads))
		var ofRung [][]float64
		for _, l := range loads {
			cell, ratios := c.fillCell(i, l)
			cell.Warnings = tainting(warnings, i, l.ID, cell.Metric)
			if cell.Expected != nil {
				d.Claims++
			}
			rung.Cells, ofRung = append(rung.Cells, cell), append(ofRung, ratios)
		}
		d.Rungs, logs = append(d.Rungs, rung), append(logs, ofRung)
	}
	for i := range d.Rungs {
		for j := range d.Rungs[i].Cells {
			cell := &d.Rungs[i].Cells[j]
			cell.decide(logs[i][j], terms.Margin, stat.FamilyWise(terms.Alpha, d.Claims))
			if cell.Verdict == Short && steps[i].explained(cell) {
				cell.Verdict = AtCeiling
			}
		}
	}
	c.attributeLosses(&d)
	d.PodNetwork = podLosses(&d)
	d.Answer = answer(&d, terms.CPUs)
	return d
}

// tainting are the codes of the warnings that cast doubt on a metric of a cell at a rung.
func tainting(warnings []RungWarning, rung int, cell, metric string) []string {
	var codes []string
	for _, w := range warnings {
		if w.Rung == rung && (w.Cell == "" || w.Cell == cell) && w.Tainted(metric) && !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// metricOf is the rate that people read for a load on storage: bandwidth of large blocks, operations of small ones.
// Only loads that read are climbed.
func metricOf(params map[string]string) string {
	if n, err := unit.ParseBytes(params["bs"]); err == nil && n >= 64<<10 {
		return lab.Bandwidth(lab.Read)
	}
	return lab.IOPS(lab.Read)
}

// fillCell fills in a cell, but for its verdict, and returns the logarithms of what was reached of what was expected,
// one for each block.
func (a *analysis) fillCell(rung int, l Load) (cell Cell, logs []float64) {
	metric := l.metric()
	cell = Cell{Cell: l.ID, Title: l.Title, Params: l.Params, Metric: metric, Unit: lab.Metric(metric).Unit,
		Verdict: Unexpected}
	here := a.series(rung, l.ID, metric)
	cell.N = len(here)
	if cell.N == 0 {
		return a.standing(cell, rung, l.ID), nil
	}
	mean := average(here)
	cell.Center = &mean.Ratio
	if mean.Known() {
		cell.Lo, cell.Hi = &mean.Lo, &mean.Hi
	}
	if user, system := a.series(rung, l.ID, "cpu.user"), a.series(rung, l.ID, "cpu.system"); len(user) > 0 {
		cpu := stat.MeanInterval(inOrder(user), confidence).Center
		if len(system) > 0 {
			cpu += stat.MeanInterval(inOrder(system), confidence).Center
		}
		cell.CPU = &cpu
	}
	if tightest, ok := ceiling.Tightest(a.ceilings(rung, l.ID, metric), metric); ok {
		share := *cell.Center / tightest.Value
		cell.Ceiling = &Ceiling{Value: tightest.Value, Limiter: tightest.Limiter, Derivation: tightest.Derivation}
		cell.Share = &share
	}
	from, rungs, expected := a.expected(rung, l.ID, metric)
	promised := map[int]float64{}
	for _, block := range blocks(here) {
		if e, ok := expected[block]; ok && e > 0 {
			promised[block], logs = e, append(logs, math.Log(here[block]/e))
		}
	}
	if len(logs) == 0 {
		return cell, nil
	}
	cell.Expected = &Expected{Value: average(promised).Ratio, From: from, Rungs: rungs}
	return cell, logs
}

// ceilings returns the ceilings of a rung: the hardware's, and the measured rate of operations of as many jobs on a
// null device. The bandwidth of a null device is no bound, because it moves no data.
func (a *analysis) ceilings(rung int, cell, metric string) []ceiling.Ceiling {
	all := slices.Clone(a.steps[rung].Ceilings[cell])
	if a.steps[rung].Kind == Guest {
		return append(all, a.emulationCeiling(rung, cell, metric)...)
	}
	if a.steps[rung].Kind.bare() || lab.Metric(metric).Unit != lab.PerSecond {
		return all
	}
	for i, s := range a.steps {
		null := a.series(i, cell, metric)
		if s.Kind != Null || s.Jobs != a.steps[rung].Jobs || len(null) == 0 {
			continue
		}
		v := average(null).Ratio
		all = append(all, ceiling.Ceiling{Metric: metric, Value: v, Most: math.Inf(1), Limiter: s.Name,
			Derivation: fmt.Sprintf("measured on %s: %s", s.Name, amount(lab.Metric(metric).Unit, v))})
	}
	return all
}

// explained reports whether a rate is at a ceiling that accounts for what it lacks. What a guest's disk lacks is
// decided by intervals (blame).
func (s Step) explained(c *Cell) bool { return s.Kind != Guest && c.Share != nil && *c.Share >= near }

// decide judges by an interval of the confidence that is left for one claim of all.
func (c *Cell) decide(logs []float64, margin, confidence float64) {
	if c.Expected == nil || c.Reached != nil {
		return
	}
	change := stat.PairedOnce(logs, confidence).Agreeing(c.Expected.Value, *c.Center)
	c.Reached = &stat.Estimate{Value: change.Ratio, Bounds: stat.BoundsOf(change.Lo, change.Hi)}
	c.Verdict = Undecided
	if !change.Known() {
		return
	}
	switch {
	case change.Hi < 1-margin:
		c.Verdict = Short
	case change.Lo >= 1-margin:
		c.Verdict = Reaches
	}
}

// series is a metric at a rung by block.
func (a *analysis) series(rung int, cell, metric string) map[int]float64 {
	found := map[int]float64{}
	for block, values := range a.values[rung][cell] {
		if v, ok := values[metric]; ok && v > 0 {
			found[block] = v
		}
	}
	return found
}

// average is the geometric mean of a rate with its interval: then what was reached is a rate over what was promised in
// the averages too.
func average(rates map[int]float64) stat.Change {
	var logs []float64
	for _, v := range inOrder(rates) {
		logs = append(logs, math.Log(v))
	}
	return stat.PairedOnce(logs, confidence)
}

func blocks(of map[int]float64) []int {
	var list []int
	for b := range of {
		list = append(list, b)
	}
	slices.Sort(list)
	return list
}

func inOrder(of map[int]float64) []float64 {
	var list []float64
	for _, b := range blocks(of) {
		list = append(list, of[b])
	}
	return list
}

// fewestStanding is in how many passes a load stands still at least for its rung to be called short: once may be
// chance.
const fewestStanding = 2

// standing returns a cell without a rate. Where the load did nothing in each pass, and what was expected of it was
// measured, its rung is short of all of that.
func (a *analysis) standing(c Cell, rung int, cell string) Cell {
	from, rungs, expected := a.expected(rung, cell, c.Metric)
	promised := map[int]float64{}
	for block, values := range a.values[rung][cell] {
		if !lab.Stands(nil, c.Metric, values) {
			continue
		}
		c.N++
		if e, ok := expected[block]; ok && e > 0 {
			promised[block] = e
		}
	}
	if c.N == 0 {
		return c
	}
	zero := 0.0
	c.Center = &zero
	if len(promised) >= fewestStanding {
		c.Expected = &Expected{Value: average(promised).Ratio, From: from, Rungs: rungs}
		c.Reached, c.Verdict = &stat.Estimate{Bounds: stat.BoundsOf(0, 0)}, Short
	}
	return c
}

// expected is what the rungs below promise for a cell, by block, with its origin in words and the rungs that it comes
// from. Nothing is promised to a rung without storage, and to a drive only by drives like it. A loopback is promised
// what the facts say that the machine's ports carry.
func (a *analysis) expected(rung int, cell, metric string) (from string, rungs []int, values map[int]float64) {
	s := a.steps[rung]
	if s.Network == Pods && s.Below >= 0 {
		return a.steps[s.Below].Name, []int{s.Below}, a.series(s.Below, cell, metric)
	}
	switch s.Kind {
	case Memory, Null, Flow:
		return "", nil, nil
	case Loopback:
		carries, known := s.Carries[cell]
		if !known {
			return "", nil, nil
		}
		return "what its ports can carry: " + carries.Limiter, []int{},
			constant(carries.Value, a.series(rung, cell, metric))
	case Port:
		if from = "ports like it"; s.Like == UnknownSpeed {
			from = "the other ports, of which no speed is known"
		}
		rungs = a.equalRungs(rung)
		return from, rungs, a.combine(rungs, cell, metric, middle)
	case BothWays:
		return a.steps[s.Below].Name + " one way", []int{s.Below}, a.series(s.Below, cell, metric)
	case Drive:
		from, rungs = "drives like it", a.equalRungs(rung)
		return from, rungs, a.combine(rungs, cell, metric, middle)
	case DriveGroup, Ports:
		from, rungs = "the sum of each alone", a.singleRungs(rung)
		return from, rungs, a.combine(rungs, cell, metric, sum)
	}
	if s.Below >= 0 {
		return a.steps[s.Below].Name, []int{s.Below}, a.series(s.Below, cell, metric)
	}
	if s.Kind == Guest {
		return "", nil, nil // its disks have different names
	}
	if rungs = a.drivesUnder(rung); len(rungs) > 0 {
		return "the sum of its drives, each alone", rungs, a.combine(rungs, cell, metric, sum)
	}
	return "", nil, nil
}

// equalRungs are the other drives or ports that one should be as fast as.
func (a *analysis) equalRungs(rung int) []int {
	var found []int
	for i, s := range a.steps {
		if i != rung && s.Kind == a.steps[rung].Kind && s.Like != "" && s.Like == a.steps[rung].Like {
			found = append(found, i)
		}
	}
	return found
}

// singleRungs returns the rungs where each member of a rung was measured alone; none unless all of them were.
func (a *analysis) singleRungs(rung int) []int {
	var found []int
	for _, place := range a.steps[rung].Places {
		i := slices.IndexFunc(a.steps, func(s Step) bool {
			return s.Kind != Guest && s.Kind != Flow && len(s.Places) == 1 && s.Places[0] == place
		})
		if i < 0 {
			return nil
		}
		found = append(found, i)
	}
	return found
}

// drivesUnder are the rungs of the drives under a rung; none unless all of them were measured.
func (a *analysis) drivesUnder(rung int) []int {
	var found []int
	for _, disk := range a.steps[rung].Disks {
		i := slices.IndexFunc(a.steps, func(s Step) bool {
			return s.Kind == Drive && slices.Equal(s.Disks, []string{disk})
		})
		if i < 0 {
			return nil
		}
		found = append(found, i)
	}
	return found
}

// combine puts several rungs together, in the blocks that all of them have.
func (a *analysis) combine(rungs []int, cell, metric string, together func([]float64) float64) map[int]float64 {
	parts := map[int][]float64{}
	for _, i := range rungs {
		for block, v := range a.series(i, cell, metric) {
			parts[block] = append(parts[block], v)
		}
	}
	values := map[int]float64{}
	for block, list := range parts {
		if len(list) == len(rungs) {
			values[block] = together(list)
		}
	}
	return values
}

// middle is the middle one, and of an even number the upper of the two: of two drives like a third, a slow one must not
// lower what is expected of it.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// constant is the same value in all blocks of a series.
func constant(v float64, like map[int]float64) map[int]float64 {
	values := map[int]float64{}
	for block := range like {
		values[block] = v
	}
	return values
}
