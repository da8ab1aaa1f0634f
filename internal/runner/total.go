package runner

import (
	"math"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/stat"
)

// maxMissingShare is the part of a second in which a load need not have run yet for the second to count: starts that
// are milliseconds apart should not cost one.
const maxMissingShare = 0.1

// commonSeconds finds the seconds (intervals) in which all of several loads were running for sure. The series of load i
// began at starts[i] and has lengths[i] values. The first common one has the number from[i] in each, and n follow one
// another.
func commonSeconds(starts []engine.Timestamp, lengths []int, interval time.Duration) (from []int, n int) {
	n = math.MaxInt
	for i, s := range starts {
		late, left := 0.0, float64(lengths[i])
		for j, o := range starts {
			if j == i {
				continue // whenever it began, it ran for all of its seconds
			}
			distance, uncertainty := float64(o.Sub(s.Time))/float64(interval),
				float64(o.Spread+s.Spread)/float64(interval)
			late, left = max(late, distance+uncertainty), min(left, float64(lengths[j])+distance-uncertainty)
		}
		first := max(0, int(math.Ceil(late-maxMissingShare)))
		from = append(from, first)
		n = min(n, int(math.Floor(left+maxMissingShare))-first)
	}
	return from, max(0, n)
}

// lengthOf returns for how many seconds all series of a repetition have a value.
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

// totalSeries adds the series of some of several repetitions, second by second, over those in which all were running. A
// metric that one of them lacks is left out.
func totalSeries(parts []lab.Repetition, starts []engine.Timestamp, members []int) []lab.Series {
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

// totalLatency merges the latencies of several repetitions: fio's bins are the same everywhere, so that nothing is lost
// by it. A direction that one of them lacks is left out.
func totalLatency(parts []lab.Repetition) map[string]lab.Histogram {
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

// totalValues returns the values of a sum: rates as the means of its series, latencies from its bins. Mean latencies
// are weighted by their numbers of operations.
func totalValues(sum lab.Repetition, parts []lab.Repetition) map[string]float64 {
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
