package soak

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// soaked is a run of so many rounds of a minute, of which each reads at a rate.
func soaked(n int, rate func(i int) float64) Document {
	run := lab.Run{ID: "0123456789", Targets: []lab.RunTarget{{Target: "local"}}, Cells: []lab.Cell{{Job: "reads",
		Repetitions: n, Params: map[string]string{"rw": "randread", "runtime": "1m"}}}}
	var all []lab.Repetition
	for i := range n {
		all = append(all, lab.Repetition{Start: time.Unix(int64(60*i), 0),
			Values: map[string]float64{"read.iops": rate(i)}})
	}
	return Analyse(run, all, nil)
}

// wobble is a rate that scatters by a hundredth.
func wobble(rate float64, i int) float64 { return rate * (1 + 0.01*math.Sin(float64(7*i*i))) }

func TestAnalyse(t *testing.T) {
	for name, c := range map[string]struct {
		n       int
		rate    func(i int) float64
		verdict Verdict
		steps   int
		from    float64 // -1 for no steady state
	}{
		"holds": {40, func(i int) float64 { return wobble(1000, i) }, Holds, 0, 0},
		"a cache that is full after twelve minutes": {40, func(i int) float64 {
			if i < 12 {
				return wobble(1000, i)
			}
			return wobble(400, i)
		}, Falls, 1, 12 * 60},
		"slow for a while": {60, func(i int) float64 {
			if i >= 20 && i < 40 {
				return wobble(500, i)
			}
			return wobble(1000, i)
		}, Varies, 2, 40 * 60},
		"rises": {40, func(i int) float64 {
			if i < 20 {
				return wobble(1000, i)
			}
			return wobble(1500, i)
		}, Rises, 1, 20 * 60},
		"too few": {3, func(i int) float64 { return wobble(1000, i) }, Undecided, 0, -1},
		"noise": {8, func(i int) float64 {
			return 1000 * (1 + 0.5*math.Sin(float64(7*i*i)))
		}, Undecided, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			d := soaked(c.n, c.rate)
			if len(d.Metrics) != 1 || d.Planned != c.n || d.Seconds != 60 {
				t.Fatalf("%+v", d)
			}
			m := d.Metrics[0]
			if m.Verdict != c.verdict || len(m.Steps) != c.steps {
				t.Errorf("it %s with %+v, want %s with %d steps", m.Verdict, m.Steps, c.verdict, c.steps)
			}
			switch {
			case c.from < 0 && m.SteadyFrom != nil:
				t.Errorf("it is steady from %g on", *m.SteadyFrom)
			case c.from >= 0 && (m.SteadyFrom == nil || *m.SteadyFrom != c.from || m.Lasting.Lo == nil):
				t.Errorf("it is steady from %v on at %+v, want %g", m.SteadyFrom, m.Lasting, c.from)
			}
		})
	}
}

// A round that failed is counted, and leaves the others alone.
func TestFailedRounds(t *testing.T) {
	run := lab.Run{Targets: []lab.RunTarget{{}}, Cells: []lab.Cell{{Params: map[string]string{"rw": "randread"}}}}
	d := Analyse(run, []lab.Repetition{{Values: map[string]float64{"read.iops": 5}}, {Values: map[string]float64{}}},
		nil)
	if d.Failed != 1 || len(d.Metrics) != 1 || len(d.Metrics[0].Rounds) != 1 {
		t.Errorf("%+v", d)
	}
	if d := Analyse(run, nil, nil); len(d.Metrics) != 0 {
		t.Errorf("of nothing: %+v", d)
	}
}

// The changes that are printed are those of the figures beside them, also where the median of all ratios is another.
func TestChangesAgreeWithTheFiguresBesideThem(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	m := soaked(60, func(i int) float64 {
		rate := 1000.0
		if i >= 20 {
			rate = 600
		}
		if r.Float64() < 0.4 { // two levels
			rate *= 0.9
		}
		return wobble(rate, i)
	}).Metrics[0]
	agree := func(what string, base, next float64, c Change) {
		if math.Abs(c.Ratio*base/next-1) > 1e-9 || *c.Lo > c.Ratio || *c.Hi < c.Ratio {
			t.Errorf("%s goes from %g to %g, and the change is %g [%g, %g]", what, base, next, c.Ratio, *c.Lo, *c.Hi)
		}
	}
	agree("the rate", *m.First, *m.Last, *m.Change)
	if len(m.Steps) == 0 {
		t.Error("no step is found")
	}
	for _, s := range m.Steps {
		agree("a step", s.Before, s.After, s.Change)
	}
}
