package ablation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// TestEqualSettings carries out ablations of settings that do nothing, on machines with many kinds of noise. At most 5%
// may call a setting faster or slower.
func TestEqualSettings(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	models = append(append(models, noise.Worlds()...), noise.Waves()...)
	trials := figure.Times(10, 1000)
	const settings, blocks = 5, 10
	for seed, m := range models {
		r, wrong := rand.New(rand.NewPCG(47, uint64(seed))), 0
		for range trials {
			d, terms := designFor(settings, randread()), Terms{Margin: 0.03, Alpha: 0.05, Blocks: blocks}
			runs := m.Runs(r, blocks*len(d.Arms))
			measured := carryOut(r, d, terms, func(string, int) map[string]float64 {
				log := runs[0]
				runs = runs[1:]
				return map[string]float64{"read.iops": 7000 * math.Exp(log)}
			})
			if slices.ContainsFunc(Compute(d, measured, terms, nil).Settings, func(s SettingEffect) bool {
				return s.Verdict != Same && s.Verdict != Undecided
			}) {
				wrong++
			}
		}
		figure.Record(t, figure.Share(figure.Name("ablation/equal", m.Name), wrong, trials, figure.Lower).
			Saying("ablations of %d settings that do nothing that call one faster or slower, %s", settings, m.Name))
		figure.AtMost(t, m.Name, wrong, trials, 0.05)
	}
}
