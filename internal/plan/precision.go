package plan

import (
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// Goal is when a plan by precision ends: as soon as one of its limits is reached.
type Goal struct {
	// Within is the largest distance of an interval's end from its median, as a share of it: 0.03. 0 sets no precision,
	// so that the budget is spent where intervals are widest.
	Within float64
	// Budget is the limit in seconds for all repetitions together; 0 is none.
	Budget float64
	// Most is the most repetitions of one cell.
	Most int
}

// confidence of the intervals that the plan makes narrow.
const confidence = 0.95

// Precision is a plan that repeats cells that are not known well enough. The first pass is over all cells. Each further
// pass is over the cells with the widest intervals, and every few passes over all that are not precise yet, so that
// none is starved. Passes follow the order of the suite: a cell's repetitions are spread over the time of the run, and
// drift is charged to all.
//
// The intervals hold at all looks together (stat.MedianSequence): others would cover less than their confidence level,
// because the plan stops when one happens to be narrow.
type Precision struct {
	cells []Cell
	order Order
	seed  uint64
	goal  Goal
}

// ByPrecision plans cells; the repetitions that each asks for are the least that it gets, as far as the budget goes.
func ByPrecision(cells []Cell, order Order, seed uint64, goal Goal) *Precision {
	return &Precision{cells: cells, order: order, seed: seed, goal: goal}
}

// Next starts nothing, after the first pass, that would not end within the budget.
func (p *Precision) Next(done []Done) (Repetition, bool) {
	h := byCell(done)
	all := stages(p.cells)
	first := 1 // block of the first pass of a stage
	for i, stage := range all {
		last := first - 1
		for _, c := range stage {
			for _, d := range h[c.ID] {
				last = max(last, d.Block)
			}
		}
		// When the next stage has begun, what it did to the place can't be undone.
		if !h.has(all[i+1:]) {
			if next, more := p.inStage(stage, first, max(first, last), h, p.allowance(all[i:], h)); more {
				return next, true
			}
		}
		first = last + 1
	}
	return Repetition{}, false
}

// history is what was done, by cell.
type history map[string][]Done

func byCell(done []Done) history {
	h := history{}
	for _, d := range done {
		h[d.Cell] = append(h[d.Cell], d)
	}
	return h
}

func (h history) has(stages [][]Cell) bool {
	for _, stage := range stages {
		for _, c := range stage {
			if len(h[c.ID]) > 0 {
				return true
			}
		}
	}
	return false
}

// inStage continues the pass that was begun, or begins the next. first is the block of the stage's first pass.
func (p *Precision) inStage(stage []Cell, first, block int, h history, allowance float64) (Repetition, bool) {
	for ; ; block++ {
		before, position := history{}, 0
		for _, c := range stage {
			for _, d := range h[c.ID] {
				if d.Block < block {
					before[c.ID] = append(before[c.ID], d)
				} else {
					position++
				}
			}
		}
		for _, c := range p.pass(stage, block-first+1, before) {
			taken := len(h[c.ID]) > len(before[c.ID])
			if !taken && (block == first || seconds(c, h[c.ID]) <= allowance) {
				return Repetition{Cell: c.ID, Number: len(h[c.ID]) + 1, Block: block, Position: position + 1}, true
			}
		}
		if position == 0 {
			return Repetition{}, false
		}
	}
}

const (
	// widthShare is how wide an interval must be, as a share of the widest, for a cell to be in every pass: less than
	// 1, so that passes have more than one cell and its repetitions do not follow each other.
	widthShare = 0.5
	// fullPassEvery is how often all unfinished cells have a turn.
	fullPassEvery = 4
)

// pass are the cells of a pass in their order; before is what was measured until it began.
func (p *Precision) pass(stage []Cell, number int, before history) []Cell {
	widest := 0.0
	known := map[string]CellEstimate{}
	for _, c := range stage {
		s := p.cellEstimate(c, before[c.ID])
		known[c.ID] = s
		if s.unfinished {
			widest = max(widest, s.Width())
		}
	}
	once := slices.Clone(stage)
	for i := range once {
		once[i].Repetitions = number
	}
	var pass []Cell
	for _, r := range p.order(once, p.seed) {
		if r.Block != number {
			continue
		}
		c := stage[slices.IndexFunc(stage, func(c Cell) bool { return c.ID == r.Cell })]
		s := known[r.Cell]
		if s.unfinished && (number%fullPassEvery == 0 || s.N < c.Repetitions || s.Width() >= widthShare*widest) {
			pass = append(pass, c)
		}
	}
	return pass
}

// allowance returns the rest of the budget for the first of these stages: its share by the time of one pass.
func (p *Precision) allowance(stages [][]Cell, h history) float64 {
	if p.goal.Budget == 0 {
		return math.Inf(1)
	}
	spent, mine := 0.0, 0.0 // by all cells, and by those of the first stage
	first, all := 0.0, 0.0  // one pass
	for _, c := range p.cells {
		spent += sum(h[c.ID])
	}
	for i, stage := range stages {
		for _, c := range stage {
			all += seconds(c, h[c.ID])
			if i == 0 {
				first += seconds(c, h[c.ID])
				mine += sum(h[c.ID])
			}
		}
	}
	if first == all {
		return p.goal.Budget - spent
	}
	return (p.goal.Budget-(spent-mine))*first/all - mine
}

func sum(done []Done) float64 {
	s := 0.0
	for _, d := range done {
		s += d.Seconds
	}
	return s
}

// seconds returns the expected time of a repetition: the mean of the measured ones. A failed repetition ends early and
// is ignored.
func seconds(c Cell, done []Done) float64 {
	ended := slices.DeleteFunc(slices.Clone(done), func(d Done) bool { return len(d.Values) == 0 || d.Seconds == 0 })
	if len(ended) == 0 {
		return c.Seconds
	}
	return sum(ended) / float64(len(ended))
}

// Pass returns how many seconds one pass over all cells is expected to take; 0 when that is unknown.
func (p *Precision) Pass() float64 {
	total := 0.0
	for _, c := range p.cells {
		if c.Seconds == 0 {
			return 0
		}
		total += c.Seconds
	}
	return total
}

// CellEstimate is how well a cell is known.
type CellEstimate struct {
	Cell string
	// N repetitions that have a value.
	N int
	// Metrics that steer the plan, by name.
	Metrics []MetricEstimate
	// unfinished says that the plan would repeat the cell, had it the time.
	unfinished bool
}

// MetricEstimate is how well one metric of a cell is known.
type MetricEstimate struct {
	Metric string
	stat.Interval
	// Width of the interval; see Width.
	Width float64
}

// Precise reports whether the cell has values and no interval of it is wider than within.
func (s CellEstimate) Precise(within float64) bool { return s.N > 0 && s.Width() <= within }

// Width returns the width of the widest interval of the cell's metrics; +Inf when there is none.
func (s CellEstimate) Width() float64 {
	if len(s.Metrics) == 0 {
		return math.Inf(1)
	}
	widest := 0.0
	for _, e := range s.Metrics {
		widest = max(widest, e.Width)
	}
	return widest
}

// CellEstimates of all cells, in their order.
func (p *Precision) CellEstimates(done []Done) []CellEstimate {
	var list []CellEstimate
	h := byCell(done)
	for _, c := range p.cells {
		list = append(list, p.cellEstimate(c, h[c.ID]))
	}
	return list
}

// enoughFailures is after how many repetitions without any result a cell is given up.
const enoughFailures = 3

func (p *Precision) cellEstimate(c Cell, mine []Done) CellEstimate {
	s := CellEstimate{Cell: c.ID}
	values := map[string][]float64{}
	for _, d := range mine {
		if len(d.Values) > 0 {
			s.N++
		}
		for name, v := range d.Values {
			values[name] = append(values[name], v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		e := MetricEstimate{Metric: name, Interval: stat.MedianSequence(values[name], confidence)}
		e.Width = Width(e.Interval)
		s.Metrics = append(s.Metrics, e)
	}
	switch {
	case len(mine) >= p.goal.Most, s.N == 0 && len(mine) >= max(enoughFailures, c.Repetitions):
	case len(mine) < c.Repetitions:
		s.unfinished = true
	default:
		s.unfinished = p.goal.Within == 0 || !s.Precise(p.goal.Within)
	}
	return s
}

// Width is how far an interval reaches from its centre, as a share of it, on the side where it reaches further; +Inf
// without an interval.
func Width(i stat.Interval) float64 {
	if !i.Known() {
		return math.Inf(1)
	}
	reach := max(i.Hi-i.Center, i.Center-i.Lo)
	if reach == 0 {
		return 0
	}
	return reach / math.Abs(i.Center)
}

// MinForQuantile values that have an interval.
const MinForQuantile = 8

// widthScatter, divided by the root of n, is how much wider than seen the interval of n values is taken to be, as a
// share. With it AdditionalRepetitions are enough in about four of five cases (TestAdviceOnPrecision).
const widthScatter = 0.8

// AdditionalRepetitions returns how many repetitions it takes, beyond n, until a width is within what was asked for in
// four of five cases: it shrinks with the root of their number, and few values tell it roughly. Below the fewest that
// have an interval at all it is what these take; 0 when nothing was asked for.
func AdditionalRepetitions(width, within float64, n int) int {
	switch {
	case within == 0 || width <= within:
		return 0
	case math.IsInf(width, 1):
		return max(1, MinForQuantile-n)
	default:
		wide := width * (1 + widthScatter/math.Sqrt(float64(n)))
		return int(math.Ceil(min(math.MaxInt32, float64(n)*(math.Pow(wide/within, 2)-1))))
	}
}
