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

// inRhythm reports whether a comparison of two equal sides claims any change.
func inRhythm(p *Pairs, period float64) (wrong bool) {
	r := rand.New(rand.NewPCG(p.seed, 77))
	m := rhythm{period: period, phase: period * r.Float64(), noise: r}
	blocks, ended := make([][]stat.TwoPairs, len(p.cells)), make([]bool, len(p.cells))
	cells := p.sort(p.cells, nil)
	for pass := 1; pass <= p.terms.Pairs; pass++ {
		for _, i := range random(p.seed, "pass", pass).Perm(len(p.cells)) {
			if ended[i] {
				continue
			}
			k := (pass - 1) % pairsPerBlock
			if k == 0 {
				blocks[i] = append(blocks[i], stat.TwoPairs{})
			}
			b := &blocks[i][len(blocks[i])-1]
			b.NewFirst[k] = p.order(cells[i], pass)[0] == New
			b.Base[k], b.New[k] = m.run(), m.run()
			if b.NewFirst[k] {
				b.Base[k], b.New[k] = b.New[k], b.Base[k]
			}
			if k == 0 {
				continue
			}
			d := p.looks.Change(blocks[i]).Decide(p.terms.Margin)
			wrong = wrong || d == stat.Above || d == stat.Below
			ended[i] = d != stat.Undecided
		}
	}
	return wrong
}

// TestRhythms simulates machines whose speed rises and falls, by much more than runs scatter, with any period. They
// must not make comparisons wrong more often than promised.
func TestRhythms(t *testing.T) {
	trials, periods := figure.Times(60, 2000), []float64{3, 3.3, 4}
	if figure.Whole {
		periods = []float64{2, 2.2, 2.5, 2.75, 3, 3.3, 3.6, 4, 4.5, 5, 6, 7, 8, 10, 12, 20}
	}
	for _, loads := range []int{1, 8} {
		looks := Paired(cells(loads, 0), terms(loads), 0, 0).looks
		for _, period := range periods {
			wrong := 0
			for seed := range uint64(trials) {
				p := &Pairs{cells: cells(loads, 0), terms: terms(loads), looks: looks, seed: seed}
				if inRhythm(p, period) {
					wrong++
				}
			}
			what := fmt.Sprintf("%d loads, a period of %g runs", loads, period)
			figure.Record(t, figure.Share(figure.Name("decisions/rhythm", what), wrong, trials,
				figure.Lower).Saying("%s: suites with a wrong verdict", what))
			if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials)); float64(wrong) > limit*float64(trials) {
				t.Errorf("%s: %d of %d are wrong", what, wrong, trials)
			}
		}
	}
}
