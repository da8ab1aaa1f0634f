package runner

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/stat"
	"headroom/internal/validity"
)

// maxMissingShare is the part of a second in which a load need not have run yet for the second to count: starts that
// are milliseconds apart should not cost one.
const maxMissingShare = 0.1

// commonSeconds finds the seconds (intervals) in which all of several loads were running for sure. The series of load i
// began at starts[i] and has lengths[i] values. The first common one has the number from[i] in each, and n follow one
// another.
func commonSeconds(starts []timestamp, lengths []int, interval time.Duration) (from []int, n int) {
	n = math.MaxInt
	for i, s := range starts {
		late, left := 0.0, float64(lengths[i])
		for j, o := range starts {
			if j == i {
				continue // whenever it began, it ran for all of its own seconds
			}
			distance, uncertainty := float64(o.Sub(s.Time))/float64(interval),
				float64(o.spread+s.spread)/float64(interval)
			late, left = max(late, distance+uncertainty), min(left, float64(lengths[j])+distance-uncertainty)
		}
		first := max(0, int(math.Ceil(late-maxMissingShare)))
		from = append(from, first)
		n = min(n, int(math.Floor(left+maxMissingShare))-first)
	}
	return from, max(0, n)
}

// lengthOf is for how many seconds all series of a repetition have a value.
func lengthOf(rep lab.Repetition) int {
	if len(rep.Series) == 0 {
		return 0
	}
	n := math.MaxInt
	for _, s := range rep.Series {
		n = min(n, len(s.Values))
	}
	return n
}

// sumSeries adds the series of some of several repetitions, second by second, over those in which all were running. A
// metric that one of them lacks is left out.
func sumSeries(parts []lab.Repetition, starts []timestamp, members []int) []lab.Series {
	lengths := make([]int, len(parts))
	for i, p := range parts {
		lengths[i] = lengthOf(p)
	}
	var sums []lab.Series
	for _, first := range parts[members[0]].Series {
		from, n := commonSeconds(starts, lengths, time.Duration(first.Interval*float64(time.Second)))
		if n == 0 {
			return nil
		}
		sum := lab.Series{Metric: first.Metric, Interval: first.Interval, Values: make([]float64, n)}
		everywhere := true
		for _, i := range members {
			s, ok := seriesOf(parts[i], first)
			everywhere = everywhere && ok
			for k := 0; ok && k < n; k++ {
				sum.Values[k] += s.Values[from[i]+k]
			}
		}
		if everywhere {
			sums = append(sums, sum)
		}
	}
	return sums
}

// seriesOf is the series of a repetition that is of the same kind as another.
func seriesOf(rep lab.Repetition, like lab.Series) (lab.Series, bool) {
	for _, s := range rep.Series {
		if s.Metric == like.Metric && s.Interval == like.Interval {
			return s, true
		}
	}
	return lab.Series{}, false
}

// mergeLatency merges the latencies of several repetitions: fio's bins are the same everywhere, so that nothing is lost
// by it. A direction that one of them lacks is left out.
func mergeLatency(parts []lab.Repetition) map[string]lab.Histogram {
	merged := map[string]lab.Histogram{}
	for _, direction := range append(lab.Directions(), lab.Request) {
		var sum lab.Histogram
		everywhere := true
		for _, p := range parts {
			h := p.Latency[direction]
			everywhere = everywhere && len(h.Counts) > 0
			sum.Nanoseconds, sum.Counts = stat.MergeBins(sum.Nanoseconds, sum.Counts, h.Nanoseconds, h.Counts)
		}
		if everywhere {
			merged[direction] = sum
		}
	}
	return merged
}

// sumValues are the values of a sum: rates as the means of its series, latencies from its bins. Mean latencies are
// weighted by how many operations they are of.
func sumValues(sum lab.Repetition, parts []lab.Repetition) map[string]float64 {
	values := map[string]float64{}
	for _, s := range sum.Series {
		total := 0.0
		for _, v := range s.Values {
			total += v
		}
		values[s.Metric] = total / float64(len(s.Values))
	}
	for _, direction := range []string{lab.Send, lab.Receive} {
		name, all, everywhere := lab.Retransmits(direction), 0.0, true
		for _, p := range parts {
			n, ok := p.Values[name]
			all, everywhere = all+n, everywhere && ok
		}
		if everywhere {
			values[name] = all
		}
	}
	for direction, h := range sum.Latency {
		for _, q := range lab.Quantiles() {
			values[lab.Latency(direction, q.Name)] = stat.BinQuantile(h.Nanoseconds, h.Counts, q.Q) / 1e9
		}
		mean, n := 0.0, 0.0
		for _, p := range parts {
			of := 0.0
			for _, count := range p.Latency[direction].Counts {
				of += float64(count)
			}
			mean, n = mean+of*p.Values[lab.Latency(direction, "mean")], n+of
		}
		if n > 0 {
			values[lab.Latency(direction, "mean")] = mean / n
		}
	}
	return values
}

// sumRepetition is what everybody did in one repetition. Doubts about their start are added to their own repetitions,
// too.
func (t *jointRun) sumRepetition(next plan.Repetition, cell *Cell, j *jointRepetition) lab.Repetition {
	sum := t.newSum(next, cell, j)
	if slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.done.state.Started.IsZero() }) ||
		len(j.withoutClock()) > 0 {
		return j.sumMembers(sum, allMembers(j))
	}
	at := startTimes(j.attempts, j.offsets)
	maps.Copy(sum.Values, timing(at, j.attempts))
	for _, w := range timingWarnings(at, j.repetitions()) {
		sum.Warnings = append(sum.Warnings, w)
		for _, a := range j.attempts {
			a.rep.Warnings = append(a.rep.Warnings, w)
		}
	}
	return j.sumMembers(sum, allMembers(j))
}

