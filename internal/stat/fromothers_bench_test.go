//go:build bench

package stat_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Tables of targets that are all alike, so that whoever is named is named wrongly; and tables in which some are slow.
func TestSimulatedOutliers(t *testing.T) {
	named := func(c stat.Change) bool { return c.Known() && (c.Hi < 1/1.03 || c.Lo > 1.03) }
	models := []noise.Model{noise.Gaussian(0.03), noise.StudentT3(0.09), noise.Wandering(0.2, 0.05),
		noise.Wandering(0.5, 0.05), noise.Wandering(0.8, 0.05),
		noise.Wandering(0.9, 0.05), noise.TwoMode(0.15, 0.05, 0.01, 0), noise.TwoMode(0.5, 0.1, 0.01, 0),
		noise.TwoMode(0.15, 0.5, 0.003, 0.5),
		noise.TwoMode(0.15, 0.2, 0.003, 0.9)}
	const trials = 1000
	for i, m := range append(models, recorded(t)...) {
		for _, size := range []struct{ targets, n int }{{5, 10}, {20, 2}, {20, 3}, {20, 5}, {20, 10}, {20, 20}} {
			r := rand.New(rand.NewPCG(21, uint64(i)))
			wrong := 0
			for range trials {
				rows := make([][]float64, size.targets)
				for k := range rows {
					rows[k] = levels(m, r, size.n)
				}
				any := false
				for _, c := range stat.FromOthers(rows, stat.FamilyWise(0.05, size.targets)).Changes {
					any = any || named(c)
				}
				if any {
					wrong++
				}
			}
			what := fmt.Sprintf("%d targets, %d repetitions", size.targets, size.n)
			figure.Record(t, figure.Share(figure.Name("decisions/outliers/wrong", what, m.Name), wrong,
				trials, figure.Lower).
				Saying("%s, all alike, %s: tables in which any is named", what, m.Name))
		}
	}
	for i, c := range []struct {
		targets, n, slow int
		by, sd           float64
	}{{20, 5, 1, 0.1, 0.01}, {20, 5, 1, 0.1, 0.02}, {20, 10, 1, 0.1, 0.03}, {20, 5, 6, 0.1, 0.01},
		{20, 10, 6, 0.1, 0.03}, {20, 5, 8, 0.2, 0.03},
		{20, 10, 8, 0.2, 0.03}, {20, 2, 1, 0.5, 0.03}, {20, 3, 1, 0.2, 0.01}, {20, 3, 1, 0.3, 0.03},
		{5, 5, 1, 0.2, 0.01}} {
		r := rand.New(rand.NewPCG(22, uint64(i)))
		found, of := 0, 0
		for range trials {
			rows := make([][]float64, c.targets)
			for k := range rows {
				rows[k] = levels(noise.Gaussian(c.sd), r, c.n)
				for j := range rows[k] {
					if k < c.slow {
						rows[k][j] *= 1 - c.by
					}
				}
			}
			for _, change := range stat.FromOthers(rows, stat.FamilyWise(0.05, c.targets)).Changes[:c.slow] {
				of++
				if named(change) && change.Ratio < 1 {
					found++
				}
			}
		}
		what := fmt.Sprintf("%d of %d targets, %d repetitions, %g%% at %g%% noise", c.slow, c.targets, c.n, 100*c.by,
			100*c.sd)
		figure.Record(t, figure.Share(figure.Name("decisions/outliers/found", what), found, of,
			figure.Higher).Saying("slow targets that are named: %s", what))
	}
}
