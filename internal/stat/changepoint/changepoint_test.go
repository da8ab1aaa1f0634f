package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// noises are what a run's centre can scatter like, each with mean 0 and standard deviation 1.
func noises() map[string]func(*rand.Rand) float64 {
	return map[string]func(*rand.Rand) float64{
		"Gaussian": (*rand.Rand).NormFloat64,
		"t3": func(r *rand.Rand) float64 {
			squares := 0.0
			for range 3 {
				g := r.NormFloat64()
				squares += g * g
			}
			return r.NormFloat64() / math.Sqrt(squares)
		},
		"two-mode": func(r *rand.Rand) float64 { // three of ten runs at another level, as a shared disk has them
			const low, share, own = 2, 0.3, 0.3
			x := low*share + own*r.NormFloat64()
			if r.Float64() < share {
				x -= low
			}
			return x / math.Sqrt(own*own+low*low*share*(1-share))
		},
	}
}

// simulated is a series of n runs with a noise, whose level changes by a factor at an index.
func simulated(r *rand.Rand, n int, noise func(*rand.Rand) float64, sigma float64, at int, factor float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 1000 * math.Exp(sigma*noise(r))
		if i >= at {
			values[i] *= factor
		}
	}
	return values
}

// A series, and a family of eight, without a change gets a point in at most 5% of all cases, whatever its noise is.
func TestChangePointsFalseAlarms(t *testing.T) {
	for _, c := range []struct{ n, series, trials int }{{20, 1, 600}, {50, 1, 200}, {20, 8, 120}} {
		search := NewChangeSearch(0.05, c.series) // its permutations are the same for all noises
		for name, noise := range noises() {
			r := rand.New(rand.NewPCG(11, uint64(c.n)))
			wrong := 0
			for range c.trials {
				found := 0
				for range c.series {
					found += len(search.ChangePoints(simulated(r, c.n, noise, 0.01, 0, 1)))
				}
				if found > 0 {
					wrong++
				}
			}
			most := 0.05 + 3*math.Sqrt(0.05*0.95/float64(c.trials))
			if share := float64(wrong) / float64(c.trials); share > most {
				t.Errorf("%s, %d series of %d runs: a point in %.3f, at most %.3f", name, c.series, c.n, share, most)
			}
		}
	}
}

func TestChangePointsFindAStep(t *testing.T) {
	for name, noise := range noises() {
		r := rand.New(rand.NewPCG(12, 1))
		search := NewChangeSearch(0.05, 8)
		const trials, n, at = 100, 24, 16
		found, covered, exact := 0, 0, 0
		for range trials {
			for _, p := range search.ChangePoints(simulated(r, n, noise, 0.01, at, 0.95)) {
				if p.Index >= at-2 && p.Index <= at+2 {
					found++
					if p.Index == at {
						exact++
					}
					if p.Change.Lo <= 0.95 && p.Change.Hi >= 0.95 {
						covered++
					}
					if p.P <= 0 || p.P > 0.05 {
						t.Fatalf("%s: P %v", name, p.P)
					}
				}
			}
		}
		if found < 93 || covered < 85 || exact < 90 {
			t.Errorf("%s: 5%% at 1%% noise found in %d of %d, at the very run in %d, covered by %d intervals", name,
				found, trials, exact, covered)
		}
	}
}

// Two changes, the second of which takes the first back, are two points with the right ratios.
func TestChangePointsUpAndDown(t *testing.T) {
	values := []float64{100, 101, 99, 100.5, 99.5, 100.2, 90, 91, 89.5, 90.5, 90.2, 89, 100, 101.2, 99.1, 100.6, 99.4,
		100.1}
	points := NewChangeSearch(0.05, 1).ChangePoints(values)
	if len(points) != 2 || points[0].Index != 6 || points[1].Index != 12 {
		t.Fatalf("%+v", points)
	}
	for i, want := range []float64{0.9, 1 / 0.9} {
		if c := points[i].Change; math.Abs(c.Ratio/want-1) > 0.01 || c.Lo > c.Ratio || c.Hi < c.Ratio ||
			points[i].Likely {
			t.Errorf("%+v, want a proved ratio of %.3f", points[i], want)
		}
	}
}

