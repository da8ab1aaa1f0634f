package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"headroom/internal/figure"
	"headroom/internal/stat"
	"headroom/internal/stat/noise"
)

// inRhythm reports whether a comparison of two equal sides claims any change.
func inRhythm(p *Pairs, m noise.Model) (wrong bool) {
	runs := m.Runs(rand.New(rand.NewPCG(p.seed, 77)), 2*p.terms.Pairs*len(p.cells))
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
			b.Base[k], b.New[k], runs = runs[0], runs[1], runs[2:]
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

// TestRhythms simulates machines whose speed rises and falls in a rhythm, by ten times the noise of runs. Comparisons
// must not be wrong more often than promised, except those of one load with a rhythm of three to four runs: an order
// that resists them charges more of what one side leaves behind to the other.
func TestRhythms(t *testing.T) {
	trials := figure.Times(60, 2000)
	for _, loads := range []int{1, 8} {
		looks := Paired(cells(loads, 0), terms(loads), 0, 0).looks
		for _, m := range noise.Waves() {
			wrong := 0
			for seed := range uint64(trials) {
				p := &Pairs{cells: cells(loads, 0), terms: terms(loads), looks: looks, seed: seed}
				if inRhythm(p, m) {
					wrong++
				}
			}
			what := fmt.Sprintf("%d loads, %s", loads, m.Name)
			figure.Record(t, figure.Share(figure.Name("decisions/rhythm", what), wrong, trials,
				figure.Lower).Saying("%s: suites with a wrong verdict", what))
			promised := 0.05
			if loads == 1 && strings.Contains(m.Name, "over 3") {
				promised = 0.1
			}
			limit := promised + 3*math.Sqrt(promised*(1-promised)/float64(trials))
			if float64(wrong) > limit*float64(trials) {
				t.Errorf("%s: %d of %d are wrong", what, wrong, trials)
			}
		}
	}
}
