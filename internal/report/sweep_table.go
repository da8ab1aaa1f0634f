package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

// maxListedCells is up to how many cells a table lists one by one where it has a matrix.
const maxListedCells = 12

// writeSweepTable writes the answer, the matrix of the smallest levels and that of the gains, the cells one by one
// where they are few, groups, curves and kernels, what weakens them, and what to type next.
func writeSweepTable(w io.Writer, d *sweep.Document, o Options) error {
	out := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	all := sweepMarks(d)
	for i, line := range sweepAnswer(d) {
		s := plain
		if i == 0 {
			s = strong
		}
		out.wrapped(s, line, 0)
	}
	m := matrixOf(d)
	if m != nil {
		out.line("")
		out.wrapped(strong, fmt.Sprintf("smallest %s that reaches %s of the best", d.Factor,
			unit.RoundPercent(d.Share)), 0)
		out.matrix(m, matrixEnough(d), totalEnough(d))
		out.line("")
		out.wrapped(strong, "gain of the best level over "+d.Baseline, 0)
		out.matrix(m, matrixGain(d), totalGain(d))
		out.legend(d)
	}
	if m == nil && len(d.Cells) > 0 || len(d.Cells) > 0 && len(d.Cells) <= maxListedCells {
		out.line("")
		out.sweepCells(d, all)
		if m == nil {
			out.legend(d)
		}
	}
	out.groups(d)
	out.kernels(d)
	for i := range d.Curves {
		out.curve(d, &d.Curves[i])
	}
	out.costs(d)
	out.published(d)
	out.line("")
	for i, text := range harmTexts(d) {
		if i == maxHarm {
			out.wrapped(faint, fmt.Sprintf("  %d more such pairs are in --json", len(harmTexts(d))-maxHarm), 2)
			break
		}
		out.marked("! ", text, 2)
	}
	for _, one := range all {
		writeMark(out.out, one, m != nil && len(d.Cells) > maxListedCells, out.width, o)
	}
	for _, n := range d.Notes {
		out.marked("! ", n, 2)
	}
	for _, text := range slices.Concat(costsText(d), sweepReading(d)) {
		out.wrapped(faint, text, 0)
	}
	if d.Run != "" && !d.MeansOnly {
		id := d.Run
		if o.ShortID != nil {
			id = o.ShortID(id)
		}
		out.wrapped(plain, "saved as "+id+" (headroom report "+id+" -o page.html)", 2)
	}
	return out.out.Flush() // keeps the first error of all writes
}

// legend explains the signs that were used.
func (p *paragraphs) legend(d *sweep.Document) {
	for _, text := range legendTexts(d) {
		p.wrapped(faint, text, 2)
	}
}

// matrix writes a figure by load, in several parts where the terminal is too narrow for all columns.
func (p *paragraphs) matrix(m *sweepMatrix, of func(*sweep.Cell) string, total func(*sweep.Group) string) {
	var body [][]string
	widths := make([]int, len(m.Columns))
	label := 0
	for _, r := range m.Rows {
		texts := r.texts(of, total)
		body = append(body, texts)
		label = max(label, prose.Columns(r.Label))
		for i, t := range texts {
			widths[i] = max(widths[i], prose.Columns(t), prose.Columns(m.Columns[i].Inner))
		}
	}
	label = min(max(label, len(m.Inner)), p.width/2)
	for from := 0; from < len(m.Columns); {
		to, used := from, label
		for to < len(m.Columns) && used+m.gap(to, from)+widths[to] <= p.width {
			used += m.gap(to, from) + widths[to]
			to++
		}
		to = max(to, from+1)
		p.matrixPart(m, body, widths, label, from, to)
		from = to
	}
}

// gap before a column: wider where the outer parameter changes.
func (m *sweepMatrix) gap(at, from int) int {
	if at > from && m.Columns[at].Outer == m.Columns[at-1].Outer {
		return 2
	}
	return 4
}

