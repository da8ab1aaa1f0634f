package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// runNoise draws the logarithm of one run's level, with about the given spread.
type runNoise struct {
	name string
	draw func(r *rand.Rand, spread float64) float64
}

// runNoises are how runs on real storage scatter: evenly, with heavy tails, and between two levels 15% apart, of which
// the slow one is met in a half, a fifth or a tenth of the runs.
func runNoises() []runNoise {
	noises := []runNoise{
		{"Gaussian", func(r *rand.Rand, spread float64) float64 { return spread * r.NormFloat64() }},
		{"Student t3", func(r *rand.Rand, spread float64) float64 {
			squares := 0.0
			for range 3 {
				x := r.NormFloat64()
				squares += x * x
			}
			return spread * r.NormFloat64() / math.Sqrt(squares) // of variance 1
		}},
	}
	for _, slow := range []float64{0.5, 0.2, 0.1} {
		noises = append(noises, runNoise{fmt.Sprintf("two modes, %g slow", slow),
			func(r *rand.Rand, spread float64) float64 {
				x := spread * r.NormFloat64()
				if r.Float64() < slow {
					x += math.Log(0.85)
				}
				return x
			}})
	}
	return noises
}

// runs draws n values around a level.
func (noise runNoise) runs(r *rand.Rand, n int, level, spread float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = level * math.Exp(noise.draw(r, spread))
	}
	return values
}

// The critical values of tables of U for 95% and 99%, two-sided; the rank is one more.
func TestCriticalRank(t *testing.T) {
	for _, c := range []struct {
		n, m       int
		confidence float64
		rank       int
	}{
		{3, 3, 0.95, 0}, {3, 4, 0.95, 0}, {4, 4, 0.95, 1}, {5, 5, 0.95, 3}, {6, 6, 0.95, 6}, {8, 8, 0.95, 14},
		{10, 10, 0.95, 24},
		{20, 20, 0.95, 128}, {5, 10, 0.95, 9}, {10, 5, 0.95, 9}, {2, 8, 0.95, 1}, {2, 7, 0.95, 0}, {7, 13, 0.95, 21},
		{4, 4, 0.99, 0}, {5, 5, 0.99, 1}, {8, 8, 0.99, 8}, {20, 20, 0.99, 106}, {5, 5, 1 - 0.05/8, 0},
		{6, 6, 1 - 0.05/8, 2},
	} {
		if got := criticalRank(c.n, c.m, c.confidence); got != c.rank {
			t.Errorf("%d v %d at %v: rank %d, want %d", c.n, c.m, c.confidence, got, c.rank)
		}
	}
}

// Where the exact distribution ends, the normal one takes over without a step.
func TestCriticalRankOfManyValues(t *testing.T) {
	for _, confidence := range []float64{0.95, 0.99} {
		n := int(math.Sqrt(exactLimit))
		before, after := criticalRank(n, n, confidence), criticalRank(n, n+1, confidence)
		further := criticalRank(n, n-1, confidence)
		if step := (after - before) - (before - further); step < -1 || step > 2 {
			t.Errorf("at %v: ranks %d, %d, %d", confidence, further, before, after)
		}
	}
}

// A run measured to a precision may have a hundred values where the other one has four: enough for ranks at the
// confidence of a large suite, of which a normal distribution knows nothing.
func TestCriticalRankOfUnevenNumbers(t *testing.T) {
	for _, c := range []struct {
		n, m       int
		confidence float64
		rank       int
	}{{100, 4, 1 - 0.05/144, 21}, {4, 100, 1 - 0.05/144, 21}, {60, 3, 1 - 0.05/8, 14}, {100, 2, 0.95, 21}} {
		if got := criticalRank(c.n, c.m, c.confidence); got != c.rank {
			t.Errorf("%d v %d at %v: rank %d, want %d", c.n, c.m, c.confidence, got, c.rank)
		}
	}
}

// The example of M. Hollander and D. A. Wolfe, "Nonparametric Statistical Methods", as R's wilcox.test documents it.
func TestHodgesLehmannKnown(t *testing.T) {
	x := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	y := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	differences := Pairwise(y, x)
	rank := criticalRank(len(y), len(x), 0.95)
	near(t, "shift", medianOfSorted(differences), 0.305, 1e-9)
	near(t, "low", differences[rank-1], -0.15, 1e-9)
	near(t, "high", differences[len(differences)-rank], 0.76, 1e-9)
}

