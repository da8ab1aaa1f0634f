package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ofOneArm are boots that have nothing but themselves to differ by.
func ofOneArm(values ...[]float64) []Boot {
	var boots []Boot
	for _, v := range values {
		boots = append(boots, Boot{Values: v})
	}
	return boots
}

func TestVarianceByLevelKnown(t *testing.T) {
	// By hand: means 2, 6, 10 of pairs 2 apart: within 2, mean square of boots 2*16 = 32, between (32-2)/2 = 15.
	got := VarianceByLevel(ofOneArm([]float64{1, 3}, []float64{5, math.NaN(), 7}, []float64{9, 11}, nil))
	near(t, "within", got.Within, 2, 1e-12)
	near(t, "between", got.Between, 15, 1e-12)
	if got.Boots != 3 || got.Values != 6 {
		t.Errorf("%+v", got)
	}
	// Unequal numbers: boots {1,3}, {5,7,9}, {20}. Within (2+8+0)/(6-3) = 10/3; mean 7.5; between boots (2*5.5² +
	// 3*0.5² + 12.5²)/2 = 108.75; typical (6-14/6)/2 = 11/6.
	got = VarianceByLevel(ofOneArm([]float64{1, 3}, []float64{5, 7, 9}, []float64{20}))
	near(t, "within", got.Within, 10.0/3, 1e-12)
	near(t, "between", got.Between, (108.75-10.0/3)/(11.0/6), 1e-9)
	if alike := VarianceByLevel(ofOneArm([]float64{1, 9}, []float64{2, 8})); alike.Between != 0 {
		t.Errorf("boots that do not differ: %+v", alike)
	}
	for name, boots := range map[string][][]float64{"none": nil, "one boot": {{1, 2}},
		"one repetition a boot": {{1}, {2}, {3}}} {
		if got := VarianceByLevel(ofOneArm(boots...)); !math.IsNaN(got.Between) || got.RepetitionsPerBoot(1, 1) != -1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestVarianceByLevelUnbiased(t *testing.T) {
	const trials = 4000
	r := rand.New(rand.NewPCG(5, 1))
	var between, within float64
	for range trials {
		boots := make([][]float64, 6)
		for i := range boots {
			level := 1.5 * r.NormFloat64()
			for range 2 + i%3 {
				boots[i] = append(boots[i], level+0.5*r.NormFloat64())
			}
		}
		l := VarianceByLevel(ofOneArm(boots...))
		between, within = between+l.Between/trials, within+l.Within/trials
	}
	near(t, "between", between, 1.5*1.5, 0.05*1.5*1.5)
	near(t, "within", within, 0.5*0.5, 0.05*0.5*0.5)
}

// With a spread of 1.5% between boots and 0.5% within, more runs in a boot buy nothing.
func TestRepetitionsPerBoot(t *testing.T) {
	for _, c := range []struct {
		between, within, boot, run float64
		want                       int
	}{
		{1.5, 0.5, 120, 60, 1}, {0.5, 1.5, 120, 60, 5}, {0.5, 0.5, 240, 60, 2}, {0, 0.5, 120, 60, 0},
		{1, 0, 120, 60, 1},
	} {
		l := Levels{Between: c.between * c.between, Within: c.within * c.within}
		if got := l.RepetitionsPerBoot(c.boot, c.run); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// Differences between arms and between whole blocks are not counted as noise of boots, whether all arms are in all
// blocks or not.
func TestVarianceByLevelOfArmsInBlocks(t *testing.T) {
	// By hand: 2 arms in 2 blocks, means 2 4 / 12 18: left over is ±1 of each, 4 boots * 2 repetitions * 1² for one
	// degree; within 2.
	known := VarianceByLevel([]Boot{{1, 1, []float64{1, 3}}, {2, 1, []float64{3, 5}}, {1, 2, []float64{11, 13}},
		{2, 2, []float64{17, 19}}})
	near(t, "within", known.Within, 2, 1e-12)
	near(t, "between", known.Between, (8.0-2)/2, 1e-12)
	apart := VarianceByLevel([]Boot{{1, 1, []float64{1, 3}}, {2, 2, []float64{5, 7}}, {3, 3, []float64{9, 11}}})
	if !math.IsNaN(apart.Between) || apart.Within != 2 {
		t.Errorf("boots that share neither arm nor block: %+v", apart)
	}
	const trials = 2000
	r := rand.New(rand.NewPCG(6, 1))
	var between, within float64
	for range trials {
		l := VarianceByLevel(
			simulatedBoots(r, shape{arms: 4, blocks: 4, repetitions: 2, between: 1.5, within: 0.5, ragged: true}))
		between, within = between+l.Between/trials, within+l.Within/trials
	}
	near(t, "between", between, 1.5*1.5, 0.05*1.5*1.5)
	near(t, "within", within, 0.5*0.5, 0.05*0.5*0.5)
}

// shape of an experiment; a ragged one lacks visits, and some visits have more repetitions.
type shape struct {
	arms, blocks, repetitions int
	between, within           float64
	ragged                    bool
}

// simulatedBoots are those of an experiment whose arms and blocks differ by far more than its boots.
func simulatedBoots(r *rand.Rand, s shape) []Boot {
	var boots []Boot
	for block := range s.blocks {
		drift := 10 * r.NormFloat64()
		for arm := range s.arms {
			if s.ragged && (block+arm)%7 == 3 {
				continue
			}
			repetitions, level := s.repetitions, 20*float64(arm)+drift+s.between*r.NormFloat64()
			if s.ragged {
				repetitions += block % 3
			}
			b := Boot{Arm: arm, Block: block}
			for range repetitions {
				b.Values = append(b.Values, level+s.within*r.NormFloat64())
			}
			boots = append(boots, b)
		}
	}
	return boots
}

// Where the number is reported, it is within one of the true best in nearly all experiments, and seldom costs much more
// time; and it is reported wherever it can be.
func TestRepetitionsAreTold(t *testing.T) {
	const trials = 400
	for name, c := range map[string]struct {
		shape
		boot, repetition float64
		reported         float64 // at least, as a share
		exact            bool    // the true best is so small that it can be hit
	}{
		"boots differ by more": {shape{arms: 4, blocks: 6, repetitions: 2, between: 0.06, within: 0.03}, 11, 5, 0.9,
			true},
		"boots differ as loads": {shape{arms: 4, blocks: 12, repetitions: 3, between: 0.03, within: 0.03}, 20, 5, 0.8,
			true},
		"boots differ by less": {shape{arms: 6, blocks: 12, repetitions: 4, between: 0.02, within: 0.04}, 11, 5, 0.6,
			true},
		"many would be needed": {shape{arms: 8, blocks: 12, repetitions: 8, between: 0.01, within: 0.05},
			60, 5, 0.35, false},
		"boots do not differ": {shape{arms: 6, blocks: 12, repetitions: 4, within: 0.04}, 11, 5, 0, false},
		"visits that cost little": {shape{arms: 2, blocks: 4, repetitions: 2, between: 0.01, within: 0.03},
			0.2, 5, 0.95, true},
		"missing visits": {shape{arms: 6, blocks: 8, repetitions: 2, between: 0.06, within: 0.03, ragged: true}, 11, 5,
			0.95, true},
	} {
		r := rand.New(rand.NewPCG(7, 1))
		ratio, costs := c.between*c.between/(c.within*c.within), c.boot/c.repetition
		best := repetitionsAt(ratio, costs)
		reported, within, dear := 0, 0, 0
		for range trials {
			n := VarianceByLevel(simulatedBoots(r, c.shape)).Repetitions(c.boot, c.repetition)
			if !n.Known {
				continue
			}
			reported++
			if n.Best >= best-1 && n.Best <= best+1 {
				within++
			}
			if wasted(n.Best, ratio, costs) > repetitionsWaste {
				dear++
			}
		}
		t.Logf("%s: best %d; told in %d of %d, within one in %d, dear in %d", name, best, reported, trials, within,
			dear)
		if float64(reported) < c.reported*trials {
			t.Errorf("%s: told in %d of %d", name, reported, trials)
		}
		if c.exact && float64(within) < 0.9*float64(reported) {
			t.Errorf("%s: %d of %d are within one of %d", name, within, reported, best)
		}
		if dear > trials/10 { // the interval promises that much
			t.Errorf("%s: %d of %d cost a fifth more time than %d", name, dear, trials, best)
		}
	}
}

// The interval holds the true ratio as often as it says, and few boots tell nothing.
func TestRepetitionsKnowTheirLimits(t *testing.T) {
	const trials = 1000
	r := rand.New(rand.NewPCG(8, 1))
	held, reported := 0, 0
	for range trials {
		l := VarianceByLevel(simulatedBoots(r, shape{arms: 2, blocks: 3, repetitions: 2, between: 0.02, within: 0.04}))
		if lo, hi := l.ratio(repetitionsConfidence); lo <= 0.25 && hi >= 0.25 {
			held++
		}
		n := l.Repetitions(60, 5)
		if n.Known {
			reported++
		}
		if n.To > 0 && n.To < n.From {
			t.Fatalf("%+v", n)
		}
	}
	near(t, "held", float64(held)/trials, repetitionsConfidence, 0.03)
	if reported > trials/20 {
		t.Errorf("told of 6 boots in %d of %d", reported, trials)
	}
	if n := VarianceByLevel(ofOneArm([]float64{1, 2})).Repetitions(1, 1); n != (Repetitions{}) {
		t.Errorf("one boot: %+v", n)
	}
	if n := VarianceByLevel(ofOneArm([]float64{1, 1}, []float64{1, 1})).Repetitions(1, 1); n != (Repetitions{}) {
		t.Errorf("nothing differs: %+v", n)
	}
	if n := VarianceByLevel(ofOneArm([]float64{1, 1}, []float64{2, 2}, []float64{3, 3})).Repetitions(60, 1); !n.Known ||
		n.Best != 1 || n.To != 1 {
		t.Errorf("only boots differ: %+v", n)
	}
}

// The number is the best one there is, but for being rounded up.
func TestWastedTime(t *testing.T) {
	for _, ratio := range []float64{0, 0.01, 0.25, 1, 4, math.Inf(1)} {
		for _, costs := range []float64{0.01, 1, 12} {
			at, least := 1, math.Inf(1)
			for n := 1; n <= 200; n++ {
				w := wasted(n, ratio, costs)
				if w < 1-1e-12 {
					t.Errorf("%d repetitions at ratio %v and costs %v take %v of the least", n, ratio, costs, w)
				}
				if w < least {
					at, least = n, w
				}
			}
			if n := repetitionsAt(ratio, costs); n > 0 && (at > n || at < n-1) {
				t.Errorf("ratio %v, costs %v: %d, want %d", ratio, costs, n, at)
			}
		}
	}
}
