package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Three repetitions a side tell a twofold change at 10% noise, with an interval that covers it; how often equal sides
// are called probably different is recorded.
func TestSuggestions(t *testing.T) {
	trials := figure.Times(200, 4000) // 200 tell a share of 12% to 2.3%, and one of 94% to 1.7%
	for _, c := range []struct {
		name                    string
		within, between, change float64
		others                  int
		least                   float64 // how often something is suggested
		most                    float64
	}{
		{"equal, 3% within, sessions alike, four others", 0.03, 0, 1, 4, 0, 0.05},
		{"equal, 3% within and between, four others", 0.03, 0.03, 1, 4, 0, 0.05},
		{"equal, 10% within and between, four others", 0.1, 0.1, 1, 4, 0, 0.05},
		{"equal, 1% within, 15% between, four others", 0.01, 0.15, 1, 4, 0, 0.09},
		{"equal, 3% within, 6% between, eight others", 0.03, 0.06, 1, 8, 0, 0.08},
		{"10% slower, 3% within, 15% between, four others", 0.03, 0.15, 0.9, 4, 0, 0.12},
		{"half, 10% within, sessions alike, four others", 0.1, 0, 0.5, 4, 0.94, 1},
		{"half, 10% within and between, four others", 0.1, 0.1, 0.5, 4, 0.6, 1},
		{"half, 10% within and between, eight others", 0.1, 0.1, 0.5, 8, 0.85, 1},
	} {
		r := rand.New(rand.NewPCG(41, 1))
		suggested, covered, otherWay := 0, 0, 0
		for range trials {
			session := func(factor float64) []float64 {
				level, values := c.between*r.NormFloat64(), make([]float64, 3)
				for i := range values {
					values[i] = 1000 * factor * math.Exp(level+c.within*r.NormFloat64())
				}
				return values
			}
			var others [][]float64
			for range c.others {
				others = append(others, session(1))
			}
			s := Suggest(session(1), session(c.change), others, 0.95)
			if s.Chance >= ClearChance {
				suggested++
				if (s.Ratio > 1) != (c.change > 1) {
					otherWay++
				}
			}
			if s.Lo <= c.change && s.Hi >= c.change {
				covered++
			}
		}
		better := figure.Higher
		if c.change == 1 {
			better = figure.Lower
		}
		figure.Record(t, figure.Share(figure.Name("decisions/probably", c.name), suggested, trials,
			better).Saying("called probably faster or slower, 3 v 3 repetitions: %s", c.name))
		figure.Record(t, figure.Share(figure.Name("decisions/probably-covers", c.name), covered, trials,
			figure.Higher).Saying("the model's interval of 95%% covers the change, 3 v 3 repetitions: %s", c.name))
		if c.change != 1 {
			figure.Record(t, figure.Share(figure.Name("decisions/probably-the-other-way", c.name), otherWay, suggested,
				figure.Lower).Saying("of those called probably faster or slower, the other way round: %s", c.name))
			if otherWay > max(4, suggested*5/100) {
				t.Errorf("%s: %d of %d the other way round", c.name, otherWay, suggested)
			}
		}
		if share := float64(suggested) / float64(trials); share < c.least || share > c.most {
			t.Errorf("%s: suggested in %.3f, want %g to %g", c.name, share, c.least, c.most)
		}
		if least := 0.9; c.between <= c.within && float64(covered)/float64(trials) < least {
			t.Errorf("%s: covered in %d of %d", c.name, covered, trials)
		}
	}
}

// On recorded disks, sessions of one system with itself, begun anywhere.
func TestSuggestionsOnRecordedDisks(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	trials := figure.Times(30, 3000) // 30 tell the largest share of 6% to 4%
	for _, m := range models {
		for _, n := range []int{3, 4, 6} {
			for _, others := range []int{4, 10} {
				r, wrong := rand.New(rand.NewPCG(43, uint64(n))), 0
				session := func() []float64 {
					values := m.Runs(r, n)
					for i, l := range values {
						values[i] = 1000 * math.Exp(l)
					}
					return values
				}
				for range trials {
					var sessions [][]float64
					for range others {
						sessions = append(sessions, session())
					}
					if s := Suggest(session(), session(), sessions, 0.95); s.Chance >= ClearChance &&
						math.Abs(math.Log(s.Ratio)) > math.Log(1.03) {
						wrong++
					}
				}
				what := fmt.Sprintf("%d repetitions, %d other sessions, %s", n, others, m.Name)
				figure.Record(t, figure.Share(figure.Name("decisions/probably-wrong", what), wrong, trials,
					figure.Lower).Saying("called probably faster or slower where nothing is: %s", what))
				if wrong > trials*20/100 {
					t.Errorf("%s: %d of %d", what, wrong, trials)
				}
			}
		}
	}
}