func TestChangePointsDespiteWildRuns(t *testing.T) {
	for wild := range 3 {
		r, search := rand.New(rand.NewPCG(17, 1)), NewChangeSearch(0.05, 8)
		const trials = 200
		found := 0
		for range trials {
			values := simulated(r, 24, (*rand.Rand).NormFloat64, 0.01, 12, 0.95)
			for range wild {
				values[r.IntN(len(values))] /= 2
			}
			for _, p := range search.ChangePoints(values) {
				if p.Index >= 10 && p.Index <= 14 {
					found++
				}
			}
		}
		figure.Record(t, figure.Share(figure.Name("history/found-despite-wild-runs", wild), found,
			trials, figure.Higher).
			Saying("a step of 5%% at 1%% noise in 24 runs of 8 cells, of which %d at half the speed: found", wild))
		if found < trials*70/100 {
			t.Errorf("%d wild runs: found in %d of %d", wild, found, trials)
		}
	}
}

func TestNoChangePoints(t *testing.T) {
	constant := make([]float64, 30)
	for i := range constant {
		constant[i] = 500
	}
	for name, values := range map[string][]float64{
		"none": nil, "few": {1, 1, 1, 2, 2}, "all equal": constant, "not positive": {1, 1, 1, 1, 0, 2, 2, 2, 2, 2},
	} {
		if points := NewChangeSearch(0.05, 1).ChangePoints(values); len(points) > 0 {
			t.Errorf("%s: %+v", name, points)
		}
	}
}

func TestChangePointsAreRepeatable(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	values := simulated(r, 30, noises()["t3"], 0.01, 15, 1.03)
	a, b := NewChangeSearch(0.05, 4).ChangePoints(values), NewChangeSearch(0.05, 4).ChangePoints(values)
	if len(a) != 1 || len(b) != 1 || a[0] != b[0] {
		t.Errorf("%+v, then %+v", a, b)
	}
}

// What FewestAfter promises is found, and the search by energy distances does not find it with one value fewer. The
// rule of the newest values (withNewest) may.
func TestFewestAfter(t *testing.T) {
	for _, c := range []struct{ n, series, want int }{{8, 1, 4}, {10, 1, 4}, {5, 1, 0}, {10, 24, 0}, {20, 24, 7}} {
		s := NewChangeSearch(0.05, c.series)
		if got := s.FewestAfter(c.n); got != c.want {
			t.Errorf("%d runs of %d series: %d, want %d", c.n, c.series, got, c.want)
			continue
		}
		if c.want == 0 {
			continue
		}
		for k := c.want - 1; k <= c.want; k++ {
			r := rand.New(rand.NewPCG(15, uint64(c.n)))
			values := simulated(r, c.n, (*rand.Rand).NormFloat64, 0.001, c.n-k, 0.5)
			if k < c.want && len(s.search(values)) > 0 {
				t.Errorf("%d runs: found with %d after it", c.n, k)
			} else if k == c.want && len(s.ChangePoints(values)) != 1 {
				t.Errorf("%d runs: not found with %d after it", c.n, k)
			}
		}
	}
}

// A level that does not change lies inside the interval as often as it says; heavy tails and two levels do little to
// that.
func TestNextChangeCoverage(t *testing.T) {
	for name, noise := range noises() {
		for _, n := range []int{10, 20} {
			r := rand.New(rand.NewPCG(16, uint64(n)))
			const trials = 4000
			out := 0
			for range trials {
				v := simulated(r, n+1, noise, 0.02, 0, 1)
				if c := NextChange(v[:n], v[n], 0.95); c.Lo > 1 || c.Hi < 1 {
					out++
				}
			}
			if share := float64(out) / trials; share > 0.055 {
				t.Errorf("%s, %d runs before: outside in %.3f", name, n, share)
			}
		}
	}
}

