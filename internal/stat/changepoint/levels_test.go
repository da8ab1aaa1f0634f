package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/headroom/headroom/internal/testing/figure"
)

// levelCase is a way in which the level of a series moves.
type levelCase struct {
	name        string
	level       func(r *rand.Rand, n int) []float64
	least, most float64 // how often a step is proved
	slope       float64 // how often a slope is, at least
}

// A level that moves in another way than in a step is no step with a date, and steps are found as before.
func TestLevelsThatAreNoSteps(t *testing.T) {
	lengths, trials := []int{30}, figure.Times(40, 400)
	cases := []levelCase{
		{"independent", flat, 0, 0.05, 0},
		{"ramp of 5%", ramp(0.05), 0, 0.05, 0.5},
		{"ramp of 10%", ramp(-0.1), 0, 0.05, 0.9},
		{"ramp of 20%", ramp(-0.2), 0, 0.05, 0.9},
		{"random walk of 0.3%", walk(0.003), 0, 0.05, 0},
		{"random walk of 1%", walk(0.01), 0, 0.05, 0},
		{"modes of -15%, 3 runs each", modes(-0.15, 3), 0, 0.05, 0},
		// Half of these switch once or twice in 30 runs, which is a step, or one that was put right again.
		{"modes of -15%, 10 runs each", modes(-0.15, 10), 0, 0.35, 0},
		{"two of seven runs -5%", week(-0.05), 0, 0.05, 0},
		{"step of 3% in the middle", stepAt(0.5, -0.03), 0.7, 1, 0},
		{"step of 10% in the middle", stepAt(0.5, -0.1), 0.95, 1, 0},
		{"step of 10% at four fifths", stepAt(0.8, -0.1), 0.95, 1, 0},
		{"the newest three -30%", newest(3, -0.3), 0.95, 1, 0},
		{"the newest three -10%", newest(3, -0.1), 0.9, 1, 0},
		{"three runs -50% in the middle", outage(3, -0.5), 0, 0.1, 0},
	}
	if figure.Whole {
		lengths, cases = []int{30, 100}, append(cases, []levelCase{
			{"step of 30% in the middle, and 1 of 20 runs -50%", both(stepAt(0.5, -0.3), some(20, -0.5)), 0.9, 1, 0},
			{"modes of -15%, the lower one alone from the middle on", modesEnd(-0.15, 3), 0.2, 1, 0},
			{"1 of 20 runs -50%", some(20, -0.5), 0, 0.05, 0},
			{"one run -50%", outage(1, -0.5), 0, 0.05, 0},
			{"two runs -50%", outage(2, -0.5), 0, 0.05, 0},
			{"a wave of 3%, twice", wave(2, 0.03), 0, 0.05, 0},
			{"a wave of 5%, of 20 runs", wave(0, 0.05), 0, 0.05, 0},
			{"the second half scatters by 5%", scattered(0.05), 0, 0.05, 0},
			{"the first half is skewed by 5%", skewed(0.05), 0, 0.05, 0},
			{"correlation 0.4", alike(0.4), 0, 0.05, 0},
			{"correlation 0.6", alike(0.6), 0, 0.05, 0},
			{"correlation 0.9", alike(0.9), 0, 0.05, 0},
			{"correlations 0.5, 0.9 and 0.99", both(alike(0.5), both(alike(0.9), alike(0.99))), 0, 0.1, 0},
			{"a cycle of about 10 runs", cycle, 0, 0.05, 0},
		}...)
	}
	for _, n := range lengths {
		search := NewChangeSearch(0.05, 1)
		for _, c := range cases {
			r := rand.New(rand.NewPCG(27, uint64(n)))
			proved, slopes, covered := 0, 0, 0
			for range trials {
				logs, values := c.level(r, n), make([]float64, n)
				for i, v := range logs {
					values[i] = 1000 * math.Exp(v+0.01*r.NormFloat64())
				}
				found := search.Levels(values)
				if slices.ContainsFunc(found.Changes, func(p ChangePoint) bool { return !p.Likely }) {
					proved++
				}
				if c := found.Slope; c != nil {
					slopes++
					if rise := math.Exp(logs[n-1] - logs[0]); c.Lo <= rise && rise <= c.Hi {
						covered++
					}
				}
			}
			what := fmt.Sprintf("%d runs, noise 1%%, %s", n, c.name)
			better := figure.Lower
			if c.least > 0 {
				better = figure.Higher
			}
			figure.Record(t, figure.Share(figure.Name("decisions/levels", "step-proved", what), proved, trials, better).
				Saying("a step is proved: %s", what))
			figure.Record(t, figure.Share(figure.Name("decisions/levels", "slope", what), slopes, trials, "").
				Saying("a slope is shown: %s", what))
			if c.slope > 0 {
				figure.Record(t, figure.Share(figure.Name("decisions/levels", "slope-covers", what), covered, slopes,
					figure.Higher).Saying("the interval covers the slope: %s", what))
			}
			if share := float64(proved) / float64(trials); share < c.least || share > c.most+0.05 {
				t.Errorf("%s: a step is proved in %d of %d", what, proved, trials)
			}
			if c.slope > 0 && covered < slopes*85/100 {
				t.Errorf("%s: the interval covers the slope in %d of %d", what, covered, slopes)
			}
			if share := float64(slopes) / float64(trials); share < c.slope || c.least > 0 && share > 0.1 {
				t.Errorf("%s: a slope is shown in %d of %d", what, slopes, trials)
			}
		}
	}
}

