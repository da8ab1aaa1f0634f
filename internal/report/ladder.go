package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"headroom/internal/ladder"
	"headroom/internal/unit"
)

// WriteLadder writes which rung falls short first, a table of all rungs for each load, and what weakens it.
func WriteLadder(w io.Writer, d ladder.Document, o Options) error {
	out := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	all := ladderMarks(&d)
	out.wrapped(strong, joinNonEmpty(d.Answer.Text, codeSigns(all, answerCodes(&d))), 0)
	for _, t := range d.Guests {
		if d.Answer.Rung == nil || *d.Answer.Rung != t.Rung || d.Answer.Cell != t.Cell {
			out.line("")
			out.wrapped(plain, t.Text, 0)
		}
	}
	for _, l := range d.PodNetwork {
		if d.Answer.Rung == nil || *d.Answer.Rung != l.Rung || d.Answer.Cell != l.Cell {
			out.line("")
			out.wrapped(plain, l.Text, 0)
		}
	}
	out.suspectsOf(&d)
	out.trialsOf(&d)
	left := map[string]bool{}
	for i := range d.Rungs[0].Cells {
		for _, name := range out.ladderTable(&d, i, all) {
			left["\""+name+"\""] = true
		}
	}
	out.line("")
	for _, m := range all {
		out.ladderMark(m)
	}
	for _, n := range d.Notes {
		out.marked("!", " "+n, 2)
	}
	out.wrapped(faint, ladderReading(&d), 0)
	if len(left) > 0 {
		out.wrapped(faint, "Left out for want of room: "+strings.Join(sorted(left), " and ")+"; --json has all.", 0)
	}
	for _, line := range elsewhereLines(&d) {
		out.wrapped(faint, line, 0)
	}
	var ids []string
	for _, r := range d.Rungs {
		id := r.Run
		if o.ShortID != nil {
			id = o.ShortID(id)
		}
		if !slices.Contains(ids, id) { // a network's rungs are one run
			ids = append(ids, id)
		}
	}
	out.wrapped(plain, "saved as "+strings.Join(ids, ", ")+"; once more: headroom ladder --resume "+ids[0], 2)
	return out.out.Flush() // keeps the first error of all writes
}

// elsewhereLines say which rungs were not measured on this machine.
func elsewhereLines(d *ladder.Document) []string {
	var targets []string
	names := map[string][]string{}
	for _, r := range d.Rungs {
		if r.Target != "" && !slices.Contains(targets, r.Target) {
			targets = append(targets, r.Target)
		}
		names[r.Target] = append(names[r.Target], r.Name)
	}
	var lines []string
	for _, t := range targets {
		if len(names[t]) == len(d.Rungs) {
			return []string{"Measured on " + t + "."}
		}
		lines = append(lines, "Measured on "+t+": "+strings.Join(names[t], ", ")+".")
	}
	return lines
}

func sorted(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// ladderMarks numbers the warnings of all rungs by code, in the order of the rungs.
func ladderMarks(d *ladder.Document) []mark {
	titles := map[string]string{}
	for _, c := range d.Rungs[0].Cells {
		titles[c.Cell] = c.Title
	}
	var out []mark
	for _, w := range d.Warnings {
		if !tells(d, w) {
			continue
		}
		about := d.Rungs[w.Rung].Name
		if w.Cell != "" {
			about = titles[w.Cell] + " on " + about
		}
		out = addMark(out, Warning{Warning: w.Warning, Repetitions: w.Repetitions}, &Cell{N: w.N}, about)
	}
	return out
}

// tells says whether a warning is about a number that the tables show, or about a run as a whole.
func tells(d *ladder.Document, w ladder.Warning) bool {
	if w.Cell == "" {
		return true
	}
	return slices.ContainsFunc(d.Rungs[w.Rung].Cells, func(c ladder.Cell) bool { return c.Cell == w.Cell && w.Tainted(c.Metric) })
}

// ladderMark writes one sentence for a kind of warning: many rungs have the same one with other figures.
func (p *paragraphs) ladderMark(m mark) {
	const most = 3
	text := m.texts[0].text + " [" + m.texts[0].about(most) + "]"
	if more := len(m.texts) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more like it: --json has all", more)
	}
	p.marked(m.sign(), " "+m.code+": "+text, len(m.sign())+1)
}

