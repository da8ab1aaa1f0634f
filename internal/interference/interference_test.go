package interference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// machine is a simulated one: what each group does alone, and the ceilings that some of them share.
type machine struct {
	alone []float64
	links []link
}

type link struct {
	groups []int
	rate   float64
}

// rates of a combination: each link is shared in proportion to what its users would do alone.
func (m machine) rates(c []int) map[int]float64 {
	rates := map[int]float64{}
	for _, g := range c {
		rates[g] = m.alone[g]
	}
	for _, l := range m.links {
		need := 0.0
		for _, g := range l.groups {
			need += rates[g]
		}
		if need <= l.rate {
			continue
		}
		for _, g := range l.groups {
			if _, loaded := rates[g]; loaded {
				rates[g] *= l.rate / need
			}
		}
	}
	return rates
}

// measure so many passes: a pass is up to 10% faster or slower as a whole, a load 1% by itself.
func (m machine) measure(r *rand.Rand, passes int) []Measured {
	var all []Measured
	for block := 1; block <= passes; block++ {
		pass := math.Exp(0.1 * (2*r.Float64() - 1))
		for _, c := range Combinations(len(m.alone)) {
			rates := m.rates(c)
			for g := range rates {
				rates[g] *= pass * math.Exp(0.01*r.NormFloat64())
			}
			all = append(all, Measured{Block: block, Rates: rates})
		}
	}
	return all
}

func (m machine) analyse(r *rand.Rand, passes int) Document {
	var groups []Group
	for _, name := range []string{"application", "data", "backup"}[:len(m.alone)] {
		groups = append(groups, Group{Name: name, Kind: "network"})
	}
	return Analyse(groups, m.measure(r, passes), nil, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: passes})
}

// What is kept is the ratio of the two sums beside it, though a combination lacks a pass.
func TestWhatIsKeptAgreesWithTheSumsBesideIt(t *testing.T) {
	m := machine{alone: []float64{50 * gigabit, 100 * gigabit}, links: []link{{[]int{0, 1}, 100 * gigabit}}}
	measured := slices.DeleteFunc(m.measure(rand.New(rand.NewPCG(4, 4)), 8), func(m Measured) bool {
		return m.Block == 2 && len(m.Rates) == 2 || m.Block == 5 && len(m.Rates) == 1
	})
	d := Analyse([]Group{{Name: "a"}, {Name: "b"}}, measured, nil, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: 8})
	c := d.Combinations[0]
	k := c.Whole
	if math.Abs(*k.Value**c.Alone.Value / *c.Sum.Value - 1) > 1e-9 || *k.Lo > *k.Value || *k.Hi < *k.Value {
		t.Errorf("%g of %g are kept, called %g [%g, %g]", *c.Sum.Value, *c.Alone.Value, *k.Value, *k.Lo, *k.Hi)
	}
}

const gigabit = 1e9

// The 200 Gbit/s report: 50, 100 and 50 alone, 100 in all together. Application and backup need no more than the
// ceiling.
func TestOneSharedCeilingIsFound(t *testing.T) {
	m := machine{alone: []float64{50 * gigabit, 100 * gigabit, 50 * gigabit},
		links: []link{{[]int{0, 1, 2}, 100 * gigabit}}}
	reported := 0
	for seed := range uint64(200) {
		d := m.analyse(rand.New(rand.NewPCG(1, seed)), 6)
		if len(d.Shared) == 1 && d.Shared[0].One == Agrees {
			reported++
		}
		if len(d.Shared) != 1 || d.Shared[0].One == Disagrees || !slices.Equal(d.Shared[0].Groups, []int{0, 1, 2}) ||
			math.Abs(*d.Shared[0].Rate.Value/100/gigabit-1) > 0.15 {
			t.Fatalf("seed %d: %+v\n%s", seed, d.Shared, d.Answer.Text)
		}
		if d.Answer.Verdict != Loses {
			t.Errorf("seed %d: %+v", seed, d.Answer)
		}
		if seed == 0 {
			t.Log(d.Answer.Text)
			if !strings.Contains(d.Answer.Text, "share one ceiling of") {
				t.Error(d.Answer.Text)
			}
		}
	}
	figure.Record(t, figure.Share("interference/one-ceiling/told", reported, 200,
		figure.Higher).Saying("runs whose groups share one ceiling that are told so; none is told otherwise"))
}

