package ablation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Where the visits of some arms jump between two rates around the same mean, and the others are steady, few ablations
// call a setting faster or slower.
func TestSteadyAndJumpingArms(t *testing.T) {
	trials := figure.Times(100, 1000)
	for seed, x := range []struct {
		settings    int
		jumping     []string
		jump, noise float64
		blocks      int
	}{
		{5, []string{"+1"}, 0.1, 0.005, 10},
		{5, []string{"+1"}, 0.05, 0.01, 10},
		{5, []string{"+1"}, 0.3, 0.01, 10},
		{5, []string{"+1", "-1"}, 0.1, 0.005, 10},
		{5, []string{"+1", "-2"}, 0.1, 0.005, 10},
		{5, []string{"+1", "+2", "+3"}, 0.1, 0.005, 10},
		{1, []string{"+1"}, 0.1, 0.005, 10},
		{5, []string{"tuned"}, 0.1, 0.005, 10},
		{5, []string{"tuned", "+1"}, 0.1, 0.005, 10},
		{5, []string{"baseline", "baseline-2"}, 0.1, 0.005, 10},
		{5, []string{"+1"}, 0.1, 0.005, 4},
	} {
		name := fmt.Sprintf("%d settings, %s jump by %g%%, noise %g%%, %d blocks", x.settings,
			strings.Join(x.jumping, " and "), 100*x.jump, 100*x.noise, x.blocks)
		r := rand.New(rand.NewPCG(46, uint64(seed)))
		wrong, odd, suspected, visits := 0, 0, 0, 0
		for range trials {
			d := designFor(x.settings, randread())
			terms := Terms{Margin: 0.03, Alpha: 0.05, Blocks: x.blocks}
			measured := carryOut(r, d, terms, func(arm string, _ int) map[string]float64 {
				log := x.noise * r.NormFloat64()
				if slices.Contains(x.jumping, arm) {
					log += x.jump * float64(2*r.IntN(2)-1)
				}
				return map[string]float64{"read.iops": 7000 * math.Exp(log)}
			})
			visits += len(measured)
			doc := Compute(d, measured, terms, nil)
			if slices.ContainsFunc(doc.Settings, func(s SettingEffect) bool {
				return s.Verdict != Same && s.Verdict != Undecided
			}) {
				wrong++
			}
			if claimed(doc, 1) {
				odd++
			}
			if len(doc.Suspects) > 0 {
				suspected++
			}
		}
		figure.Record(t, figure.Share(figure.Name("ablation/jumps", name), wrong, trials, figure.Lower).
			Saying("ablations of settings that do nothing, of which some arms jump, that call one faster or slower: %s",
				name))
		figure.Record(t, figure.Share(figure.Name("ablation/jumps/interactions", name), odd, trials, figure.Lower).
			Saying("the same ablations that claim an interaction: %s", name))
		t.Logf("%s: %d of %d, %d interactions, %d suspected, %.1f visits", name, wrong, trials, odd, suspected,
			float64(visits)/float64(trials))
		if allowed := trials * 5 / 100; wrong > allowed+allowed/2 {
			t.Errorf("%s: %d of %d ablations call a setting faster or slower", name, wrong, trials)
		}
	}
}
