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

// What 20 pairs decide: by the plan of a live comparison, with and without giving up; by an interval that holds at any
// time, which knows of no plan; and by all 20 pairs with an ordinary t. Claims share the error with others of their
// suite; the second run of a pair can be slower on both sides.
func TestSimulatedPower(t *testing.T) {
	const margin = 0.03
	type scenario struct {
		effect, sd float64
		claims     int
		position   float64
	}
	var all []scenario
	for _, sd := range []float64{0.01, 0.03, 0.09} {
		for _, effect := range []float64{0, 0.02, 0.05, 0.10, 0.20, 0.30} {
			all = append(all, scenario{effect, sd, 1, 0})
		}
	}
	grid := len(all)
	all = append(all, scenario{0.05, 0.03, 8, 0}, scenario{0.10, 0.03, 8, 0}, scenario{0.10, 0.03, 144, 0},
		scenario{0, 0.01, 1, -0.05}, scenario{0.02, 0.01, 1, -0.05},
		scenario{0.0301, 0.01, 1, 0}, scenario{0.0301, 0.03, 1, 0}) // hardly more than the margin: "same" is wrong
	n := figure.Times(100, 3000)
	type method struct {
		name         string
		right, pairs int // of the grid
	}
	methods := []*method{{name: "the plan, giving up"}, {name: "the plan"}, {name: "at any time"},
		{name: "20 pairs, t"}}
	wrong, of := 0, 0
	for i, s := range all {
		alpha := 0.05 / float64(s.claims)
		planned := stat.NewGroupSequential(alpha, plannedPairs)
		r := rand.New(rand.NewPCG(15, uint64(i)))
		right, wrongly, pairs := make([]int, len(methods)), make([]int, len(methods)), make([]int, len(methods))
		for range n {
			blocks := inTurns(noise.Gaussian(s.sd), r, plannedPairs, s.effect)
			for k := range blocks {
				second(&blocks[k], s.position)
			}
			logs := pairsOf(blocks)
			changes := []stat.Change{
				untilVerdict(blocks, planned, func(c stat.Change) bool {
					return decides(margin)(c) || planned.Futile(c, margin, plannedPairs)
				}),
				untilVerdict(blocks, planned, decides(margin)),
				untilStop(logs, alpha, func(c stat.Change) bool { return c.N%2 == 0 && decides(margin)(c) }),
				stat.PairedOnce(logs, 1-alpha),
			}
			for k, c := range changes {
				d := c.Decide(margin)
				pairs[k] += c.N
				if isRight(d, s.effect, margin) {
					right[k]++
				} else if d != stat.Undecided {
					wrongly[k]++
				}
			}
		}
		wrong, of = wrong+wrongly[0]+wrongly[1], of+2*n
		what := fmt.Sprintf("%g%% at %g%% noise", 100*s.effect, 100*s.sd)
		if s.claims > 1 {
			what += fmt.Sprintf(", %d claims", s.claims)
		}
		if s.position != 0 {
			what += fmt.Sprintf(", second runs %g%% slower", -100*s.position)
		}
		for k, m := range methods {
			figure.Record(t, figure.Share(figure.Name("decisions/power/right", m.name, what), right[k], n,
				figure.Higher).Saying("%s, %s: right", what, m.name))
			figure.Record(t, figure.Share(figure.Name("decisions/power/wrong", m.name, what), wrongly[k], n,
				figure.Lower).Saying("%s, %s: wrong", what, m.name))
			figure.Record(t, figure.Figure{Name: figure.Name("decisions/power/pairs", m.name, what),
				Center: float64(pairs[k]) / float64(n), N: n, Better: figure.Lower,
				Text: what + ", " + m.name + ": pairs on average"})
			if i < grid {
				m.right, m.pairs = m.right+right[k], m.pairs+pairs[k]
			}
		}
		if s.position != 0 && percent(right[1], n) < 90 {
			t.Errorf("%s: the plan is right in %.0f%%", what, percent(right[1], n))
		}
	}
	for _, m := range methods {
		figure.Record(t, figure.Share(figure.Name("decisions/power/all/right", m.name), m.right, grid*n,
			figure.Higher).Saying("the grid of 18, %s: right", m.name))
		figure.Record(t, figure.Figure{Name: figure.Name("decisions/power/all/pairs", m.name),
			Center: float64(m.pairs) / float64(grid*n), N: grid * n, Better: figure.Lower,
			Text: "the grid of 18, " + m.name + ": pairs on average"})
	}
	figure.AtMost(t, "wrong", wrong, of, 0.05)
	if methods[0].right <= methods[2].right {
		t.Errorf("the plan is right %d times, an interval at any time %d", methods[0].right, methods[2].right)
	}
}

