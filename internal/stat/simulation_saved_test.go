package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// levels are n runs one after the other, as rates.
func levels(m noise.Model, r *rand.Rand, n int) []float64 {
	runs := m.Runs(r, n)
	for i := range runs {
		runs[i] = math.Exp(runs[i])
	}
	return runs
}

func differs(c stat.Change) bool {
	d := c.Decide(0.03)
	return d == stat.Above || d == stat.Below
}

// Two saved runs of one system, the repetitions of the second right after those of the first. Where repetitions don't
// depend on each other a verdict is wrong as often as said. Where the noise comes in spells, as on the disks that were
// recorded, it is wrong more often, for which the documents send people to pairs; intervals that take no notice of it
// are the negative control.
func TestSimulatedSavedRuns(t *testing.T) {
	models := []noise.Model{noise.Gaussian(0.03), noise.StudentT3(0.03), noise.TwoMode(0.15, 0.5, 0.003, 0),
		noise.TwoMode(0.15, 0.2, 0.003, 0)}
	independent := len(models)
	models = append(models, noise.Wandering(0.5, 0.03), noise.TwoMode(0.15, 0.5, 0.003, 0.5),
		noise.TwoMode(0.15, 0.2, 0.003, 0.9))
	models = append(models, recorded(t)...)
	spells, unaware, of := 0, 0, 0
	for i, m := range models {
		n := figure.Times(100, 5000)
		r := rand.New(rand.NewPCG(10, uint64(i)))
		for _, size := range []int{3, 5, 10, 20} {
			wrong, alone := 0, 0
			for range n {
				v := levels(m, r, 2*size)
				if differs(stat.UnpairedChange(v[:size], v[size:], 0.95)) {
					wrong++
				}
				if differs(stat.ShiftChange(v[:size], v[size:], 0.95)) {
					alone++
				}
			}
			figure.Record(t, figure.Share(figure.Name("decisions/saved/wrong", fmt.Sprintf("%d v %d", size, size),
				m.Name), wrong, n, figure.Lower).
				Saying("two saved runs of one system, %d v %d, %s: wrong", size, size, m.Name))
			if i < independent {
				figure.AtMost(t, fmt.Sprintf("%s, %d v %d", m.Name, size, size), wrong, n, 0.05)
			} else if size == 20 {
				spells, unaware, of = spells+wrong, unaware+alone, of+n
			}
		}
	}
	figure.Record(t, figure.Share("decisions/saved/spells", spells, of,
		figure.Lower).Saying("two saved runs of 20, noise in spells: wrong"))
	figure.Record(t, figure.Share("decisions/saved/spells-by-ranks", unaware, of,
		"").Saying("two saved runs of 20, noise in spells: wrong by ranks alone"))
	if percent(unaware, of) < 15 || percent(spells, of) > 10 {
		t.Errorf("%.1f%% are wrong where noise comes in spells, %.1f%% by ranks alone", percent(spells, of),
			percent(unaware, of))
	}
}

// Two or three values a side show no modes, and the interval allows for a jump of 15%. Levels farther apart than that
// are a negative control: suites of eight cells with a wrong verdict, where a tenth of the runs have half the speed.
func TestSimulatedSavedRunsOfFewValues(t *testing.T) {
	n := figure.Times(100, 4000)
	m := noise.TwoMode(0.5, 0.1, 0.003, 0)
	for i, size := range []int{2, 3, 4} {
		r := rand.New(rand.NewPCG(12, uint64(i)))
		wrong := 0
		for range n {
			found := false
			for range 8 {
				v := levels(m, r, 2*size)
				found = found || differs(stat.UnpairedChange(v[:size], v[size:], stat.FamilyWise(0.05, 8)))
			}
			if found {
				wrong++
			}
		}
		figure.Record(t, figure.Share(figure.Name("decisions/saved/few", fmt.Sprintf("%d v %d", size, size)),
			wrong, n, figure.Lower).
			Saying("8 cells of two saved runs of one system, %d v %d, %s: any wrong", size, size, m.Name))
		if size > 2 {
			figure.AtMost(t, fmt.Sprintf("%s, %d v %d", m.Name, size, size), wrong, n, 0.05)
		} else if percent(wrong, n) < 5 {
			t.Errorf("only %.1f%% are wrong; this simulation can't tell", percent(wrong, n))
		}
	}
}

