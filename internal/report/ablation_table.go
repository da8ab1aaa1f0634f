package report

import (
	"bufio"
	"io"

	"headroom/internal/ablation"
	"headroom/internal/prose"
)

// WriteAblation writes what each setting costs or gains: the answer, the loads side by side where there are several, a
// table for each, what the settings cost besides speed, whether effects add up, the control, and what weakens it.
func WriteAblation(w io.Writer, d ablation.Document, o Options) error {
	t := newAblationText(d)
	p := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	controls, broken := t.controls()
	p.wrapped(strong, t.headline(), 0)
	if broken {
		for _, line := range controls {
			p.marked("!", " "+line, 2)
		}
	}
	numbers := t.numbers()
	if len(numbers) > 1 {
		p.line("")
		p.sideBySide(t, numbers)
	}
	for _, n := range numbers {
		p.line("")
		p.wrapped(strong, joinNonEmpty(t.title(n), t.signs(n)), 0)
		p.effects(t, n)
	}
	if costs := t.costs(); len(costs) > 0 {
		p.line("")
		p.wrapped(strong, "What they cost besides speed", 0)
		for _, c := range costs {
			p.wrapped(plain, c[0]+": "+c[1], 2)
		}
	}
	p.line("")
	for _, line := range t.sums() {
		p.wrapped(plain, line, 2)
	}
	if !broken {
		for _, line := range controls {
			p.wrapped(plain, line, 2)
		}
	}
	for _, m := range t.marks {
		writeMark(p.out, m, false, p.width, o)
	}
	for _, line := range t.reading() {
		p.wrapped(faint, line, 0)
	}
	if d.Run != "" {
		id := d.Run
		if o.ShortID != nil {
			id = o.ShortID(id)
		}
		p.wrapped(plain, "saved as "+id+" (headroom report "+id+" -o page.html)", 2)
	}
	return p.out.Flush() // keeps the first error of all writes
}

// effects is the table of one number.
func (p *paragraphs) effects(t ablationText, n ablationNumber) {
	setting := column{title: "setting"}
	alone, aloneBounds := column{title: "alone", right: true}, column{gap: 1, optional: true}
	set, setBounds := column{title: "in the set", right: true}, column{gap: 1, optional: true}
	verdict, seen := column{title: "verdict"}, column{title: "visible from", drop: 2, right: true, optional: true}
	cost := column{title: "besides speed", drop: 3, optional: true}
	if p.width < wideTerminal {
		set.title, seen.title = "in set", "seen from"
	}
	names := t.names()
	for _, s := range t.Settings {
		c := t.effect(s, n)
		if c == nil {
			continue
		}
		setting.cells = append(setting.cells, names[s.Number])
		change, bounds := estimateTexts(c.Alone)
		alone.cells, aloneBounds.cells = append(alone.cells, change), append(aloneBounds.cells, bounds)
		change, bounds = estimateTexts(c.Removed)
		set.cells, setBounds.cells = append(set.cells, change), append(setBounds.cells, bounds)
		verdict.cells = append(verdict.cells, t.verdict(s, c))
		seen.cells = append(seen.cells, visibleText(detectable(c)))
		cost.cells = append(cost.cells, costWord(s.Cost))
	}
	lay := func() grid {
		g, _ := fit(cloned(setting, alone, aloneBounds, set, setBounds, verdict, seen, cost), p.width)
		return g
	}
	g := lay()
	if g.width() > p.width { // intervals go last: they are what decides
		setBounds.drop, aloneBounds.drop = 1, 1
		g = lay()
	}
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

// sideBySide has a column for each number, so that a synthetic load stands beside a real one.
func (p *paragraphs) sideBySide(t ablationText, numbers []ablationNumber) {
	names := t.names()
	columns := []column{{title: "setting"}}
	for i, n := range numbers {
		c := column{title: t.short(n), drop: i}
		for _, s := range t.Settings {
			c.cells = append(c.cells, sideBySideText(t.effect(s, n)))
		}
		columns = append(columns, c)
	}
	for _, s := range t.Settings {
		columns[0].cells = append(columns[0].cells, names[s.Number])
	}
	g, left := fit(columns, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
	if len(left) > 0 {
		p.wrapped(faint, "Left out for want of room: "+prose.List(left)+"; the tables below have them.", 0)
	}
}
