package ladder

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// A ladder without a fault, whose rungs are measured one after the other on disks that were recorded or have a rhythm:
// no rung is accused but in few of many. Each pass has the rungs in an order that is drawn, as they are measured.
func TestFewAreAccusedOnRecordedDisks(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	models = append(models, noise.Waves()...)
	const passes = 6
	ladders := figure.Times(40, 1000)
	for _, model := range models {
		r, wrong := rand.New(rand.NewPCG(31, 1)), 0
		for range ladders {
			m := fourDrives(4e9, 4e9, 4e9)
			levels := model.Runs(r, passes*len(m.rates))
			var measured []Measured
			for pass, order := range noise.Turns(r, len(m.rates), passes) {
				for at, rung := range order {
					v := m.rates[rung] * math.Exp(levels[pass*len(order)+at])
					measured = append(measured, Measured{Rung: rung, Cell: "read", Block: pass + 1,
						Values: map[string]float64{"read.bandwidth": v, "read.iops": v / (1 << 20)}})
				}
			}
			if Analyze(m.steps, []Load{read1m()}, measured, nil, nil, Terms{Margin: DefaultMargin, Alpha: DefaultAlpha,
				Passes: passes, CPUs: 8}).Answer.Rung != nil {
				wrong++
			}
		}
		figure.Record(t, figure.Share(figure.Name("ladder/accused", model.Name), wrong, ladders,
			figure.Lower).Saying("ladders without a fault that are accused, on a disk as %s", model.Name))
		if wrong > ladders*5/100 {
			t.Errorf("%s: %d of %d ladders without a fault are accused", model.Name, wrong, ladders)
		}
	}
}
