package ladder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// TestAdvisedPassesDecide simulates new ladders with the number of passes that an undecided load was advised to use.
// The load reaches as much as was measured before. Four of five must decide.
func TestAdvisedPassesDecide(t *testing.T) {
	const margin, noise = 0.05, 0.04
	trials := figure.Times(150, 3000)
	for _, w := range []struct {
		passes, claims int
		reaches        float64
	}{{3, 1, 0.8}, {5, 1, 0.9}, {5, 8, 0.9}, {10, 1, 0.97}, {10, 8, 0.97}} {
		confidence := stat.FamilyWise(0.05, w.claims)
		r := rand.New(rand.NewPCG(45, uint64(w.passes)))
		reached := func(passes int, share float64) *Cell {
			logs := make([]float64, passes)
			for i := range logs {
				logs[i] = math.Log(share) + noise*r.NormFloat64()
			}
			center := math.Exp(stat.MeanInterval(logs, 0.95).Center)
			c := &Cell{Expected: &Expected{Value: 1}, Center: &center}
			c.decide(logs, margin, confidence)
			return c
		}
		advised, decided := 0, 0
		for range trials {
			c := reached(w.passes, w.reaches)
			if c.Verdict != Undecided || !c.Reached.Informative() {
				continue
			}
			n := c.Reached.PassesToDecide(w.passes, margin, confidence)
			if n > 200 {
				continue
			}
			advised++
			if reached(n, c.Reached.Value).Verdict != Undecided {
				decided++
			}
		}
		what := fmt.Sprintf("%d passes, %d loads, %g%% reached", w.passes, w.claims, 100*w.reaches)
		figure.Record(t, figure.Share(figure.Name("decisions/advice/passes", what), decided, advised,
			figure.Higher).Saying("as many passes as advised decide: %s", what))
		t.Logf("%s: %d of %d", what, decided, advised)
		if least := 0.8 - 3*math.Sqrt(0.8*0.2/float64(advised)); float64(decided) < least*float64(advised) {
			t.Errorf("%s: as many passes as advised decide %d of %d", what, decided, advised)
		}
	}
}
