// Package noise simulates the noise of storage, so that decisions can be tested on known changes: several kinds of
// simulated noise, and recorded traces of real disks. All randomness comes from the given source.
package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Model is one kind of noise.
type Model struct {
	Name string
	// Runs returns n consecutive runs of one load on one system: the deviation of each from the usual level, as the
	// logarithm of the ratio.
	Runs func(r *rand.Rand, n int) []float64
}

// Gaussian noise; sd is the standard deviation of a run (0.03: 3%).
func Gaussian(sd float64) Model {
	return independent(fmt.Sprintf("Gaussian, %g%%", 100*sd), func(r *rand.Rand) float64 {
		return sd * r.NormFloat64()
	})
}

// StudentT3 has the tails of Student's t with three degrees of freedom: occasionally a run is far off.
func StudentT3(sd float64) Model {
	return independent(fmt.Sprintf("Student t3, %g%%", 100*sd), func(r *rand.Rand) float64 {
		chi := 0.0
		for range 3 {
			x := r.NormFloat64()
			chi += x * x
		}
		return sd * r.NormFloat64() / math.Sqrt(chi) // the variance of t3 is 3
	})
}

func independent(name string, draw func(*rand.Rand) float64) Model {
	return Model{Name: name, Runs: func(r *rand.Rand, n int) []float64 {
		runs := make([]float64, n)
		for i := range runs {
			runs[i] = draw(r)
		}
		return runs
	}}
}

// TwoMode is the noise of a shared disk: a share of the runs is slower by the factor 1-gap, and within each level they
// differ little. With stay above 0 a run keeps the level of the one before with that probability, and otherwise draws
// again.
func TwoMode(gap, slow, within, stay float64) Model {
	name := fmt.Sprintf("two levels, %g%% apart, %g%% of runs slow, %g%% within", 100*gap, 100*slow, 100*within)
	if stay > 0 {
		name += fmt.Sprintf(", sticky %g", stay)
	}
	return Model{Name: name, Runs: func(r *rand.Rand, n int) []float64 {
		runs := make([]float64, n)
		isSlow := r.Float64() < slow
		for i := range runs {
			if i > 0 && r.Float64() >= stay {
				isSlow = r.Float64() < slow
			}
			if isSlow {
				runs[i] = math.Log1p(-gap)
			}
			runs[i] += within * r.NormFloat64()
		}
		return runs
	}}
}

// Rhythm noise repeats a pattern of slow (s) and fast runs, as when every third run coincides with a garbage collection
// ("sff"), or each run leaves a cache to the next one ("sf"). It begins anywhere in the pattern.
func Rhythm(pattern string, gap, within float64) Model {
	name := fmt.Sprintf("runs in the rhythm %s, s %g%% slower, %g%% within", pattern, 100*gap, 100*within)
	return Model{Name: name, Runs: func(r *rand.Rand, n int) []float64 {
		runs := make([]float64, n)
		first := r.IntN(len(pattern))
		for i := range runs {
			if pattern[(first+i)%len(pattern)] == 's' {
				runs[i] = math.Log1p(-gap)
			}
			runs[i] += within * r.NormFloat64()
		}
		return runs
	}}
}

// secondsOfRun is how long a run of Autocorrelated takes.
const secondsOfRun = 60

// Autocorrelated noise: each second resembles the one before (AR(1) with this phi) across the ends of runs too, and a
// run is the mean of 60 seconds. sd is the standard deviation of a run.
func Autocorrelated(phi, sd float64) Model {
	// The variance of the mean of n values of an AR(1) of variance 1.
	variance := 1.0
	for lag := 1; lag < secondsOfRun; lag++ {
		variance += 2 * (1 - float64(lag)/secondsOfRun) * math.Pow(phi, float64(lag))
	}
	scale := sd / math.Sqrt(variance/secondsOfRun)
	return Model{Name: fmt.Sprintf("AR(1) %g inside runs, %g%%", phi, 100*sd),
		Runs: func(r *rand.Rand, n int) []float64 {
			runs := make([]float64, n)
			second := r.NormFloat64()
			for i := range runs {
				for range secondsOfRun {
					second = phi*second + math.Sqrt(1-phi*phi)*r.NormFloat64()
					runs[i] += second / secondsOfRun * scale
				}
			}
			return runs
		}}
}

// Wandering noise: each run resembles the one before (AR(1) with this phi). sd is the standard deviation of a run.
func Wandering(phi, sd float64) Model {
	return Model{Name: fmt.Sprintf("AR(1) %g from run to run, %g%%", phi, 100*sd),
		Runs: func(r *rand.Rand, n int) []float64 {
			runs := make([]float64, n)
			level := r.NormFloat64()
			for i := range runs {
				runs[i] = sd * level
				level = phi*level + math.Sqrt(1-phi*phi)*r.NormFloat64()
			}
			return runs
		}}
}

// Drift grows by the same factor from run to run (perRun 0.01: by 1%), with Gaussian noise on top.
func Drift(perRun, sd float64) Model {
	return Model{Name: fmt.Sprintf("drift %g%% a run, Gaussian %g%%", 100*perRun, 100*sd),
		Runs: func(r *rand.Rand, n int) []float64 {
			runs := make([]float64, n)
			for i := range runs {
				runs[i] = float64(i)*math.Log1p(perRun) + sd*r.NormFloat64()
			}
			return runs
		}}
}
