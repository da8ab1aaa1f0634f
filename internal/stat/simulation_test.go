package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// The simulations ask of known changes under known noise whether decisions keep what they promise. `go test` runs each
// a few times, with bounds that allow for it; scripts/bench runs them as often as it takes for the figures that
// docs/explanation/statistics.md quotes.

// maxPairs is as far as anybody looks.
const maxPairs = 200

// untilStop looks at pairs in any order after each until stop says so, and gives what it saw last.
func untilStop(logs []float64, alpha float64, stop func(stat.Change) bool) stat.Change {
	for n := 1; ; n++ {
		c := stat.PairedChange(logs[:n], alpha)
		if n == len(logs) || stop(c) {
			return c
		}
	}
}

// plannedPairs is how many a live comparison is given unless told otherwise.
const plannedPairs = 20

// inTurns are the blocks of a live comparison of so many pairs.
func inTurns(m noise.Model, r *rand.Rand, pairs int, effect float64) []stat.TwoPairs {
	blocks := make([]stat.TwoPairs, pairs/2)
	for i, b := range m.Blocks(r, pairs/2) {
		b.New[0] += math.Log1p(effect)
		b.New[1] += math.Log1p(effect)
		blocks[i] = stat.TwoPairs(b)
	}
	return blocks
}

// untilVerdict looks at a live comparison after each block until stop says so, and gives what it saw last.
func untilVerdict(blocks []stat.TwoPairs, g *stat.GroupSequential, stop func(stat.Change) bool) stat.Change {
	for n := 1; ; n++ {
		c := g.Change(blocks[:n])
		if n == len(blocks) || stop(c) {
			return c
		}
	}
}

// allowingForRhythm returns a change with an interval that allows for a rhythm of the machine, as a comparison reports
// it.
func allowingForRhythm(c stat.Change, blocks []stat.TwoPairs) stat.Change {
	var turns []stat.Turn
	for i, b := range blocks[:c.N/2] {
		for k := range 2 {
			first := 4*i + 2*k
			base := stat.Turn{Value: math.Exp(b.Base[k]), At: first, Second: b.NewFirst[k]}
			next := stat.Turn{Value: math.Exp(b.New[k]), At: first, Second: !b.NewFirst[k], Arm: 1}
			if b.NewFirst[k] {
				base.At++
			} else {
				next.At++
			}
			turns = append(turns, base, next)
		}
	}
	return stat.FindRhythm(turns).Widen(c, 1, 0)
}

// pairsOf are the logarithms of new/base of the pairs of blocks.
func pairsOf(blocks []stat.TwoPairs) (logs []float64) {
	for _, b := range blocks {
		logs = append(logs, b.New[0]-b.Base[0], b.New[1]-b.Base[1])
	}
	return logs
}

// claims says that a difference is claimed, be it small.
func claims(c stat.Change) bool { return c.Known() && (c.Lo > 1 || c.Hi < 1) }

func decides(margin float64) func(stat.Change) bool {
	return func(c stat.Change) bool { return c.Decide(margin) != stat.Undecided }
}

// precise stops when the interval reaches no farther than half (0.01: 1%) from the estimate.
func precise(half float64) func(stat.Change) bool {
	return func(c stat.Change) bool { return c.Known() && c.Hi/c.Ratio <= 1+half }
}

type trial struct {
	model noise.Model
	order noise.Order
	// broken marks a negative control: what the comparison is not protected from, and must be seen to fail.
	broken bool
}

func (c trial) String() string { return c.model.Name + ", " + c.order.String() }

func recorded(t *testing.T) []noise.Model {
	t.Helper()
	models, err := noise.Recorded()
	if err != nil || len(models) == 0 {
		t.Fatalf("%d recorded traces, %v", len(models), err)
	}
	return models
}

// steadyModels are the kinds of noise that do not drift.
func steadyModels(t *testing.T) []noise.Model {
	t.Helper()
	models := []noise.Model{noise.Gaussian(0.03), noise.StudentT3(0.03)}
	for _, slow := range []float64{0.5, 0.2, 0.1} {
		models = append(models, noise.TwoMode(0.15, slow, 0.003, 0), noise.TwoMode(0.15, slow, 0.01, 0))
	}
	models = append(models, noise.TwoMode(0.15, 0.5, 0.003, 0.5), noise.TwoMode(0.15, 0.2, 0.003, 0.9))
	for _, phi := range []float64{0.3, 0.6, 0.9} {
		models = append(models, noise.Autocorrelated(phi, 0.03))
	}
	models = append(models, noise.Wandering(0.5, 0.03))
	return append(models, recorded(t)...)
}