// Runs that were repeated until their median was known to a precision chose their numbers by what they saw. It does
// next to nothing to the comparison of two of them, or of one with a run of a fixed number.
func TestSimulatedSavedRunsToAPrecision(t *testing.T) {
	stopped := func(m noise.Model, r *rand.Rand, half float64) []float64 {
		values := levels(m, r, 100)
		for n := 8; n < len(values); n++ {
			if i := stat.MedianSequence(values[:n], 0.95); i.Known() && max(i.Hi-i.Center, i.Center-i.Lo) <=
				half*i.Center {
				return values[:n]
			}
		}
		return values
	}
	for i, m := range []noise.Model{noise.Gaussian(0.01), noise.Gaussian(0.03), noise.StudentT3(0.03),
		noise.TwoMode(0.15, 0.5, 0.003, 0),
		noise.TwoMode(0.15, 0.2, 0.01, 0)} {
		n := figure.Times(20, 3000)
		r := rand.New(rand.NewPCG(11, uint64(i)))
		for _, half := range []float64{0.01, 0.03} {
			both, one := 0, 0
			for range n {
				a := stopped(m, r, half)
				if claims(stat.UnpairedChange(a, stopped(m, r, half), 0.95)) {
					both++
				}
				if claims(stat.UnpairedChange(a, levels(m, r, 5), 0.95)) {
					one++
				}
			}
			what := fmt.Sprintf("stopped at half-width %g%%, %s", 100*half, m.Name)
			figure.Record(t, figure.Share(figure.Name("decisions/saved/two-stopped", what), both, n,
				figure.Lower).Saying("a difference is claimed of two saved runs, %s", what))
			figure.Record(t, figure.Share(figure.Name("decisions/saved/one-stopped", what), one, n,
				figure.Lower).Saying("a difference is claimed of a saved run and 5 repetitions, %s", what))
			figure.AtMost(t, fmt.Sprint(m.Name, ", two stopped at ", half), both, n, 0.05)
			figure.AtMost(t, fmt.Sprint(m.Name, ", one stopped at ", half), one, n, 0.05)
		}
	}
}

// farOff is Gaussian noise of 1% in which one run of so many is three times slower.
func farOff(oneOf int) noise.Model {
	return noise.Model{Name: fmt.Sprintf("1 of %d runs 3 times slower, 1%%", oneOf),
		Runs: func(r *rand.Rand, n int) []float64 {
			runs := make([]float64, n)
			for i := range runs {
				runs[i] = 0.01 * r.NormFloat64()
				if r.IntN(oneOf) == 0 {
					runs[i] -= math.Log(3)
				}
			}
			return runs
		}}
}

// upAndDown noise jumps between two rates that are as far from the middle.
func upAndDown(by, sd float64) noise.Model {
	return noise.Model{Name: fmt.Sprintf("jumps by %g%%, %g%%", 100*by, 100*sd),
		Runs: func(r *rand.Rand, n int) []float64 {
			runs := make([]float64, n)
			for i := range runs {
				runs[i] = by*float64(2*r.IntN(2)-1) + sd*r.NormFloat64()
			}
			return runs
		}}
}

