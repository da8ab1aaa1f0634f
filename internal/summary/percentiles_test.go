package summary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// tail is the part of a run's operations that its p99.9 is about.
const tail = 0.001

// stalling are runs of a machine whose operations have log-normal latencies. Runs differ by spread, and a share of them
// stalls for a share of its operations.
type stalling struct{ runs, operations, spread float64 }

func (s stalling) String() string {
	if s.runs == 0 {
		return fmt.Sprintf("runs differ by %g%%", 100*s.spread)
	}
	return fmt.Sprintf("%.3g%% of the runs stall for %g%% of their operations", 100*s.runs, 100*s.operations)
}

// usual and stalled are the quantiles of the two kinds of operations, as bins of a histogram, 1% apart.
func usual(q float64) int64 {
	return binOf(100e3 * math.Exp(0.5*distuv.UnitNormal.Quantile(q)))
}

func stalled(q float64) int64 { return binOf(20e6 * math.Exp(0.3*distuv.UnitNormal.Quantile(q))) }

func binOf(ns float64) int64 { return int64(math.Exp(math.Round(100*math.Log(ns)) / 100)) }

// run returns one run of so many operations, as a repetition. Only its slowest 2% are drawn one by one.
func (s stalling) run(r *rand.Rand, number, operations int) lab.Repetition {
	counts, stalls := map[int64]uint64{}, 0
	if r.Float64() < s.runs {
		stalls = int(distuv.Binomial{N: float64(operations), P: s.operations, Src: r}.Rand())
	}
	pace := math.Exp(s.spread * r.NormFloat64())
	const drawn = 0.02
	slow := int(distuv.Binomial{N: float64(operations - stalls), P: drawn, Src: r}.Rand())
	for range slow {
		counts[int64(pace*float64(usual(1-drawn*r.Float64())))]++
	}
	counts[int64(pace*float64(usual(1-drawn)))-1] += uint64(operations - stalls - slow)
	for range stalls {
		counts[int64(pace*float64(stalled(r.Float64())))]++
	}
	var h lab.Histogram
	for ns := range counts {
		h.Nanoseconds = append(h.Nanoseconds, ns)
	}
	slices.Sort(h.Nanoseconds)
	for _, ns := range h.Nanoseconds {
		h.Counts = append(h.Counts, counts[ns])
	}
	return lab.Repetition{Cell: "c", Number: number, Latency: map[string]lab.Histogram{lab.Read: h},
		Values: map[string]float64{lab.Latency(lab.Read, "p99.9"): stat.BinQuantile(h.Nanoseconds, h.Counts,
			1-tail) / 1e9}}
}

// truth returns the p99.9 of all operations of the machine, and the median of the runs' own.
func (s stalling) truth(r *rand.Rand, operations int) (whole, own float64) {
	var owns []float64
	for n := range 2000 {
		owns = append(owns, s.run(r, n, operations).Values[lab.Latency(lab.Read, "p99.9")])
	}
	// The share of all operations that is slower, over runs at every pace.
	above := func(ns float64) (share float64) {
		const paces = 200
		for i := range paces {
			at := ns / math.Exp(s.spread*distuv.UnitNormal.Quantile((float64(i)+0.5)/paces))
			stalls := s.runs * s.operations
			share += ((1-stalls)*distuv.UnitNormal.Survival(math.Log(at/100e3)/0.5) +
				stalls*distuv.UnitNormal.Survival(math.Log(at/20e6)/0.3)) / paces
		}
		return share
	}
	at := sort.Search(2000, func(i int) bool { return above(100e3*math.Exp(float64(i)/200)) <= tail })
	return 100e3 * math.Exp(float64(at)/200) / 1e9, stat.Median(owns)
}

