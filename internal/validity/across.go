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

// acrossChecks are of all repetitions of a run together.
func acrossChecks() []Check {
	return []Check{
		{
			Code:   "emulated-guest",
			Weight: Note,
			Title:  "The machine is emulated",
			Run:    emulatedGuest,
			Taints: "nothing",
			When:   "a target's CPU is QEMU's own (TCG)",
			Do:     "compare levels of this guest only; use KVM or hardware for real rates",
			Source: "tried with QEMU 7.2",
		},
		{
			Code:   "effect-not-verified",
			Weight: Note,
			Title:  "Unknown whether a setting is in effect",
			Run:    effectNotVerified,
			Taints: "nothing: without a difference, the setting may not be in effect",
			When:   "nothing in /proc, /sys or the kernel's log shows what a boot argument does",
			Do:     "check its spelling, and whether the kernel has it; a measured difference proves it",
			Source: "docs/howto/boot.md",
		},
		{
			Code:   "few-repetitions",
			Weight: Widens,
			Title:  "Too few repetitions for a spread",
			Run:    fewRepetitions,
			Taints: "everything",
			When:   fmt.Sprintf("a cell has fewer than %d repetitions", enoughRepetitions),
			Do:     "repeat; a 95% interval of the median needs six",
			Source: "k8s-netperf #78",
		},
		{
			Code:   "wide-interval",
			Weight: Widens,
			Title:  "Repetitions differ widely",
			Run:    wide,
			Taints: "IOPS and bandwidth; for a command the deciding metric",
			When: fmt.Sprintf("the interval of %d repetitions or more is wider than ±%s", enoughRepetitions,
				unit.Percent(wideInterval)),
			Do:     "find out what differs, or repeat",
			Source: "k8s-netperf #78",
		},
		{
			Code:   "few-operations",
			Weight: Moves,
			Title:  "Too few I/Os for a percentile",
			Run:    fewOperations,
			Taints: "those percentiles",
			When:   "less than one I/O lies beyond the percentile: p99.99 needs 10,000",
			Do:     "run longer",
			Source: "order statistics",
		},
		{
			Code:   "position-effect",
			Weight: Moves,
			Title:  "The order of the tests matters",
			Run:    positionEffect,
			Taints: "everything",
			When: fmt.Sprintf("a cell is %s faster or slower after another one; or all cells are in the first "+
				"pass, first in a pass, or after writes (P < %.2g, %d repetitions of each kind; a single one is "+
				"enough where it is %g times as fast as all others, so that three repetitions tell it)",
				unit.Percent(orderEffect), orderAlpha, orderTwice, singleEffect),
			Do:     "compare in the same order only",
			Source: "the Talos report's comments: swapped tests, three times the speed",
		},
		{
			Code:   "fresh-layout",
			Weight: Moves,
			Title:  "The first load on freshly written data",
			Run:    freshLayout,
			Taints: "everything; reads where there is one repetition",
			When: fmt.Sprintf("the repetition within %.0f minutes of a layout is %s faster than later ones, or the "+
				"only one that reads", math.Round(freshFor.Minutes()), unit.Percent(orderEffect)),
			Do:     "leave it out, or put an uncounted load first",
			Source: "the Talos report's comments",
		},
	}
}

const (
	// enoughRepetitions is the number from which a spread can be estimated at all: of two values one may be a stray and
	// it is not known which.
	enoughRepetitions = 3
	// wideInterval is the half-width of an interval, as a share of its centre, from which it says little.
	wideInterval = 0.10
	// intervalConfidence is what intervals are asked to reach.
	intervalConfidence = 0.95
	// orderEffect is how much the order must matter before it is worth a warning, and orderAlpha how unlikely the
	// effect must be by chance, all questions of one kind together.
	orderEffect = 0.10
	orderAlpha  = 0.01
	// orderTwice is how many repetitions there must be with and without a condition: a single one may have stalled.
	orderTwice = 2
	// singleEffect is how many times as fast a single repetition must be as all others of its cell before its place in
	// the order is taken for the reason, and singleApart how many times further away, as a logarithm, than those are
	// from each other.
	singleEffect = 2.5
	singleApart  = 3.0
	// freshFor is how long a layout counts as fresh: what a drive keeps of it in its caches is gone or moved to its
	// lasting place within minutes.
	freshFor = 5 * time.Minute
)

// emulatedGuest says so once for each target. It taints nothing: whether one setting of the guest is slower than
// another can still be told.
func emulatedGuest(h History) []Found {
	var found []Found
	for _, t := range h.Run.Targets {
		if slices.ContainsFunc(t.Facts, func(f lab.Fact) bool { return f.Key == "vm.emulated" && f.Value == "on" }) {
			found = append(found,
				Found{"", lab.Warning{Text: t.Target + " is emulated: its CPU is a program, so that these rates are " +
					"those of no hardware; compare them with one another only"}})
		}
	}
	return found
}

// effectNotVerified names all such settings in one warning: reports show a code once.
func effectNotVerified(h History) []Found {
	all := h.Run.NotVerified
	for _, t := range h.Run.Targets {
		all = lab.WithUnverified(all, t.NotVerified...)
	}
	var parts []string
	for _, u := range all {
		parts = append(parts, u.Setting()+" ("+u.Reason+")")
	}
	if len(parts) == 0 {
		return nil
	}
	return []Found{{"", lab.Warning{Text: "nothing shows whether the kernel applies these settings: " +
		strings.Join(parts, "; ") +
		". Only a difference that was measured tells that such a setting is in effect; that there is none says " +
		"nothing of it"}}}
}

