package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/figure"
	"headroom/internal/stat"
)

// rhythm is a machine that is slower and faster in turns, as a sine in time, and so many runs long; runs follow one
// another without a pause.
type rhythm struct {
	period, phase, clock float64
	noise                *rand.Rand
}

// run is the logarithm of the next run's rate, which is the mean over its time.
func (m *rhythm) run() float64 {
	const depth, within = 0.05, 0.005
	integral := func(t float64) float64 { return -m.period / (2 * math.Pi) * math.Cos(2*math.Pi*t/m.period) }
	from := m.phase + m.clock
	m.clock++
	return depth*(integral(from+1)-integral(from)) + within*m.noise.NormFloat64()
}

// inRhythm reports whether a comparison of two equal sides claims any change. The order is the plan's. With alone it is
// drawn for each pair independently, and the verdict is by [stat.PairedChange].
func inRhythm(p *Pairs, period float64, alone bool) (wrong bool) {
	r := rand.New(rand.NewPCG(p.seed, 77))
	m := rhythm{period: period, phase: period * r.Float64(), noise: r}
	blocks, ended := make([][]stat.ABBA, len(p.cells)), make([]bool, len(p.cells))
	for pass := 1; pass <= p.terms.Pairs; pass++ {
		for _, i := range random(p.seed, "pass", pass).Perm(len(p.cells)) {
			if ended[i] {
				continue
			}
			k := (pass - 1) % pairsPerBlock
			if k == 0 {
				blocks[i] = append(blocks[i], stat.ABBA{})
			}
			newFirst := p.order(p.cells[i].ID, pass)[0] == New
			if alone {
				newFirst = random(p.seed, p.cells[i].ID+" alone", pass).IntN(2) == 0
			}
			b := &blocks[i][len(blocks[i])-1]
			first, second := m.run(), m.run()
			if b.Base[k], b.New[k] = first, second; newFirst {
				b.Base[k], b.New[k] = second, first
				b.NewFirst = b.NewFirst || k == 0
			}
			if k == 0 {
				continue
			}
			c := p.looks.Change(blocks[i])
			if alone {
				c = stat.PairedChange(pairsOf(blocks[i]), 1-stat.FamilyWise(p.terms.Alpha, p.terms.Claims))
			}
			d := c.Decide(p.terms.Margin)
			wrong = wrong || d == stat.Above || d == stat.Below
			ended[i] = d != stat.Undecided
		}
	}
	return wrong
}

func pairsOf(blocks []stat.ABBA) (logs []float64) {
	for _, b := range blocks {
		logs = append(logs, b.New[0]-b.Base[0], b.New[1]-b.Base[1])
	}
	return logs
}

// TestRhythms simulates machines whose speed rises and falls, by much more than runs scatter. With a period of about
// three runs, the pairs of a block are not independent, and comparisons of one load are wrong too often. Several loads,
// whose order is drawn for each pass, are wrong less often. With an order drawn for each pair independently,
// comparisons are not wrong more often than they promise.
func TestRhythms(t *testing.T) {
	trials, periods := figure.Times(60, 2000), []float64{3, 3.3, 4}
	if figure.Whole {
		periods = []float64{2, 2.5, 3, 3.3, 3.6, 4, 5, 6, 8, 12}
	}
	for _, loads := range []int{1, 8} {
		looks := Paired(cells(loads, 0), terms(loads), 0, 0).looks
		for _, period := range periods {
			planned, alone := 0, 0
			for seed := range uint64(trials) {
				p := &Pairs{cells: cells(loads, 0), terms: terms(loads), looks: looks, seed: seed}
				if inRhythm(p, period, false) {
					planned++
				}
				if inRhythm(p, period, true) {
					alone++
				}
			}
			what := fmt.Sprintf("%d loads, a period of %g runs", loads, period)
			t.Logf("%s: wrong %d and %d of %d", what, planned, alone, trials)
			figure.Record(t, figure.Share(figure.Name("decisions/rhythm/planned", what), planned, trials,
				figure.Lower).Saying("%s: suites with a wrong verdict", what))
			figure.Record(t, figure.Share(figure.Name("decisions/rhythm/alone", what), alone, trials,
				"").Saying("the same, in an order of each pair by itself: %s", what))
			limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials))
			if float64(alone) > limit*float64(trials) {
				t.Errorf("%s: in an order of each pair by itself %d of %d are wrong", what, alone, trials)
			}
			if period == 4 && float64(planned) > limit*float64(trials) {
				t.Errorf("%s: %d of %d are wrong", what, planned, trials)
			}
		}
	}
}