// A step is found beside a rhythm or two modes, and these are told as what they are.
func TestStepsBesidePatterns(t *testing.T) {
	lengths, trials := []int{60}, figure.Times(20, 400)
	if figure.Whole {
		lengths = []int{30, 60, 100}
	}
	for _, n := range lengths {
		search := NewChangeSearch(0.05, 1)
		for _, c := range []struct {
			name    string
			pattern func(*rand.Rand, int) []float64
			step    float64
			period  int
			least   float64 // how often the step is proved in 60 runs or more
		}{
			{"two of seven runs -5%", week(-0.05), 0, 7, 0},
			{"two of seven runs -5%", week(-0.05), -0.03, 7, 0.7},
			{"two of seven runs -5%", week(-0.05), -0.1, 7, 0.8},
			{"modes of -15%, 3 runs each", modes(-0.15, 3), -0.03, 0, 0.7},
			{"modes of -15%, 3 runs each", modes(-0.15, 3), -0.1, 0, 0.7},
		} {
			r := rand.New(rand.NewPCG(28, uint64(n)))
			found, elsewhere, covered, told := 0, 0, 0, 0
			for range trials {
				logs, values := c.pattern(r, n), make([]float64, n)
				floats.Add(logs, from(n, n/2, n, c.step))
				for i, v := range logs {
					values[i] = 1000 * math.Exp(v+0.01*r.NormFloat64())
				}
				levels := search.Levels(values)
				if c.period == 0 && levels.Modes != nil || levels.Rhythm != nil && levels.Rhythm.Period == c.period {
					told++
				}
				near := func(p ChangePoint) bool { return c.step != 0 && p.Index >= n/2-2 && p.Index <= n/2+2 }
				if i := slices.IndexFunc(levels.Changes, func(p ChangePoint) bool {
					return !p.Likely && near(p)
				}); i >= 0 {
					found++
					if size := levels.Changes[i].Change; size.Lo <= 1+c.step && 1+c.step <= size.Hi {
						covered++
					}
				}
				if slices.ContainsFunc(levels.Changes, func(p ChangePoint) bool { return !p.Likely && !near(p) }) {
					elsewhere++
				}
			}
			what := fmt.Sprintf("%d runs, noise 1%%, %s, and a step of %g%%", n, c.name, 100*c.step)
			record := func(name, saying string, of, all int, better string) {
				figure.Record(t, figure.Share(figure.Name("decisions/levels", name, what), of, all, better).
					Saying("%s: %s", saying, what))
			}
			record("told", "the pattern is told", told, trials, figure.Higher)
			record("beside-elsewhere", "a step is proved where there is none", elsewhere, trials, figure.Lower)
			if c.step != 0 {
				record("beside-proved", "the step is proved within two runs", found, trials, figure.Higher)
				record("beside-covers", "the interval covers the step", covered, found, figure.Higher)
			}
			if n < 60 {
				continue
			}
			if elsewhere > trials/10 || float64(found) < c.least*float64(trials) || told < trials*7/10 {
				t.Errorf("%s: proved in %d, elsewhere in %d, the pattern told in %d of %d", what, found, elsewhere, told,
					trials)
			}
		}
	}
}

