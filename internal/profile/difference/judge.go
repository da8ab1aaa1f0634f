package difference

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/stat"
)

// The minimum of a difference. Between two boots of equal machines, calls of functions that run for each I/O agreed
// within 3%, and up to 10% if a burst caught few I/Os; times agreed within 20%.
const (
	present     = 0.9 // calls per I/O in every load of one side: appeared, or vanished …
	absent      = 0.2 // … if every load of the other has no more
	sometimes   = 0.5 // calls per I/O in every load, if none on the other side: an interrupt ends many I/Os
	leastCalls  = 0.1
	waiting     = 0.05  // waits per I/O in every load of one side …
	unhindered  = 0.005 // … if in every load of the other hardly any thread waits there
	callsMargin = 0.2
	timeMargin  = 0.25
	timeShare   = 0.01 // of the CPU time
	// How long an emulated CPU takes depends on its host: the driver of one of two equal guests took 31 µs for each
	// I/O, and the driver of the other 5.9. The loads of one start do not show that.
	emulatedRatio = 10   // by which times must differ then
	overTime      = 5    // functions whose calls vary with time must differ by this factor in calls a second, too
	alike         = 1.05 // if everything takes longer by more than that, there is a single reason
	fewestForBulk = 5    // the number of functions needed to judge everything
)

// test is one comparison of values.
type test struct {
	values [2][]float64
	into   **Delta
	least  float64 // the minimum difference
	margin float64 // and as a share of A
	ratio  float64 // and the minimum ratio of the larger side to the smaller
	// stated is set if more or less of it is a statement; otherwise there is only an interval.
	stated bool
	// bursts of the loads of both sides; nil if values do not come from bursts.
	bursts [2]*cost.Spread
}

// judge compares all cells. One bound holds for all statements together.
func judge(all []*work, alpha float64) {
	var families [][]test
	count := 0
	for _, w := range all {
		w.leaveOut(alpha)
		w.reach()
		w.addToLayers()
		w.slower()
		for _, tests := range [][]test{w.callTests(), w.timeTests()} {
			steady, varying := split(tests)
			families = append(families, steady, varying)
			count += len(steady)
		}
		families = append(families, w.waitTests())
	}
	level := stat.FamilyWise(alpha, count)
	for _, family := range families {
		decide(family, level)
	}
	for _, w := range all {
		w.appear(level)
		w.hinder()
	}
}

// split separates tests with statements from those with only an interval, which scatter in other ways.
func split(tests []test) (steady, varying []test) {
	for _, t := range tests {
		if t.stated {
			steady = append(steady, t)
		} else {
			varying = append(varying, t)
		}
	}
	return steady, varying
}

// decide computes the interval of each test of a family. The scatter is estimated from all of them.
func decide(family []test, level float64) {
	if len(family) == 0 {
		return
	}
	freedom := float64(len(family[0].values[0]) + len(family[0].values[1]) - 2)
	variances := make([]float64, len(family))
	for i, t := range family {
		variances[i] = pooled(t.values) / math.Max(average(t.values), 1e-12)
	}
	prior := stat.LearnVariances(variances, freedom)
	for i, t := range family {
		variance, free := prior.Of(variances[i], freedom)
		*t.into = t.delta(variance*average(t.values), free, level)
	}
}

func (t test) delta(variance, freedom, level float64) *Delta {
	a, b := mean(t.values[0]), mean(t.values[1])
	half := max(halfWidth(t.values, variance, freedom, level), byBursts(t.values, t.bursts, level))
	d := &Delta{A: a, B: b, Low: b - a - half, High: b - a + half}
	least := math.Max(t.least, t.margin*a)
	switch {
	case !t.stated || max(a, b) < t.ratio*min(a, b):
	case d.Low > least:
		d.Change = More
	case d.High < -least:
		d.Change = Less
	}
	return d
}

// halfWidth returns half the width of the interval of a difference of means of values with a variance.
func halfWidth(values [2][]float64, variance, freedom, level float64) float64 {
	return math.Sqrt(variance*(1/float64(len(values[0]))+1/float64(len(values[1])))) *
		stat.StudentQuantile(0.5+level/2, math.Min(freedom, 1e6))
}