func trials(t *testing.T) []trial {
	t.Helper()
	var all []trial
	for _, m := range steadyModels(t) {
		all = append(all, trial{m, noise.BalancedOrder, false})
	}
	for _, m := range recorded(t) {
		all = append(all, trial{m, noise.RandomOrder, false})
	}
	for i, m := range noise.Worlds() {
		if i%4 == 0 || figure.Whole { // few are enough to see that one kind breaks it
			all = append(all, trial{m, noise.BalancedOrder, false})
		}
	}
	return append(all,
		trial{noise.TwoMode(0.15, 0.5, 0.003, 0), noise.RandomOrder, false},
		trial{noise.Drift(0.005, 0.01), noise.RandomOrder, false},
		trial{noise.Drift(0.005, 0.01), noise.BalancedOrder, false},
		trial{noise.Drift(0.01, 0.001), noise.BalancedOrder, false},
		trial{noise.Rhythm("sf", 0.15, 0.003), noise.BalancedOrder, false},
		trial{noise.Drift(0.005, 0.01), noise.FixedOrder, true},
		trial{noise.Drift(0.01, 0.001), noise.RandomOrder, false},
		trial{noise.Rhythm("sf", 0.15, 0.003), noise.RandomOrder, false},
		trial{noise.Rhythm("sff", 0.15, 0.003), noise.BalancedOrder, false},
		trial{noise.Rhythm("sffs", 0.15, 0.003), noise.BalancedOrder, false},
		trial{noise.Rhythm("sfff", 0.15, 0.003), noise.BalancedOrder, false},
		trial{noise.Wandering(0.2, 0.03), noise.BalancedOrder, false},
		trial{noise.Wandering(0.8, 0.03), noise.BalancedOrder, false},
		trial{noise.Wandering(0.9, 0.03), noise.BalancedOrder, false},
		trial{noise.TwoMode(0.15, 0.5, 0.003, 0.9), noise.BalancedOrder, false},
	)
}

// A against A, looking after every block up to 200 pairs, of which 20 were planned; in other orders than the balanced
// one, after every pair without a plan. Any claim is wrong.
func TestSimulatedSameAgainstItself(t *testing.T) {
	planned := stat.NewGroupSequential(0.05, plannedPairs)
	for i, c := range trials(t) {
		n := figure.Times(50, 5000) // atMost then allows for 9%; the controls are wrong in a fifth and more
		r := rand.New(rand.NewPCG(1, uint64(i)))
		wrong, peeking := 0, 0
		for range n {
			var base, next []float64
			var last stat.Change
			if c.order == noise.BalancedOrder {
				blocks := inTurns(c.model, r, maxPairs, 0)
				if last = untilVerdict(blocks, planned, claims); claims(last) {
					last = allowingForRhythm(last, blocks)
				}
				for _, b := range blocks[:25] {
					base, next = append(base, b.Base[:]...), append(next, b.New[:]...)
				}
			} else {
				base, next = c.model.Samples(r, maxPairs, c.order)
				logs := slices.Clone(next)
				for p := range logs {
					logs[p] -= base[p]
				}
				last = untilStop(logs, 0.05, claims)
			}
			if claims(last) {
				wrong++
			}
			if peeks(base[:50], next[:50]) {
				peeking++
			}
		}
		better, control := figure.Lower, ""
		if c.broken {
			better, control = "", " (a negative control)"
		}
		figure.Record(t, figure.Share(figure.Name("decisions/same/wrong", c), wrong, n,
			better).Saying("A against A, %s: wrong%s", c, control))
		figure.Record(t, figure.Share(figure.Name("decisions/same/peeking", c), peeking, n,
			"").Saying("A against A, %s: wrong by benchstat's test after every pair up to 50", c))
		if !c.broken {
			figure.AtMost(t, c.String(), wrong, n, 0.05)
		} else if percent(wrong, n) < 6 {
			t.Errorf("%s: wrong %.1f%%; the negative control must be seen to fail", c, percent(wrong, n))
		}
	}
}

func percent(count, of int) float64 { return 100 * float64(count) / float64(of) }

// peeks says that a Mann-Whitney test (normal approximation with continuity correction, which agrees with the exact one
// from 5 a side) gives p < 0.05 after some pair from the fifth on.
func peeks(base, next []float64) bool {
	above := 0.0 // pairs of values of which next is above
	for i := range base {
		for j := range i {
			above += oneIfAbove(next[i], base[j]) + oneIfAbove(next[j], base[i])
		}
		above += oneIfAbove(next[i], base[i])
		if n := float64(i + 1); n >= 5 && (math.Abs(above-n*n/2)-0.5)/math.Sqrt(n*n*(2*n+1)/12) > 1.96 {
			return true
		}
	}
	return false
}

