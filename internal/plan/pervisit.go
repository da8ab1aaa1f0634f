package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// PerVisit is how much the visits of an experiment differ, and how many repetitions of every cell in a visit give the
// narrowest intervals for the time.
type PerVisit struct {
	// Boots is set if every visit is a boot.
	Boots bool `json:"boots"`
	// Visits is the number of visits of levels, and Repetitions the most repetitions of a cell in one of them.
	Visits      int `json:"visits"`
	Repetitions int `json:"repetitions"`
	// VisitSeconds is how long a visit takes apart from its repetitions: the boot or change, and all else until the
	// first load begins. RepetitionSeconds is what one repetition of all cells takes. Absent where starts and lengths
	// of loads are not on record.
	VisitSeconds      *float64 `json:"visit_seconds,omitempty"`
	RepetitionSeconds *float64 `json:"repetition_seconds,omitempty"`
	// Metrics are the deciding metrics of all cells, the one with the widest interval first: that one decides when an
	// experiment can end.
	Metrics []VisitMetric `json:"numbers"`
	// Repeat is the best number of repetitions, for the first of Metrics; absent where it is unknown.
	Repeat int `json:"repeat,omitempty"`
}

// VisitMetric is the variation between and within visits of one metric of one cell, as standard deviations of
// logarithms: 0.06 is 6%.
type VisitMetric struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	// Between is the variation between visits, beyond what repetitions explain, and Within the variation within a
	// visit; absent if there are too few visits.
	Between *float64 `json:"between,omitempty"`
	Within  *float64 `json:"within,omitempty"`
	// Repeat is the best number of repetitions, absent if it is unknown. The true best number is between From and To,
	// each absent if there is no bound.
	Repeat int `json:"repeat,omitempty"`
	From   int `json:"from,omitempty"`
	To     int `json:"to,omitempty"`

	spread float64 // of the mean of a visit
}

// VisitRecord records what PerVisit needs of the repetitions of an experiment.
type VisitRecord struct {
	run   lab.Run
	cells map[string]lab.Cell
	reps  []lab.Repetition
}

// RecordVisits begins a record of a run with several arms.
func RecordVisits(run lab.Run) *VisitRecord {
	v := &VisitRecord{run: run, cells: map[string]lab.Cell{}}
	for _, c := range run.Cells {
		v.cells[c.ID] = c
	}
	return v
}

// Add records a repetition. For a failed one only the time counts.
func (v *VisitRecord) Add(r lab.Repetition, failed bool) {
	if failed {
		r.Values = nil
	}
	r.Latency, r.Series, r.Warnings = nil, nil, nil
	v.reps = append(v.reps, r)
}

// PerVisit returns nil if visits have one repetition of each cell, or nothing varies. deciding returns the metrics that
// decide about a cell, by the cell's ID in the suite, without the arm.
func (v *VisitRecord) PerVisit(deciding func(cell string) []string) *PerVisit {
	out := &PerVisit{Metrics: []VisitMetric{}}
	if e := v.run.Experiment; e != nil {
		out.Boots = slices.ContainsFunc(e.Factors, func(f lab.VariedFactor) bool { return f.Needs == "reboot" })
	}
	out.Visits, out.Repetitions = v.counts()
	if out.Repetitions < 2 {
		return nil
	}
	visit, repetition, timed := v.costs()
	if timed {
		out.VisitSeconds, out.RepetitionSeconds = &visit, &repetition
	}
	for _, cell := range v.loads() {
		for _, metric := range deciding(cell) {
			l := stat.VarianceByLevel(v.boots(cell, metric))
			n := VisitMetric{Cell: cell, Metric: metric, Between: deviation(l.Between), Within: deviation(l.Within),
				spread: -1}
			if n.Within != nil && n.Between != nil {
				n.spread = l.Between + l.Within/float64(out.Repetitions)
			}
			if n.spread >= 0 && n.spread < zeroVariance*zeroVariance {
				continue
			}
			if timed {
				r := l.Repetitions(visit, repetition)
				n.From, n.To = r.From, r.To
				if r.Known {
					n.Repeat = r.Best
				}
			}
			out.Metrics = append(out.Metrics, n)
		}
	}
	if len(out.Metrics) == 0 {
		return nil
	}
	slices.SortStableFunc(out.Metrics, func(a, b VisitMetric) int { return cmp.Compare(b.spread, a.spread) })
	out.Repeat = out.Metrics[0].Repeat
	return out
}

// zeroVariance is a spread that is none: the rounding of a number that never changes.
const zeroVariance = 1e-9

func deviation(variance float64) *float64 {
	if math.IsNaN(variance) {
		return nil
	}
	d := math.Sqrt(variance)
	return &d
}

