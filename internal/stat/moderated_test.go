package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLearnVariances learns a prior from which variances were drawn.
func TestLearnVariances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	chi := func(freedom int) float64 {
		sum := 0.0
		for range freedom {
			sum += math.Pow(r.NormFloat64(), 2)
		}
		return sum
	}
	var variances []float64
	for range 4000 {
		spread := 0.25 * 8 / chi(8)
		variances = append(variances, spread*chi(4)/4)
	}
	m := LearnVariances(append(variances, 0, 0), 4)
	if math.Abs(m.Freedom-8) > 1 || math.Abs(m.Variance-0.25) > 0.02 {
		t.Errorf("8 degrees of freedom around 0.25 are learnt as %.2f around %.3f", m.Freedom, m.Variance)
	}
	variance, freedom := m.Of(1, 4)
	if math.Abs(variance-0.5) > 0.03 || math.Abs(freedom-12) > 1 {
		t.Errorf("a variance of 1 counts as %.3f with %.1f degrees of freedom", variance, freedom)
	}
}

func TestAlikeVariances(t *testing.T) {
	m := LearnVariances([]float64{1, 1, 1, 1}, 4)
	if !math.IsInf(m.Freedom, 1) {
		t.Errorf("equal variances have %v degrees of freedom in common", m.Freedom)
	}
	if v, f := m.Of(100, 4); v != m.Variance || !math.IsInf(f, 1) {
		t.Errorf("one of them is %v with %v", v, f)
	}
}

func TestTooFewVariances(t *testing.T) {
	m := LearnVariances([]float64{1, 2}, 4)
	if v, f := m.Of(2, 4); v != 2 || f != 4 {
		t.Errorf("two things moderate a third: %v with %v", v, f)
	}
	if v, f := m.Of(2, 0); !math.IsNaN(v) || f != 0 {
		t.Errorf("nothing is known, and still it is %v with %v", v, f)
	}
}

func TestTrigamma(t *testing.T) {
	if got := trigamma(1); math.Abs(got-math.Pi*math.Pi/6) > 1e-12 {
		t.Errorf("trigamma(1) is %v", got)
	}
	for _, x := range []float64{0.01, 0.3, 1, 2.5, 40, 1000} {
		if got := trigammaInverse(trigamma(x)); math.Abs(got-x) > 1e-6*x {
			t.Errorf("the inverse of trigamma(%v) is %v", x, got)
		}
	}
}
