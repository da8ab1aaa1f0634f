package validity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// question is something about the order that may have mattered: which repetitions are marked, and how to say it.
type question struct {
	cell   string          // that it concerns; empty when all are pooled
	groups [][]stat.Marked // by cell
	fewest int             // marked repetitions that it takes
	faster bool            // whether only a gain counts
	text   string          // a format with the place of the ratio
	// beside are other cells, which tell how far repetitions scatter where a single one is on a side. Nil where a
	// single one tells nothing.
	beside [][]stat.Marked
}

// effect that a question asks for, and whether there are enough repetitions to tell it.
func (q question) effect() (e stat.Effect, enough bool) {
	e = stat.OrderEffect(q.groups)
	if q.beside != nil && min(e.Marked, e.Unmarked) == 1 && max(e.Marked, e.Unmarked) >= orderTwice {
		return stat.OrderEffectBeside(q.groups, q.beside), aheadOfAll(q.groups[0])
	}
	return e, e.Marked >= q.fewest && e.Unmarked >= orderTwice
}

// aheadOfAll reports whether the one repetition that is marked, or the one that is not, is so much faster than all
// others that it is no chance: a single one that is slow may have stalled.
func aheadOfAll(group []stat.Marked) bool {
	var sides [2][]float64
	for _, v := range group {
		side := 0
		if v.Marked {
			side = 1
		}
		sides[side] = append(sides[side], v.Value)
	}
	one, others := sides[0], sides[1]
	if len(one) > 1 {
		one, others = others, one
	}
	ahead := math.Log(one[0] / slices.Max(others))
	return ahead >= math.Log(singleEffect) && ahead >= singleApart*math.Log(slices.Max(others)/slices.Min(others))
}

// ask answers questions of one kind. The more are asked, the surer each answer must be.
func ask(questions []question) []Found {
	var found []Found
	for _, q := range questions {
		effect, enough := q.effect()
		// Differences below the threshold and samples that say nothing (NaN) both fail here.
		sure := effect.P < orderAlpha/float64(len(questions))
		gain, loss := effect.Ratio >= 1+orderEffect, effect.Ratio <= 1/(1+orderEffect)
		if !sure || !enough || !gain && (q.faster || !loss) {
			continue
		}
		how := fmt.Sprintf("%.2f times as fast", effect.Ratio)
		if effect.Ratio < 1 {
			how = "at " + unit.Percent(effect.Ratio) + " of the speed"
		}
		text := fmt.Sprintf(q.text, how) + fmt.Sprintf(" (%d against %d repetitions", effect.Marked, effect.Unmarked)
		if min(effect.Marked, effect.Unmarked) == 1 {
			text += fmt.Sprintf("; less than %g times as fast takes %d of each to be told", singleEffect, orderTwice)
		}
		text += ")"
		found = append(found,
			Found{q.cell, lab.Warning{Taints: allMetrics(), Text: text, MostError: effectShare(effect)}})
	}
	return found
}

// effectShare is how far the order can have moved a number at most, as a share: if all repetitions had been on one side
// of the effect, by the far end of its interval.
func effectShare(e stat.Effect) float64 {
	return 1 - 1/max(e.Hi, 1/e.Lo)
}

// positionEffect asks, for each cell, whether it matters which cell ran before; and for all cells together, whether it
// matters to come first in a pass, to run in the first pass, or to follow a load that writes. The powers differ: three
// repetitions of a cell show only a factor, the pooled questions some percent.
func positionEffect(h History) []Found {
	titles, writes := map[string]string{}, map[string]bool{}
	for _, c := range h.Run.Cells {
		titles[c.ID] = title(c)
		writes[c.ID] = lab.ByFio(c.Engine) && options{asked: c.Params}.asksFor(lab.Write)
	}
	var alone []question
	for _, c := range h.Cells {
		predecessors, first := map[string]bool{}, false
		for _, r := range c.Repetitions {
			if r.After == "" {
				first = true
				continue
			}
			predecessors[r.After] = true
		}
		sorted := slices.Sorted(maps.Keys(predecessors))
		for i, p := range sorted {
			if len(sorted) == 2 && i == 1 && !first {
				break // the same question the other way round
			}
			alone = append(alone, question{
				cell:   c.Cell.ID,
				fewest: orderTwice,
				groups: [][]stat.Marked{c.marked(func(r lab.Repetition) bool { return r.After == p })},
				beside: beside(h, c),
				text: "right after " + strings.ReplaceAll(titles[p], "%", "%%") +
					" this ran %s; the order of the tests is part of the number, " +
					"so compare in the same order, or put something neutral in between",
			})
		}
	}
	kinds := []struct {
		mark func(lab.Repetition) bool
		text string
	}{
		{func(r lab.Repetition) bool { return r.Position == 1 }, "whatever came first in a pass ran %s; put a load " +
			"that is not counted before each pass"},
		{func(r lab.Repetition) bool { return r.Block == 1 }, "the first pass ran %s; the machine changed while it " +
			"was measured, so leave the first pass out, or repeat more"},
		{func(r lab.Repetition) bool { return writes[r.After] }, "right after loads that write, the others ran %s; " +
			"pause longer between tests, or compare in the same order"},
	}
	var pooled []question
	for _, k := range kinds {
		q := question{fewest: orderTwice, text: k.text}
		for _, c := range h.Cells {
			if placed := c.withPosition(); len(placed.Repetitions) > 1 {
				q.groups = append(q.groups, placed.marked(k.mark))
			}
		}
		// One cell alone has no passes to speak of.
		if len(q.groups) > 1 {
			pooled = append(pooled, q)
		}
	}
	return append(ask(alone), ask(pooled)...)
}

