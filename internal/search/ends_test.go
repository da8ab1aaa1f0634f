package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// endsOf returns the ends of a machine with Gaussian noise, each measured n times. The slow end differs by a share, as
// a logarithm.
func endsOf(r *rand.Rand, n int, difference, noise float64, of Ends) Ends {
	e := of
	for range n {
		e.Fast = append(e.Fast, noise*r.NormFloat64())
		e.Slow = append(e.Slow, difference+noise*r.NormFloat64())
	}
	return e.compared()
}

// TestWantedMeasurementsDecide simulates ends that are not decided, and the same ends with as many measurements as are
// wanted. They differ as much as it seemed, as the answer takes for granted.
func TestWantedMeasurementsDecide(t *testing.T) {
	const worth = 0.05
	trials := figure.Times(100, 4000)
	allEnough, allAsked := 0, 0
	for _, ordered := range []bool{false, true} {
		terms := Ends{noise: 0.03, worth: worth, ordered: ordered}
		decided := func(e Ends) bool { return e.Apart() || !ordered && e.sameSpeed() }
		for _, n := range []int{2, 3, 5, 8} {
			for _, noise := range []float64{0.03, 0.1} {
				r, enough, asked := rand.New(rand.NewPCG(8, uint64(n))), 0, 0
				for range trials {
					e := endsOf(r, n, 0.2*r.Float64(), noise, terms)
					wanted := e.WantedAnchors()
					if decided(e) || wanted == 0 {
						continue
					}
					asked++
					if decided(endsOf(r, wanted, e.Difference, noise, terms)) {
						enough++
					}
				}
				what := fmt.Sprintf("%d of each, noise %g%%", n, 100*noise)
				if ordered {
					what += ", steps"
				}
				figure.Record(t, figure.Share(figure.Name("search/advice", what), enough, asked, figure.Higher).
					Saying("undecided ends for which as many measurements as are wanted decide, %s", what))
				allEnough, allAsked = allEnough+enough, allAsked+asked
			}
		}
	}
	if share := float64(allEnough) / float64(allAsked); share < 0.7 || share > 0.9 {
		t.Errorf("%d of %d (%.0f%%) decide", allEnough, allAsked, 100*share)
	}
}
