package changepoint

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

// The likelihood of one model, from sums, is that of the normal distribution whose covariance has the priors of mean
// and step in it, but for a factor that all models of one correlation share.
func TestStepModelIsTheNormalDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	const n, phi, vague = 9, 0.6, 1e6
	values := make([]float64, n)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	// The scale is one here, not averaged over: of two models the difference in the exponent is half that of the sums
	// of squares.
	logDensity := func(first, end int, variance float64) float64 {
		covariance := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				c := math.Pow(phi, float64(j-i))/(1-phi*phi) + vague
				if first <= i && i < end && first <= j && j < end {
					c += variance / (1 - phi*phi)
				}
				covariance.SetSym(i, j, c)
			}
		}
		normal, ok := distmv.NewNormal(make([]float64, n), covariance, nil)
		if !ok {
			t.Fatal("not positive definite")
		}
		return normal.LogProb(values)
	}
	for _, stretch := range [][2]int{{3, n}, {3, 6}, {5, n}} {
		m := newStepModel(values, 0, phi)
		sum := logSum{}
		m.power = 0 // leaves what does not depend on the values
		m.add(&sum, stretch[0], stretch[1], 0)
		left := 0.0
		for _, variance := range stepVariances() {
			left += math.Exp(logDensity(stretch[0], stretch[1], variance) - logDensity(0, 0, 0) - gain(m, stretch[0],
				stretch[1], variance/(1-phi*phi))/2)
		}
		near(t, "determinants", math.Exp(sum.log()-m.scale), left, 1e-3)
	}
}

// gain is how much of the sum of squares a level with a prior variance explains.
func gain(m *stepModel, first, end int, variance float64) float64 {
	common, square := m.along(first, end)
	return common * common / (square + 1/variance)
}

// Evidence does not depend on the unit of the values, nor on their level; it is large for a step and negative for what
// wanders.
func TestStepEvidence(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	step, wander := make([]float64, 30), make([]float64, 30)
	for i := range step {
		step[i] = r.NormFloat64()
		if i >= 20 {
			step[i] += 8
		}
		wander[i] = r.NormFloat64()
		if i > 0 {
			wander[i] += 0.9 * wander[i-1]
		}
	}
	if e := stepEvidence(step); e < 10 || stepEvidence(wander) > clearEvidence {
		t.Errorf("evidence of a step %g, of a level that wanders %g", e, stepEvidence(wander))
	}
	other := make([]float64, len(step))
	for i, v := range step {
		other[i] = 50 - 3*v
	}
	near(t, "other units", stepEvidence(other), stepEvidence(step), 1e-9)
	dip := make([]float64, 30)
	for i := range dip {
		dip[i] = r.NormFloat64()
		if i >= 10 && i < 20 {
			dip[i] -= 5
		}
	}
	if changeEvidence(dip) < stepEvidence(dip)+5 {
		t.Errorf("a stretch that was put right: %g, as a step %g", changeEvidence(dip), stepEvidence(dip))
	}
	for name, values := range map[string][]float64{"none": nil, "few": {1, 2, 3, 4, 5},
		"all equal": {1, 1, 1, 1, 1, 1, 1}} {
		if e := changeEvidence(values); !math.IsInf(e, -1) {
			t.Errorf("%s: %g", name, e)
		}
	}
}