func oneIfAbove(a, b float64) float64 {
	switch {
	case a > b:
		return 1
	case a == b:
		return 0.5
	}
	return 0
}

// Over the cells of a suite, each with its share of the error, any wrong claim spoils it.
func TestSimulatedSuiteOfSame(t *testing.T) {
	kinds := []struct {
		name   string
		models []noise.Model
	}{
		{"Gaussian, 3%", []noise.Model{noise.Gaussian(0.03)}},
		{"Student t3, 3%", []noise.Model{noise.StudentT3(0.03)}},
		{"two levels, half of runs slow", []noise.Model{noise.TwoMode(0.15, 0.5, 0.003, 0)}},
		{"two levels, a fifth of runs slow", []noise.Model{noise.TwoMode(0.15, 0.2, 0.003, 0)}},
		{"every model in turn", steadyModels(t)},
	}
	for _, cells := range []int{8, 144} {
		planned := stat.NewGroupSequential(0.05/float64(cells), plannedPairs)
		most := map[int]int{8: maxPairs, 144: 2 * plannedPairs}[cells]
		for k, kind := range kinds {
			n := map[int]int{8: figure.Times(25, 2000), 144: figure.Times(2, 400)}[cells]
			r := rand.New(rand.NewPCG(2, uint64(k)))
			spoiled := 0
			for range n {
				for cell := range cells {
					if claims(untilVerdict(inTurns(kind.models[cell%len(kind.models)], r, most, 0), planned, claims)) {
						spoiled++
						break
					}
				}
			}
			figure.Record(t, figure.Share(figure.Name("decisions/suite/wrong", fmt.Sprint(cells, " cells"), kind.name),
				spoiled, n, figure.Lower).
				Saying("suites of %d cells with any wrong verdict, %s", cells, kind.name))
			figure.AtMost(t, fmt.Sprintf("%d cells, %s", cells, kind.name), spoiled, n, 0.05)
		}
	}
}

// How many pairs a decision takes where 20 are planned.
func TestSimulatedPairsToAVerdict(t *testing.T) {
	planned := stat.NewGroupSequential(0.05, plannedPairs)
	for _, c := range []struct{ effect, sd, margin, most float64 }{
		{0.02, 0.01, 0.01, 10}, {0.10, 0.09, 0.03, 24},
		{0, 0.01, 0.03, 9}, {0.05, 0.01, 0.03, 8}, {0.05, 0.03, 0.03, 13}, {0.10, 0.03, 0.03, 8}, {0.30, 0.03, 0.03, 8},
	} {
		n := figure.Times(400, 5000)
		r := rand.New(rand.NewPCG(3, 3))
		var pairs []int
		right := 0
		for range n {
			change := untilVerdict(inTurns(noise.Gaussian(c.sd), r, maxPairs, c.effect), planned, decides(c.margin))
			pairs = append(pairs, change.N)
			if isRight(change.Decide(c.margin), c.effect, c.margin) {
				right++
			}
		}
		slices.Sort(pairs)
		what := fmt.Sprintf("%g%% at %g%% noise, margin %g%%", 100*c.effect, 100*c.sd, 100*c.margin)
		for _, f := range []struct {
			name, text string
			pairs      int
		}{{"median", "pairs to a verdict, median", pairs[n/2]},
			{"p90", "pairs that nine of ten verdicts take", pairs[n*9/10]}} {
			figure.Record(t, figure.Figure{Name: figure.Name("decisions/pairs", f.name, what), Center: float64(f.pairs),
				N: n, Better: figure.Lower, Text: what + ": " + f.text})
		}
		figure.Record(t, figure.Share(figure.Name("decisions/pairs/right", what), right, n,
			figure.Higher).Saying("%s: right", what))
		if float64(pairs[n/2]) > c.most {
			t.Errorf("a change of %v at %v noise takes %d pairs, promised are %v", c.effect, c.sd, pairs[n/2], c.most)
		}
		figure.AtMost(t, "wrong", n-right, n, 0.05)
	}
}

// isRight says that a verdict is true of an effect that is not negative.
func isRight(d stat.Decision, effect, margin float64) bool {
	return d == stat.Same && effect <= margin || d == stat.Above && effect > 0
}

