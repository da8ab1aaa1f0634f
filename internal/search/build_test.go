package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
)

// Where a bundle that was not measured before must be built first, fewer are built, and those that are there are
// measured more often. The answer is as right.
func TestFewerAreBuiltWhereBuildingTakesLong(t *testing.T) {
	n := figure.Times(3, searches()/2)
	const long = 10
	for _, w := range []row{
		{name: "1 of 200 settings", plant: one(200), space: search.Space{Candidates: 200}},
		{name: "128 steps", plant: one(128), space: search.Space{Candidates: 128, Ordered: true}},
	} {
		for _, d := range []float64{2, 3, 5} {
			if !figure.Whole && d != 3 {
				continue // takes long
			}
			w.d, w.kind, w.terms = d, kinds()[0], terms()
			means := map[float64]float64{}
			for _, build := range []float64{0, long} {
				w.terms.Build = build
				var built, measured []float64
				right := 0
				for seed := range n {
					s, culprits, subsets := w.counting(uint64(seed + 1))
					built, measured = append(built, float64(subsets)),
						append(measured, float64(s.Measurements()+s.Proofs()))
					if a := s.Answer(); a.Finished() && slices.Equal(a.Culprits, culprits) {
						right++
					}
				}
				means[build] = stat.Mean(built, nil)
				what := fmt.Sprintf("%s, d=%g, a build takes as long as %.0f measurements", w.name, d, build)
				called := func(kind string) string {
					return figure.Name("search/build", kind, w.name, fmt.Sprintf("d %g", d),
						fmt.Sprintf("build %.0f", build))
				}
				figure.Record(t,
					figure.Mean(called("built"), "", built, figure.Lower).Saying("%s: built besides the ends", what))
				figure.Record(t, figure.Mean(called("measurements"), "", measured,
					figure.Lower).Saying("%s: measurements with proof", what))
				figure.Record(t, figure.Share(called("right"), right, n, figure.Higher).Saying("%s: right", what))
				if float64(right) < 0.95*float64(n) {
					t.Errorf("%s, d=%g, build %g: %d of %d right", w.name, d, build, right, n)
				}
			}
			// Each state says one bit at most, so that nothing can be saved of a search that builds no more than that.
			least := math.Log2(float64(w.space.Candidates))
			if means[long] > means[0] || means[0] > least && means[long] == means[0] {
				t.Errorf("%s, d=%g: %.1f built, and %.1f where it costs nothing", w.name, d, means[long], means[0])
			}
		}
	}
}

// counting is one search, with the number of bundles besides the ends that were measured.
func (w row) counting(seed uint64) (s *search.Search, culprits []int, subsets int) {
	r := rand.New(rand.NewPCG(seed, 78))
	log, culprits := w.plant(r, -w.d*w.kind.sd)
	m := machine{log, func() float64 { return w.kind.model.Runs(r, 1)[0] }}
	w.terms.Seed = seed
	s = search.New(w.space, w.terms)
	built := map[string]bool{}
	for q, more := s.Next(); more; q, more = s.Next() {
		if n := q.Subset.Count(); n > 0 && n < w.space.Candidates {
			built[fmt.Sprint(q.Subset)] = true
		}
		if err := s.Add(q, m.measure(q.Subset)); err != nil {
			panic(err)
		}
	}
	return s, culprits, len(built)
}
