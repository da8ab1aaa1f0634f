package bisection

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/search"
)

// ChangedCounter is something that the kernel counts, which came more or less often where the culprits were in effect,
// everything else being equal.
type ChangedCounter struct {
	// Counter as the kernel calls it: "interrupts.TLB", "vmstat.pgfault"; "cpu.busy" is the time of all CPUs.
	Counter string `json:"counter"`
	// Ratio of how often it came for the same work, with the culprits to without; intervals hold with 95% for all
	// counters that were looked at together.
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	// Without and With are how often it came in a second (of cpu.busy: seconds).
	Without float64 `json:"without"`
	With    float64 `json:"with"`
}

// Evidence of how the culprits do harm: what else changed with the result.
type Evidence struct {
	// CPU time that the same work took; absent where it is not known.
	CPU *ChangedCounter `json:"cpu,omitempty"`
	// Changed are the counters that changed by more than the work's taking longer explains, the largest changes first.
	Changed []ChangedCounter `json:"moved"`
	// Counters that were looked at.
	Counters int `json:"counters"`
}

// counterSample is what the kernel counted in one measurement, and the work that was done.
type counterSample struct {
	counters map[string]float64
	work     float64
	// pair of states that it belongs to, and which of the two: 1 is that with the culprits.
	pair, side int
}

const (
	// minCounts that must have come on average in the states with the culprits, or in those without: what is rarer
	// says little of a mechanism.
	minCounts = 20
	// evidenceConfidence is the probability with which none of the counters is named by chance.
	evidenceConfidence = 0.95
	// maxMoved are as many counters as are named.
	maxMoved = 5
)

// evidence is taken from pairs of states that differ in nothing but the culprits: those of the proof. Most of what a
// kernel counts comes as often for each I/O as it did, or as often in a second (its timer), or something between,
// whatever slows it down. Only what comes more often even in a second, or more seldom even for each I/O, says something
// of the way in which the culprits do harm. Nil where nothing was counted, or too few measurements were made.
func (p *Progress) evidence(pairs [][2]search.Subset) *Evidence {
	var all []counterSample
	names := map[string]bool{}
	for _, step := range p.Steps {
		for i, pair := range pairs {
			for side, subset := range pair {
				if step.counters[lab.CounterSeconds] > 0 && slices.Equal(step.Subset, subset) {
					all = append(all, counterSample{step.counters, step.rate * step.counters[lab.CounterSeconds], i,
						side})
					for name := range step.counters {
						names[name] = true
					}
				}
			}
		}
	}
	delete(names, lab.CounterSeconds)
	delete(names, lab.CounterBusy)
	var e Evidence
	candidates := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		return rarelyCounted(all, name)
	})
	e.Counters = len(candidates)
	e.Changed = []ChangedCounter{}
	for _, name := range candidates {
		work, ok := change(all, name, func(c counterSample) float64 { return c.work }, len(candidates))
		time, also := change(all, name, func(c counterSample) float64 {
			return c.counters[lab.CounterSeconds]
		}, len(candidates))
		if ok && also && (work.Hi < 1 || time.Lo > 1) {
			e.Changed = append(e.Changed, work)
		}
	}
	slices.SortStableFunc(e.Changed, func(a, b ChangedCounter) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio)), math.Abs(math.Log(a.Ratio)))
	})
	e.Changed = e.Changed[:min(maxMoved, len(e.Changed))]
	if cpu, ok := change(all, lab.CounterBusy, func(c counterSample) float64 { return c.work }, 1); ok {
		e.CPU = &cpu
	}
	if e.CPU == nil && len(candidates) == 0 {
		return nil
	}
	return &e
}

// rarelyCounted says that a counter seldom counted anything, in either of the two kinds of state.
func rarelyCounted(all []counterSample, name string) bool {
	var sums, n [2]float64
	for _, c := range all {
		sums[c.side] += c.counters[name]
		n[c.side]++
	}
	return max(sums[0]/n[0], sums[1]/n[1]) < minCounts
}

// change of a counter for the same amount of something, with the culprits to without, within the pairs of states: the
// mean of the differences of logarithms, each weighed by how many measurements it rests on, with one spread for all.
// The interval is widened for so many of them (Bonferroni). False where there are too few measurements.
func change(all []counterSample, name string, amount func(counterSample) float64, of int) (ChangedCounter, bool) {
	type group struct{ n, sum, squares float64 }
	var groups [][2]group
	var rates, n [2]float64
	for _, c := range all {
		count := c.counters[name]
		if name != lab.CounterBusy {
			count += 0.5 // what never came has a logarithm too
		}
		if !(count > 0 && amount(c) > 0) {
			return ChangedCounter{}, false
		}
		for len(groups) <= c.pair {
			groups = append(groups, [2]group{})
		}
		g, log := &groups[c.pair][c.side], math.Log(count/amount(c))
		g.n, g.sum, g.squares = g.n+1, g.sum+log, g.squares+log*log
		rates[c.side] += c.counters[name] / c.counters[lab.CounterSeconds]
		n[c.side]++
	}
	var weights, difference, squares, freedom float64
	for _, pair := range groups {
		without, with := pair[0], pair[1]
		if without.n == 0 || with.n == 0 {
			continue
		}
		w := 1 / (1/with.n + 1/without.n)
		weights += w
		difference += w * (with.sum/with.n - without.sum/without.n)
		for _, g := range pair {
			squares += max(0, g.squares-g.sum*g.sum/g.n)
			freedom += g.n - 1
		}
	}
	if weights == 0 || freedom < minFreedom {
		return ChangedCounter{}, false
	}
	difference /= weights
	// No count is more exact than its own randomness allows, however alike a few of them happen to be.
	spread := max(math.Sqrt(squares/freedom), minSpread)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(1-(1-evidenceConfidence)/float64(2*of)) *
		spread / math.Sqrt(weights)
	return ChangedCounter{Counter: name, Ratio: math.Exp(difference), Lo: math.Exp(difference - half),
		Hi:      math.Exp(difference + half),
		Without: rates[0] / n[0], With: rates[1] / n[1]}, true
}

const (
	// minFreedom of the spread of a counter, below which it is no evidence.
	minFreedom = 3
	// minSpread of a logarithm of a count: 2%.
	minSpread = 0.02
)

// kernelCountersOf a visit: the sums over its repetitions.
func kernelCountersOf(repetitions []lab.Repetition) map[string]float64 {
	sums := map[string]float64{}
	for _, r := range repetitions {
		for name, n := range r.KernelCounters {
			sums[name] += n
		}
	}
	return sums
}
