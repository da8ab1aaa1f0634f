package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// How often a step of twice the noise in 24 independent runs can be proved at all, if proofs are to be wrong in at most
// 5% of series without a step at each correlation: no method does better than the likelihood ratio that knows the size
// of the step, against a mixture of correlations that is hard to tell from it (Neyman and Pearson; a method that is
// wrong in at most 5% at each correlation is so for their mixture).
func TestMostThatCanBeProved(t *testing.T) {
	const n, size = 24, 2.0
	// near the least favourable weights of correlations from 0 to 0.9
	wandered := map[float64]float64{0.2: 0.1, 0.5: 0.9}
	ratioOf := func(series []float64) float64 {
		logs := stat.LogsOf(series)
		var wander logSum
		for phi, weight := range wandered {
			wander.add(newStepModel(logs, stat.Median(logs), phi).alone() + math.Log(weight))
		}
		return knownStep(logs, size) - wander.log()
	}
	trials := figure.Times(200, 10000)
	r := rand.New(rand.NewPCG(31, 1))
	var without []float64
	for range trials {
		phi := 0.5
		if r.Float64() < wandered[0.2] {
			phi = 0.2
		}
		without = append(without, ratioOf(wandering(r, n, phi, 1)))
	}
	slices.Sort(without)
	enough, proved := without[trials*95/100], 0
	for range trials {
		if ratioOf(wandering(r, n, 0, math.Exp(-size*0.01))) > enough {
			proved++
		}
	}
	figure.Record(t, figure.Share("decisions/history/most-that-can-be-proved", proved, trials, "").
		Saying("series of 24 independent runs with a step of twice the noise in which any method that is wrong in at "+
			"most 5%% at correlations of 0.2 and 0.5 can prove it, at most"))
	if share := float64(proved) / float64(trials); share < 0.6 || share > 0.9 {
		t.Errorf("%g can be proved", share)
	}
}

// knownStep is the logarithm of the likelihood of independent values with one step of so many standard deviations, up
// or down, at any place, averaged over their standard deviation.
func knownStep(logs []float64, size float64) float64 {
	n := len(logs)
	m := newStepModel(logs, stat.Median(logs), 0)
	spread := math.Sqrt(m.squares / float64(n))
	var sum logSum
	for place := MinBesides; place <= n-MinBesides; place++ {
		along := m.restUpTo[n] - m.restUpTo[place]
		length := float64(place*(n-place)) / float64(n)
		for step := -2.0; step <= 2; step += 0.05 {
			s := spread * math.Exp(step)
			for _, by := range []float64{-size * s, size * s} {
				sum.add(m.scale - float64(n-1)*math.Log(s) - (m.squares-2*by*along+by*by*length)/(2*s*s))
			}
		}
	}
	// The scale is integrated over in alone, and leaves a factor that depends on n only.
	k := float64(n-1) / 2
	gamma, _ := math.Lgamma(k)
	return sum.log() + math.Log(0.05/float64(2*(n-2*MinBesides+1))) - (math.Log(0.5) + k*math.Log(2) + gamma)
}