// Two that meet are named; the third, which has a way of its own, is not.
func TestWhoHasNoPartIsNotAccused(t *testing.T) {
	m := machine{alone: []float64{50 * gigabit, 100 * gigabit, 50 * gigabit},
		links: []link{{[]int{0, 1}, 90 * gigabit}}}
	for seed := range uint64(200) {
		d := m.analyse(rand.New(rand.NewPCG(2, seed)), 6)
		if len(d.Shared) != 1 || !slices.Equal(d.Shared[0].Groups, []int{0, 1}) || d.Shared[0].One != Agrees {
			t.Fatalf("seed %d: %+v\n%s", seed, d.Shared, d.Answer.Text)
		}
		if seed == 0 && !strings.Contains(d.Answer.Text, "backup has no part in that") {
			t.Error(d.Answer.Text)
		}
	}
}

// Two ceilings, one over two and one over all, are not taken for one.
func TestTwoCeilingsAreNotOne(t *testing.T) {
	m := machine{alone: []float64{50 * gigabit, 50 * gigabit, 50 * gigabit},
		links: []link{{[]int{0, 1}, 60 * gigabit}, {[]int{0, 1, 2}, 80 * gigabit}}}
	wrong, seen := 0, 0
	for seed := range uint64(200) {
		d := m.analyse(rand.New(rand.NewPCG(3, seed)), 6)
		for _, s := range d.Shared {
			if len(s.Groups) == 3 && s.One == Agrees {
				wrong++
			} else if len(s.Groups) == 3 && s.One == Disagrees {
				seen++
			}
		}
	}
	figure.Record(t, figure.Share("interference/two-ceilings/taken-for-one", wrong, 200,
		figure.Lower).Saying("runs with two ceilings that were taken for one"))
	figure.Record(t, figure.Share("interference/two-ceilings/told-apart", seen, 200,
		figure.Higher).Saying("runs with two ceilings that were told apart"))
	if wrong > 0 || seen < 190 {
		t.Errorf("%d taken for one, %d told apart", wrong, seen)
	}
}

// A ceiling that only all together meet.
func TestACeilingThatOnlyAllMeet(t *testing.T) {
	m := machine{alone: []float64{50 * gigabit, 50 * gigabit, 50 * gigabit},
		links: []link{{[]int{0, 1, 2}, 120 * gigabit}}}
	d := m.analyse(rand.New(rand.NewPCG(4, 0)), 6)
	if len(d.Shared) != 1 || len(d.Shared[0].Groups) != 3 || d.Shared[0].One != Agrees {
		t.Errorf("%+v\n%s", d.Shared, d.Answer.Text)
	}
}

// Where nobody loses more than the margin, nobody is accused more often than promised.
func TestNobodyIsAccusedForNothing(t *testing.T) {
	m := machine{alone: []float64{50 * gigabit, 100 * gigabit, 50 * gigabit},
		links: []link{{[]int{0, 1, 2}, 200 * gigabit * (1 - DefaultMargin)}}}
	accused := 0
	const runs = 400
	for seed := range uint64(runs) {
		d := m.analyse(rand.New(rand.NewPCG(5, seed)), 6)
		if d.Answer.Verdict == Loses {
			accused++
		}
	}
	figure.Record(t, figure.Share("interference/accused", accused, runs,
		figure.Lower).Saying("runs whose groups lose just the margin that accuse somebody"))
	if accused > runs*DefaultAlpha {
		t.Errorf("%d of %d", accused, runs)
	}
}

// The interval of two passes that differ reaches so far that it says nothing.
func TestAnIntervalThatSaysNothingIsNotTold(t *testing.T) {
	var measured []Measured
	for block, together := range []float64{0.9, 0.2} {
		for _, rates := range []map[int]float64{{0: gigabit}, {1: gigabit},
			{0: together * gigabit, 1: together * gigabit}} {
			measured = append(measured, Measured{Block: block + 1, Rates: rates})
		}
	}
	d := Analyse([]Group{{Name: "a"}, {Name: "b"}}, measured, nil, nil, Terms{Margin: 0.05, Alpha: 0.05, Passes: 2})
	if !d.Combinations[0].Whole.Known() || strings.Contains(d.Answer.Text, "[") {
		t.Errorf("%+v: %s", d.Combinations[0].Whole, d.Answer.Text)
	}
}

