package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// together are the values of some cells of a run without any change: what differs between passes (boots, where
// within > 1) moves all cells, and each repetition of each cell scatters by 1%.
func together(r *rand.Rand, side string, cells, passes, within int, moves float64) [][]Value {
	out := make([][]Value, cells)
	for pass := range passes {
		common := moves * r.NormFloat64()
		for repetition := range within {
			for i := range out {
				v := Value{Value: 1000 * math.Exp(common+0.01*r.NormFloat64()), Repetition: pass*within + repetition +
					1}
				if within > 1 {
					v.Boot = fmt.Sprint(side, pass)
				}
				out[i] = append(out[i], v)
			}
		}
	}
	return out
}

// The mean over a table misses "no change" in at most 5% of comparisons without one, also where passes or boots move
// all cells together. Intervals that take the cells as independent are the negative control.
func TestMeanOfCellsThatMoveTogether(t *testing.T) {
	trials := figure.Times(200, 3000)
	for i, c := range []struct {
		cells, passes, within int
		moves                 float64
	}{{8, 10, 1, 0}, {8, 10, 1, 0.01}, {24, 10, 1, 0.01}, {8, 5, 1, 0.01}, {8, 5, 3, 0.015}, {24, 5, 3, 0.015}} {
		if c.cells > 8 && !figure.Whole {
			continue
		}
		r := rand.New(rand.NewPCG(31, uint64(i)))
		missed, independent, bound, width := 0, 0, 0, 0.0
		for range trials {
			base, next := together(r, "a", c.cells, c.passes, c.within, c.moves),
				together(r, "b", c.cells, c.passes, c.within, c.moves)
			var samples []sample
			var changes []stat.Change
			var sum, square float64
			for k := range base {
				s := sampleOf(base[k], next[k], false)
				samples, changes = append(samples, s), append(changes, s.change(newPower(0.95)))
				reach := math.Log(changes[k].Hi / changes[k].Lo)
				sum, square = sum+math.Log(changes[k].Ratio), square+reach*reach/4
			}
			m := meanChange(samples, 0.95)
			if m.Lo > 1 || m.Hi < 1 {
				missed++
			}
			width += math.Log(m.Hi/m.Lo) / 2 / float64(trials)
			if b := stat.GeometricMean(changes); b.Lo > 1 || b.Hi < 1 {
				bound++
			}
			if math.Abs(sum) > math.Sqrt(square) {
				independent++
			}
		}
		what := fmt.Sprintf("%d cells, %d v %d passes that differ by %g%%", c.cells, c.passes, c.passes, 100*c.moves)
		if c.within > 1 {
			what = fmt.Sprintf("%d cells, %d v %d boots that differ by %g%%", c.cells, c.passes, c.passes, 100*c.moves)
		}
		figure.Record(t, figure.Share(figure.Name("decisions/mean/missed", what), missed, trials,
			figure.Lower).Saying("intervals of the mean that miss: %s", what))
		figure.Record(t, figure.Share(figure.Name("decisions/mean/missed-unmatched", what), bound, trials,
			figure.Lower).Saying("the same where repetitions can't be matched: %s", what))
		figure.Record(t, figure.Share(figure.Name("decisions/mean/missed-independent", what), independent, trials,
			"").Saying("the same with cells taken as independent: %s", what))
		figure.Record(t, figure.Figure{Name: figure.Name("decisions/mean/half-width", what), Unit: "share",
			Center: width, N: trials, Better: figure.Lower, Text: "half-width of the mean: " + what})
		if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials)); float64(missed) > limit*float64(trials) ||
			float64(bound) > limit*float64(trials) {
			t.Errorf("%s: %d of %d miss, %d unmatched", what, missed, trials, bound)
		}
		if c.moves > 0 && c.passes == 10 && independent < trials/10 {
			t.Errorf("%s: only %d of %d miss with cells taken as independent; this simulation can't tell", what,
				independent, trials)
		}
	}
}

