package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The probability is that of all ways to put the signs, counted one by one.
func TestChanceOfSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values := make([]float64, 2+r.IntN(9))
		for i := range values {
			values[i] = r.NormFloat64()
		}
		bound := r.NormFloat64()
		sum, as, all := 0.0, 0, 1<<len(values)
		for _, v := range values {
			sum += v - bound
		}
		for signs := range all {
			other := 0.0
			for i, v := range values {
				if signs>>i&1 == 1 {
					other -= v - bound
				} else {
					other += v - bound
				}
			}
			if other >= sum-1e-12 {
				as++
			}
		}
		exact, got := float64(as)/float64(all), chanceOfSigns(values, bound)
		if got < exact-1e-12 || got > exact+0.1 || exact < 0.1 && got > 1.5*exact {
			t.Errorf("%v below %g: %g, counted %g", values, bound, got, exact)
		}
	}
}

// Of n values that all lie above a bound, one way in 2ⁿ has so large a sum.
func TestSignsThatAgree(t *testing.T) {
	values := []float64{0.1, 0.11, 0.09, 0.1, 0.1, 0.12, 0.1, 0.1}
	if p := chanceOfSigns(values, 0); p != math.Pow(2, -8) {
		t.Errorf("%g", p)
	}
	lo, hi := widenedBySigns(values, 0.095, 0.105, 2*math.Pow(2, -8))
	if !(lo > 0.085 && lo < 0.09) || !(hi > 0.12 && hi < 0.125) {
		t.Errorf("[%g, %g]", lo, hi)
	}
	if n := FewestAgreeing(0.0125); n != 8 {
		t.Errorf("%d values for 1.25%%", n)
	}
}
