package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// scattered is a sample of two sides, or of pairs.
func scattered(r *rand.Rand, per string, n int, noise, change float64) sample {
	s := sample{per: per}
	for i := range n {
		s.base = append(s.base, math.Exp(noise*r.NormFloat64()))
		s.next = append(s.next, (1+change)*math.Exp(noise*r.NormFloat64()))
		s.at[0], s.newFirst = append(s.at[0], fmt.Sprint(i+1)), append(s.newFirst, i/2%2 == 0)
	}
	return s
}

// TestAdviceIsEnough follows the advice of undecided comparisons: it simulates a new comparison with the advised number
// of repetitions, boots or pairs and a change of the size that the advice names. Four of five must find the change.
func TestAdviceIsEnough(t *testing.T) {
	const noise, margin = 0.03, 0.03
	values := func(per string) func(r *rand.Rand, n int, change float64) sample {
		return func(r *rand.Rand, n int, change float64) sample { return scattered(r, per, n, noise, change) }
	}
	inTurns := func(planned int) func(r *rand.Rand, n int, change float64) sample {
		return func(r *rand.Rand, n int, change float64) sample {
			s := scattered(r, perPair, n, noise, change)
			s.planned = planned
			return s
		}
	}
	// Both sessions differ as the other sessions do. The second has the change as well.
	sessions := func(r *rand.Rand, n int, change float64) sample {
		const differ = 0.005
		level := func() float64 { return math.Exp(differ * r.NormFloat64()) }
		s := scattered(r, perRepetition, n, noise, change)
		a, b := level(), level()
		for i := range n {
			s.base[i], s.next[i] = a*s.base[i], b*s.next[i]
		}
		levels := make([][]float64, 30)
		for i := range levels {
			levels[i] = []float64{level()}
		}
		s.sessions, s.others = true, func() [][]float64 { return levels }
		return s
	}
	trials := figure.Times(120, 3000)
	for _, w := range []struct {
		what    string
		draw    func(r *rand.Rand, n int, change float64) sample
		values  int
		change  float64 // of what the advice is made from
		numbers int
	}{
		{"repetitions", values(perRepetition), 2, 0, 1},
		{"repetitions", values(perRepetition), 3, 0, 1},
		{"repetitions", values(perRepetition), 3, 0.1, 1},
		{"repetitions", values(perRepetition), 3, 0.1, 8},
		{"repetitions", values(perRepetition), 6, 0, 8},
		{"repetitions", values(perRepetition), 10, 0, 1},
		{"repetitions of two sessions", sessions, 3, 0.1, 1},
		{"repetitions of two sessions", sessions, 6, 0.1, 1},
		{"pairs", values(perPair), 8, 0, 1},
		{"pairs in turns", inTurns(8), 8, 0, 1},
		{"pairs in turns", inTurns(20), 20, 0.02, 8},
	} {
		p := newPower(stat.FamilyWise(DefaultAlpha, w.numbers))
		r := rand.New(rand.NewPCG(45, uint64(w.values)))
		enough := func(n int, change float64) int {
			s := w.draw(r, n, change)
			c := s.change(p)
			c, _ = s.overSessions(c)
			if c.Lo > 1 {
				return 1
			}
			return 0
		}
		advised, told, ofMargin, toldMargin := 0, 0, 0, 0
		for range trials {
			s := w.draw(r, w.values, w.change)
			c := s.change(p)
			if c, _ = s.overSessions(c); !c.Known() || c.Decide(margin) != stat.Undecided {
				continue
			}
			a := p.advice(s, s.change(p), margin)
			const most = 5000 // a day's work for a test
			if a.More > 0 && a.More < most {
				advised, told = advised+1, told+enough(w.values+a.More, a.Decides)
			}
			if a.MarginMore > 0 && a.MarginMore < most {
				ofMargin, toldMargin = ofMargin+1, toldMargin+enough(w.values+a.MarginMore, margin)
			}
		}
		what := fmt.Sprintf("%d %s, %g%% seen, %d numbers", w.values, w.what, 100*w.change, w.numbers)
		for _, x := range []struct {
			name, of string
			told, n  int
		}{{"change", "the change", told, advised}, {"margin", "the margin", toldMargin, ofMargin}} {
			if x.n < trials/10 {
				continue
			}
			figure.Record(t, figure.Share(figure.Name("decisions/advice", x.name, what), x.told, x.n,
				figure.Higher).Saying("as many more as advised tell %s: %s", x.of, what))
			t.Logf("%s: %d of %d tell %s", what, x.told, x.n, x.of)
			if least := 0.8 - 3*math.Sqrt(0.8*0.2/float64(x.n)); float64(x.told) < least*float64(x.n) {
				t.Errorf("%s: as many more as advised tell %s in %d of %d", what, x.of, x.told, x.n)
			}
		}
	}
}
