package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/noise"
)

// The critical values are exact: of normal runs without a difference, as many end at each look as were planned to.
func TestEachLookSpendsItsShare(t *testing.T) {
	const trials = 20000
	for pairs, alpha := range map[int]float64{8: 0.2, 20: 0.04, 60: 0.2} {
		g := NewGroupSequential(alpha, pairs)
		first := (FewestPairs(alpha) + 1) / 2
		spend := spending(alpha, pairs/2-first+1)
		r := rand.New(rand.NewPCG(1, uint64(pairs)))
		ended := make([]int, pairs/2)
		for range trials {
			// The sums that t is made of: the blocks' changes, and the squares of all contrasts.
			sum, squares := 0.0, 0.0
			for n := 1; n <= pairs/2; n++ {
				change := r.NormFloat64()
				sum, squares = sum+change, squares+change*change
				for range min(n, 2) { // of the first block, the position's mean takes one away
					x := r.NormFloat64()
					squares += x * x
				}
				mean := sum / float64(n)
				if t := mean / math.Sqrt((squares-sum*mean)/freedomOf(n)/float64(n)); math.Abs(t) > g.after(n) {
					ended[n-1]++
					break
				}
			}
		}
		for i, n := range ended {
			want := 0.0
			if i >= first-1 {
				want = spend[i-first+1]
			}
			if got := float64(n) / trials; math.Abs(got-want) > 4*math.Sqrt(want/trials)+1e-4 {
				t.Errorf("%d pairs: %.4f end after block %d, want %.4f", pairs, got, i+1, want)
			}
		}
	}
}

// Before a plan nothing is claimed, within it less and less is asked for, from its middle on less than without it, and
// after it more.
func TestCriticalValuesOfAPlan(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.05 / 8, 0.05 / 144} {
		g := NewGroupSequential(alpha, 20)
		for n := 1; n <= 40; n++ {
			got, pairs := g.after(n), criticalMixture(freedomOf(n), 1+float64(2*n)*effectVariance, alpha)
			switch {
			case 2*n < FewestPairs(alpha):
				if !math.IsInf(got, 1) {
					t.Errorf("alpha %g: %v after %d blocks", alpha, got, n)
				}
			case n <= 10:
				if n > 6 && 2*n > FewestPairs(alpha)+2 && got >= pairs || got >= g.after(n-1) {
					t.Errorf("alpha %g: %v after %d blocks, %v without a plan, %v before", alpha, got, n,
						pairs, g.after(n-1))
				}
			case got <= pairs:
				t.Errorf("alpha %g: %v after %d blocks, %v without a plan", alpha, got, n, pairs)
			}
		}
	}
	for pairs := range 8 { // too few for anything
		NewGroupSequential(0.05/144, pairs)
	}
	if odd, even := NewGroupSequential(0.05, 19), NewGroupSequential(0.05, 20); odd.after(10) != even.after(10) {
		t.Error("19 pairs are planned as other than 10 blocks")
	}
}

// blocksOf returns n blocks of a live comparison with this change, position effect, drift from run to run and noise,
// all of them logarithms.
func blocksOf(r *rand.Rand, n int, change, position, drift, spread float64) []TwoPairs {
	list := make([]TwoPairs, n)
	for i, b := range noise.Drift(math.Expm1(drift), spread).Blocks(r, n) {
		list[i] = TwoPairs(b)
		for k, newFirst := range b.NewFirst {
			list[i].New[k] += change
			if newFirst {
				list[i].Base[k] += position
			} else {
				list[i].New[k] += position
			}
		}
	}
	return list
}