// A difference that is looked for is the one that sorting all of them finds.
func TestDifferencesOfARank(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		a, b := make([]float64, 1+r.IntN(9)), make([]float64, 1+r.IntN(9))
		for _, values := range [][]float64{a, b} {
			for i := range values {
				values[i] = math.Round(4*r.NormFloat64()) / 3 // some are equal, some negative
			}
		}
		d := newDifferences(a, b)
		for rank, want := range Pairwise(a, b) {
			if got := d.at(rank); got != want {
				t.Fatalf("%v and %v: the difference of rank %d is %g, not %g", a, b, rank, got, want)
			}
		}
	}
}

// What a reader expects of a few values.
func TestUnpairedChange(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name       string
		base, next []float64
		ratio      float64
		want       Decision
	}{
		{"60% slower, three runs", []float64{99, 100, 101}, []float64{39.6, 40, 40.4}, 0.4, Below},
		{"4% slower, three runs", []float64{99, 100, 101}, []float64{95, 96, 97}, 0.96, Undecided},
		{"another mode, three runs", []float64{99.9, 100, 100.1}, []float64{84.9, 85, 85.1}, 0.85, Undecided},
		{"another mode, held flat, two runs", []float64{1000, 1000}, []float64{850, 850}, 0.85, Undecided},
		{"another mode, held flat, three runs", []float64{850, 850, 850}, []float64{1000, 1000, 1000},
			1 / 0.85, Undecided},
		{"15% slower, four runs", []float64{99, 100, 101, 100}, []float64{84, 85, 86, 85}, 0.85, Below},
		{"the same, six runs", []float64{99, 100, 101, 100, 100.5, 99.5}, []float64{99.2, 100.1, 101, 100, 100.5, 99.5},
			1.0, Same},
		{"a constant rate", []float64{5, 5, 5, 5}, []float64{10, 10, 10, 10}, 2, Above},
		{"two runs", []float64{100, 101}, []float64{310, 313}, 3.1, Above},
		{"what was not measured is left out", []float64{99, nan, 100, 0, 101, -5}, []float64{39.6, 40, 40.4, nan}, 0.4,
			Below},
		{"one run", []float64{100}, []float64{40}, 0.4, Undecided},
		{"one run against many", []float64{100, 100, 100, 100, 100}, []float64{40}, 0.4, Undecided},
		{"nothing", nil, []float64{40}, nan, Undecided},
	} {
		got := UnpairedChange(c.base, c.next, 0.95)
		if math.IsNaN(c.ratio) != math.IsNaN(got.Ratio) || math.Abs(got.Ratio-c.ratio) > 0.01 {
			t.Errorf("%s: ratio %v, want %v", c.name, got.Ratio, c.ratio)
		}
		if d := got.Decide(0.03); d != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.name, d, c.want, got)
		}
		if got.Known() != (got.Confidence > 0) {
			t.Errorf("%s: confidence without an interval: %+v", c.name, got)
		}
	}
	there, back := UnpairedChange([]float64{1, 2, 4, 9}, []float64{2, 3, 5}, 0.95),
		UnpairedChange([]float64{2, 3, 5}, []float64{1, 2, 4, 9}, 0.95)
	near(t, "back and forth", there.Ratio*back.Ratio, 1, 1e-12)
	near(t, "back and forth", there.Lo*back.Hi, 1, 1e-12)
}

// A system that is slow in a fifth of its runs is not the same as one that never is, though most pairs of runs agree.
func TestUnpairedNewMode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	noise := runNoises()[0]
	base, next := noise.runs(r, 20, 100, 0.005), noise.runs(r, 20, 100, 0.005)
	if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) != Same {
		t.Errorf("the same: %+v", c)
	}
	for i := range 4 {
		next[5*i] *= 0.85
	}
	if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) == Same || c.Decide(0.03) == Above {
		t.Errorf("slow in a fifth of the runs: %+v", c)
	}
}