// The interval beside a p99.9 covers the one that half of the runs exceed. How often it covers that of all operations
// of the machine, rare stalls among them, is recorded: where few runs stall, all repetitions may be without a stall.
func TestSimulatedPercentiles(t *testing.T) {
	operations, trials := figure.Times(5000, 20_000), figure.Times(60, 400)
	for i, s := range []stalling{{0, 0, 0}, {0, 0, 0.05}, {0, 0, 0.2}, {0.2, 0.003, 0}, {1.0 / 3, 0.005, 0},
		{0.1, 0.02, 0}, {0.5, 0.0015, 0}} {
		r := rand.New(rand.NewPCG(51, uint64(i)))
		whole, own := s.truth(r, operations)
		for _, n := range []int{3, 5, 6, 10} {
			shown, ofOwn, ofAll, sure := 0, 0, 0, 0.0
			for range trials {
				run := lab.Run{ID: "X", Arms: []lab.Arm{{ID: "a"}}, Cells: []lab.Cell{{ID: "c", Arm: "a", Job: "j"}}}
				sum, err := Of(run, func(yield func(lab.Repetition, error) bool) {
					for k := range n {
						if !yield(s.run(r, k+1, operations), nil) {
							return
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				m := sum.Cells[0].Metrics[lab.Latency(lab.Read, "p99.9")]
				interval := m.ShownInterval()
				if interval == nil {
					continue
				}
				shown, sure = shown+1, interval.Confidence
				if interval.Lo <= own && own <= interval.Hi {
					ofOwn++
				}
				v := m.Shown() // what is printed is ± the farther end
				if reach := max(interval.Hi-v, v-interval.Lo); math.Abs(whole-v) <= reach {
					ofAll++
				}
			}
			what := fmt.Sprintf("%d repetitions, %s", n, s)
			figure.Record(t, figure.Share(figure.Name("decisions/percentiles/withheld", what), trials-shown, trials,
				"").Saying("p99.9 without an interval, because it rests on one repetition: %s", what))
			if shown == 0 {
				continue
			}
			figure.Record(t, figure.Share(figure.Name("decisions/percentiles/covers-the-usual-run", what), ofOwn, shown,
				figure.Higher).
				Saying("intervals of p99.9, %.0f%% sure, that cover that of the usual run: %s", 100*sure, what))
			figure.Record(t, figure.Share(figure.Name("decisions/percentiles/covers-all-operations", what), ofAll,
				shown, "").Saying("what is printed with ± covers the p99.9 of all operations: %s", what))
			if limit := sure - 3*math.Sqrt(sure*(1-sure)/float64(shown)); float64(ofOwn) < limit*float64(shown) {
				t.Errorf("%s: %d of %d cover, %.0f%% promised", what, ofOwn, shown, 100*sure)
			}
			if s.runs == 0 && shown < trials*95/100 {
				t.Errorf("%s: %d of %d have an interval", what, shown, trials)
			}
		}
	}
}

// A percentile of all operations that is more than twice that of any repetition but one has no interval.
func TestPercentilesThatRestOnOneRepetition(t *testing.T) {
	merged := func(v float64) *float64 { return &v }
	values := func(own ...float64) (list []Value) {
		for i, v := range own {
			list = append(list, Value{Value: v, Repetition: i + 1})
		}
		return list
	}
	for name, c := range map[string]struct {
		merged *float64
		values []Value
		on     int // the repetition; 0 for none
	}{
		"one stalled":              {merged(0.04), values(0.001, 0.0012, 0.05, 0.0011), 3},
		"one of two stalled":       {merged(0.04), values(0.05, 0.001), 1},
		"two stalled":              {merged(0.04), values(0.001, 0.03, 0.05, 0.0011), 0},
		"one stalled too shortly":  {merged(0.0013), values(0.001, 0.0012, 0.05, 0.0011), 0},
		"repetitions that differ":  {merged(0.0019), values(0.001, 0.002, 0.0015), 0},
		"no distribution was kept": {nil, values(0.001, 0.0012, 0.05), 0},
		"measured once":            {merged(0.04), values(0.04), 0},
	} {
		m := Metric{Interval: &stat.Interval{Lo: 0.001, Hi: 0.05}, Merged: c.merged, Values: c.values}
		on := m.RestsOn()
		if (on == nil) != (c.on == 0) || on != nil && on.Repetition != c.on ||
			(m.ShownInterval() == nil) != (on != nil) {
			t.Errorf("%s: rests on %+v", name, on)
		}
	}
}
