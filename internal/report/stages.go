package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/prose"
	"headroom/internal/stages"
)

// WriteStages writes the tables of a run with stages: what weakens them in a line, a table of all loads with the share
// of other stages, the sentences of what was found, and how published tables agree.
func WriteStages(w io.Writer, d stages.Document, o Options) error {
	out := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	all := stagesMarks(&d)
	out.wrapped(strong, joinNonEmpty(stagesHeadline(&d), codeSigns(all, stagesOfAll(&d))), 0)
	for _, s := range d.Stages {
		out.wrapped(plain, "  "+stageLine(s), 4)
	}
	left := out.stagesTable(&d, all)
	for i, p := range d.Published {
		out.publishedTable(&d, i, p, all)
	}
	out.line("")
	for _, m := range all {
		out.stagesMark(m)
	}
	for _, text := range stagePathTexts(&d) {
		out.wrapped(plain, text, 2)
	}
	for _, n := range d.Notes {
		out.marked("!", " "+n, 2)
	}
	if len(left) > 0 {
		out.wrapped(faint, "Left out for want of room: "+prose.List(left)+"; --json has all.", 0)
	}
	if !slices.ContainsFunc(d.Stages, func(s stages.Stage) bool { return s.Links != "" }) {
		out.wrapped(faint, "Without --link nothing is said of what the links can carry.", 0)
	}
	out.wrapped(faint, "Each row is labelled by the command line that ran. Shares are of bytes a second"+stagesSpread(
		&d)+".", 0)
	return out.out.Flush() // keeps the first error of all writes
}

// stagesHeadline counts what weakens the table.
func stagesHeadline(d *stages.Document) string {
	rows := map[string]int{}
	for _, r := range d.Rows {
		for _, code := range r.Warnings {
			rows[code]++
		}
	}
	published := map[string]int{}
	printed, lost := 0, 0
	for _, p := range d.Published {
		printed += len(p.Rows)
		for _, r := range p.Rows {
			if r.Row == nil {
				lost++
			}
		}
	}
	for _, f := range d.Findings {
		published[f.Code] += len(f.Published)
	}
	text := fmt.Sprintf("%s in %s", prose.Count(len(d.Rows), "row"), prose.Count(len(d.Stages), "stage"))
	var found []string
	add := func(n int, one, many string) {
		if n == 1 {
			found = append(found, "1 "+one)
		} else if n > 1 {
			found = append(found, strconv.Itoa(n)+" "+many)
		}
	}
	add(rows["unlike-pair"], "is held against another load", "are held against other loads")
	above := 0
	for _, r := range d.Rows {
		if slices.Contains(r.Warnings, "samples-above-ceiling") || slices.Contains(r.Warnings, "maxima-above-ceiling") {
			above++
		}
	}
	add(rows["above-ceiling"], "is faster than its links", "are faster than their links")
	add(above, "has samples above its links", "have samples above their links")
	add(rows["at-one-of-several"], "is at the ceiling of one link", "are at the ceiling of one link")
	add(rows["writes-by-cache"], "was answered by a cache", "were answered by a cache")
	if len(found) > 0 {
		text += ": " + prose.List(found)
	}
	if printed > 0 {
		text += fmt.Sprintf("; of %s published, ", prose.Count(printed, "row"))
		var wrong []string
		if n := published["label-differs"]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d called otherwise than what was run", n))
		}
		if n := published["published-differs"]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%d with other figures than were measured", n))
		}
		if lost > 0 {
			wrong = append(wrong, fmt.Sprintf("%d with figures that no load here has, or several have", lost))
		}
		if len(wrong) == 0 {
			wrong = []string{"all as measured"}
		}
		text += prose.List(wrong)
	}
	return text
}

func stageLine(s stages.Stage) string {
	text := s.Name
	if s.From != "" {
		text += ": from " + s.From
	}
	if s.Links != "" {
		text += ", over " + s.Links
	}
	return text
}

// stagesShared are the codes that all rows have.
func stagesShared(d *stages.Document) []string {
	if len(d.Rows) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Rows[0].Warnings), func(code string) bool {
		return slices.ContainsFunc(d.Rows, func(r stages.Row) bool { return !slices.Contains(r.Warnings, code) })
	})
}