// beside are the speeds of all cells but one.
func beside(h History, of CellHistory) [][]stat.Marked {
	others := [][]stat.Marked{}
	for _, c := range h.Cells {
		if c.Cell.ID != of.Cell.ID {
			others = append(others, c.marked(func(lab.Repetition) bool { return false }))
		}
	}
	return others
}

// withPosition leaves out the repetitions whose place in the run is not known.
func (c CellHistory) withPosition() CellHistory {
	unplaced := func(r lab.Repetition) bool { return r.Block == 0 || r.Position == 0 }
	c.Repetitions = slices.DeleteFunc(slices.Clone(c.Repetitions), unplaced)
	return c
}

// marked pairs the speed of each repetition with a mark.
func (c CellHistory) marked(mark func(lab.Repetition) bool) []stat.Marked {
	var all []stat.Marked
	for _, r := range c.Repetitions {
		if v := c.speed(r); v > 0 {
			all = append(all, stat.Marked{Value: v, Marked: mark(r)})
		}
	}
	return all
}

// speed is one number for how fast a repetition was: all its operations a second; of a command what its cell is decided
// by.
func (c CellHistory) speed(r lab.Repetition) float64 {
	if !lab.ByFio(c.Cell.Engine) {
		names := lab.Deciding(c.Cell.Metrics, c.Cell.Params, r.Values)
		switch {
		case len(names) == 0 || r.Values[names[0]] <= 0:
			return 0
		case c.Cell.Metric(names[0]).Better == lab.Lower:
			return 1 / r.Values[names[0]]
		default:
			return r.Values[names[0]]
		}
	}
	sum := 0.0
	for _, d := range []string{lab.Read, lab.Write, lab.Trim} {
		sum += r.Values[lab.IOPS(d)]
	}
	if sum == 0 {
		sum = r.Values[lab.IOPS(lab.Mixed)]
	}
	return sum
}

// freshLayout compares the first load after a layout with later ones of the same cell. Only a gain counts: there is but
// one such repetition, and a single slow one is more often a stall. Where there are no later ones, it can only say so,
// and does for reads.
func freshLayout(h History) []Found {
	first := map[string]time.Time{}
	for _, c := range h.Cells {
		for _, r := range c.Repetitions {
			if l := r.Layout; l.Kind == "file" || l.Kind == "fill" {
				if t, ok := first[l.ID]; !ok || r.Start.Before(t) {
					first[l.ID] = r.Start
				}
			}
		}
	}
	fresh := func(r lab.Repetition) bool {
		l := r.Layout
		return (l.Kind == "file" || l.Kind == "fill") && !r.Start.IsZero() && !l.Written.IsZero() &&
			r.Start.Equal(first[l.ID]) && r.Start.Sub(l.Written) < freshFor
	}
	var questions []question
	var found []Found
	for _, c := range h.Cells {
		n := 0
		for _, r := range c.Repetitions {
			if fresh(r) {
				n++
			}
		}
		reads := lab.ByFio(c.Cell.Engine) && options{asked: c.Cell.Params}.asksFor(lab.Read)
		switch {
		case n == 0:
		case n < len(c.Repetitions):
			questions = append(questions, question{
				cell:   c.Cell.ID,
				fewest: 1,
				faster: true,
				groups: [][]stat.Marked{c.marked(fresh)},
				beside: beside(h, c),
				text: "as the first load on freshly written data this ran %s than later; leave that repetition " +
					"out, or put a load that is not counted first",
			})
		case reads && len(c.Repetitions) == 1:
			r := c.Repetitions[0]
			found = append(found, Found{c.Cell.ID, lab.Warning{Taints: metricsOf(lab.Read), Text: fmt.Sprintf(
				"the only repetition read data that was written %s before, and reads right after a layout can be "+
					"several times faster than later ones; repeat, so that the others show it",
				unit.Duration(r.Start.Sub(r.Layout.Written)))}})
		}
	}
	return append(found, ask(questions)...)
}