func TestChangeOfBlocks(t *testing.T) {
	g := NewGroupSequential(0.05, 20)
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	r := rand.New(rand.NewPCG(2, 2))
	// Neither a position nor a drift is noise.
	for _, c := range []struct{ position, drift float64 }{{0, 0}, {-0.3, 0}, {0, 0.02}} {
		got := g.Change(blocksOf(r, 6, 0.1, c.position, c.drift, 0))
		if !near(math.Log(got.Ratio), 0.1) || got.N != 12 || got.Confidence != 0.95 {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.drift == 0 && !near(got.Spread, 0) {
			t.Errorf("%+v: a spread of %v", c, got.Spread)
		}
	}
	// The spread is that of a pair.
	if got := g.Change(blocksOf(r, 2000, 0.1, -0.3, 0, 0.01)); math.Abs(got.Spread/0.01/math.Sqrt2-1) > 0.05 {
		t.Errorf("a spread of %v", got.Spread)
	}
	if got := g.Change(nil); got.Known() || got.N != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	if got := g.Change(blocksOf(r, 1, 0.1, 0, 0, 0)); got.Known() || got.N != 2 || !near(math.Log(got.Ratio), 0.1) {
		t.Errorf("of one block: %+v", got)
	}
	some := blocksOf(r, 4, 0.1, 0, 0, 0)
	some[1].New[0] = math.Inf(-1)
	if got := g.Change(some); got.N != 6 || !near(math.Log(got.Ratio), 0.1) {
		t.Errorf("with a block that has a 0: %+v", got)
	}
}

// A shared position effect hid everything before: no comparison was decided.
func TestASecondRunThatIsSlowerOnBothSides(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	g := NewGroupSequential(0.05, 20)
	for effect, want := range map[float64]Decision{0: Same, 0.08: Above} {
		right := 0
		for range 100 {
			blocks := blocksOf(r, 10, effect, -0.05, 0, 0.01)
			for n := 1; n <= 10; n++ {
				if d := g.Change(blocks[:n]).Decide(0.03); d != Undecided {
					if d == want {
						right++
					}
					break
				}
			}
		}
		if right < 95 {
			t.Errorf("%g: %d of 100 are right", effect, right)
		}
	}
}

func TestFutile(t *testing.T) {
	g := NewGroupSequential(0.05, 20)
	// so many blocks with exactly this mean and spread of a pair
	with := func(mean, spread float64, n int) Change {
		c := Change{Ratio: math.Exp(mean), N: 2 * n, Spread: spread, Lo: math.NaN(), Hi: math.NaN()}
		return c.around(mean, g.after(n), 0.95)
	}
	for _, c := range []struct {
		name   string
		change Change
		most   int
		want   bool
	}{
		{"too noisy for the cap, and nothing to be seen", with(0.01, 0.12, 5), 20, true},
		{"the same with a cap that is enough", with(0.01, 0.12, 5), 2000, false},
		{"an effect that is nearly proved", with(0.03, 0.0424, 5), 20, false},
		{"decided", with(0.3, 0.0424, 5), 20, false},
		{"decided at the cap", with(0.3, 0.0424, 10), 20, false},
		{"undecided at the cap", with(0, 0.06, 10), 20, true},
		{"too early to say", with(0, 0.1, 1), 20, false},
		{"half of the cap, quiet, no verdict yet", with(0.02, 0.0141, 4), 20, false},
	} {
		if got := g.Futile(c.change, 0.03, c.most); got != c.want {
			t.Errorf("%s: Hopeless = %v, chance %v of %+v", c.name, got, g.chanceToDecide(c.change, 0.03, c.most),
				c.change)
		}
	}
}

func TestPairsOfAPlanFor(t *testing.T) {
	const trials = 2000
	g := NewGroupSequential(0.05, 20)
	for _, d := range []float64{0.7, 1, 2, 4} { // in spreads of a pair
		pairs := g.PairsFor(Change{Spread: 0.02, N: 1000}, math.Exp(0.02*d))
		r := rand.New(rand.NewPCG(9, uint64(10*d)))
		decided := func(pairs int) float64 {
			n := 0
			for range trials {
				if g.Change(blocksOf(r, pairs/2, 0.02*d, 0, 0, 0.02/math.Sqrt2)).Lo > 1 {
					n++
				}
			}
			return float64(n) / trials
		}
		if share := decided(pairs); share < 0.72 || pairs > 80 {
			t.Errorf("%v spreads: %.2f are decided after %d pairs", d, share, pairs)
		}
		if fewer := pairs * 2 / 3 / 2 * 2; fewer >= 8 && pairs <= 20 && decided(fewer) > 0.8 {
			t.Errorf("%v spreads: %d pairs, but %d are enough", d, pairs, fewer)
		}
	}
	if got := g.PairsFor(Change{N: 1000}, 1.5); got != 8 {
		t.Errorf("no spread: %d pairs", got)
	}
	if got := g.PairsFor(Change{Spread: 0.02, N: 1000}, 1); got != 0 {
		t.Errorf("no change: %d pairs", got)
	}
	if !math.IsNaN(g.Detectable(0.01, 2)) {
		t.Error("two pairs decide nothing")
	}
}

func BenchmarkNewGroupSequential(b *testing.B) {
	for b.Loop() {
		NewGroupSequential(0.05/8, 20)
	}
}