// The change has no side of its own: the other way round it is the reciprocal, in any unit.
func TestSuggestionsHaveNoSide(t *testing.T) {
	base, next := []float64{100, 140, 99}, []float64{80, 82, 70, 81}
	others := [][]float64{{95, 100}, {103, 96}, {99, 101}, {105, 100}}
	there := Suggest(base, next, others, 0.95)
	for i := range base {
		base[i] *= 1e6
	}
	for i := range next {
		next[i] *= 1e6
	}
	for _, values := range others {
		for i := range values {
			values[i] *= 1e6
		}
	}
	back := Suggest(next, base, others, 0.95)
	near(t, "ratio", back.Ratio, 1/there.Ratio, 1e-6)
	near(t, "low end", back.Lo, 1/there.Hi, 1e-6)
	near(t, "high end", back.Hi, 1/there.Lo, 1e-6)
	near(t, "chance", back.Chance, there.Chance, 1e-9)
}

// What is known of the noise narrows the interval, and pairs and boots have no sessions to allow for.
func TestSuggestionsGoByWhatIsKnown(t *testing.T) {
	base, next := []float64{100, 101, 99}, []float64{90, 91, 89}
	others := [][]float64{{100, 100.5}, {100.2, 99.9}, {101.1, 100.8}, {98.9, 99.3}, {100, 100}, {99.9, 100.1}}
	few, known := Suggest(base, next, others[:4], 0.95), Suggest(base, next, others, 0.95)
	near(t, "ratio", few.Ratio, 0.9, 1e-3)
	if !(known.Lo > few.Lo) || !(known.Hi < few.Hi) {
		t.Errorf("%+v, with more sessions %+v", few, known)
	}
	if s := Suggest(base, next, others[:3], 0.95); !math.IsNaN(s.Ratio) || !math.IsNaN(s.Chance) {
		t.Errorf("three other sessions are too few, and suggest %+v", s)
	}
	boots := SuggestBoots(base, next, 0.95)
	pairs := SuggestPairs([]float64{math.Log(0.9), math.Log(0.9), math.Log(0.91)}, 0.95)
	if !(boots.Lo > few.Lo) || !(pairs.Chance > 0.95) {
		t.Errorf("boots %+v, pairs %+v", boots, pairs)
	}
	// Sequential reads of a virtual machine, then of the same limited to half of their median: one of four is far off,
	// or all are.
	for _, reads := range [][]float64{{1012.6, 929.6, 2076.2, 1092.4}, {2080.4, 1483.7, 1284.8, 1122.3}} {
		half := Median(reads) / 2
		s := Suggest(reads, []float64{half * 1.001, half, half * 0.999, half}, [][]float64{{1080, 1190, 1930, 1240},
			{1302, 1115, 1170, 2015}, {1210, 1090, 1145, 1330}, {1111, 1275, 1020, 1190}}, 0.95)
		if s.Chance < ClearChance || s.Lo > 0.5 || s.Hi < 0.5 || s.Hi > 1 {
			t.Errorf("half of %v: %+v", reads, s)
		}
	}
	one := Suggest([]float64{41400}, []float64{8600}, [][]float64{{40200}, {39900}, {42800}, {41100}}, 0.95)
	if one.Chance < ClearChance || one.Lo > 0.2077 || one.Hi < 0.2078 || one.Hi > 1 {
		t.Errorf("one value a side, a fifth: %+v", one)
	}
	if none := Suggest(nil, next, others, 0.95); !math.IsNaN(none.Ratio) || !math.IsNaN(none.Chance) {
		t.Errorf("nothing on one side: %+v", none)
	}
}
