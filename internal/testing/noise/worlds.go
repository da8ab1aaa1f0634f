package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Worlds are further kinds of noise that machines have: heavy tails, levels that last for some runs, a machine that
// warms up, a day, counts of few operations, and a rhythm in most runs.
func Worlds() []Model {
	return []Model{StudentT(1.5, 0.03), StudentT(1, 0.03), Gaussian(0.3), TwoMode(0.3, 0.5, 0.01, 0.35),
		TwoMode(0.3, 0.5, 0.01, 0.8), TwoMode(0.6, 0.2, 0.01, 0.75), Warming(0.25, 4, 0.01), Warming(0.25, 15, 0.01),
		Wave(0.15, 48, 0.01), Whole(10, 0.1), Whole(3, 0.1), Alternating(0.03),
		Rhythm("sfffffff", 0.15, 0.003)}
}

// StudentT has the tails of Student's t with the given degrees of freedom, 1 for Cauchy's. Half of the runs are within
// about one scale of the usual level.
func StudentT(freedom, scale float64) Model {
	return independent(fmt.Sprintf("Student t%g, %g%%", freedom, 100*scale), func(r *rand.Rand) float64 {
		// R. W. Bailey, "Polar generation of random variates with the t-distribution", Mathematics of Computation 62
		// (1994).
		u := 1 - r.Float64()
		return scale * math.Sqrt(freedom*(math.Pow(u, -2/freedom)-1)) * math.Cos(2*math.Pi*r.Float64())
	})
}

// Warming is the noise of a machine that becomes slower by a share within a number of runs, and stays so: it has warmed
// up, or its cache is full. It begins cold.
func Warming(by float64, runs int, sd float64) Model {
	return changing(fmt.Sprintf("%g%% slower within %d runs, %g%%", 100*by, runs, 100*sd), sd,
		func(_ *rand.Rand) func(i int) float64 {
			return func(i int) float64 { return math.Log1p(-by) * min(1, float64(i)/float64(runs)) }
		})
}

// Waves returns machines whose speed rises and falls within 2 to 12 runs, by ten times the noise of runs.
func Waves() (list []Model) {
	for _, period := range []float64{2, 2.5, 3, 3.3, 3.6, 4, 5, 6, 8, 12} {
		list = append(list, Wave(0.1, period, 0.005))
	}
	return list
}

// Wave is noise that rises and falls by a share with a period of a number of runs, as over a day. It begins anywhere in
// the period.
func Wave(by, period, sd float64) Model {
	return changing(fmt.Sprintf("a wave of %g%% over %g runs, %g%%", 100*by, period, 100*sd), sd,
		func(r *rand.Rand) func(i int) float64 {
			first := r.Float64()
			return func(i int) float64 {
				return math.Log1p(-by) * (1 + math.Sin(2*math.Pi*(first+float64(i)/period))) / 2
			}
		})
}

// changing noise has a level that changes from run to run, and Gaussian noise on top.
func changing(name string, sd float64, level func(*rand.Rand) func(i int) float64) Model {
	return Model{Name: name, Runs: func(r *rand.Rand, n int) []float64 {
		at, runs := level(r), make([]float64, n)
		for i := range runs {
			runs[i] = at(i) + sd*r.NormFloat64()
		}
		return runs
	}}
}

// Whole is the noise of a rate that is printed in whole numbers, at least 1, around a level.
func Whole(level, sd float64) Model {
	return independent(fmt.Sprintf("whole numbers around %g, %g%%", level, 100*sd), func(r *rand.Rand) float64 {
		return math.Log(max(1, math.Round(level*math.Exp(sd*r.NormFloat64()))) / level)
	})
}

// Alternating is noise in which the next run compensates for each run: it finishes what the other left undone. sd is
// the standard deviation of a run.
func Alternating(sd float64) Model {
	return Model{Name: fmt.Sprintf("each run makes up for the one before, %g%%", 100*sd),
		Runs: func(r *rand.Rand, n int) []float64 {
			runs, before := make([]float64, n), r.NormFloat64()
			for i := range runs {
				now := r.NormFloat64()
				runs[i], before = sd*(now-before)/math.Sqrt2, now
			}
			return runs
		}}
}