func (p *paragraphs) matrixPart(m *sweepMatrix, body [][]string, widths []int, label, from, to int) {
	if m.Outer != "" {
		line := strings.Repeat(" ", label)
		for i := from; i < to; i++ {
			at := label
			for j := from; j <= i; j++ {
				at += m.gap(j, from)
				if j < i {
					at += widths[j]
				}
			}
			if title := m.Outer + " " + m.Columns[i].Outer; (i == from || m.Columns[i].Outer != m.Columns[i-1].Outer) &&
				prose.Columns(line) < at {
				line += strings.Repeat(" ", at-prose.Columns(line)) + title
			}
		}
		p.line(faint.paint(shorten(line, p.width), p.o))
	}
	row := func(name string, texts func(i int) string) string {
		line := shorten(name, label)
		line += strings.Repeat(" ", label-prose.Columns(line))
		for i := from; i < to; i++ {
			line += strings.Repeat(" ", m.gap(i, from)+widths[i]-prose.Columns(texts(i))) + texts(i)
		}
		return strings.TrimRight(line, " ")
	}
	if m.Inner != "" {
		p.line(faint.paint(row(m.Inner, func(i int) string { return m.Columns[i].Inner }), p.o))
	}
	for n, r := range m.Rows {
		s := plain
		if r.Totals != nil {
			s = faint
		}
		p.line(s.paint(row(r.Label, func(i int) string { return body[n][i] }), p.o))
	}
}

// sweepCells lists the cells one by one.
func (p *paragraphs) sweepCells(d *sweep.Document, all []mark) {
	name, metric := column{title: "load"}, column{title: "", optional: true}
	value := column{title: "at best", drop: 5, right: true}
	signs := column{gap: 1, optional: true, style: alarm}
	best, enough := column{title: "best"}, column{title: bare(d.Share) + "% from"}
	between := column{title: "surely", drop: 8, optional: true}
	gain, interval := column{title: "over " + d.Baseline, right: true},
		column{gap: 1, drop: 4, of: "over " + d.Baseline}
	stops := column{title: "pays no more", drop: 7, optional: true}
	reference, bounds := column{title: "to " + d.Reference, drop: 6, right: true, optional: true},
		column{gap: 1, drop: 10, of: "to " + d.Reference, optional: true}
	reached := column{title: "ceiling", drop: 3, right: true, optional: true}
	tell := slices.ContainsFunc(d.Cells, func(c sweep.Cell) bool {
		return c.Unit != lab.PerSecond && c.Unit != lab.BytesPerSecond
	}) || sweepNoun(d) == "number"
	for i := range d.Cells {
		c := &d.Cells[i]
		top := topPoint(c)
		name.cells = append(name.cells, c.Title)
		text := ""
		if tell {
			text = metricTitle(c.Metric, sweepNoun(d) == "number")
		}
		metric.cells = append(metric.cells, text)
		value.cells = append(value.cells, figure(c.Unit, *top.Value))
		signs.cells = append(signs.cells, codeSigns(all, cellCodes(c)))
		best.cells, enough.cells = append(best.cells, bestLevels(d, c)), append(enough.cells, enoughText(d, c))
		between.cells = append(between.cells, surelyLevels(d, c))
		change := ""
		if c.Gain != nil {
			change = changeText(c.Gain.Ratio)
		}
		gain.cells, interval.cells = append(gain.cells, change), append(interval.cells, ratioBounds(c.Gain))
		stop := ""
		if s := c.NoLongerPays; s != nil {
			stop = s.Level + map[bool]string{false: "?"}[s.Certain]
		}
		stops.cells = append(stops.cells, stop)
		to, toBounds := "", ""
		if c.ToReference != nil {
			to, toBounds = factor(c.ToReference.Ratio)+"x", factorBounds(c.ToReference)
		}
		reference.cells, bounds.cells = append(reference.cells, to), append(bounds.cells, toBounds)
		share := ""
		if c.Ceiling != nil {
			share = unit.Percent(c.Ceiling.Share) + ceilingSign(c)
		}
		reached.cells = append(reached.cells, share)
	}
	g, left := fit([]column{name, metric, value, signs, best, enough, between, gain, interval, stops, reference,
		bounds, reached}, p.width)
	bare := p.o
	bare.Colour = nil
	coloured := g.lines(p.o)
	for i, l := range g.lines(bare) {
		if prose.Columns(l) > p.width {
			p.line(shorten(l, p.width))
			continue
		}
		p.line(coloured[i])
	}
	if len(left) > 0 {
		p.wrapped(faint, "Left out for want of room: "+prose.List(left)+".", 0)
	}
}

