package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// A whole layout has the textbook's answer: levels are differences of means, and the spread is that of what rows and
// columns leave over.
//
//	     arm 1  arm 2  arm 3
//	A      1      3      8
//	B      2      5      8
//	C      3      4      8     means 2, 4, 8; blocks 4, 5, 5; left over 1.333 with 4 degrees of freedom
func TestBlocksAreTheTextbooks(t *testing.T) {
	var visits []Visit
	for block, row := range [][]float64{{1, 3, 8}, {2, 5, 8}, {3, 4, 8}} {
		for arm, v := range row {
			visits = append(visits, Visit{Block: block, Arm: arm + 1, Log: v})
		}
	}
	b := FitBlocks(visits)
	left := 0.0
	for block, row := range [][]float64{{1, 3, 8}, {2, 5, 8}, {3, 4, 8}} {
		for arm, v := range row {
			r := v - []float64{2, 4, 8}[arm] - []float64{4, 5, 5}[block] + 14.0/3
			left += r * r
		}
	}
	if b.Freedom != 4 || math.Abs(b.Spread-math.Sqrt(left/4)) > 1e-12 {
		t.Errorf("spread %v with %d degrees of freedom, want %v", b.Spread, b.Freedom, math.Sqrt(left/4))
	}
	c := b.Change(map[int]float64{3: 1, 1: -1}, 0.05)
	if math.Abs(math.Log(c.Ratio)-6) > 1e-12 || math.Abs(c.visits-1.5) > 1e-12 || c.N != 3 || !c.Known() {
		t.Errorf("arm 3 against arm 1: %+v", c)
	}
	// Its own differences 7, 6, 5 have a standard deviation of 1, and the pooled one says sqrt(2)·spread.
	if want := max(1, math.Sqrt2*b.Spread); math.Abs(c.Spread-want) > 1e-12 {
		t.Errorf("the spread of a block is %v, want %v", c.Spread, want)
	}
}

// What a block has in common is no matter, be an arm missing or not: the levels come out as they went in.
func TestBlocksWithGaps(t *testing.T) {
	level := []float64{0, 0.5, -0.3, 0.1}
	var visits []Visit
	for block := range 5 {
		for arm, l := range level {
			if block > 2 && arm == 2 || block == 1 && arm == 0 {
				continue
			}
			visits = append(visits, Visit{block, arm, l + 10*float64(block)}, Visit{block, arm, l + 10*float64(block)})
		}
	}
	visits = append(visits, Visit{9, 3, math.NaN()}, Visit{9, 1, math.Inf(-1)})
	b := FitBlocks(visits)
	c := b.Change(map[int]float64{2: 1, 1: -2, 3: 1}, 0.05)
	if math.Abs(math.Log(c.Ratio)-(-0.3-1+0.1)) > 1e-9 || c.N != 3 || b.Freedom != len(visits)-2-5-3 ||
		b.Spread > 1e-9 {
		t.Errorf("%+v, spread %v with %d degrees of freedom", c, b.Spread, b.Freedom)
	}
}

func TestBlocksThatSayNothing(t *testing.T) {
	apart := []Visit{{1, 1, 0}, {1, 2, 0.1}, {2, 3, 0}, {2, 4, 0.2}}
	for name, visits := range map[string][]Visit{"none": nil, "one arm": {{1, 1, 0}, {2, 1, 0}},
		"blocks that share no arm": apart, "one block": apart[:2]} {
		c := FitBlocks(visits).Change(map[int]float64{2: 1, 1: -1}, 0.05)
		if c.Known() || c.Futile(0.03, 5) || !math.IsNaN(c.Detectable(max(c.N, 1))) {
			t.Errorf("%s claim %+v", name, c)
		}
	}
	b := FitBlocks([]Visit{{1, 1, 0}, {1, 2, 0.1}, {2, 1, 0}, {2, 2, 0.2}, {3, 1, 0}, {3, 2, 0.2}})
	if c := b.Change(map[int]float64{7: 1, 1: -1}, 0.05); !math.IsNaN(c.Ratio) {
		t.Errorf("an arm that was not visited is %+v", c)
	}
}

// Under "no change" the likelihood ratio is 1 on average at any look, which is what makes 1/alpha a bound: here for the
// t statistics that blocks have, with more degrees of freedom than pairs.
func TestEvidenceOfBlocksIsOneOnAverage(t *testing.T) {
	for _, c := range []struct{ freedom, visits float64 }{{4, 1}, {18, 1.3}, {36, 2}, {120, 5}} {
		student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: c.freedom}
		k := 1 + c.visits*effectVariance
		const steps = 20000
		sum := 0.0
		for i := range steps { // over t = sinh(x), for long tails
			x := -30 + 60*(float64(i)+0.5)/steps
			at := math.Sinh(x)
			evidence := math.Pow(k, -0.5) * math.Pow((1+at*at/c.freedom)/(1+at*at/c.freedom/k), (c.freedom+1)/2)
			sum += evidence * student.Prob(at) * math.Cosh(x) * 60 / steps
		}
		if math.Abs(sum-1) > 1e-3 {
			t.Errorf("%+v: the mean likelihood ratio is %v", c, sum)
		}
	}
}

