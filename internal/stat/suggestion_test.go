package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/figure"
	"headroom/internal/stat/noise"
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
		{"equal, 3% within, sessions alike", 0.03, 0, 1, 0, 0, 0.05},
		{"equal, 3% within and between", 0.03, 0.03, 1, 0, 0, 0.05},
		{"equal, 10% within and between", 0.1, 0.1, 1, 0, 0, 0.15},
		{"equal, sessions differ twice as far", 0.03, 0.06, 1, 0, 0, 0.3},
		{"the same with eight others", 0.03, 0.06, 1, 8, 0, 0.12},
		{"half, 10% within, sessions alike", 0.1, 0, 0.5, 0, 0.94, 1},
		{"half, 10% within and between", 0.1, 0.1, 0.5, 0, 0.87, 1},
		{"half, 10% within and between, eight others", 0.1, 0.1, 0.5, 8, 0.95, 1},
	} {
		r := rand.New(rand.NewPCG(41, 1))
		suggested, covered := 0, 0
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
	trials := figure.Times(30, 3000) // 30 tell the largest share of 16% to 7%, half of what is left to the bound
	for _, m := range models {
		for _, n := range []int{3, 4, 6} {
			for _, others := range []int{0, 5} {
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
				if wrong > trials*30/100 {
					t.Errorf("%s: %d of %d", what, wrong, trials)
				}
			}
		}
	}
}

// The change has no side of its own: the other way round it is the reciprocal, in any unit.
func TestSuggestionsHaveNoSide(t *testing.T) {
	base, next := []float64{100, 140, 99}, []float64{80, 82, 70, 81}
	there := Suggest(base, next, nil, 0.95)
	for i := range base {
		base[i] *= 1e6
	}
	for i := range next {
		next[i] *= 1e6
	}
	back := Suggest(next, base, nil, 0.95)
	near(t, "ratio", back.Ratio, 1/there.Ratio, 1e-6)
	near(t, "low end", back.Lo, 1/there.Hi, 1e-6)
	near(t, "high end", back.Hi, 1/there.Lo, 1e-6)
	near(t, "chance", back.Chance, there.Chance, 1e-9)
}

// What is known of the noise narrows the interval, and pairs and boots have no sessions to allow for.
func TestSuggestionsGoByWhatIsKnown(t *testing.T) {
	base, next := []float64{100, 101, 99}, []float64{90, 91, 89}
	alone := Suggest(base, next, nil, 0.95)
	known := Suggest(base, next, [][]float64{{100, 100.5}, {100.2, 99.9}, {100.1, 99.8}, {99.9, 100.3}, {100, 100},
		{99.9, 100.1}}, 0.95)
	near(t, "ratio", alone.Ratio, 0.9, 1e-3)
	if !alone.Assumed || known.Assumed || !(known.Lo > alone.Lo) || !(known.Hi < alone.Hi) {
		t.Errorf("%+v, with other sessions %+v", alone, known)
	}
	boots := SuggestBoots(base, next, 0.95)
	pairs := SuggestPairs([]float64{math.Log(0.9), math.Log(0.9), math.Log(0.91)}, 0.95)
	if !(boots.Lo > alone.Lo) || !(pairs.Chance > 0.95) {
		t.Errorf("boots %+v, pairs %+v", boots, pairs)
	}
	// Sequential reads of a virtual machine, then of the same limited to half of their median: one of four is far off,
	// or all are.
	for _, reads := range [][]float64{{1012.6, 929.6, 2076.2, 1092.4}, {2080.4, 1483.7, 1284.8, 1122.3}} {
		half := Median(reads) / 2
		s := Suggest(reads, []float64{half * 1.001, half, half * 0.999, half}, nil, 0.95)
		if s.Chance < ClearChance || s.Lo > 0.5 || s.Hi < 0.5 || s.Hi > 1 {
			t.Errorf("half of %v: %+v", reads, s)
		}
	}
	one := Suggest([]float64{41400}, []float64{8600}, nil, 0.95)
	if one.Chance < ClearChance || one.Lo > 0.2077 || one.Hi < 0.2078 || one.Hi > 1 {
		t.Errorf("one value a side, a fifth: %+v", one)
	}
	if none := Suggest(nil, next, nil, 0.95); !math.IsNaN(none.Ratio) || none.Chance != 0 {
		t.Errorf("nothing on one side: %+v", none)
	}
}