// Two saved runs, of which the second is as fast or 5% slower: what is decided wrongly and rightly, beside benchstat's
// test of the same values. More repetitions decide more. Where the two sides spread differently, benchstat's test is
// wrong more often than it says.
func TestSimulatedSavedRunsDecideMoreWithMore(t *testing.T) {
	type sides struct {
		base, next noise.Model
		spells     bool
	}
	var kinds []sides
	for _, m := range []noise.Model{noise.Gaussian(0.03), noise.StudentT3(0.03), noise.TwoMode(0.15, 0.5, 0.003, 0),
		noise.TwoMode(0.15, 0.2, 0.003, 0), farOff(100), farOff(20)} {
		kinds = append(kinds, sides{m, m, false})
	}
	kinds = append(kinds, sides{noise.Gaussian(0.01), noise.Gaussian(0.05), false},
		sides{noise.Gaussian(0.005), upAndDown(0.1, 0.005), false})
	if figure.Whole {
		for _, m := range []noise.Model{noise.Gaussian(0.1), noise.Wandering(0.5, 0.03),
			noise.TwoMode(0.05, 0.5, 0.003, 0.8)} {
			kinds = append(kinds, sides{m, m, m.Name != noise.Gaussian(0.1).Name})
		}
	}
	n, sizes := figure.Times(40, 1000), []int{5, 7, 10, 20}
	if figure.Whole {
		sizes = append(sizes, 40)
	}
	for i, k := range kinds {
		name := k.base.Name
		if k.next.Name != name {
			name += " beside " + k.next.Name
		}
		r := rand.New(rand.NewPCG(13, uint64(i)))
		fewer := 0
		for _, size := range sizes {
			counts := map[string]int{}
			for range n {
				base, next := levels(k.base, r, size), levels(k.next, r, size)
				slower := make([]float64, size)
				for i, v := range next {
					slower[i] = 0.95 * v
				}
				for what, yes := range map[string]bool{
					"wrong":              differs(stat.UnpairedChange(base, next, 0.95)),
					"right":              stat.UnpairedChange(base, slower, 0.95).Decide(0.03) == stat.Below,
					"wrong-by-benchstat": stat.ClassicPValues(base, next).MannWhitney < 0.05,
					"right-by-benchstat": stat.ClassicPValues(base, slower).MannWhitney < 0.05,
				} {
					if yes {
						counts[what]++
					}
				}
			}
			of := fmt.Sprintf("%d v %d", size, size)
			for what, better := range map[string]string{"wrong": figure.Lower, "right": figure.Higher,
				"wrong-by-benchstat": "", "right-by-benchstat": ""} {
				figure.Record(t, figure.Share(figure.Name("decisions/saved/sides", what, of, name), counts[what], n,
					better).Saying("two saved runs, 5%% slower or alike, %s, %s: %s", of, name, what))
			}
			if size >= 8 && !k.spells { // fewer values agree by chance where one side jumps
				figure.AtMost(t, of+", "+name, counts["wrong"], n, 0.05)
			}
			alike := k.base.Name == k.next.Name && !k.spells
			if less := fewer - counts["right"]; alike && less > 3*int(math.Sqrt(float64(n))) {
				t.Errorf("%s, %s: %d decided, and %d with half as many repetitions, of %d", of, name, counts["right"],
					fewer, n)
			}
			fewer = counts["right"]
		}
	}
}

// TestFewSavedRunsDecideMoreWithMore checks that outliers hide a change less the more values there are, from 5 to 14 a
// side.
func TestFewSavedRunsDecideMoreWithMore(t *testing.T) {
	const n = 2000
	for i, m := range []noise.Model{farOff(100), farOff(20)} {
		r, before := rand.New(rand.NewPCG(14, uint64(i))), 0
		for size := 5; size <= 14; size++ {
			found := 0
			for range n {
				base, next := levels(m, r, size), levels(m, r, size)
				for i := range next {
					next[i] *= 0.95
				}
				if stat.UnpairedChange(base, next, 0.95).Decide(0.03) == stat.Below {
					found++
				}
			}
			if less := before - found; less > 2*int(math.Sqrt(n)) {
				t.Errorf("%s: %d v %d find %d, one value less finds %d, of %d", m.Name, size, size, found, before, n)
			}
			before = found
		}
	}
}

// TestFewSavedRunsDecideAsBenchstat checks that a change of 5% among normal noise is found nearly as often as
// benchstat's test finds it in the same few values, by at most so many points less.
func TestFewSavedRunsDecideAsBenchstat(t *testing.T) {
	const n = 10_000
	for size, points := range map[int]int{5: 2, 6: 8, 7: 7, 13: 5} {
		r := rand.New(rand.NewPCG(15, uint64(size)))
		found, byBenchstat := 0, 0
		for range n {
			base, next := levels(noise.Gaussian(0.03), r, size), levels(noise.Gaussian(0.03), r, size)
			for i := range next {
				next[i] *= 0.95
			}
			if stat.UnpairedChange(base, next, 0.95).Decide(0.03) == stat.Below {
				found++
			}
			if stat.ClassicPValues(base, next).MannWhitney < 0.05 {
				byBenchstat++
			}
		}
		if byBenchstat-found > points*n/100 {
			t.Errorf("%d v %d: %d found, %d by benchstat, of %d", size, size, found, byBenchstat, n)
		}
	}
}