// However clear a change seems, nothing is claimed of fewer blocks than can all have met the slow level by chance.
func TestBlocksWaitForEnough(t *testing.T) {
	for _, c := range []struct {
		claims float64
		want   int
	}{{1, 3}, {16, 3}, {21, 3}, {22, 4}, {128, 4}, {260, 5}} {
		draw := func(blocks int) BlockedChange {
			var visits []Visit
			for block := range blocks {
				for arm := range 19 {
					v := Visit{block, arm, 1e-6 * float64((7*arm+3*block)%5)}
					if arm == 1 {
						v.Log -= 1
					}
					visits = append(visits, v)
				}
			}
			return FitBlocks(visits).Change(map[int]float64{1: 1, 0: -1}, 0.05/c.claims)
		}
		if before := draw(c.want - 1); before.Known() {
			t.Errorf("%g claims: %d blocks say %+v", c.claims, c.want-1, before)
		}
		if got := draw(c.want); got.Decide(0.03) != Below {
			t.Errorf("%g claims: %d blocks say %+v", c.claims, c.want, got)
		}
	}
}

// One arm may be noisier than the others, or have one wild visit: its own spread counts then.
func TestAWildVisitIsNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var visits []Visit
	for block := range 4 {
		for arm := range 40 {
			visits = append(visits, Visit{block, arm, 0.01 * r.NormFloat64()})
		}
	}
	visits[7].Log = -3 // a twentieth
	b := FitBlocks(visits)
	if c := b.Change(map[int]float64{7: 1, 0: -1}, 0.05/40); !c.Known() || c.Hi < 1 {
		t.Errorf("one wild visit of four is called a change: %+v", c)
	}
}

func TestBlocksAreFutileOrNot(t *testing.T) {
	draw := func(effect float64, blocks int) BlockedChange {
		r := rand.New(rand.NewPCG(2, 2))
		var visits []Visit
		for block := range blocks {
			for arm := range 12 {
				v := Visit{block, arm, 0.1 * r.NormFloat64()}
				if arm == 1 {
					v.Log += effect
				}
				visits = append(visits, v)
			}
		}
		return FitBlocks(visits).Change(map[int]float64{1: 1, 0: -1}, 0.05/12)
	}
	if c := draw(0, 3); !c.Futile(0.03, 8) {
		t.Errorf("nothing to be seen in 8 blocks at 10%% noise, and not hopeless: %+v", c)
	}
	if c := draw(0, 3); c.Futile(0.03, 10000) {
		t.Errorf("10000 blocks show that there is nothing, and it is hopeless: %+v", c)
	}
	if c := draw(-0.2, 3); c.Decide(0.03) != Undecided || c.Futile(0.03, 8) {
		t.Errorf("a change that needs a few blocks more: %+v", c)
	}
	if c := draw(-0.8, 4); c.Decide(0.03) != Below || c.Futile(0.03, 8) || c.Detectable(4) < 1.2 ||
		c.Detectable(4) > 2 || c.Detectable(16) > math.Sqrt(c.Detectable(4)) || !math.IsNaN(c.Detectable(3)) {
		t.Errorf("a change that is clear: %+v, detectable %v in 4 blocks, %v in 16", c, c.Detectable(4),
			c.Detectable(16))
	}
}

// Effects that multiply, add to the rate or add to the time of an I/O, and what is between them, are no interaction.
// What is outside of them is, by its distance from the nearest.
func TestInteraction(t *testing.T) {
	for _, c := range []struct {
		name             string
		one, other, both float64
		ratio            float64
		want             Decision
	}{
		{"they multiply", 0.85, 0.85, 0.7225, 1, Same},
		{"they add to the rate", 0.85, 0.85, 0.7, 1, Same},
		{"they add to the time", 0.85, 0.85, 1 / (2/0.85 - 1), 1, Same},
		{"between a product and a sum", 0.85, 0.85, 0.73, 1, Same},
		{"gains add to the rate", 1.3, 1.2, 1.5, 1, Same},
		{"only together", 1, 1, 0.8, 0.8, Below},
		{"the second gains nothing more", 1.5, 1.5, 1.5, 1.5 / 2, Below},
		{"the second costs nothing more", 0.7, 0.7, 0.7, 0.7 * (2/0.7 - 1), Above},
		{"less than a sum", 0.9, 0.9, 0.7, 0.7 / 0.8, Below},
		{"losses that no rate is left of", 0.4, 0.5, 0.2, 1, Same},
		{"gains that no time is left of", 3, 2, 8, 1, Same},
	} {
		// Two levels of noise that alternate between the arms keep every mean, and the spread is not 0.
		var visits []Visit
		for block := range 12 {
			for arm, rate := range []float64{1, c.one, c.other, c.both} {
				noise := 0.001 * float64(1-2*((block/(1+arm))%2))
				visits = append(visits, Visit{Block: block, Arm: arm, Log: math.Log(rate) + noise})
			}
		}
		got := FitBlocks(visits).Interaction(3, map[int]float64{3: 1, 0: 1, 1: -1, 2: -1}, 0.05)
		if math.Abs(got.Ratio/c.ratio-1) > 0.01 || got.Decide(0.03) != c.want {
			t.Errorf("%s: %+v, %s, want %g, %s", c.name, got.Change, got.Decide(0.03), c.ratio, c.want)
		}
	}
}