func fewRepetitions(h History) []Found {
	fewest, cells := math.MaxInt, 0
	var found []Found
	for _, c := range h.Cells {
		n := 0 // a repetition that failed has no values
		for _, r := range c.Repetitions {
			if len(r.Values) > 0 {
				n++
			}
		}
		if n == 0 || n >= enoughRepetitions {
			continue
		}
		cells++
		fewest = min(fewest, n)
		found = append(found, Found{c.Cell.ID, few(n, h.Run.Anytime)})
	}
	// Who printed one number for several passes has said so in a separate warning.
	one := slices.ContainsFunc(h.Run.Warnings, func(w lab.Warning) bool { return w.Code == "import-best-of" })
	if cells == 0 || one {
		return nil
	}
	// One sentence for all, when it holds for all.
	if cells == len(h.Cells) {
		return []Found{{"", few(fewest, h.Run.Anytime)}}
	}
	return found
}

func few(n int, anytime bool) lab.Warning {
	printed := "one repetition says nothing of how much the number varies from run to run"
	if n > 1 {
		printed = fmt.Sprintf("%d repetitions show that numbers differ, not by how much", n)
	}
	if anytime {
		return lab.Warning{Taints: allMetrics(), Text: printed +
			"; give it a larger --budget: eight repetitions have a 95% interval that " +
			"may be looked at any time"}
	}
	return lab.Warning{Taints: allMetrics(), Text: fmt.Sprintf("%s; repeat at least %d times (--repeat %d), six "+
		"for a 95%% interval", printed, enoughRepetitions, enoughRepetitions)}
}

func wide(h History) []Found {
	interval := stat.MedianInterval
	if h.Run.Anytime {
		interval = stat.MedianSequence
	}
	var found []Found
	for _, c := range h.Cells {
		for _, name := range c.rates() {
			values := c.values(name)
			i := interval(values, intervalConfidence)
			if len(values) < enoughRepetitions || !(i.Center > 0) {
				continue
			}
			if half := (i.Hi - i.Lo) / 2 / i.Center; half > wideInterval {
				reach := max(i.Hi-i.Center, i.Center-i.Lo) / i.Center // as tables print it
				u := c.Cell.Metric(name).Unit
				taints, center := []string{name}, unit.Value(u, i.Center)
				if d, isRate := strings.CutSuffix(name, ".iops"); isRate {
					taints, center = speedMetrics(d), unit.IOPS(i.Center)+" IOPS"
				}
				found = append(found, Found{c.Cell.ID, lab.Warning{Taints: taints, Text: fmt.Sprintf(
					"%d repetitions spread from %s to %s around a median of %s (±%s): differences below that "+
						"can't be seen; find out what differs between them, or repeat more",
					len(values), unit.Value(u, i.Lo), unit.Value(u, i.Hi), center,
					unit.Percent(reach))}})
			}
		}
	}
	return found
}

// rates are the metrics whose spread is looked at: the IOPS of each direction; of a command what its cell is decided
// by.
func (c CellHistory) rates() []string {
	if !lab.ByFio(c.Cell.Engine) {
		measured := map[string]float64{}
		for _, r := range c.Repetitions {
			maps.Copy(measured, r.Values)
		}
		return lab.Deciding(c.Cell.Metrics, c.Cell.Params, measured)
	}
	var names []string
	for _, d := range lab.Directions() {
		names = append(names, lab.IOPS(d))
	}
	return names
}

// values of a metric, in the order of the repetitions; those that lack it are left out.
func (c CellHistory) values(metric string) []float64 {
	var values []float64
	for _, r := range c.Repetitions {
		if v, ok := r.Values[metric]; ok {
			values = append(values, v)
		}
	}
	return values
}

// fewOperations counts the operations of all repetitions, because their distributions are merged: a quantile beyond the
// last operation is just the maximum.
func fewOperations(h History) []Found {
	var found []Found
	for _, c := range h.Cells {
		for _, d := range lab.Directions() {
			n := 0.0
			for _, r := range c.Repetitions {
				n += r.Values[lab.IOPS(d)] * r.Seconds
			}
			var taints, quantiles []string
			for _, q := range lab.Quantiles() {
				name := lab.Latency(d, q.Name)
				if n > 0 && n*(1-q.Q) < 1 && len(c.values(name)) > 0 {
					taints, quantiles = append(taints, name), append(quantiles, q.Name)
				}
			}
			if len(taints) > 0 {
				found = append(found, Found{c.Cell.ID, lab.Warning{Taints: taints, Text: fmt.Sprintf(
					"about %.0f %s in all are too few for %s, which is then the slowest of them by another name; "+
						"run longer", n, plural(d), strings.Join(quantiles, " and "))}})
			}
		}
	}
	return found
}

// title names a cell for people: its job, and what tells it from others of the job.
func title(c lab.Cell) string {
	name := c.Job
	for _, p := range []string{"rw", "bs", "iodepth", "numjobs"} {
		if v, ok := c.Params[p]; ok && !strings.Contains(name, v) {
			name += " " + p + "=" + v
		}
	}
	return name
}

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

// aheadOfAll reports whether the only marked repetition, or the only unmarked one, is so much faster than all others
// that chance can't explain it. A single slow repetition may have stalled.
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