func factorBounds(r *sweep.Ratio) string {
	if r == nil || !r.Known() {
		return ""
	}
	return "[" + factor(*r.Lo) + ", " + factor(*r.Hi) + "]"
}

// topPoint is the best level of a cell.
func topPoint(c *sweep.Cell) *sweep.Point {
	i := slices.IndexFunc(c.Levels, func(p sweep.Point) bool { return p.Level == c.Top })
	return &c.Levels[i]
}

// cellCodes are the codes of warnings that taint any level of a cell.
func cellCodes(c *sweep.Cell) []string {
	var codes []string
	for _, p := range c.Levels {
		codes = append(codes, p.Warnings...)
	}
	return codes
}

// sweepMarks numbers the warnings by code.
func sweepMarks(d *sweep.Document) []mark {
	titles := map[string]string{}
	for _, c := range d.Cells {
		titles[c.Cell] = c.Title
	}
	for _, c := range d.Curves {
		titles[c.Cell] = c.Title
	}
	var out []mark
	for _, w := range d.Warnings {
		title := titles[w.Cell]
		if title == "" {
			title = w.Cell
		}
		if w.Level == "" && w.Cell == "" {
			out = addMark(out, Warning{Warning: w.Warning}, nil, "")
			continue
		}
		about := joinNonEmpty(title, "at "+w.Level)
		out = addMark(out, Warning{Warning: w.Warning, Repetitions: w.Repetitions}, &Cell{N: w.N}, about)
	}
	return out
}

