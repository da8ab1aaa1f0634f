package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// A change as far as FarAfter says is found with three values after it, in four of five series of independent values,
// however many figures share the level.
func TestFarAfter(t *testing.T) {
	if far := NewChangeSearch(0.05, 1).FarAfter(minBeforeNewest + MinBesides - 1); far != 0 {
		t.Errorf("with too few before them it is %g", far)
	}
	trials := figure.Times(60, 2000)
	for _, figures := range []int{1, 8, 24, 144} {
		for _, n := range []int{9, 12, 20, 40} {
			s := NewChangeSearch(0.05, figures)
			far := s.FarAfter(n)
			r := rand.New(rand.NewPCG(uint64(figures), uint64(n)))
			found := 0
			for range trials {
				values := make([]float64, n)
				for i := range values {
					values[i] = 0.01 * r.NormFloat64()
					if i >= n-MinBesides {
						values[i] += 0.01 * far
					}
					values[i] = math.Exp(values[i])
				}
				if len(s.ChangePoints(values)) > 0 {
					found++
				}
			}
			what := fmt.Sprintf("%d figures, %d runs", figures, n)
			figure.Record(t, figure.Share(figure.Name("decisions/advice/far", what), found, trials,
				figure.Higher).Saying("a change as far as said is found with three runs after it: %s", what))
			t.Logf("%s: %.2f, %d (fewest %d)", what, far, found, s.FewestAfter(n))
			if least := 0.8 - 3*math.Sqrt(0.8*0.2/float64(trials)); float64(found) < least*float64(trials) {
				t.Errorf("%s: a change of %.1f standard deviations is found in %d of %d", what, far, found, trials)
			}
		}
	}
}