// What lacks its evidence is not decided.
func TestWhatCannotBeTold(t *testing.T) {
	m := machine{alone: []float64{gigabit, gigabit}, links: []link{{[]int{0, 1}, gigabit}}}
	one := m.analyse(rand.New(rand.NewPCG(6, 0)), 1)
	if one.Answer.Verdict != Undecided || one.Combinations[0].Whole.Value == nil {
		t.Errorf("one pass: %+v", one.Answer)
	}
	groups := []Group{{Name: "a"}, {Name: "b"}}
	none := Analyse(groups, nil, nil, nil, Terms{Margin: 0.05, Alpha: 0.05})
	if none.Answer.Verdict != Undecided || none.Groups[0].Alone.Value != nil {
		t.Errorf("nothing measured: %+v", none)
	}
	failed := Analyse(groups, []Measured{{Block: 1, Rates: map[int]float64{0: 1, 1: math.NaN()}}, {Block: 1}}, nil, nil,
		Terms{Margin: 0.05, Alpha: 0.05})
	if failed.Combinations[0].Sum.N != 0 {
		t.Errorf("failed loads: %+v", failed)
	}
}

// The advice is about the load that is undecided, where all of them together are not.
func TestUndecidedLoadsAreAdvised(t *testing.T) {
	share := func(value, lo, hi float64, v Verdict) Kept { return Kept{&value, stat.BoundsOf(lo, hi), v} }
	rate := Rate{N: 4}
	d := Document{Margin: DefaultMargin, Alpha: DefaultAlpha, Claims: 3,
		Groups: []Group{{Name: "application", Alone: rate}, {Name: "data", Alone: rate}},
		Combinations: []CombinationResult{{Groups: []int{0, 1}, Sum: Rate{Value: new(2e9), N: 4},
			Alone: Rate{Value: new(2e9), N: 4}, Whole: share(1, 0.98, 1.02, Keeps)}}}
	c := &d.Combinations[0]
	for _, test := range []struct {
		whole, kept Kept
		want        []string
	}{
		{share(0.9, 0.8, 1.01, Undecided), share(1, 0.99, 1.01, Keeps),
			[]string{"together do 2.00 Gbit/s, 90% [80%, 101%]", "--passes "}},
		{share(1, 0.99, 1.01, Keeps), share(0.9, 0.8, 1.01, Undecided), []string{
			"data keeps 90% [80%, 101%] of what it does alone beside application", "--passes "}},
		{share(0.9, 0.001, 810, Undecided), share(1, 0.99, 1.01, Keeps),
			[]string{"90% of the sum of each alone, with too few passes for an interval"}},
		{share(0.95, 0.5, 1.8, Undecided), share(1, 0.99, 1.01, Keeps), []string{"in a sensible time"}},
	} {
		c.Whole, c.Kept = test.whole, []Kept{share(1, 0.99, 1.01, Keeps), test.kept}
		for _, want := range test.want {
			if got := answer(&d); got.Verdict != Undecided || !strings.Contains(got.Text, want) {
				t.Errorf("%s: want %s", got.Text, want)
			}
		}
	}
}

func TestCombinations(t *testing.T) {
	for n, want := range map[int]string{1: "[[0]]", 2: "[[0] [1] [0 1]]",
		3: "[[0] [1] [2] [0 1] [0 2] [1 2] [0 1 2]]"} {
		if got := fmt.Sprint(Combinations(n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// A group that stands still beside another keeps nothing of its rate.
func TestAGroupThatStandsStill(t *testing.T) {
	for _, c := range []struct {
		passes, zeros int
		want          Verdict
		kept          float64
	}{{4, 4, Loses, 0}, {4, 1, Undecided, 0.75}, {1, 1, Undecided, 0}} {
		var all []Measured
		for block := 1; block <= c.passes; block++ {
			beside := 100.0
			if block <= c.zeros {
				beside = 0
			}
			all = append(all, Measured{block, map[int]float64{0: 100}}, Measured{block, map[int]float64{1: 100}},
				Measured{block, map[int]float64{0: beside, 1: 100}})
		}
		d := Analyse([]Group{{Name: "reads"}, {Name: "writes"}}, all, nil, nil, Terms{Margin: 0.05, Alpha: 0.05,
			Passes: c.passes})
		if k := d.Combinations[0].Kept[0]; k.Verdict != c.want || math.Abs(*k.Value-c.kept) > 1e-9 {
			t.Errorf("still in %d of %d passes: %s, keeps %g: %+v", c.zeros, c.passes, k.Verdict, *k.Value, d.Answer)
		}
	}
}
