//go:build bench

package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// several culprits with the same effect among the first n, and helpers that make it faster by half of that.
func several(n, culprits, helpers int) func(*rand.Rand, float64) (func(search.Subset) float64, []int) {
	return func(r *rand.Rand, effect float64) (func(search.Subset) float64, []int) {
		order := r.Perm(n)
		effects := map[int]float64{}
		for _, c := range order[:culprits] {
			effects[c] = effect
		}
		for _, c := range order[culprits : culprits+helpers] {
			effects[c] = -effect / 2
		}
		slices.Sort(order[:culprits])
		return planted(effects), order[:culprits]
	}
}

// pair of settings among the first n that does harm where acts says so.
func pair(n int, acts func(a, b bool) bool) func(*rand.Rand, float64) (func(search.Subset) float64, []int) {
	return func(r *rand.Rand, effect float64) (func(search.Subset) float64, []int) {
		c := r.Perm(n)[:2]
		slices.Sort(c)
		return func(b search.Subset) float64 { return effect * float64(btoi(acts(b[c[0]], b[c[1]]))) }, c
	}
}

// Searches for several culprits, with what hides them. Wrong is an answer with an innocent setting, or one that lacks a
// culprit and does not say that there is or may be another.
func TestSeveralCulprits(t *testing.T) {
	const n = 24
	for _, sd := range []float64{0.24, 0.49} {
		for _, d := range []float64{1.5, 2.9} {
			for _, w := range []row{
				{name: "one", plant: several(n, 1, 0)},
				{name: "two", plant: several(n, 2, 0)},
				{name: "three", plant: several(n, 3, 0)},
				{name: "one and a helper", plant: several(n, 1, 1)},
				{name: "two and a helper", plant: several(n, 2, 1)},
				{name: "either of two", plant: pair(n, func(a, b bool) bool { return a || b })},
				{name: "both of two", plant: pair(n, func(a, b bool) bool { return a && b })},
			} {
				w.d, w.space, w.terms = d, settings(n), terms()
				w.kind = kind{name: "Gaussian", model: noise.Gaussian(sd), sd: sd}
				w.terms.MinEffect, w.terms.MaxMeasurements = 0.05, 200
				t.Run(fmt.Sprint(w.name, d, sd), func(t *testing.T) { w.several(t) })
			}
		}
	}
}

func (w row) several(t *testing.T) {
	n, right, wrong, withheld := searches(), 0, 0, 0
	var counts, proofs []float64
	for seed := range uint64(n) {
		s, culprits := w.once(seed + 1)
		a := s.Answer()
		slices.Sort(a.Culprits)
		counts, proofs = append(counts, float64(s.Measurements())), append(proofs, float64(s.Proofs()))
		innocent := slices.ContainsFunc(a.Culprits, func(c int) bool { return !slices.Contains(culprits, c) })
		switch {
		case a.Proved && slices.Equal(a.Culprits, culprits):
			right++
		case a.Finished() && (innocent || a.Further != search.Open && a.Further != search.Yes):
			wrong++
		default:
			withheld++
		}
	}
	for _, f := range []figure.Figure{
		figure.Share("right", right, n, figure.Higher).Saying("all culprits are proved"),
		figure.Share("wrong", wrong, n, figure.Lower).Saying("wrong"),
		figure.Share("withheld", withheld, n, figure.Lower).Saying("undecided, or fewer and it says so"),
		figure.Mean("measurements", "", counts, figure.Lower).Saying("measurements"),
		figure.Mean("proof", "", proofs, figure.Lower).Saying("measurements for the proof"),
	} {
		f.Text = fmt.Sprintf("%s of %d settings, d=%g, noise %g%%: %s", w.name, w.space.Candidates, w.d, 100*w.kind.sd,
			f.Text)
		f.Name = figure.Name("search/several", f.Name, w.name, fmt.Sprintf("d %g", w.d),
			fmt.Sprintf("noise %g", 100*w.kind.sd))
		figure.Record(t, f)
	}
	if figure.Whole && wrong > n/20 {
		t.Errorf("%d of %d wrong", wrong, n)
	}
}