// byBursts returns the same, based on how much bursts differ within loads, and 0 if that is unknown. There are more
// bursts than loads: a few loads can agree by chance in how often work that runs in one go fell into a burst.
func byBursts(values [2][]float64, bursts [2]*cost.Spread, level float64) float64 {
	squares, freedom := 0.0, 0.0
	for _, s := range bursts {
		if s != nil {
			squares += float64(s.Freedom) * s.SD * s.SD
			freedom += float64(s.Freedom)
		}
	}
	if freedom == 0 {
		return 0
	}
	return halfWidth(values, squares/freedom, freedom, level)
}

// callTests are the tests of calls per I/O. Functions whose number is chance are not compared, and if the number varies
// from boot to boot, more or less is not stated.
func (w *work) callTests() []test {
	if min(w.cell.A.CallLoads, w.cell.B.CallLoads) < fewestLoads {
		return nil
	}
	var all []test
	add := func(r *row, stated bool) {
		if r.calls[0] != nil && r.calls[1] != nil && average(r.calls) > 0 &&
			max(mean(r.calls[0]), mean(r.calls[1])) >= leastCalls {
			all = append(all, test{values: r.calls, into: &r.callsDelta, least: leastCalls, margin: callsMargin,
				stated: stated, bursts: r.bursts})
		}
	}
	for _, r := range w.functions() {
		if !w.known.Chance(r.name, r.module) {
			add(r, !w.known.Varies(r.name, r.module))
		}
	}
	for _, r := range w.groups() {
		add(r, !w.known.VariesAll(r.layer))
	}
	return all
}

// timeTests are the tests of nanoseconds per I/O.
func (w *work) timeTests() []test {
	if min(w.cell.A.TimeLoads, w.cell.B.TimeLoads) < fewestLoads {
		return nil
	}
	least := timeShare * math.Min(w.cell.A.CPU.Mean, w.cell.B.CPU.Mean/w.cell.Slower)
	ratio := 0.0
	if w.cell.Emulated() {
		ratio = emulatedRatio
	}
	var all []test
	add := func(r *row, stated bool) {
		if r.self[0] != nil && r.self[1] != nil && max(mean(r.self[0]), mean(r.self[1])) >= least {
			all = append(all, test{values: r.self, into: &r.nsDelta, least: least, margin: timeMargin, ratio: ratio,
				stated: stated})
		}
	}
	for _, r := range w.functions() {
		add(r, !w.known.Varies(r.name, r.module) && !w.known.Chance(r.name, r.module))
	}
	for _, r := range w.groups() {
		add(r, !w.known.VariesAll(r.layer))
	}
	return all
}

// waitTests are the tests of waits per I/O. How often threads wait for something varies with the speed of everything,
// so more or less is never stated for them.
func (w *work) waitTests() []test {
	if min(w.cell.A.WaitLoads, w.cell.B.WaitLoads) < fewestLoads {
		return nil
	}
	var all []test
	for _, r := range w.functions() {
		if r.waits[0] != nil && max(mean(r.waits[0]), mean(r.waits[1])) >= waiting {
			all = append(all, test{values: r.waits, into: &r.waitsDelta, least: waiting})
		}
	}
	return all
}

// slower determines by how much everything took longer in some loads than in others, and removes that from their times.
func (w *work) slower() {
	w.raw = map[string]pair{}
	for _, r := range w.groups() {
		w.raw[r.layer] = r.self
	}
	if w.cell.A.CPU == nil || w.cell.B.CPU == nil {
		return
	}
	factors, ok := w.paces()
	if !ok {
		return
	}
	w.pace = factors
	base := mean(factors[0])
	w.cell.Slower = math.Exp(mean(factors[1]) - base)
	for _, rows := range [][]*row{w.functions(), w.groups()} {
		for _, r := range rows {
			for side, values := range r.self {
				r.self[side] = slices.Clone(values)
				for i := range values {
					r.self[side][i] *= math.Exp(base - factors[side][i])
				}
			}
		}
	}
}

