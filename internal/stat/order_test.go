package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestOrderEffect(t *testing.T) {
	// Two cells of very different speed; both are twice as fast when marked, with no noise at all.
	got := OrderEffect([][]Marked{
		{{100, false}, {200, true}, {100, false}},
		{{7, true}, {3.5, false}},
		{{9, true}, {9, true}}, // says nothing: no unmarked value
		{{0, true}, {math.NaN(), false}, {5, true}},
	})
	near(t, "ratio", got.Ratio, 2, 1e-9)
	if got.P > 1e-6 || got.Marked != 2 || got.Unmarked != 3 {
		t.Errorf("a clean doubling: %+v", got)
	}
	// One first reading three times as fast as two others that agree within 1%.
	got = OrderEffect([][]Marked{{{300, true}, {100, false}, {101, false}}})
	near(t, "three times", got.Ratio, 3, 0.02)
	if got.P > 0.01 {
		t.Errorf("a factor of three against 1%%: P = %v", got.P)
	}
	got = OrderEffect([][]Marked{{{5, true}, {5, false}, {5, false}}})
	if got.Ratio != 1 || got.P != 1 {
		t.Errorf("no noise, no effect: %+v", got)
	}
	for name, none := range map[string][][]Marked{
		"nothing": nil, "one of each": {{{1, true}, {2, false}}}, "all marked": {{{1, true}, {2, true}, {3, true}}},
	} {
		if got := OrderEffect(none); !math.IsNaN(got.Ratio) || !math.IsNaN(got.P) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The interval covers the true ratio as often as it says, and P keeps its promise, on skewed noise too.
func TestOrderEffectHonest(t *testing.T) {
	const trials = 2000
	noises := map[string]func(*rand.Rand) float64{
		"lognormal": func(r *rand.Rand) float64 { return math.Exp(0.03 * r.NormFloat64()) },
		"a stall in eight": func(r *rand.Rand) float64 {
			return math.Exp(0.01*r.NormFloat64()) - 0.1*math.Floor(r.Float64()+0.125)
		},
	}
	for name, noise := range noises {
		r := rand.New(rand.NewPCG(4, 1))
		alarms, covered := 0, 0
		for range trials {
			var groups [][]Marked
			for cell := range 6 {
				var group []Marked
				for i := range 3 {
					marked := i == cell%3
					value := float64(100*(cell+1)) * noise(r)
					if marked {
						value *= 1.25
					}
					group = append(group, Marked{value, marked})
				}
				groups = append(groups, group)
			}
			got := OrderEffect(groups)
			if got.Lo <= 1.25 && 1.25 <= got.Hi {
				covered++
			}
			for _, g := range groups {
				for i := range g {
					if g[i].Marked {
						g[i].Value /= 1.25
					}
				}
			}
			if OrderEffect(groups).P < 0.01 {
				alarms++
			}
		}
		t.Logf("%s: the 95%% interval covered %.1f%%, P < 0.01 in %.1f%%", name, 100*float64(covered)/trials,
			100*float64(alarms)/trials)
		if covered < trials*93/100 || alarms > trials*2/100 {
			t.Errorf("%s: covered %d, false alarms %d of %d", name, covered, alarms, trials)
		}
	}
}