// sampleSizes are base and new.
func sampleSizes() [][2]int {
	return [][2]int{{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {10, 10}, {20, 20}, {2, 5}, {5, 3}, {3, 10},
		{20, 4}}
}

// coverage is how often the interval held the true ratio, and its mean width as a ratio.
func coverage(noise runNoise, sizes [2]int, spreads [2]float64, confidence float64, trials int) (covered,
	width float64) {
	r := rand.New(rand.NewPCG(uint64(sizes[0]), uint64(sizes[1])))
	const truth = 1.04
	for range trials {
		c := UnpairedChange(noise.runs(r, sizes[0], 100, spreads[0]), noise.runs(r, sizes[1], 100*truth, spreads[1]),
			confidence)
		if c.Lo <= truth && truth <= c.Hi {
			covered += 1 / float64(trials)
		}
		width += math.Log(c.Hi/c.Lo) / float64(trials)
	}
	return covered, math.Exp(width)
}

// The interval covers the true ratio as often as it says, with even spread and with one side held flat by a limit.
func TestUnpairedCoverage(t *testing.T) {
	const trials = 150
	for _, noise := range runNoises() {
		for _, sizes := range sampleSizes() {
			for _, spreads := range [][2]float64{{0.01, 0.01}, {0.05, 0.002}} {
				// 94% less what 150 trials may stray.
				if covered, _ := coverage(noise, sizes, spreads, 0.95, trials); covered < 0.9 {
					t.Errorf("%s, %v, spreads %v: covered %.1f%%", noise.name, sizes, spreads, 100*covered)
				}
			}
		}
	}
}

// falseSuites is the share of suites of eight cells, base against base, in which any cell is called above or below.
func falseSuites(noise runNoise, sizes [2]int, spread float64, trials int) float64 {
	r := rand.New(rand.NewPCG(uint64(sizes[0]), uint64(sizes[1])))
	wrong := 0
	for range trials {
		for range 8 {
			c := UnpairedChange(noise.runs(r, sizes[0], 100, spread), noise.runs(r, sizes[1], 100, spread),
				FamilyWise(0.05, 8))
			if d := c.Decide(0.03); d == Above || d == Below {
				wrong++
				break
			}
		}
	}
	return float64(wrong) / float64(trials)
}

func TestUnpairedFamily(t *testing.T) {
	const trials = 100
	for _, noise := range runNoises() {
		for _, sizes := range [][2]int{{2, 2}, {3, 3}, {5, 5}, {6, 6}, {10, 10}, {20, 4}} {
			// 5%, and what 100 suites may stray.
			if wrong := falseSuites(noise, sizes, 0.03, trials); wrong > 0.09 {
				t.Errorf("%s, %v: a wrong verdict in %.1f%% of suites", noise.name, sizes, 100*wrong)
			}
		}
	}
}

// BenchmarkUnpaired prints, for 95% claimed: how often the interval covers and how wide it is; and for suites of eight
// cells how many have a wrong verdict.
func BenchmarkUnpaired(b *testing.B) {
	for _, noise := range runNoises() {
		for _, sizes := range sampleSizes() {
			b.Run(fmt.Sprintf("%s/%dv%d", noise.name, sizes[0], sizes[1]), func(b *testing.B) {
				for b.Loop() {
					even, width := coverage(noise, sizes, [2]float64{0.01, 0.01}, 0.95, 4000)
					uneven, _ := coverage(noise, sizes, [2]float64{0.05, 0.002}, 0.95, 4000)
					b.ReportMetric(100*even, "%covered")
					b.ReportMetric(100*uneven, "%covered-uneven")
					b.ReportMetric(100*(width-1), "%width")
					b.ReportMetric(100*falseSuites(noise, sizes, 0.03, 1000), "%suites-wrong")
				}
			})
		}
	}
}

// Where the distribution is counted out otherwise, it is the same.
func TestLopsidedRanksAreThoseOfTheWholeDistribution(t *testing.T) {
	for _, few := range []int{1, 2, 3, 4, 5} {
		for _, many := range []int{510, 600} {
			tail := 1e-4
			want, below := 0, 0.0
			for _, ways := range arrangements(few, many) {
				if below += ways / choose(few+many, few); below > tail {
					break
				}
				want++
			}
			if got := LopsidedRank(few, many, 1-2*tail); few*many > exactLimit && got != want {
				t.Errorf("%d and %d: rank %d, want %d", few, many, got, want)
			}
		}
	}
}

// More runs don't decide less where one of them is far off: 5% less at 1% noise, with one run of 20 or of 40 three
// times slower on either side. One comparison of twenty may seem to have spells.
func TestOutliersDontHideAChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, size := range []int{20, 40} {
		undecided := 0
		for range 20 {
			base, next := make([]float64, size), make([]float64, size)
			for i := range size {
				base[i], next[i] = 100*math.Exp(0.01*r.NormFloat64()), 95*math.Exp(0.01*r.NormFloat64())
			}
			for _, side := range [][]float64{base, next} {
				values := slices.Clone(side)
				side[r.IntN(size)] /= 3
				switch c := UnpairedChange(base, next, 0.95); c.Decide(0.03) {
				case Undecided:
					undecided++
				case Same, Above:
					t.Errorf("%d v %d: %+v", size, size, c)
				}
				copy(side, values)
			}
		}
		if undecided > 3 {
			t.Errorf("%d v %d: %d of 40 are not decided", size, size, undecided)
		}
	}
}

