package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// TestAdviceOnPrecision measures values, then as many more as are advised to reach half or a quarter of the width, and
// looks after each, as a run does. About four of five must reach it.
func TestAdviceOnPrecision(t *testing.T) {
	trials := figure.Times(30, 1000)
	for _, m := range []noise.Model{noise.Gaussian(0.03), noise.StudentT3(0.03)} {
		for _, n := range []int{8, 14, 20, 40} {
			for _, part := range []float64{2, 4} {
				r, reached := rand.New(rand.NewPCG(uint64(n), uint64(part))), 0
				for range trials {
					values := m.Runs(r, n)
					width := widthOf(values)
					for range AdditionalRepetitions(width, width/part, n) {
						values = append(values, m.Runs(r, 1)...)
						if widthOf(values) <= width/part {
							reached++
							break
						}
					}
				}
				what := fmt.Sprintf("%s, %d values, 1/%g of the width", m.Name, n, part)
				figure.Record(t, figure.Share(figure.Name("decisions/advice/precision", what), reached, trials,
					figure.Higher).Saying("%s: the advised repetitions reach it", what))
				figure.AtMost(t, what+", not reached", trials-reached, trials, 0.25)
			}
		}
	}
}

// widthOf returns the width of the interval of values that are given as logarithms.
func widthOf(logs []float64) float64 {
	values := make([]float64, len(logs))
	for i, l := range logs {
		values[i] = math.Exp(l)
	}
	return Width(stat.MedianSequence(values, confidence))
}