// answerCodes are the warnings on the numbers that the answer rests on.
func answerCodes(d *ladder.Document) []string {
	if d.Answer.Rung == nil {
		return nil
	}
	var codes []string
	for _, c := range d.Rungs[*d.Answer.Rung].Cells {
		if c.Cell == d.Answer.Cell {
			codes = append(codes, c.Warnings...)
			for _, i := range c.Expected.Rungs {
				for _, below := range d.Rungs[i].Cells {
					if below.Cell == c.Cell {
						codes = append(codes, below.Warnings...)
					}
				}
			}
		}
	}
	return codes
}

// verdictWord says a verdict in a table, of a guest's disk with what it is due to.
func verdictWord(r *ladder.Rung, c *ladder.Cell) string {
	switch c.Verdict {
	case ladder.AtCeiling:
		return "at ceiling"
	case ladder.Unexpected:
		return ""
	}
	switch c.Cause {
	case ladder.Emulation:
		return string(c.Verdict) + ": " + r.Interface
	case ladder.Storage:
		return string(c.Verdict) + ": storage"
	case ladder.Both:
		return string(c.Verdict) + ": both"
	}
	return string(c.Verdict)
}

// ladderTable shows one load on all rungs, and returns the columns for which there was no room.
func (p *paragraphs) ladderTable(d *ladder.Document, load int, all []mark) (left []string) {
	first := d.Rungs[0].Cells[load]
	name := column{title: "rung"}
	value := column{title: "rate", right: true}
	signs := column{gap: 1, optional: true, style: alarm}
	bounds := column{gap: 1, drop: 5, optional: true}
	share, limiter := column{title: "ceiling", right: true, optional: true}, column{title: "what that is", drop: 2, optional: true}
	promised := column{title: "promised", right: true, drop: 3, optional: true}
	reached, interval := column{title: "reached", right: true, optional: true}, column{gap: 1, drop: 1, optional: true}
	verdict := column{title: "verdict", optional: true}
	shared := sharedMarks(d, load)
	for i := range d.Rungs {
		r, c := &d.Rungs[i], &d.Rungs[i].Cells[load]
		rate, between := absent, ""
		if c.Center != nil {
			rate = figure(c.Unit, *c.Center)
		}
		if c.Lo != nil {
			between = "[" + figure(c.Unit, *c.Lo) + ", " + figure(c.Unit, *c.Hi) + "]"
		}
		ceiling, expected, part, within := "", "", "", ""
		what := ""
		if c.Share != nil {
			ceiling, what = unit.Percent(*c.Share), c.Ceiling.Limiter
		}
		if c.Expected != nil {
			expected = figure(c.Unit, c.Expected.Value)
		}
		if c.Reached != nil {
			part = unit.Percent(c.Reached.Value)
			if c.Reached.Bounded() {
				within = "[" + unit.Percent(*c.Reached.Lo) + ", " + unit.Percent(*c.Reached.Hi) + "]"
			}
		}
		own := slices.DeleteFunc(slices.Clone(c.Warnings), func(code string) bool { return slices.Contains(shared, code) })
		name.cells, value.cells, signs.cells = append(name.cells, rungTitle(r)), append(value.cells, rate), append(signs.cells, codeSigns(all, own))
		bounds.cells, promised.cells = append(bounds.cells, between), append(promised.cells, expected)
		share.cells, limiter.cells = append(share.cells, ceiling), append(limiter.cells, what)
		reached.cells, interval.cells = append(reached.cells, part), append(interval.cells, within)
		verdict.cells = append(verdict.cells, verdictWord(r, c))
	}
	p.line("")
	p.wrapped(strong, joinNonEmpty(first.Title+", "+metricName(first.Metric), codeSigns(all, shared)), 0)
	g, left := fit([]column{name, value, signs, bounds, share, limiter, promised, reached, interval, verdict}, p.width)
	for i, l := range g.lines(p.o) {
		if rung := d.Answer.Rung; rung != nil && d.Answer.Cell == first.Cell && i == *rung+1 {
			l = strong.paint(l, p.o)
		}
		p.line(l)
	}
	return left
}

// rungTitle is a rung with what it is, where its name does not say so.
func rungTitle(r *ladder.Rung) string {
	if r.Kind == ladder.Files || r.Kind == ladder.Memory {
		return fmt.Sprintf("%s (%s)", r.Name, r.Filesystem)
	}
	if r.Kind == ladder.Guest {
		return fmt.Sprintf("%s (%s, %s)", r.Name, r.Interface, r.Backing)
	}
	return r.Name
}