// paces returns the logarithms of how long everything takes in each load: the medians over functions and layers that
// take a part of the time in all of them. differ is false if all loads are about equal.
func (w *work) paces() (factors [2][]float64, differ bool) {
	var logs [][2][]float64
	for _, r := range append(w.functions(), w.groups()...) {
		if mean(r.self[0]) >= timeShare*w.cell.A.CPU.Mean && mean(r.self[1]) >= timeShare*w.cell.B.CPU.Mean &&
			slices.Min(r.self[0]) > 0 && slices.Min(r.self[1]) > 0 {
			logs = append(logs, centered(r.self))
		}
	}
	if len(logs) < fewestForBulk {
		return factors, false
	}
	for side := range factors {
		for load := range logs[0][side] {
			var of []float64
			for _, l := range logs {
				of = append(of, l[side][load])
			}
			factors[side] = append(factors[side], stat.Median(of))
			differ = differ || math.Abs(stat.Median(of)) > math.Log(alike)
		}
	}
	return factors, differ
}

// centered returns the logarithms of values, minus the mean of both sides.
func centered(values [2][]float64) (logs [2][]float64) {
	for side := range values {
		for _, v := range values[side] {
			logs[side] = append(logs[side], math.Log(v))
		}
	}
	middle := average(logs)
	for _, one := range logs {
		for i := range one {
			one[i] -= middle
		}
	}
	return logs
}

// appear finds functions that appear or vanish, or that run occasionally on one side only, except those that bursts may
// have caught by chance.
func (w *work) appear(level float64) {
	if min(w.cell.A.CallLoads, w.cell.B.CallLoads) < fewestLoads {
		return
	}
	for _, r := range w.functions() {
		if r.callsDelta == nil {
			continue
		}
		change := appears(r.calls[0], r.calls[1])
		chance := math.Abs(r.callsDelta.B-r.callsDelta.A) <= byBursts(r.calls, r.bursts, level)
		if change != "" && !chance && (!w.known.Varies(r.name, r.module) || w.overTime(r)) {
			r.callsDelta.Change = change
		}
	}
}

// hinder finds where threads of one side wait, and threads of the other don't.
func (w *work) hinder() {
	for _, r := range w.functions() {
		switch {
		case r.waitsDelta == nil:
		case slices.Min(r.waits[1]) >= waiting && slices.Max(r.waits[0]) <= unhindered:
			r.waitsDelta.Change = Appeared
		case slices.Min(r.waits[0]) >= waiting && slices.Max(r.waits[1]) <= unhindered:
			r.waitsDelta.Change = Vanished
		}
	}
}

func appears(a, b []float64) Change {
	switch {
	case slices.Min(b) >= present && slices.Max(a) <= absent:
		return Appeared
	case slices.Min(a) >= present && slices.Max(b) <= absent:
		return Vanished
	case slices.Min(b) >= sometimes && slices.Max(a) == 0:
		return More
	case slices.Min(a) >= sometimes && slices.Max(b) == 0:
		return Less
	}
	return ""
}

// overTime reports whether calls a second differ like calls per I/O. A timer ticks as often for ten I/Os as for a
// thousand.
func (w *work) overTime(r *row) bool {
	a, b := w.cell.A.Rates[profile.Calls], w.cell.B.Rates[profile.Calls]
	if a == nil || b == nil {
		return true
	}
	before, after := r.callsDelta.A*a.Mean, r.callsDelta.B*b.Mean
	if r.callsDelta.B > r.callsDelta.A {
		return after > overTime*before
	}
	return before > overTime*after
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / math.Max(float64(len(values)), 1)
}

func average(values [2][]float64) float64 { return (mean(values[0]) + mean(values[1])) / 2 }

// pooled returns the variance within both sides.
func pooled(values [2][]float64) float64 {
	sum, n := 0.0, 0
	for _, side := range values {
		m := mean(side)
		for _, v := range side {
			sum += (v - m) * (v - m)
		}
		n += len(side)
	}
	return sum / float64(n-2)
}
