package summary

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

func TestSummarize(t *testing.T) {
	s := saved(t, "cutoff")
	if s.Schema != "headroom/run/v1" {
		t.Errorf("schema %q", s.Schema)
	}
	c := s.Cells[0]
	if c.N != 7 || c.Planned != 8 || c.Target != "ssh://db1" || c.Levels["scheduler"] != "none" {
		t.Errorf("cell is %+v", c)
	}
	// Sorted: 8712.5 9080.25 9099.75 9101 9120.5 9133 9150. With 7 values, ranks 1 and 7 are needed for 95%: 1-2^(1-7).
	m := c.Metrics["read.iops"]
	if m.Center != 9101 || m.Lo != 8712.5 || m.Hi != 9150 || math.Abs(m.Confidence-0.984375) > 1e-12 ||
		m.Estimator != "median" {
		t.Errorf("read.iops is %+v %+v", m, *m.Interval)
	}
	if m.Unit != lab.PerSecond || m.Better != lab.Higher || len(m.Values) != 7 || m.Values[2].Block != 3 {
		t.Errorf("read.iops is %+v", m)
	}
	// Four values reach 1-2^(1-4) = 87.5%, and that is said.
	if got := s.Cells[1].Metrics["read.iops"].Confidence; got != 0.875 {
		t.Errorf("confidence of four values is %v", got)
	}
	if w := s.Cells[1].Warnings; len(w) != 1 || w[0].Repetitions != 2 {
		t.Errorf("warnings are %+v, want one code in two repetitions", w)
	}
	if s.Cells[2].N != 0 || len(s.Cells[2].Metrics) != 0 {
		t.Errorf("the cell that was never run is %+v", s.Cells[2])
	}
}

// The p99 of everything is neither the median nor the mean of the repetitions' own.
func TestPercentilesAreOfAllOperations(t *testing.T) {
	run := lab.Run{ID: "X", Arms: []lab.Arm{{ID: "a"}}, Cells: []lab.Cell{{ID: "c", Arm: "a", Job: "j"}}}
	rep := func(number int, p99 float64, counts ...uint64) lab.Repetition {
		return lab.Repetition{
			Cell: "c", Number: number, Values: map[string]float64{"read.latency.p99": p99},
			Latency: map[string]lab.Histogram{"read": {Nanoseconds: []int64{1000, 2000, 9000}, Counts: counts}},
		}
	}
	s, err := Of(run, func(yield func(lab.Repetition, error) bool) {
		_ = yield(rep(1, 1e-6, 10, 0, 0), nil) && yield(rep(2, 9e-6, 0, 0, 50), nil) &&
			yield(rep(3, 2e-6, 0, 1000, 0), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	m := s.Cells[0].Metrics["read.latency.p99"]
	// Of 1060 operations the share 0.99 is reached with the 1050th, and only 1010 took 2 µs or less.
	if m.Center != 2e-6 || m.Merged == nil || *m.Merged != 9e-6 || m.Shown() != 9e-6 {
		t.Errorf("center %v, merged %v", m.Center, m.Merged)
	}
	if h := s.Cells[0].Latency["read"]; len(h.Counts) != 3 || h.Counts[0] != 10 || h.Counts[1] != 1000 ||
		h.Counts[2] != 50 {
		t.Errorf("merged bins are %+v", h)
	}
}

func TestSummarizeRefuses(t *testing.T) {
	broken := errors.New("the disk is gone")
	run := lab.Run{ID: "X", Cells: []lab.Cell{{ID: "c"}}}
	for name, test := range map[string]struct {
		rep  lab.Repetition
		err  error
		want string
	}{
		"an unknown cell":    {lab.Repetition{Cell: "d", Number: 4}, nil, `run X: repetition 4 belongs to cell "d"`},
		"a failing sequence": {lab.Repetition{}, broken, "the disk is gone"},
		"ragged bins": {lab.Repetition{Cell: "c", Latency: map[string]lab.Histogram{"read": {Nanoseconds: []int64{1}}}},
			nil,
			"have not as many counts as values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Of(run, func(yield func(lab.Repetition, error) bool) { yield(test.rep, test.err) })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// many are repetitions with so many bins and 60 seconds each, summarized: 100 MB for ten thousand of 400.
func many(t *testing.T, repetitions, bins int) Run {
	t.Helper()
	run := lab.Run{ID: "X", Cells: []lab.Cell{{ID: "c", Job: "j"}}}
	s, err := Of(run, func(yield func(lab.Repetition, error) bool) {
		for i := range repetitions {
			rep := lab.Repetition{Cell: "c", Number: i + 1, Boot: fmt.Sprint("boot", i%3),
				Values: map[string]float64{"read.iops": float64(i)}}
			h := lab.Histogram{Nanoseconds: make([]int64, bins), Counts: make([]uint64, bins)}
			for k := range bins {
				h.Nanoseconds[k], h.Counts[k] = int64(1000+k*(1+i%2)), 1
			}
			rep.Latency = map[string]lab.Histogram{"read": h}
			rep.Series = []lab.Series{{Metric: "read.iops", Interval: 1, Values: make([]float64, 60)}}
			if !yield(rep, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSummarizeOfMany(t *testing.T) {
	const repetitions, bins = 10_000, 400
	c := many(t, repetitions, bins).Cells[0]
	if c.N != repetitions || len(c.Series) != MaxSeriesRepetitions ||
		len(c.Metrics["read.iops"].Values) != repetitions {
		t.Errorf("%d repetitions, %d series", c.N, len(c.Series))
	}
	total := uint64(0)
	for _, n := range c.Latency["read"].Counts {
		total += n
	}
	if total != repetitions*bins {
		t.Errorf("%d operations in the merged bins, want %d", total, repetitions*bins)
	}
}

// saved is the summary of a saved run.
func saved(t testing.TB, name string) Run {
	t.Helper()
	s, err := Of(summarytest.Run(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
