package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Where some levels jump between two rates around the same mean, and others are steady, few sweeps claim anything.
func TestSteadyAndJumpingLevels(t *testing.T) {
	trials := figure.Times(200, 2000) // 200 tell 5% to 1.5%
	for seed, x := range []struct {
		cells, levels, jumping int
		blocks                 int
		jump, noise            float64
		common                 bool // the loads of a visit jump together
	}{
		{cells: 1, levels: 5, jumping: 1, blocks: 4, jump: 0.1, noise: 0.005},
		{cells: 1, levels: 5, jumping: 1, blocks: 6, jump: 0.1, noise: 0.005},
		{cells: 1, levels: 5, jumping: 1, blocks: 8, jump: 0.3, noise: 0.005},
		{cells: 1, levels: 5, jumping: 4, blocks: 6, jump: 0.1, noise: 0.005},
		{cells: 1, levels: 2, jumping: 1, blocks: 6, jump: 0.1, noise: 0.001},
		{cells: 6, levels: 5, jumping: 1, blocks: 4, jump: 0.1, noise: 0.005},
		{cells: 6, levels: 5, jumping: 1, blocks: 6, jump: 0.1, noise: 0.005},
		{cells: 6, levels: 5, jumping: 1, blocks: 8, jump: 0.05, noise: 0.01},
		{cells: 6, levels: 5, jumping: 4, blocks: 6, jump: 0.1, noise: 0.005},
		{cells: 6, levels: 5, jumping: 4, blocks: 8, jump: 0.3, noise: 0.01},
		{cells: 6, levels: 2, jumping: 1, blocks: 6, jump: 0.1, noise: 0.005},
		{cells: 6, levels: 5, jumping: 1, blocks: 6, jump: 0.1, noise: 0.005, common: true},
		{cells: 24, levels: 3, jumping: 1, blocks: 6, jump: 0.1, noise: 0.005},
		{cells: 24, levels: 2, jumping: 1, blocks: 8, jump: 0.1, noise: 0.005},
	} {
		r := rand.New(rand.NewPCG(45, uint64(seed)))
		name := fmt.Sprintf("%d loads, %d of %d levels jump by %g%%, %d blocks", x.cells, x.jumping, x.levels,
			100*x.jump, x.blocks)
		if x.common {
			name += ", loads together"
		}
		wrong := 0
		for range trials {
			in := Input{Factor: "sysctl:x", Levels: threads([]string{"0", "1", "2", "4", "8"}[:x.levels]...)}
			for c := range x.cells {
				in.Cells = append(in.Cells, cellOf(fmt.Sprint("cell", c)))
			}
			for b := 1; b <= x.blocks; b++ {
				signs := make([]float64, x.levels)
				for c, cell := range in.Cells {
					values := make([]float64, x.levels)
					for i := range values {
						if c == 0 || !x.common {
							signs[i] = float64(2*r.IntN(2) - 1)
						}
						log := x.noise * r.NormFloat64()
						if i >= x.levels-x.jumping {
							log += x.jump * signs[i]
						}
						values[i] = 1000 * math.Exp(log)
					}
					in.Measured = append(in.Measured, once(cell.ID, "read.iops", b, values...)...)
				}
			}
			if slices.ContainsFunc(Analyze(in).Cells, claims) {
				wrong++
			}
		}
		figure.Record(t, figure.Share(figure.Name("sweep/jumps", name), wrong, trials, figure.Lower).
			Saying("sweeps of levels with the same mean, of which some jump, that claim something: %s", name))
		if allowed := trials * 5 / 100; wrong > allowed+allowed/2 {
			t.Errorf("%s: %d of %d sweeps claim something", name, wrong, trials)
		}
	}
}