// What the newest run can't be protected from: a level that a tenth of the runs have, and none of those before it had.
// The share is of suites of eight cells that hold a false alarm, for the docs; it must fall as runs are added.
func TestNewestRunOfTwoLevels(t *testing.T) {
	const suites, cells = 500, 8
	before := 1.0
	for _, n := range []int{5, 10, 20, 40} {
		r := rand.New(rand.NewPCG(18, uint64(n)))
		wrong := 0
		for range suites {
			alarm := false
			for range cells {
				v := simulated(r, n+1, (*rand.Rand).NormFloat64, 0.01, 0, 1)
				for i := range v {
					if r.Float64() < 0.1 {
						v[i] *= 0.85
					}
				}
				alarm = alarm || NextChange(v[:n], v[n], stat.FamilyWise(0.05, cells)).Decide(0.03) == stat.Below
			}
			if alarm {
				wrong++
			}
		}
		share := float64(wrong) / suites
		figure.Record(t, figure.Share(figure.Name("history/newest/false", fmt.Sprint(n, " before")), wrong,
			suites, figure.Lower).
			Saying("suites of 8 cells whose newest run is called worse, and none is; a tenth of runs 15%% slower, "+
				"1%% within, %d runs before", n))
		if share > before {
			t.Errorf("%d runs before: %.2f of suites have a false alarm, more than with fewer runs", n, share)
		}
		before = share
	}
	if before > 0.05 {
		t.Errorf("with 40 runs before, %.2f of suites have a false alarm", before)
	}
}

func TestNextChangeUnknown(t *testing.T) {
	for _, c := range []stat.Change{NextChange(nil, 1, 0.95), NextChange([]float64{1}, 1, 0.95),
		NextChange([]float64{1, 2}, 0, 0.95)} {
		if c.Known() {
			t.Errorf("%+v", c)
		}
	}
}

// How long a change has to wait, for the docs.
func TestFewestAfterByFamily(t *testing.T) {
	families, lengths := []int{1, 24}, []int{20, 50}
	if figure.Whole {
		families, lengths = []int{1, 8, 24, 144}, []int{20, 30, 40, 50}
	}
	for _, series := range families {
		s := NewChangeSearch(0.05, series)
		least, most := math.MaxInt, 0
		for _, n := range lengths {
			k := s.FewestAfter(n)
			least, most = min(least, k), max(most, k)
		}
		for _, f := range []struct {
			name string
			runs int
		}{{"least", least}, {"most", most}} {
			figure.Record(t, figure.Figure{Name: figure.Name("history/found-after", fmt.Sprint(series, " cells"),
				f.name), Center: float64(f.runs), Better: figure.Lower,
				Text: fmt.Sprintf("runs after which a change is found, at %s, %d cells, 20 to 50 runs", f.name,
					series)})
		}
		if least < MinBesides || most > 12 {
			t.Errorf("%d series: %d to %d", series, least, most)
		}
	}
}

func TestShiftChangeCoverage(t *testing.T) {
	for name, noise := range noises() {
		for _, n := range []int{3, 6, 25} {
			r := rand.New(rand.NewPCG(21, uint64(n)))
			const trials = 300
			covered, confidence := 0, 0.0
			for range trials {
				c := stat.ShiftChange(simulated(r, n, noise, 0.03, 0, 1), simulated(r, n+2, noise, 0.03, 0, 0.9), 0.95)
				confidence = c.Confidence
				if c.Lo <= 0.9 && c.Hi >= 0.9 {
					covered++
				}
			}
			if share := float64(covered) / trials; share < confidence-0.04 {
				t.Errorf("%s, %d values: covers %.3f, claims %.3f", name, n, share, confidence)
			}
		}
	}
}

// The sums of distances to a median that are kept up with each value are what adding them up gives.
func TestDistancesUpTo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		values := make([]float64, r.IntN(20))
		for i := range values {
			values[i] = math.Round(4 * r.NormFloat64())
		}
		for n, got := range distancesUpTo(values) {
			want, median := 0., stat.Median(values[:n])
			for _, v := range values[:n] {
				want += math.Abs(v - median)
			}
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("the first %d of %v: %g, not %g", n, values, got, want)
			}
		}
	}
}
