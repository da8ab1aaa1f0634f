package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Levels that do not differ, visited in turn on disks that were recorded, with six loads one after the other in each
// visit: few of many sweeps claim anything.
func TestNothingIsFoundOnRecordedDisks(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	if figure.Whole {
		models = append(append(models, noise.Worlds()...), noise.Waves()...)
	}
	sweeps := figure.Times(20, 2000)
	levels := threads("0", "1", "2", "4", "8")
	for _, model := range models {
		for _, blocks := range []int{6, 10} {
			r, wrong := rand.New(rand.NewPCG(34, uint64(blocks))), 0
			for range sweeps {
				in := Input{Factor: "sysctl:x", Levels: levels}
				for c := range 6 {
					in.Cells = append(in.Cells, cellOf(fmt.Sprint("cell", c)))
				}
				trace := model.Runs(r, blocks*len(levels)*len(in.Cells))
				for b, order := range noise.Turns(r, len(levels), blocks) {
					for i, level := range order {
						for _, c := range r.Perm(len(in.Cells)) {
							in.Measured = append(in.Measured, Measured{Level: level, Cell: in.Cells[c].ID, Block: b + 1,
								Visit:  b*len(levels) + i + 1,
								Values: map[string]float64{"read.iops": 1000 * math.Exp(trace[0])}})
							trace = trace[1:]
						}
					}
				}
				if slices.ContainsFunc(Analyze(in).Cells, claims) {
					wrong++
				}
			}
			figure.Record(t, figure.Share(figure.Name("sweep/wrong", fmt.Sprint(blocks, " blocks"), model.Name), wrong,
				sweeps, figure.Lower).
				Saying("sweeps of 6 cells x 5 levels without any difference that claim something, %d blocks, %s",
					blocks, model.Name))
			if wrong > sweeps*10/100 {
				t.Errorf("%s, %d blocks: %d of %d sweeps claim something", model.Name, blocks, wrong, sweeps)
			}
		}
	}
}

// claims says whether anything is called better, harmful, or too small.
func claims(c Cell) bool {
	return c.Distinguishable || len(c.Harm) > 0 || c.Verdict == Better || c.SmallestBetween.From != "0"
}