// Cells whose repetitions can't be matched have a mean all the same, and those that lack a few are matched by the rest.
func TestMeanOfUnmatchedCells(t *testing.T) {
	of := func(numbers ...int) sample {
		var base, next []Value
		for _, n := range numbers {
			base = append(base, Value{Value: 100 + float64(n%3), Repetition: n})
			next = append(next, Value{Value: 200 + float64(n%2), Repetition: n})
		}
		return sampleOf(base, next, false)
	}
	for _, c := range []struct {
		samples []sample
		want    bool
	}{
		{[]sample{of(1, 2, 3, 4), of(1, 2, 3, 4)}, true},
		{[]sample{of(1, 2, 3, 4, 5), of(2, 3, 5, 6)}, true},
		{[]sample{of(1, 2, 3, 4, 5, 6, 7), of(1, 2, 3)}, false},
		{[]sample{of(0, 0, 0, 0), of(0, 0, 0, 0)}, false},
	} {
		if _, ok := averaged(c.samples); ok != c.want {
			t.Errorf("%+v: matched is %v", c.samples, ok)
		}
		if m := meanChange(c.samples, 0.95); !m.Known() || math.Abs(m.Ratio-2) > 0.05 {
			t.Errorf("%+v: %+v", c.samples, m)
		}
	}
}

// A machine against itself, in two sessions that move all loads: where others are known, an interval of the mean
// excludes "no change" in at most 5%, and without them there is none. The mean of the sessions as they are is the
// negative control. Nor are they called the same.
func TestMeanOfTwoSessions(t *testing.T) {
	know, trials := knowledge(t), figure.Times(40, 2000)
	for i, moves := range []float64{0.01, 0.03} {
		r := rand.New(rand.NewPCG(41, uint64(i)))
		missed, bare, known, same := 0, 0, 0, 0
		session := func(id string) Run {
			out := Run{Run: lab.Run{ID: id}, Name: id}
			common := moves * r.NormFloat64()
			for load := range 8 {
				out.Cells = append(out.Cells, cell("j", fmt.Sprintf("rw=randread bs=4k iodepth=%d", load+1),
					noisy(r, 5, 1000*math.Exp(common), 0.005)...))
			}
			return out
		}
		for range trials {
			var others []Run
			for range 15 {
				others = append(others, session("OTHER"))
			}
			with := Options{Others: func(_ Run, c Cell, metric string) (levels [][]float64) {
				for _, o := range others {
					for _, of := range o.Cells {
						if of.Params["iodepth"] == c.Params["iodepth"] {
							levels = append(levels, figures(of.Values[metric]).Values)
						}
					}
				}
				return levels
			}}
			base, next := session("BASE"), session("NEXT")
			if m := Compare(know, base, []Run{next}, with).New[0].Means[0]; *m.Lo > 1 || *m.Hi < 1 {
				missed++
			}
			d := Compare(know, base, []Run{next}, Options{})
			if d.New[0].Means[0].Known() {
				known++
			}
			same += d.New[0].Counts[Same]
			var samples []sample
			for k, c := range base.Cells {
				samples = append(samples, sampleOf(c.Values["read.iops"], next.Cells[k].Values["read.iops"], false))
			}
			if m := meanChange(samples, 0.95); m.Lo > 1 || m.Hi < 1 {
				bare++
			}
		}
		what := fmt.Sprintf("8 loads, sessions differ by %g%%", 100*moves)
		figure.Record(t, figure.Share(figure.Name("decisions/mean/sessions", what), missed, trials,
			figure.Lower).Saying("intervals of the mean that miss, with 15 other sessions: %s", what))
		figure.Record(t, figure.Share(figure.Name("decisions/mean/sessions-bare", what), bare, trials,
			"").Saying("the same without what sessions differ by: %s", what))
		if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials)); float64(missed) > limit*float64(trials) ||
			known > 0 || same > 0 {
			t.Errorf("%s: %d of %d miss; without others %d have an interval, %d numbers are the same", what, missed,
				trials, known, same)
		}
		if bare < trials/3 {
			t.Errorf("%s: only %d of %d miss as they are; this simulation can't tell", what, bare, trials)
		}
	}
}
