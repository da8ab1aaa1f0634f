package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Two sessions by themselves have no verdict and suggest nothing, whatever the noise within and between them, and
// however many repetitions they have. How often they differ is recorded.
func TestSimulatedSessionsByThemselves(t *testing.T) {
	know, trials := knowledge(t), figure.Times(1, 10)
	models := append([]noise.Model{noise.Gaussian(0.03), noise.Gaussian(0.01)}, noise.Worlds()...)
	apart, changes, sizes := []float64{0, 0.05, 0.15}, []float64{1, 0.9},
		[][2]int{{1, 1}, {2, 2}, {3, 3}, {1, 10}, {2, 8}, {5, 5}, {10, 10}}
	if !figure.Whole {
		models, apart, changes, sizes = models[:6], apart[1:2], changes[1:], [][2]int{{1, 1}, {3, 3}, {10, 10}}
	}
	for i, m := range models {
		r := rand.New(rand.NewPCG(47, uint64(i)))
		for _, between := range apart {
			for _, change := range changes {
				differ, all := 0, 0
				for range trials {
					for _, size := range sizes {
						var sides [2]Run
						for k, id := range []string{"BASE", "NEXT"} {
							level, values := between*r.NormFloat64(), m.Runs(r, size[k])
							for j, v := range values {
								values[j] = 1000 * math.Exp(v+level+float64(k)*math.Log(change))
							}
							sides[k] = run(id, reads, values...)
						}
						c := only(t, Compare(know, sides[0], []Run{sides[1]}, Options{}))
						all++
						switch {
						case c.Verdict == Differs:
							differ++
						case c.Verdict == Same || c.Verdict == Faster || c.Verdict == Slower:
							t.Errorf("%s, sessions differ by %g%%, %v repetitions: %s", m.Name, 100*between, size,
								c.Verdict)
						}
						if c.Suggests != nil {
							t.Errorf("%s, sessions differ by %g%%: suggests %+v", m.Name, 100*between, c.Suggests)
						}
					}
				}
				what := fmt.Sprintf("%s, sessions differ by %g%%, change %.0f%%", m.Name, 100*between, 100*(change-1))
				figure.Record(t, figure.Share(figure.Name("decisions/sessions-alone/differ", what), differ, all, "").
					Saying("two sessions by themselves that differ, which is no verdict: %s", what))
			}
		}
	}
}