// stagesOfAll are the codes that are about every number: those that all rows have, and those of the run.
func stagesOfAll(d *stages.Document) []string {
	codes := stagesShared(d)
	for _, f := range d.Findings {
		if len(f.Rows) == 0 && len(f.Published) == 0 && len(f.Taints) > 0 {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// stagesMarks numbers the findings by code.
func stagesMarks(d *stages.Document) []mark {
	var out []mark
	for _, f := range d.Findings {
		w := Warning{Warning: f.Warning, Repetitions: f.Repetitions}
		switch {
		case len(f.Published) > 0:
			out = addMark(out, w, &Cell{N: f.N}, publishedIn(d, f))
		case len(f.Rows) == 0:
			out = addMark(out, w, nil, "")
		}
		for _, i := range f.Rows {
			if len(f.Published) == 0 {
				out = addMark(out, w, &Cell{N: f.N}, d.Rows[i].Title+" in "+d.Rows[i].Stage)
			}
		}
	}
	return out
}

// publishedIn names the published tables that a finding is about.
func publishedIn(d *stages.Document, f stages.Finding) string {
	var tables []string
	for _, p := range f.Published {
		if name := d.Published[p.Table].Name; name != "" && !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
	}
	switch len(tables) {
	case 0:
		return "the published table"
	case 1:
		return "table " + tables[0]
	default:
		return "tables " + prose.List(tables)
	}
}

// stagesMark writes all sentences of what is wrong with these tables, and the first few of other warnings.
func (p *paragraphs) stagesMark(m mark) {
	ours := []string{"unlike-pair", "label-differs", "published-differs", "at-one-of-several", "above-ceiling",
		"samples-above-ceiling", "maxima-above-ceiling", "writes-by-cache"}
	if !slices.Contains(ours, m.code) {
		writeMark(p.out, m, false, p.width, p.o)
		return
	}
	indent := len(m.sign()) + 1
	tail := sharedTail(m.texts)
	for i, t := range m.texts {
		text := t.text
		if i > 0 {
			text = strings.TrimSuffix(text, tail)
		}
		text += " [" + t.about(len(t.cells)) + "]"
		if i == 0 {
			p.marked(m.sign(), " "+m.code+": "+text, indent)
			continue
		}
		p.wrapped(plain, strings.Repeat(" ", indent)+text, indent)
	}
}

// sharedTail is what all sentences end with, from a semicolon on: what the figures before it mean is said once.
func sharedTail(texts []markedText) string {
	for i := range texts[0].text {
		tail := texts[0].text[i:]
		without := func(t markedText) bool { return !strings.HasSuffix(t.text, tail) }
		if strings.HasPrefix(tail, "; ") && !slices.ContainsFunc(texts, without) {
			return tail
		}
	}
	return ""
}

// stagesTable writes the rows below what was run in them, a blank line between loads that are set against each other.
func (p *paragraphs) stagesTable(d *stages.Document, all []mark) (left []string) {
	shared := stagesShared(d)
	stage, signs := column{title: "stage"}, column{gap: 1, optional: true}
	// Where there is no room the figures go that can be worked out of the bytes; the shares stay as long as they can.
	const gigaGoes, iopsGoes = 1000, 999
	iops, mebi, giga := column{title: "IOPS", right: true, drop: iopsGoes}, column{title: "MiB/s", right: true},
		column{title: "Gbit/s", right: true, drop: gigaGoes}
	var of []column
	for _, a := range d.Against {
		if !slices.ContainsFunc(of, func(c column) bool { return c.title == "of "+a.Of }) {
			of = append(of, column{title: "of " + a.Of, right: true, optional: true, drop: 1 + len(of)})
		}
	}
	for _, r := range d.Rows {
		stage.cells = append(stage.cells, r.Stage)
		iops.cells = append(iops.cells, fixed(r.IOPS, 0))
		mebi.cells = append(mebi.cells, fixed(r.Bandwidth/(1<<20), 2))
		giga.cells = append(giga.cells, gigabits(r.Bandwidth*8/1e9))
		for c := range of {
			of[c].cells = append(of[c].cells, stagesShare(r, strings.TrimPrefix(of[c].title, "of ")))
		}
		own := slices.DeleteFunc(slices.Clone(r.Warnings), func(code string) bool {
			return slices.Contains(shared, code)
		})
		signs.cells = append(signs.cells, codeSigns(all, own))
	}
	g, left := fit(append([]column{stage, iops, mebi, giga}, append(of, signs)...), p.width)
	p.line("")
	for i, l := range g.lines(p.o) {
		if i == 0 {
			p.line(l)
			continue
		}
		r := d.Rows[i-1]
		switch {
		case i == 1 || r.Group != d.Rows[i-2].Group:
			p.line("")
			p.wrapped(strong, stagesLoad(r), 0)
		case stagesLoad(r) != stagesLoad(d.Rows[i-2]):
			p.wrapped(strong, stagesLoad(r), 0)
		}
		p.line(l)
	}
	return left
}

// stagesLoad is what was run, and which direction of it where it has both.
func stagesLoad(r stages.Row) string {
	if strings.TrimPrefix(r.Params["rw"], "rand") == r.Direction {
		return r.Title
	}
	return joinNonEmpty(r.Title, r.Direction)
}

// stagesShare is a row's share of a stage; one of a load that is not alike is in brackets.
func stagesShare(r stages.Row, of string) string {
	for _, e := range r.Efficiency {
		if e.Of != of {
			continue
		}
		text := fixed(100*e.Ratio, 1) + "%"
		if e.Lo != nil {
			text += fmt.Sprintf(" [%s, %s]", fixed(100**e.Lo, 1), fixed(100**e.Hi, 1))
		}
		if len(e.Unlike) > 0 {
			text = "(" + text + ")"
		}
		return text
	}
	return ""
}

func stagesSpread(d *stages.Document) string {
	unlike := false
	for _, r := range d.Rows {
		for _, e := range r.Efficiency {
			unlike = unlike || len(e.Unlike) > 0
		}
	}
	if unlike {
		return "; those in brackets are of a load that is not alike"
	}
	return ""
}

func gigabits(v float64) string {
	if v < 10 {
		return fixed(v, 3)
	}
	return fixed(v, 2)
}

func fixed(v float64, decimals int) string {
	if v <= 0 {
		return absent
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// publishedTable writes how a published table agrees, row by row: what ran, and which figures are not those that were
// measured.
func (p *paragraphs) publishedTable(d *stages.Document, number int, t stages.Published, all []mark) {
	label, ran, signs := column{title: "published as"}, column{title: "what ran"}, column{gap: 1, optional: true}
	same := map[stages.Agrees]int{}
	figures := 0
	var columns []column
	for i, r := range t.Rows {
		label.cells = append(label.cells, r.Label)
		text := absent
		if r.Row != nil {
			row := d.Rows[*r.Row]
			text = row.Title + " in " + row.Stage
		}
		ran.cells = append(ran.cells, text)
		var codes []string
		for _, f := range d.Findings {
			if slices.Contains(f.Published, stages.Place{Table: number, Row: i}) {
				codes = append(codes, f.Code)
			}
		}
		signs.cells = append(signs.cells, codeSigns(all, codes))
		for _, f := range r.Figures {
			figures++
			same[f.Agrees]++
			c := slices.IndexFunc(columns, func(c column) bool { return c.title == f.Column })
			if c < 0 {
				c = len(columns)
				columns = append(columns, column{title: f.Column, right: true, drop: c + 1})
			}
			for len(columns[c].cells) < i {
				columns[c].cells = append(columns[c].cells, "")
			}
			columns[c].cells = append(columns[c].cells, agreesSign(f))
		}
	}
	for c := range columns {
		for len(columns[c].cells) < len(t.Rows) {
			columns[c].cells = append(columns[c].cells, "")
		}
	}
	title := "published"
	if t.Name != "" {
		title = "published: " + t.Name
	}
	p.line("")
	p.wrapped(strong, fmt.Sprintf("%s, %s: %d agree to their last digit with what was measured, %d with the rounded "+
		"figures beside them, %d with neither",
		title, prose.Count(figures, "figure"), same[stages.Measured], same[stages.Derived],
		same[stages.Differs]+same[stages.Unknown]), 0)
	g, _ := fit(slices.Concat([]column{label, ran}, columns, []column{signs}), p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

// agreesSign is a published figure with a sign where it is not the measured one: ~ follows from the table's own
// figures, ≠ from nothing.
func agreesSign(f stages.Figure) string {
	switch f.Agrees {
	case stages.Measured:
		return f.Published
	case stages.Derived:
		return "~" + f.Published
	case stages.Unknown:
		return "?" + f.Published
	default:
		return "≠" + f.Published
	}
}