// atLevel reports whether a cell is one of the levels', and not of the reference, which is another machine.
func (v *VisitRecord) atLevel(c lab.Cell) bool {
	return c.Arm != "" && (v.run.Experiment == nil || c.Arm != v.run.Experiment.Reference)
}

// loads returns the loads of the suite, in its order.
func (v *VisitRecord) loads() []string {
	var list []string
	for _, c := range v.run.Cells {
		if v.atLevel(c) && !slices.Contains(list, c.Load()) {
			list = append(list, c.Load())
		}
	}
	return list
}

// visit of an arm. Boot tells the two halves of a visit that an interruption has cut in two and that was booted for
// again.
type visit struct {
	arm   string
	block int
	boot  string
}

func (v *VisitRecord) visitOf(r lab.Repetition) visit {
	return visit{v.cells[r.Cell].Arm, r.Block, r.Boot}
}

// counts are how many visits there were, and how many repetitions of a cell one of them has at most.
func (v *VisitRecord) counts() (visits, repetitions int) {
	type place struct {
		visit
		cell string
	}
	seen, repeated := map[visit]bool{}, map[place]int{}
	for _, r := range v.reps {
		if len(r.Values) == 0 || r.Block < 1 || !v.atLevel(v.cells[r.Cell]) {
			continue
		}
		at := v.visitOf(r)
		seen[at] = true
		repeated[place{at, r.Cell}]++
		repetitions = max(repetitions, repeated[place{at, r.Cell}])
	}
	return len(seen), repetitions
}

// boots are the visits with the logarithms of a metric. Arms with the same levels are one arm: the baseline of an
// ablation, visited twice.
func (v *VisitRecord) boots(cell, metric string) []stat.Boot {
	levels := map[string]string{}
	for _, a := range v.run.Arms {
		levels[a.ID] = fmt.Sprint(a.Levels) // maps are printed in the order of their keys
	}
	var order []visit
	var arms []string
	values := map[visit][]float64{}
	for _, r := range v.reps {
		c, at := v.cells[r.Cell], v.visitOf(r)
		value, measured := r.Values[metric]
		if !measured || r.Block < 1 || !v.atLevel(c) || c.Load() != cell || !(value > 0) || math.IsInf(value, 1) {
			continue
		}
		if values[at] == nil {
			order = append(order, at)
		}
		if !slices.Contains(arms, levels[at.arm]) {
			arms = append(arms, levels[at.arm])
		}
		values[at] = append(values[at], math.Log(value))
	}
	var boots []stat.Boot
	for _, at := range order {
		boots = append(boots, stat.Boot{Arm: slices.Index(arms, levels[at.arm]), Block: at.block, Values: values[at]})
	}
	return boots
}

// costs returns the seconds that a visit takes apart from its repetitions, and the seconds of one repetition of all
// cells. They are read off the gaps between the end of a load and the start of the next one: all that happens there is
// in them, a scratch file that is written again after a boot too, which the record of a repetition leaves out of what
// it took. Medians, because a run that was interrupted has a gap that is none of either.
func (v *VisitRecord) costs() (visit, repetition float64, known bool) {
	reps := slices.DeleteFunc(slices.Clone(v.reps), func(r lab.Repetition) bool { return r.Start.IsZero() })
	slices.SortStableFunc(reps, func(a, b lab.Repetition) int { return a.Start.Compare(b.Start) })
	type gap struct {
		load    string
		seconds float64
	}
	var entering []gap
	staying, lengths := map[string][]float64{}, map[string][]float64{}
	var all []float64
	for i, r := range reps {
		c := v.cells[r.Cell]
		if !v.atLevel(c) {
			continue
		}
		if r.Seconds > 0 {
			lengths[c.Load()] = append(lengths[c.Load()], r.Seconds)
		}
		if i == 0 || reps[i-1].Seconds <= 0 {
			continue // it is unknown when the load before it ended
		}
		before := reps[i-1]
		seconds := max(0, r.Start.Sub(before.Start).Seconds()-before.Seconds)
		if v.visitOf(before) == v.visitOf(r) {
			staying[c.Load()], all = append(staying[c.Load()], seconds), append(all, seconds)
		} else {
			entering = append(entering, gap{c.Load(), seconds})
		}
	}
	if len(entering) == 0 || len(all) == 0 {
		return 0, 0, false
	}
	typical := func(load string) float64 {
		if len(staying[load]) == 0 {
			return stat.Median(all)
		}
		return stat.Median(staying[load])
	}
	var beyond []float64
	for _, g := range entering {
		beyond = append(beyond, g.seconds-typical(g.load))
	}
	for _, load := range v.loads() {
		if len(lengths[load]) > 0 {
			repetition += typical(load) + stat.Median(lengths[load])
		}
	}
	return max(0, stat.Median(beyond)), repetition, repetition > 0
}