// groups writes the best single choice for each value of each parameter.
func (p *paragraphs) groups(d *sweep.Document) {
	if len(d.Groups) == 0 {
		return
	}
	p.line("")
	p.wrapped(strong, "best single choice for a part of the loads", 0)
	param, value := column{}, column{}
	level, set := column{title: "level"}, column{title: "not told from", drop: 3, optional: true}
	worst, bounds := column{title: "at worst", right: true}, column{gap: 1, drop: 2, of: "at worst", optional: true}
	gain, interval := column{title: "over " + d.Baseline, right: true, drop: 1, optional: true},
		column{gap: 1, drop: 4, of: "over " + d.Baseline, optional: true}
	last := ""
	for _, g := range d.Groups {
		r := g.Recommended
		for _, key := range sortedKeys(g.Params) {
			shown := key
			if key == last {
				shown = ""
			}
			last = key
			param.cells, value.cells = append(param.cells, shown), append(value.cells, sweepValue(key, g.Params[key]))
		}
		if r == nil {
			for _, c := range []*column{&level, &set, &worst, &bounds, &gain, &interval} {
				c.cells = append(c.cells, absent)
			}
			continue
		}
		others := without(r.Set, r.Level)
		if !r.Distinguishable {
			others = nil
		}
		level.cells, set.cells = append(level.cells, choiceLevel(d, r)), append(set.cells, strings.Join(others, ", "))
		worst.cells, bounds.cells = append(worst.cells, lossText(r.Loss)), append(bounds.cells, lossBounds(r.Loss))
		over, overBounds := "", ""
		if r.Gain != nil && r.Level != d.Baseline {
			over, overBounds = changeText(r.Gain.Ratio), ratioBounds(r.Gain)
		}
		gain.cells, interval.cells = append(gain.cells, over), append(interval.cells, overBounds)
	}
	g, _ := fit([]column{param, value, level, set, worst, bounds, gain, interval}, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

// sweepValue is a parameter as people write it: a block size of 4096 is 4k.
func sweepValue(param, value string) string {
	if param == "bs" {
		return unit.BlockSize(value)
	}
	return value
}

// choiceLevel is the best single choice, or the sign for what is not told.
func choiceLevel(d *sweep.Document, r *sweep.Recommended) string {
	switch {
	case d.MeansOnly:
		return meanSign + r.Level
	case !r.Distinguishable:
		return "·"
	}
	return r.Level
}

func lossText(l sweep.Loss) string {
	if l.Loss <= 0 {
		return "0"
	}
	return "-" + unit.Percent(l.Loss)
}

func lossBounds(l sweep.Loss) string {
	if !l.Known() {
		return ""
	}
	lo := "-" + bare(*l.Lo)
	if *l.Lo <= 0 {
		lo = "0"
	}
	return "[-" + bare(*l.Hi) + ", " + lo + "]"
}

// kernels writes the chain: each kernel with its branch, and what changed on the way to it.
func (p *paragraphs) kernels(d *sweep.Document) {
	if d.Chain == nil {
		return
	}
	p.line("")
	level, branch, support := column{title: "kernel"}, column{title: "branch", drop: 2},
		column{title: "", drop: 1, optional: true}
	against := column{title: "to the baseline", right: true, optional: true}
	interval := column{gap: 1, drop: 3, optional: true}
	change := column{title: "changed", optional: true}
	for _, k := range d.Chain.Kernels {
		level.cells = append(level.cells, k.Level)
		branch.cells = append(branch.cells, k.Branch)
		text := k.Support
		if k.Ends != "" {
			text += " to " + k.Ends
		}
		support.cells = append(support.cells, text)
		to, bounds := "", ""
		if len(d.Cells) == 1 {
			for _, point := range d.Cells[0].Levels {
				if point.Level == k.Level && point.ToBaseline != nil && k.Level != d.Baseline {
					to, bounds = changeText(point.ToBaseline.Ratio), ratioBounds(point.ToBaseline)
				}
			}
		}
		against.cells, interval.cells = append(against.cells, to), append(interval.cells, bounds)
		n, fixes := 0, ""
		for _, c := range d.Chain.Changes {
			if c.To == k.Level {
				n++
			}
		}
		if n > 0 {
			fixes = "← " + prose.Count(n, "load")
		}
		change.cells = append(change.cells, fixes)
	}
	g, _ := fit([]column{level, branch, support, against, interval, change}, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

// curve writes latency over load of one direction of a cell.
func (p *paragraphs) curve(d *sweep.Document, c *sweep.Curve) {
	p.line("")
	p.wrapped(strong, c.Title+", "+c.Direction, 0)
	level := column{title: strings.TrimPrefix(d.Factor, "job:")}
	reached, reachedSpread := column{title: "reached", right: true},
		column{gap: 1, drop: 4, of: "reached", optional: true}
	kept := column{title: "", optional: true}
	mean, meanSpread := column{title: "mean", right: true, drop: 2, optional: true},
		column{gap: 1, drop: 5, of: "mean", optional: true}
	tail, tailSpread := column{title: c.Quantile, right: true, optional: true},
		column{gap: 1, drop: 3, of: c.Quantile, optional: true}
	note := column{title: "", optional: true, drop: 1}
	for _, point := range c.Points {
		level.cells = append(level.cells, point.Level)
		text := ""
		if point.KeptUp != nil && !*point.KeptUp {
			text = "of " + figure(lab.Metric(c.Rate).Unit, *point.Offered)
		}
		kept.cells = append(kept.cells, text)
		for _, one := range []struct {
			number, spread *column
			of             *sweep.Estimated
			unit           lab.Unit
		}{{&reached, &reachedSpread, point.Reached, lab.Metric(c.Rate).Unit},
			{&mean, &meanSpread, point.Mean, lab.Seconds}, {&tail, &tailSpread, point.Tail, lab.Seconds}} {
			value, spread := estimatedTexts(one.unit, one.of)
			one.number.cells, one.spread.cells = append(one.number.cells, value), append(one.spread.cells, spread)
		}
		var notes []string
		if c.Limit != nil && c.Limit.Level == point.Level {
			notes = append(notes, "← within "+unit.Latency(c.Limit.Seconds))
		}
		if c.Knee != nil && c.Knee.Distinguishable && c.Knee.Level == point.Level {
			notes = append(notes, "← knee")
		}
		note.cells = append(note.cells, strings.Join(notes, ", "))
	}
	g, _ := fit([]column{level, reached, reachedSpread, kept, mean, meanSpread, tail, tailSpread, note}, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

func estimatedTexts(u lab.Unit, e *sweep.Estimated) (value, spread string) {
	if e == nil {
		return "", ""
	}
	m := Metric{Center: e.Value, Unit: u}
	if e.Known() {
		m.Interval = &Interval{Lo: *e.Lo, Hi: *e.Hi}
	}
	return figure(u, e.Value), spreadText(&m)
}