// Levels are logarithms.
func flat(_ *rand.Rand, n int) []float64 { return make([]float64, n) }

func ramp(rise float64) func(*rand.Rand, int) []float64 {
	return func(_ *rand.Rand, n int) []float64 { return floats.Span(make([]float64, n), 0, math.Log1p(rise)) }
}

func stepAt(share, change float64) func(*rand.Rand, int) []float64 {
	return func(_ *rand.Rand, n int) []float64 {
		return from(n, int(math.Ceil(share*float64(n-1))), n, change)
	}
}

func newest(runs int, change float64) func(*rand.Rand, int) []float64 {
	return func(_ *rand.Rand, n int) []float64 { return from(n, n-runs, n, change) }
}

func outage(runs int, change float64) func(*rand.Rand, int) []float64 {
	return func(_ *rand.Rand, n int) []float64 { return from(n, n/2, n/2+runs, change) }
}

// from returns n levels with others from one index to another.
func from(n, first, end int, change float64) []float64 {
	out := make([]float64, n)
	for i := first; i < end; i++ {
		out[i] = math.Log1p(change)
	}
	return out
}

func walk(each float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := 1; i < n; i++ {
			out[i] = out[i-1] + each*r.NormFloat64()
		}
		return out
	}
}

// modes switches between two levels, each of which lasts so many runs on average.
func modes(change float64, runs int) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out, other := make([]float64, n), r.IntN(2) == 0
		for i := range out {
			if r.IntN(runs) == 0 {
				other = !other
			}
			if other {
				out[i] = math.Log1p(change)
			}
		}
		return out
	}
}

// modesEnd switches between two levels in the first half, and has the other one in the second half.
func modesEnd(change float64, runs int) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		return append(modes(change, runs)(r, n/2), from(n-n/2, 0, n-n/2, change)...)
	}
}

// week has another level in two of seven runs, from any day on.
func week(change float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out, first := make([]float64, n), r.IntN(7)
		for i := range out {
			if (first+i)%7 > 4 {
				out[i] = math.Log1p(change)
			}
		}
		return out
	}
}

// both adds two.
func both(a, b func(*rand.Rand, int) []float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out := a(r, n)
		floats.Add(out, b(r, n))
		return out
	}
}

// some has another level in one of so many runs, at random.
func some(of int, change float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			if r.IntN(of) == 0 {
				out[i] = math.Log1p(change)
			}
		}
		return out
	}
}

// wave rises and falls by a change in all: so many times, or every 20 runs for 0.
func wave(times int, change float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out, period, first := make([]float64, n), 20., r.Float64()
		if times > 0 {
			period = float64(n) / float64(times)
		}
		for i := range out {
			out[i] = change / 2 * math.Sin(2*math.Pi*(first+float64(i)/period))
		}
		return out
	}
}

// scattered has more noise in the second half.
func scattered(noise float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := n / 2; i < n; i++ {
			out[i] = noise * r.NormFloat64()
		}
		return out
	}
}

// skewed has noise in the first half that is mostly small and seldom large, downwards.
func skewed(noise float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out := make([]float64, n)
		for i := range n / 2 {
			out[i] = noise * (1 - r.ExpFloat64())
		}
		return out
	}
}

// alike has a level that wanders by 1%.
func alike(correlation float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		out, level := make([]float64, n), 0.01*r.NormFloat64()
		for i := range out {
			level = correlation*level + 0.01*math.Sqrt(1-correlation*correlation)*r.NormFloat64()
			out[i] = level
		}
		return out
	}
}

// cycle swings by chance with a period of about ten runs.
func cycle(r *rand.Rand, n int) []float64 {
	const damping = 0.95
	out, before, last := make([]float64, n), 0., 0.
	for i := range n + 100 {
		next := 2*damping*math.Cos(2*math.Pi/10)*last - damping*damping*before + 0.003*r.NormFloat64()
		before, last = last, next
		if i >= 100 {
			out[i-100] = next
		}
	}
	return out
}