// groupSums are the sums of the groups that carry out a cell.
func (t *jointRun) groupSums(next plan.Repetition, j *jointRepetition) []lab.Repetition {
	var sums []lab.Repetition
	for _, group := range slices.Sorted(maps.Keys(t.Groups)) {
		cell := t.sumCell(CellOf(next.Cell, group))
		if cell == nil {
			continue
		}
		var members []int
		for i, s := range j.sessions {
			if slices.Contains(t.Groups[group], s.Role) {
				members = append(members, i)
			}
		}
		sums = append(sums, j.sumMembers(t.newSum(next, cell, j), members))
	}
	return sums
}

// newSum is a sum before anything is added up.
func (t *jointRun) newSum(next plan.Repetition, cell *Cell, j *jointRepetition) lab.Repetition {
	sum := lab.Repetition{Cell: cell.ID, Number: next.Number, Block: next.Block, Position: next.Position,
		Start: j.attempts[0].rep.Start, Values: map[string]float64{}}
	if n := len(t.sums); n > 0 {
		sum.After = t.sums[n-1].Cell
	}
	var boots []string
	for _, a := range j.attempts {
		if !slices.Contains(boots, a.rep.Boot) {
			boots = append(boots, a.rep.Boot)
		}
		sum.Took = max(sum.Took, a.rep.Took)
	}
	sum.Boot = strings.Join(boots, "+") // another boot of any of them is another of the whole
	if len(boots) >= MinFleet {
		sum.Boot = fmt.Sprintf("%x", sha256.Sum256([]byte(sum.Boot)))
	}
	return sum
}

// sumMembers adds up what some did in the seconds in which everybody was running, or says why that can't be done.
func (j *jointRepetition) sumMembers(sum lab.Repetition, members []int) lab.Repetition {
	refuse := func(why string) lab.Repetition {
		sum.Warnings = append(sum.Warnings, validity.NoSum(why))
		return sum
	}
	if timeless := j.withoutClock(); len(timeless) > 0 {
		sum.Warnings = append(sum.Warnings, validity.NoClock(timeless))
		return refuse("the clocks can't be compared")
	}
	var failed []string
	for i, a := range j.attempts {
		if a.failed {
			failed = append(failed, j.sessions[i].Role)
		}
	}
	if len(failed) > 0 {
		return refuse("the load of " + strings.Join(failed, " and ") + " failed")
	}
	if slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.cell.Engine == lab.EngineExec }) {
		return refuse("a command has no rates by the second")
	}
	if slices.ContainsFunc(members, func(i int) bool {
		return j.attempts[i].cell.Engine != j.attempts[members[0]].cell.Engine
	}) {
		return sum // loads of different kinds have no rates to add up
	}
	if slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.cell.Engine == lab.EnginePerftest }) {
		return refuse("perftest has no rates by the second, and the means of each are not of the same time")
	}
	parts := j.repetitions()
	sum.Series = sumSeries(parts, startTimes(j.attempts, j.offsets), members)
	if len(sum.Series) == 0 {
		return refuse("there is no second in which all have a rate")
	}
	var own []lab.Repetition
	for _, i := range members {
		own = append(own, parts[i])
	}
	sum.Seconds = float64(len(sum.Series[0].Values)) * sum.Series[0].Interval
	sum.Values[lab.CommonSeconds] = sum.Seconds
	sum.Latency = mergeLatency(own)
	maps.Copy(sum.Values, sumValues(sum, own))
	return sum
}

// repetitions are the repetitions of all.
func (j *jointRepetition) repetitions() []lab.Repetition {
	var parts []lab.Repetition
	for _, a := range j.attempts {
		parts = append(parts, a.rep)
	}
	return parts
}

// withoutClock are the roles of those whose clocks can't be compared.
func (j *jointRepetition) withoutClock() []string {
	var roles []string
	for i, o := range j.offsets {
		if !o.known {
			roles = append(roles, j.sessions[i].Role)
		}
	}
	return roles
}

func allMembers(j *jointRepetition) []int {
	all := make([]int, len(j.attempts))
	for i := range all {
		all[i] = i
	}
	return all
}

// timing is how far apart the loads started, and when the first and the last of them was done, from the first start on.
func timing(at []timestamp, attempts []*attempt) map[string]float64 {
	distance, uncertainty := skew(at)
	first, _ := firstAndLast(at)
	values := map[string]float64{lab.StartSkew: distance.Seconds(), lab.StartUncertainty: uncertainty.Seconds()}
	firstDone, lastDone := math.Inf(1), 0.0
	for i, a := range attempts {
		if a.failed {
			continue // nobody knows how long it really ran
		}
		done := at[i].Sub(first.Time).Seconds() + RampOf(a.cell.Cell).Seconds() + a.rep.Seconds
		firstDone, lastDone = min(firstDone, done), max(lastDone, done)
	}
	if lastDone > 0 {
		values[lab.FirstDone], values[lab.LastDone] = firstDone, lastDone
	}
	return values
}

// timingWarnings about loads that are said to have run together.
func timingWarnings(at []timestamp, parts []lab.Repetition) []lab.Warning {
	distance, uncertainty := skew(at)
	shortest := math.Inf(1)
	for _, p := range parts {
		if p.Seconds > 0 {
			shortest = min(shortest, p.Seconds)
		}
	}
	if math.IsInf(shortest, 0) {
		return nil // none of them measured anything
	}
	return validity.StartSkew(distance, uncertainty, time.Duration(shortest*float64(time.Second)))
}
