//go:build bench

package search_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// inOrder is noise of which a measurement resembles the one before.
func inOrder(m noise.Model) kind {
	const long = 4000 // more than a search measures
	spread := stat.StdDev(m.Runs(rand.New(rand.NewPCG(1, 1)), long), nil)
	return kind{name: m.Name, model: m, sd: spread, source: func(r *rand.Rand) func() float64 {
		runs, at := m.Runs(r, long), -1
		return func() float64 {
			at++
			return runs[at%long]
		}
	}}
}

// Searches where measurements resemble their neighbours, and on the noise of real disks: with a culprit of twice the
// spread, and with none.
func TestSearchesOnDependentNoise(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	models = append([]noise.Model{noise.Wandering(0.2, 0.03), noise.Wandering(0.5, 0.03), noise.Wandering(0.9, 0.03),
		noise.TwoMode(0.15, 0.5, 0.01, 0.9),
		noise.TwoMode(0.15, 0.2, 0.003, 0.9)}, models...)
	models = append(models, noise.Waves()...)
	nothing := func(*rand.Rand, float64) (func(search.Subset) float64, []int) { return planted(nil), nil }
	for _, m := range models {
		for _, w := range []row{
			{name: "32 steps", d: 2, plant: one(32), space: search.Space{Candidates: 32, Ordered: true}},
			{name: "32 settings", d: 2, plant: one(32), space: settings(32)},
			{name: "32 steps alike", plant: nothing, space: search.Space{Candidates: 32, Ordered: true}},
			{name: "32 settings alike", plant: nothing, space: settings(32)},
		} {
			w.kind, w.terms = inOrder(m), terms()
			if w.terms.MaxMeasurements = 1000; w.d == 0 {
				w.terms.MinEffect = 0.05
			}
			n := min(100, searches())
			r := w.run(n)
			what := fmt.Sprintf("%s, d=%g, %s", w.name, w.d, m.Name)
			called := func(kind string) string {
				return figure.Name("search/dependent", kind, w.name, fmt.Sprintf("d %g", w.d), m.Name)
			}
			figure.Record(t, figure.Share(called("wrong"), n-r.right-r.undecided, n, figure.Lower).Saying("%s: wrong",
				what))
			figure.Record(t, figure.Share(called("undecided"), r.undecided, n, figure.Lower).Saying("%s: undecided",
				what))
			figure.Record(t, figure.Mean(called("measurements"), "", r.counts, figure.Lower).Saying("%s: measurements",
				what))
		}
	}
}
