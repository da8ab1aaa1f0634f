package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/figure"
)

// A level that rises or falls evenly is no step with a date, and steps are found as before.
func TestRampsAreNoSteps(t *testing.T) {
	lengths, trials := []int{30}, figure.Times(40, 400)
	if figure.Whole {
		lengths = []int{30, 100}
	}
	for _, n := range lengths {
		search := NewChangeSearch(0.05, 1)
		for _, c := range []struct {
			name        string
			level       func(r *rand.Rand) func(i int) float64
			least, most float64 // how often a step is proved
			slope       float64 // how often a slope is, at least
		}{
			{"independent", flat, 0, 0.05, 0},
			{"ramp of 5%", ramp(0.05), 0, 0.05, 0.5},
			{"ramp of 10%", ramp(-0.1), 0, 0.05, 0.9},
			{"ramp of 20%", ramp(-0.2), 0, 0.05, 0.9},
			{"random walk of 0.3%", walk(0.003), 0, 1, 0},
			{"step of 3% in the middle", stepAt(0.5, -0.03), 0.7, 1, 0},
			{"step of 10% in the middle", stepAt(0.5, -0.1), 0.95, 1, 0},
			{"step of 10% at four fifths", stepAt(0.8, -0.1), 0.95, 1, 0},
		} {
			r := rand.New(rand.NewPCG(27, uint64(n)))
			proved, slopes, covered := 0, 0, 0
			for range trials {
				level, values, logs := c.level(r), make([]float64, n), make([]float64, n)
				for i := range values {
					logs[i] = level(i*1000/(n-1)) + 0.01*r.NormFloat64()
					values[i] = 1000 * math.Exp(logs[i])
				}
				proved += provedOnce(search, values)
				if c, ok := search.Slope(values, search.ChangePoints(values)); ok {
					slopes++
					if c.Lo <= math.Exp(level(1000)-level(0)) && math.Exp(level(1000)-level(0)) <= c.Hi {
						covered++
					}
				}
			}
			what := fmt.Sprintf("%d runs, noise 1%%, %s", n, c.name)
			better := figure.Lower
			if c.least > 0 {
				better = figure.Higher
			}
			figure.Record(t, figure.Share(figure.Name("decisions/ramp", "step-proved", what), proved, trials, better).
				Saying("a step is proved: %s", what))
			figure.Record(t, figure.Share(figure.Name("decisions/ramp", "slope", what), slopes, trials, "").
				Saying("a slope is shown: %s", what))
			if c.slope > 0 {
				figure.Record(t, figure.Share(figure.Name("decisions/ramp", "slope-covers", what), covered, slopes,
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

// Levels are logarithms by the thousandths of the series that are over.
func flat(*rand.Rand) func(int) float64 { return func(int) float64 { return 0 } }

func ramp(rise float64) func(*rand.Rand) func(int) float64 {
	return func(*rand.Rand) func(int) float64 {
		return func(over int) float64 { return math.Log1p(rise) * float64(over) / 1000 }
	}
}

func stepAt(share, change float64) func(*rand.Rand) func(int) float64 {
	return func(*rand.Rand) func(int) float64 {
		return func(over int) float64 {
			if float64(over) < 1000*share {
				return 0
			}
			return math.Log1p(change)
		}
	}
}

func walk(each float64) func(*rand.Rand) func(int) float64 {
	return func(r *rand.Rand) func(int) float64 {
		level := 0.0
		return func(int) float64 { level += each * r.NormFloat64(); return level }
	}
}