// A side that is 2% faster in most runs, and half as fast in a fifth of them, is not called faster, nor the same.
func TestAFasterMajorityIsNotFaster(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	noise := runNoises()[0]
	for range 20 {
		base, next := noise.runs(r, 20, 100, 0.003), noise.runs(r, 20, 102, 0.003)
		for i := range 4 {
			next[5*i+r.IntN(5)] *= 0.5
		}
		if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) == Above || c.Decide(0.03) == Same {
			t.Errorf("%v: %+v", c.Decide(0.03), c)
		}
	}
}

// Where a fifth or half of the runs have another level, on either side and in no order, ranks decide what the means
// leave open: 5% less.
func TestLevelsDontHideAChange(t *testing.T) {
	for _, slow := range []string{"...s...s..", ".........s.....ss..s", "....s..ssss..ss.s...", "..s...."} {
		base, next := make([]float64, len(slow)), make([]float64, len(slow))
		for i := range slow {
			base[i], next[i] = 100+0.1*float64(i%7), 95+0.1*float64(i%5)
			if slow[i] == 's' {
				base[i] *= 0.85
			}
			if slow[len(slow)-1-i] == 's' {
				next[i] *= 0.85
			}
		}
		if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) != Below {
			t.Errorf("%s: %v: %+v", slow, c.Decide(0.03), c)
		}
	}
}

// A side that jumps up and down by 10% beside a steady one is up in two runs of ten by chance, and is neither faster
// nor slower.
func TestJumpsBesideASteadySide(t *testing.T) {
	for _, up := range []string{".....u.", ".u......u.", "uu.u.u.uuu.uu.u.u.uu"} {
		base, next := make([]float64, len(up)), make([]float64, len(up))
		for i := range up {
			base[i], next[i] = 100+0.3*float64(i%7), 90+0.3*float64(i%5)
			if up[i] == 'u' {
				next[i] += 20
			}
		}
		if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) != Undecided {
			t.Errorf("%s: %v: %+v", up, c.Decide(0.03), c)
		}
	}
}

// TestALoneOutlierHidesNoChange checks that one value which is three times slower does not count as a level between
// which a side jumps.
func TestALoneOutlierHidesNoChange(t *testing.T) {
	for size := 7; size < ranksAlone; size++ {
		base, next := make([]float64, size), make([]float64, size)
		for i := range size {
			base[i], next[i] = 100+0.3*float64(i%5), 95+0.3*float64(i%4)
		}
		base[size/2] /= 3
		if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) != Below {
			t.Errorf("%d v %d: %v: %+v", size, size, c.Decide(0.03), c)
		}
		base[size/2] = 90
		if c := UnpairedChange(base, next, 0.95); size < 9 && c.Decide(0.03) != Undecided {
			t.Errorf("%d v %d, a level that is close: %v: %+v", size, size, c.Decide(0.03), c)
		}
	}
}

// Where spells are so long that ranks exclude nothing, sides that are far apart differ all the same.
func TestFarApartInSpells(t *testing.T) {
	base, next := make([]float64, 20), make([]float64, 20)
	for i := range base {
		base[i] = 100 + float64(i/5)
		next[i] = base[i] / 3
	}
	if c := UnpairedChange(base, next, 0.95); c.Decide(0.03) != Below {
		t.Errorf("%v: %+v", c.Decide(0.03), c)
	}
}

// Where neighbours are alike visibly, the interval is wider than for the same values in an order that doesn't show it.
func TestVisibleSpells(t *testing.T) {
	inOrder := []float64{100, 100.2, 100.1, 100.3, 100, 103, 103.1, 103.3, 103, 103.2}
	mixed := []float64{100, 103, 100.2, 103.1, 103.3, 100.1, 103, 100.3, 100, 103.2}
	spells, none := UnpairedChange(inOrder, inOrder, 0.95), UnpairedChange(mixed, mixed, 0.95)
	if spells.Hi/spells.Lo < math.Pow(none.Hi/none.Lo, 2) {
		t.Errorf("in spells %+v, mixed %+v", spells, none)
	}
}
