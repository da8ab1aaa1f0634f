package runner

import (
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

// straddle is the part of a second in which a load need not have run yet for the second to count: starts that are milliseconds apart
// should not cost one.
const straddle = 0.1

// common finds the seconds (intervals) in which all of several loads were running for sure. The series of load i began at starts[i] and has
// lengths[i] values. The first common one has the number from[i] in each, and n follow one another.
func common(starts []moment, lengths []int, interval time.Duration) (from []int, n int) {
	n = math.MaxInt
	for i, s := range starts {
		late, left := 0.0, float64(lengths[i])
		for j, o := range starts {
			if j == i {
				continue // whenever it began, it ran for all of its own seconds
			}
			distance, unsure := float64(o.Sub(s.Time))/float64(interval), float64(o.spread+s.spread)/float64(interval)
			late, left = max(late, distance+unsure), min(left, float64(lengths[j])+distance-unsure)
		}
		first := max(0, int(math.Ceil(late-straddle)))
		from = append(from, first)
		n = min(n, int(math.Floor(left+straddle))-first)
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

// addUp adds the series of several repetitions, second by second, over those in which all were running. A metric that one of them lacks
// is left out.
func addUp(parts []lab.Repetition, starts []moment) []lab.Series {
	lengths := make([]int, len(parts))
	for i, p := range parts {
		lengths[i] = lengthOf(p)
	}
	var sums []lab.Series
	for _, first := range parts[0].Series {
		from, n := common(starts, lengths, time.Duration(first.Interval*float64(time.Second)))
		if n == 0 {
			return nil
		}
		sum := lab.Series{Metric: first.Metric, Interval: first.Interval, Values: make([]float64, n)}
		everywhere := true
		for i, p := range parts {
			s, ok := seriesOf(p, first)
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

// mergeLatency merges the latencies of several repetitions: fio's bins are the same everywhere, so that nothing is lost by it. A
// direction that one of them lacks is left out.
func mergeLatency(parts []lab.Repetition) map[string]lab.Histogram {
	merged := map[string]lab.Histogram{}
	for _, direction := range lab.Directions() {
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

// sumValues are the values of a sum: rates as the means of its series, latencies from its bins. Mean latencies are weighted by how many
// operations they are of.
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

// sum is what all targets did in one repetition. Doubts about their start are added to their own repetitions, too.
func (t *together) sum(next plan.Repetition, cell *Cell, attempts []*attempt, offsets []offset) lab.Repetition {
	sum := lab.Repetition{Cell: cell.ID, Number: next.Number, Block: next.Block, Position: next.Position, Start: attempts[0].rep.Start, Values: map[string]float64{}}
	if n := len(t.sums); n > 0 {
		sum.After = t.sums[n-1].Cell
	}
	var parts []lab.Repetition
	var failed, timeless []string
	began := true
	var boots []string
	for i, a := range attempts {
		if !slices.Contains(boots, a.rep.Boot) {
			boots = append(boots, a.rep.Boot)
		}
		parts = append(parts, a.rep)
		sum.Took = max(sum.Took, a.rep.Took)
		if a.failed {
			failed = append(failed, t.sessions[i].Role)
		}
		if !offsets[i].known {
			timeless = append(timeless, t.sessions[i].Role)
		}
		began = began && !a.done.state.Started.IsZero()
	}
	sum.Boot = strings.Join(boots, "+") // another boot of any of them is another of the whole
	refuse := func(why string) lab.Repetition {
		sum.Warnings = append(sum.Warnings, validity.NoSum(why))
		return sum
	}
	if len(timeless) > 0 {
		sum.Warnings = append(sum.Warnings, validity.NoClock(timeless))
		return refuse("the clocks can't be compared")
	}
	if !began {
		return refuse("the load of " + strings.Join(failed, " and ") + " failed")
	}
	at := starts(attempts, offsets)
	maps.Copy(sum.Values, timing(at, attempts))
	for _, w := range doubts(at, parts) {
		sum.Warnings = append(sum.Warnings, w)
		for _, a := range attempts {
			a.rep.Warnings = append(a.rep.Warnings, w)
		}
	}
	if len(failed) > 0 {
		return refuse("the load of " + strings.Join(failed, " and ") + " failed")
	}
	if cell.Engine == lab.EngineExec {
		return refuse("a command has no rates by the second")
	}
	sum.Series = addUp(parts, at)
	if len(sum.Series) == 0 {
		return refuse("there is no second in which all have a rate")
	}
	sum.Seconds = float64(len(sum.Series[0].Values)) * sum.Series[0].Interval
	sum.Values[lab.TogetherSeconds] = sum.Seconds
	sum.Latency = mergeLatency(parts)
	maps.Copy(sum.Values, sumValues(sum, parts))
	return sum
}

// timing is how far apart the loads started, and when the first and the last of them was done, from the first start on.
func timing(at []moment, attempts []*attempt) map[string]float64 {
	distance, unsure := apart(at)
	first, _ := ends(at)
	values := map[string]float64{lab.TogetherApart: distance.Seconds(), lab.TogetherUnsure: unsure.Seconds()}
	firstDone, lastDone := math.Inf(1), 0.0
	for i, a := range attempts {
		if a.failed {
			continue // nobody knows how long it really ran
		}
		done := at[i].Sub(first.Time).Seconds() + rampOf(a.cell.Cell).Seconds() + a.rep.Seconds
		firstDone, lastDone = min(firstDone, done), max(lastDone, done)
	}
	if lastDone > 0 {
		values[lab.TogetherFirstDone], values[lab.TogetherLastDone] = firstDone, lastDone
	}
	return values
}

// doubts about loads that are said to have run together.
func doubts(at []moment, parts []lab.Repetition) []lab.Warning {
	distance, unsure := apart(at)
	shortest := math.Inf(1)
	for _, p := range parts {
		if p.Seconds > 0 {
			shortest = min(shortest, p.Seconds)
		}
	}
	if math.IsInf(shortest, 0) {
		return nil // none of them measured anything
	}
	return validity.Together(distance, unsure, time.Duration(shortest*float64(time.Second)))
}