// sharedMarks are the codes that taint a load on all rungs that lie on storage: they stand once above the table.
func sharedMarks(d *ladder.Document, load int) []string {
	var codes []string
	counted := false
	for _, r := range d.Rungs {
		if r.Kind == ladder.Memory || r.Kind == ladder.Null {
			continue // they have no warnings
		}
		if c := r.Cells[load]; !counted {
			codes, counted = slices.Clone(c.Warnings), true
		} else {
			codes = slices.DeleteFunc(codes, func(code string) bool { return !slices.Contains(c.Warnings, code) })
		}
	}
	return codes
}

// ladderReading says how the table is to be read.
func ladderReading(d *ladder.Document) string {
	promised := "of drives their equals, of several together the sum of each alone, of what lies over them the rung below with as many jobs"
	if slices.ContainsFunc(d.Rungs, func(r ladder.Rung) bool { return r.Kind == ladder.Port }) {
		promised = "of ports their equals, of several together the sum of each alone, of both ways what one way does; and to a loopback what the facts say that the ports carry"
	}
	if len(d.PodNetwork) > 0 {
		promised += "; and to pods what the same pods do in their nodes' own network"
	}
	text := fmt.Sprintf("Ceiling is the share of the tightest one known. Promised is what the rungs below do in the same pass: %s. Short is what stays below that by more than %g%% for sure, "+
		"at a ceiling or not", promised, 100*d.Margin)
	if d.Claims > 0 {
		text += fmt.Sprintf("; all %s of %d passes hold together with %s", countOf(d.Claims, "verdict"), d.Passes, confidenceDigits(1-d.Alpha))
	}
	text += ". Intervals of rates hold with " + confidenceDigits(0.95) + " each."
	if len(d.Guests) > 0 {
		text += " Promised to a guest's disk is what its data lies on, to one without storage what the others lie on. Where one without storage falls short too, it is the interface " +
			"(virtio, NVMe); else the storage behind it."
	}
	return text
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// suspectsOf writes what doctor finds at the ends of a network that falls short.
func (p *paragraphs) suspectsOf(d *ladder.Document) {
	for i, c := range d.Suspects {
		if i == 0 {
			p.line("")
			p.wrapped(strong, "What is known of the machines that may be why", 0)
		}
		p.wrapped(plain, fmt.Sprintf("%s: %s (%s, %s)", c.Target, c.Title, c.Severity, c.Rule), 2)
		if c.Effect != "" {
			p.wrapped(faint, "  "+c.Effect, 4)
		}
		for _, r := range c.Remedies {
			p.wrapped(plain, "  remedy: "+r, 4)
		}
		for _, k := range c.Kept {
			p.wrapped(plain, "  "+strings.Replace(k, c.Effect, "what it costs is above", 1), 4)
		}
	}
}

// trialsOf writes what other ladders of the same ports reached.
func (p *paragraphs) trialsOf(d *ladder.Document) {
	if len(d.Trials) == 0 {
		return
	}
	p.line("")
	p.wrapped(strong, "What was tried", 0)
	for _, t := range d.Trials {
		text := fmt.Sprintf("%s: %s %s, %s before (%s)", joinNonEmpty(t.Label, t.Run), t.Name, unit.Bitrate(t.After), unit.Bitrate(t.Before), shareOfChange(t.Change))
		if len(t.Changed) > 0 {
			text += "; " + strings.Join(t.Changed, "; ")
		}
		if t.Forbidden != "" {
			text += "; not allowed, since " + t.Forbidden + " is to be kept"
		}
		p.wrapped(plain, text, 2)
	}
	kept, any := ladder.Best(d.Trials)
	name := func(i int) string { return joinNonEmpty(d.Trials[i].Label, unit.Bitrate(d.Trials[i].After)) }
	switch {
	case any < 0:
		p.wrapped(strong, "None of it gained anything that is sure.", 0)
	case kept == any:
		p.wrapped(strong, "The best of it: "+name(any)+".", 0)
	case kept < 0:
		p.wrapped(strong, "The best of it is not allowed: "+name(any)+"; nothing else gained anything that is sure.", 0)
	default:
		p.wrapped(strong, "The best of it is not allowed: "+name(any)+". The best that is: "+name(kept)+".", 0)
	}
}

func shareOfChange(i ladder.Interval) string {
	if i.Lo == nil {
		return fmt.Sprintf("%.2f times, with too few passes for an interval", i.Value)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f] times", i.Value, *i.Lo, *i.Hi)
}