// second makes the second runs of both pairs of a block so much faster.
func second(b *stat.TwoPairs, position float64) {
	for pair := range 2 {
		if b.NewFirst[pair] {
			b.Base[pair] += math.Log1p(position)
		} else {
			b.New[pair] += math.Log1p(position)
		}
	}
}

// jumping are the blocks of a comparison whose new side jumps between two levels, up and down by as much, beside a
// steady base.
func jumping(r *rand.Rand, pairs int, jump, noise, effect float64) []stat.TwoPairs {
	blocks := make([]stat.TwoPairs, pairs/2)
	for i := range blocks {
		b := &blocks[i]
		b.NewFirst = [2]bool{i%2 == 0, i%2 == 1}
		for k := range 2 {
			b.Base[k], b.New[k] = noise*r.NormFloat64(), math.Log1p(effect)+noise*r.NormFloat64()
			if r.IntN(2) == 0 {
				b.New[k] += math.Log1p(jump)
			} else {
				b.New[k] -= math.Log1p(jump)
			}
		}
	}
	return blocks
}

// One side jumps, as a kernel does that places its interrupts in two ways, and the other is steady. Where they are
// equally fast on average, a claim of a difference is wrong; where one is faster, that they are the same is.
func TestSimulatedJumpsOfOneSide(t *testing.T) {
	for _, loads := range []int{1, 8, 24} {
		planned := stat.NewGroupSequential(0.05/float64(loads), plannedPairs)
		for k, c := range []struct{ jump, noise float64 }{{0.05, 0.002}, {0.05, 0.01}, {0.1, 0.01}, {0.1, 0.03},
			{0.3, 0.03}, {0, 0.03}} {
			n := figure.Times(240, 5000) / loads
			r := rand.New(rand.NewPCG(11, uint64(k)))
			wrong, right, missed := 0, 0, 0
			for range n {
				spoiled := false
				for range loads {
					d := untilVerdict(jumping(r, plannedPairs, c.jump, c.noise, 0), planned, decides(0.03)).Decide(0.03)
					spoiled = spoiled || d == stat.Above || d == stat.Below
					switch untilVerdict(jumping(r, plannedPairs, c.jump, c.noise, 0.05), planned,
						decides(0.03)).Decide(0.03) {
					case stat.Above:
						right++
					case stat.Same, stat.Below:
						missed++
					}
				}
				if spoiled {
					wrong++
				}
			}
			what := fmt.Sprintf("%d loads, jumps of %g%% on one side, noise %g%%", loads, 100*c.jump, 100*c.noise)
			figure.Record(t, figure.Share(figure.Name("decisions/one-side/wrong", what), wrong, n,
				figure.Lower).Saying("%s: suites with any wrong verdict", what))
			figure.Record(t, figure.Share(figure.Name("decisions/one-side/right", what), right, n*loads,
				figure.Higher).Saying("%s, 5%% faster: called faster", what))
			figure.Record(t, figure.Share(figure.Name("decisions/one-side/missed", what), missed, n*loads,
				figure.Lower).Saying("%s, 5%% faster: called the same, or slower", what))
			figure.AtMost(t, what+", equal", wrong, n, 0.05)
			figure.AtMost(t, what+", 5% faster", missed, n*loads, 0.05)
		}
	}
}
