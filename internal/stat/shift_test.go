package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestShiftChangeCoverage(t *testing.T) {
	for name, noise := range noises() {
		for _, n := range []int{3, 6, 25} {
			r := rand.New(rand.NewPCG(21, uint64(n)))
			const trials = 300
			covered, confidence := 0, 0.0
			for range trials {
				c := ShiftChange(simulated(r, n, noise, 0.03, 0, 1), simulated(r, n+2, noise, 0.03, 0, 0.9), 0.95)
				confidence = c.Confidence
				if c.Lo <= 0.9 && c.Hi >= 0.9 {
					covered++
				}
			}
			if share := float64(covered) / trials; share < confidence-0.04 {
				t.Errorf("%s, %d values: covers %.3f, claims %.3f", name, n, share, confidence)
			}
		}
	}
}

func TestShiftChangeOfFew(t *testing.T) {
	c := ShiftChange([]float64{100, 101, 99}, []float64{90, 91, 89}, 0.95)
	if math.Abs(c.Confidence-0.9) > 1e-9 || math.Abs(c.Ratio-0.9) > 0.001 ||
		c.Lo != 89.0/101 && math.Abs(c.Lo-89.0/101) > 1e-9 {
		t.Errorf("%+v", c)
	}
	if c := ShiftChange(nil, []float64{1}, 0.95); c.Known() || !math.IsNaN(c.Ratio) {
		t.Errorf("%+v", c)
	}
}
