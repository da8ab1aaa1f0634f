package ablation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// combined is how the first two settings of a simulated ablation act together.
type combined struct {
	name string
	// rate returns the factor on the rate of an arm that has the first setting, the second, or both.
	rate func(first, second bool) float64
	// interact says that they neither multiply nor add.
	interact bool
}

// sum returns the rate of an arm, raised to a power. Each setting adds to that, or takes from it. With power 1
// rates add up, and with power -1 the times that an I/O takes.
func sum(power, one, other float64) func(first, second bool) float64 {
	return func(first, second bool) float64 {
		total := 1.0
		if first {
			total += math.Pow(one, power) - 1
		}
		if second {
			total += math.Pow(other, power) - 1
		}
		return math.Pow(total, 1/power)
	}
}

// table returns the rates with the first setting, the second, and both.
func table(one, other, both float64) func(first, second bool) float64 {
	return func(first, second bool) float64 {
		switch {
		case first && second:
			return both
		case first:
			return one
		case second:
			return other
		}
		return 1
	}
}

func combinations() []combined {
	return []combined{
		{"15% and 15% of the rate add", sum(1, 0.85, 0.85), false},
		{"30% and 20% of the rate add", sum(1, 0.7, 0.8), false},
		{"15% and 15% less in time add", sum(-1, 0.85, 0.85), false},
		{"40% and 30% less in time add", sum(-1, 0.6, 0.7), false},
		{"gains of 30% and 20% of the rate add", sum(1, 1.3, 1.2), false},
		{"15% and 15% multiply", table(0.85, 0.85, 0.85*0.85), false},
		{"20% only together", table(1, 1, 0.8), true},
		{"a gain of 50% once", table(1.5, 1.5, 1.5), true},
		{"a loss of 30% once", table(0.7, 0.7, 0.7), true},
		{"10% more alone, and less with the other", table(1.1, 1, 0.9), true},
		{"10% alone, 30% with the other", table(0.9, 1, 0.7), true},
	}
}

// ablated carries out an ablation of five settings, of which the first two act together, and then measures the pairs
// that are suspected, as a run does.
func ablated(r *rand.Rand, c combined, noise float64) (before, after Document) {
	d := designFor(5, randread())
	terms := Terms{Margin: 0.03, Alpha: 0.05, Blocks: 10, MinBlocks: 3, Pairs: MaxPairs}
	measure := func(arm string, _ int) map[string]float64 {
		has := in(arm, len(d.Settings))
		rate := c.rate(slices.Contains(has, 1), slices.Contains(has, 2))
		return map[string]float64{"read.iops": 7000 * rate * math.Exp(noise*r.NormFloat64())}
	}
	measured := carryOut(r, d, terms, measure)
	before = Compute(d, measured, terms, nil)
	if len(before.Suspects) == 0 {
		return before, before
	}
	terms.PairsFrom = before.Blocks + 1
	arms := []string{Baseline, VisitArm(Baseline, 2)}
	for _, p := range before.Suspects {
		arms = append(arms, PairArm(p[0], p[1]), AloneArm(p[0]), AloneArm(p[1]))
		d.Arms = append(d.Arms, PairArm(p[0], p[1]))
	}
	for block := terms.PairsFrom; block < terms.PairsFrom+terms.Blocks; block++ {
		for _, arm := range distinctArms(arms) {
			measured = append(measured, Measured{Arm: arm, Cell: "randread", Metric: "read.iops", Block: block,
				Value: measure(arm, block)["read.iops"]})
		}
		settled := Settled(d, measured, terms)
		if !slices.ContainsFunc(before.Suspects, func(p [2]int) bool {
			return !settled[slices.Index(d.Arms, PairArm(p[0], p[1]))]
		}) {
			break
		}
	}
	return before, Compute(d, measured, terms, nil)
}

func distinctArms(arms []string) []string {
	arms = slices.Clone(arms)
	slices.Sort(arms)
	return slices.Compact(arms)
}

// claimed says whether a document claims that some settings interact: one with the rest, or the first two as a pair.
func claimed(d Document, settings int) bool {
	return slices.ContainsFunc(d.Interactions, func(i Interaction) bool {
		return len(i.Settings) == settings && (i.Verdict == Faster || i.Verdict == Slower)
	})
}

// Settings whose effects multiply, or add in the rate or in the time, are rarely said to interact. Those that do are
// found.
func TestSimulatedInteractions(t *testing.T) {
	trials := figure.Times(4, 500)
	for i, c := range combinations() {
		for _, noise := range []float64{0.01, 0.02} {
			r := rand.New(rand.NewPCG(50, uint64(i)))
			var suspected, paired, odd, blocks int
			for range trials {
				before, after := ablated(r, c, noise)
				blocks += after.Blocks
				if len(before.Suspects) > 0 {
					suspected++
				}
				if claimed(before, 1) {
					odd++
				}
				if claimed(after, 2) {
					paired++
				}
			}
			name := fmt.Sprintf("%s, noise %g%%", c.name, 100*noise)
			better := figure.Lower
			if c.interact {
				better = figure.Higher
			}
			for what, n := range map[string]int{"suspected": suspected, "claimed": max(odd, paired)} {
				figure.Record(t, figure.Share(figure.Name("ablation/interactions", what, name), n, trials, better).
					Saying("ablations of 5 settings in which an interaction is %s: %s", what, name))
			}
			t.Logf("%s: suspected %d, odd %d, paired %d of %d, %.1f blocks", name, suspected, odd, paired, trials,
				float64(blocks)/float64(trials))
			if allowed := 1 + trials*5/100; !c.interact && max(suspected, odd, paired) > allowed {
				t.Errorf("%s: %d suspected, %d claimed, of %d", name, suspected, max(odd, paired), trials)
			}
			if c.interact && min(suspected, paired) < trials*3/4 {
				t.Errorf("%s: %d suspected and %d found, of %d", name, suspected, paired, trials)
			}
		}
	}
}
