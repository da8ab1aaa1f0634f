package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// margin is what counts as no change for headroom; benchstat has none.
const margin = 0.01

// decider looks at two samples of one run a side each time, of which the first n are measured, and says what it makes
// of them.
type decider struct {
	name string
	// decide returns the decision, and after how many runs a side.
	decide func(base, next []float64) (stat.Decision, int)
}

func deciders() []decider {
	return []decider{
		{"benchstat, looked at once", func(base, next []float64) (stat.Decision, int) {
			return benchstat(base, next), len(base)
		}},
		{"benchstat, looked at after every pair from 5", peeking(5, benchstat)},
		{"headroom, saved runs", func(base, next []float64) (stat.Decision, int) {
			return stat.UnpairedChange(base, next, 0.95).Decide(margin), len(base)
		}},
		{"headroom, live, looked at after every block", live},
	}
}

// live is headroom's comparison in turns of as many pairs as there are runs, looked at after each block of two.
func live(base, next []float64) (stat.Decision, int) {
	planned := stat.NewGroupSequential(0.05, len(base)&^1)
	var blocks []stat.TwoPairs
	for n := 0; n+1 < len(base); n += 2 {
		b := stat.TwoPairs{NewFirst: [2]bool{false, true}}
		for k := range 2 {
			b.Base[k], b.New[k] = math.Log(base[n+k]), math.Log(next[n+k])
		}
		blocks = append(blocks, b)
		if d := planned.Change(blocks).Decide(margin); d != stat.Undecided {
			return d, 2 * len(blocks)
		}
	}
	return stat.Undecided, len(base)
}

// benchstat is what the command does by default: the medians differ when Mann and Whitney's P is below 0.05.
func benchstat(base, next []float64) stat.Decision {
	a, b := benchmath.NewSample(slices.Clone(base), &benchmath.DefaultThresholds),
		benchmath.NewSample(slices.Clone(next), &benchmath.DefaultThresholds)
	c := benchmath.AssumeNothing.Compare(a, b)
	switch {
	case c.P > c.Alpha:
		return stat.Undecided
	case stat.Median(next) > stat.Median(base):
		return stat.Above
	}
	return stat.Below
}

// peeking stops at the first decision.
func peeking(from int, decide func(base, next []float64) stat.Decision) func(base, next []float64) (stat.Decision,
	int) {
	return func(base, next []float64) (stat.Decision, int) {
		for n := min(from, len(base)); n <= len(base); n++ {
			if d := decide(base[:n], next[:n]); d != stat.Undecided {
				return d, n
			}
		}
		return stat.Undecided, len(base)
	}
}

// right says whether a decision is true: "same" only without an effect, since all effects here are larger than the
// margin.
func right(d stat.Decision, effect float64) bool {
	return effect == 0 && d == stat.Same || effect > 0 && d == stat.Above
}

func decisions(trials int) error {
	fmt.Printf("A v B: %d trials each; margin %g%%\n", trials, 100*margin)
	for _, most := range []int{5, 10, 20} {
		for _, sigma := range []float64{0.01, 0.03, 0.09} {
			for _, effect := range []float64{0, 0.02, 0.05, 0.10} {
				for _, m := range models() {
					for _, d := range deciders() {
						// the same runs for everybody
						r := rand.New(rand.NewPCG(uint64(most), uint64(1000*sigma+1e5*effect)))
						rights, wrongs, used := 0, 0, 0
						for range trials {
							base, next := m.values(r, most, 1000, sigma), m.values(r, most, 1000*(1+effect), sigma)
							decision, n := d.decide(base, next)
							used += n
							switch {
							case right(decision, effect):
								rights++
							case decision != stat.Undecided:
								wrongs++
							}
						}
						what := fmt.Sprintf("effect %g%%, noise %g%% %s, up to %d a side", 100*effect,
							100*sigma, m.name, most)
						called := func(kind string) string {
							return figure.Name("sidebyside/a-v-b", kind, what, d.name)
						}
						if err := errors.Join(
							record(figure.Share(called("right"), rights, trials, figure.Higher).Saying(
								"A v B, %s: %s: right", what, d.name)),
							record(figure.Share(called("wrong"), wrongs, trials, figure.Lower).Saying(
								"A v B, %s: %s: wrong", what, d.name)),
							record(figure.Figure{Name: called("runs"), Center: float64(used) / float64(trials),
								N: trials, Better: figure.Lower}.Saying("A v B, %s: %s: runs a side", what, d.name)),
						); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}