// The mix of a day's work, against 20 pairs each.
func TestSimulatedMixAgainstAFixedPlan(t *testing.T) {
	const most, margin = plannedPairs, 0.03
	planned := stat.NewGroupSequential(0.05, most)
	n := figure.Times(300, 5000)
	type plan struct {
		name                               string
		pairs, easy, easyN, decided, wrong int
	}
	plans := []*plan{{name: "until the verdict"}, {name: "until the verdict or hopeless"},
		{name: "20 pairs, t"}, {name: "20 v 20, Mann-Whitney"}}
	r := rand.New(rand.NewPCG(4, 4))
	for _, sd := range []float64{0.01, 0.03} {
		for _, effect := range []float64{0, 0.02, 0.05, 0.10, 0.30} {
			easy := effect >= 0.10 || sd == 0.01 && effect == 0.05
			count := func(p *plan, pairs int, d stat.Decision) {
				p.pairs += pairs
				if easy {
					p.easy += pairs
					p.easyN++
				}
				if d != stat.Undecided {
					p.decided++
					if !isRight(d, effect, margin) {
						p.wrong++
					}
				}
			}
			before := make([]plan, len(plans))
			for i, p := range plans {
				before[i] = *p
			}
			for range n {
				blocks := inTurns(noise.Gaussian(sd), r, most, effect)
				patient := untilVerdict(blocks, planned, decides(margin))
				count(plans[0], patient.N, patient.Decide(margin))
				quick := untilVerdict(blocks, planned, func(c stat.Change) bool {
					return c.Decide(margin) != stat.Undecided || planned.Futile(c, margin, most)
				})
				count(plans[1], quick.N, quick.Decide(margin))
				count(plans[2], most, stat.PairedOnce(pairsOf(blocks), 0.95).Decide(margin))
				var base, next []float64
				for _, b := range blocks {
					base, next = append(base, b.Base[:]...), append(next, b.New[:]...)
				}
				lo, hi := hodgesLehmann(base, next)
				count(plans[3], most, stat.Change{Lo: math.Exp(lo), Hi: math.Exp(hi)}.Decide(margin))
			}
			what := fmt.Sprintf("%g%% at %g%% noise", 100*effect, 100*sd)
			for i, p := range plans {
				figure.Record(t, figure.Figure{Name: figure.Name("decisions/plan/pairs", p.name, what),
					Center: float64(p.pairs-before[i].pairs) / float64(n), N: n, Better: figure.Lower,
					Text: what + ", " + p.name + ": pairs on average"})
				figure.Record(t, figure.Share(figure.Name("decisions/plan/decided", p.name, what),
					p.decided-before[i].decided, n, figure.Higher).Saying("%s, %s: decided", what, p.name))
			}
		}
	}
	all := 10 * n
	for _, p := range plans {
		for _, f := range []figure.Figure{
			figure.Figure{Name: figure.Name("decisions/mix/pairs", p.name), Unit: "share", Center: float64(p.pairs) /
				float64(all*most), N: all, Better: figure.Lower}.Saying("the mix, %s: pairs, of 20 each", p.name),
			figure.Figure{Name: figure.Name("decisions/mix/easy", p.name), Unit: "share",
				Center: float64(p.easy) / float64(p.easyN*most), N: p.easyN, Better: figure.Lower}.Saying(
				"the mix, %s: pairs where it is easy, of 20 each", p.name),
			figure.Share(figure.Name("decisions/mix/decided", p.name), p.decided, all,
				figure.Higher).Saying("the mix, %s: decided", p.name),
			figure.Share(figure.Name("decisions/mix/wrong", p.name), p.wrong, all,
				figure.Lower).Saying("the mix, %s: wrong", p.name),
		} {
			figure.Record(t, f)
		}
	}
	fixed := plans[2]
	for _, p := range plans[:2] {
		if percent(p.pairs, all*most) > 55 || percent(p.easy, p.easyN*most) > 42 {
			t.Errorf("%s takes %.1f%% of the fixed plan, %.1f%% where it is easy", p.name, percent(p.pairs, all*most),
				percent(p.easy, p.easyN*most))
		}
		if p.wrong > fixed.wrong+3*int(math.Sqrt(float64(fixed.wrong)+1)) {
			t.Errorf("%s is wrong %d times, the fixed plan %d", p.name, p.wrong, fixed.wrong)
		}
	}
	if plans[1].decided < plans[0].decided*97/100 {
		t.Errorf("giving up where it is hopeless decides %d, going on %d", plans[1].decided, plans[0].decided)
	}
}

// hodgesLehmann is the interval for a shift that goes with a Mann-Whitney test of 20 against 20 at 5%: the 128th
// smallest and largest of the 400 differences (the test rejects for U up to 127).
func hodgesLehmann(base, next []float64) (lo, hi float64) {
	var shifts []float64
	for _, a := range base {
		for _, b := range next {
			shifts = append(shifts, b-a)
		}
	}
	slices.Sort(shifts)
	return shifts[127], shifts[len(shifts)-128]
}
