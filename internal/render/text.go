package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
)

// Text writes for a terminal: wrapped text, and tables that lose columns if there is no room.
func Text(w io.Writer, d document.Document, o Options) error {
	t := textWriter{paragraphs: &paragraphs{out: bufio.NewWriter(w), width: o.Columns(), o: o}}
	t.blocks(d.Blocks)
	return t.out.Flush() // keeps the first error of all writes
}

// textWriter is the state between two blocks.
type textWriter struct {
	*paragraphs
	before document.Block
	// apart is true if the next block must be separated from the last.
	apart bool
	// left are titles of dropped columns that have not been listed yet.
	left []string
}

func (t *textWriter) blocks(blocks []document.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case document.Section:
			t.apart = t.before != nil
			t.blocks(b.Blocks)
		case document.Terminal:
			t.blocks(b.Blocks)
		case document.Plots, document.Flame, document.Folded, document.Conditions, document.Listing:
		default:
			t.block(b)
		}
	}
}

func (t *textWriter) block(b document.Block) {
	if t.before != nil && (t.apart || needsBlankLine(t.before, b)) {
		t.line("")
	}
	t.apart = false
	switch b := b.(type) {
	case document.Heading:
		t.wrapped(strong, b.Text, 0)
	case document.List:
		t.list(b, t.before)
	case document.Sentence:
		if b.Role == document.Reading && len(t.left) > 0 {
			t.wrapped(faint, "Left out to save space: "+prose.List(t.left)+"; --json has all.", 0)
			t.left = nil
		}
		t.sentence(b)
	case document.WarningBlock:
		t.warning(b)
	case document.Warnings:
		t.warnings(b)
		t.apart = len(b.List) > 0
	case document.Command:
		t.command(b.What+": ", b.Text)
	case document.Table:
		for _, title := range t.table(b) {
			if !slices.Contains(t.left, title) { // several tables can drop it
				t.left = append(t.left, title)
			}
		}
		t.apart = true
	case document.Entries:
		t.entries(b.List)
		t.apart = true
	}
	t.before = b
}

// needsBlankLine reports whether there is a blank line between a block and the one before it.
func needsBlankLine(before, b document.Block) bool {
	_, headed := before.(document.Heading)
	_, listed := before.(document.List)
	switch b := b.(type) {
	case document.Heading:
		return true
	case document.Entries:
		return !headed && len(b.List) > 0
	case document.Table:
		return !headed
	case document.WarningBlock:
		return listed
	case document.Sentence:
		return b.Role == document.More || b.Role == document.Subject || b.Role == document.Reading && listed
	}
	return false
}

// list writes items, slightly indented below the sentence before them.
func (p *paragraphs) list(l document.List, before document.Block) {
	lead := ""
	if _, printed := before.(document.Sentence); printed {
		lead = "  "
	}
	for i, item := range l.Items {
		if i == l.Brief && i > 0 {
			p.wrapped(faint, fmt.Sprintf("%sand %d more", lead, len(l.Items)-i), 2)
			return
		}
		p.wrapped(plain, lead+item.Text, 2+len(lead))
		for _, text := range item.Below {
			p.wrapped(plain, lead+"  "+text, 4+len(lead))
		}
	}
}

func (p *paragraphs) sentence(s document.Sentence) {
	switch s.Role {
	case document.Answer:
		p.wrapped(strong, s.Text, 0)
	case document.Subject, document.More:
		p.wrapped(plain, s.Text, 0)
	case document.Note:
		p.marked("! ", s.Text, 2)
	case document.Reading:
		p.wrapped(faint, s.Text, 0)
	default:
		p.wrapped(plain, s.Text, 2)
	}
}

// warnings writes the first few in one line each, and the number of others; or all in full.
func (p *paragraphs) warnings(w document.Warnings) {
	if p.o.Warnings || w.Brief == 0 {
		for _, one := range w.List {
			p.warning(one)
		}
		return
	}
	var printed []document.WarningBlock
	var others []string
	for _, one := range w.List {
		switch {
		case slices.Contains(w.Notes, one.Code):
		case len(printed) == w.Brief:
			others = append(others, prose.Join(one.Sign, cmp.Or(one.Code, one.Texts[0].Text)))
		default:
			printed = append(printed, one)
			p.brief(one)
		}
	}
	p.moreWarnings(printed, others, w)
}

// moreWarnings writes the names of the warnings without a line and of the notes, and the command that shows them.
func (p *paragraphs) moreWarnings(printed []document.WarningBlock, others []string, w document.Warnings) {
	const most = 6
	noun := "more warning"
	if len(printed) == 0 {
		noun = "warning"
	}
	var parts []string
	for _, of := range []struct {
		noun  string
		names []string
	}{{noun, others}, {"note", w.Notes}} {
		if n := len(of.names); n > 0 {
			parts = append(parts, prose.Count(n, of.noun)+" ("+prose.Few(of.names, most)+")")
		}
	}
	if len(parts) == 0 && len(printed) > 0 {
		parts = []string{"in full"}
	}
	switch what := strings.Join(parts, ", "); {
	case what != "" && w.Full != "":
		p.command(what+": ", w.Full)
	case what != "" && what != "in full":
		p.wrapped(plain, what, 2)
	}
	if i := slices.IndexFunc(printed, func(w document.WarningBlock) bool { return w.Explained }); i >= 0 {
		p.command("what it means and what to do: ", "headroom explain "+printed[i].Code)
	}
}

// brief writes a warning in one line.
func (p *paragraphs) brief(w document.WarningBlock) {
	t := w.Brief
	if t.Text == "" {
		t = w.Texts[0]
	}
	text := t.Text
	if w.Code != "" {
		text = w.Code + ": " + text
	}
	p.marked(w.Sign, strings.TrimPrefix(briefMark(w.Sign, text, t.About, p.width), w.Sign), 0)
}

// warning writes the first few sentences.
func (p *paragraphs) warning(w document.WarningBlock) {
	const most = 3
	lead := ""
	if w.Code != "" {
		lead = w.Code + ": "
	}
	indent := max(len(w.Sign)+1, 2)
	for i, t := range w.Texts {
		switch {
		case i == 0:
			p.marked(w.Sign, strings.Repeat(" ", min(1, len(w.Sign)))+lead+t.Text+aboutText(t.About), indent)
		case i == most && len(w.Texts) > most+1 && !w.Apart:
			rest := strconv.Itoa(len(w.Texts)-most) + " more like these: --json has all of them"
			p.wrapped(plain, strings.Repeat(" ", indent)+rest, indent)
			return
		default:
			p.wrapped(plain, strings.Repeat(" ", indent)+t.Text+aboutText(t.About), indent)
		}
	}
}

// aboutText returns the subject of a warning in brackets; empty if its text has it.
func aboutText(about string) string {
	if about == "" {
		return ""
	}
	return " [" + about + "]"
}

// table writes the columns that fit, and returns the titles of those that are left out. Intervals and signs are
// separate columns, close to the number that they belong to.
func (p *paragraphs) table(t document.Table) (left []string) {
	rows := t.Rows
	if t.Brief > 0 {
		rows = rows[:min(t.Brief, len(rows))]
	}
	var all []column
	names := true
	for i, c := range t.Columns {
		names = names && c.Kind == document.Words
		title := p.columnTitle(c)
		text := column{title: title, right: c.Kind == document.Number, drop: c.Drop, optional: c.Optional, over: c.Over,
			name: names, cut: c.Cut}
		if i > 0 && c.Over != t.Columns[i-1].Over {
			text.gap = 4
		}
		interval := column{gap: 1, drop: c.DropInterval, optional: true, of: title, over: c.Over, name: names}
		signs := column{gap: 1, optional: true, style: alarm, of: title, over: c.Over, name: names}
		for _, row := range rows {
			cell := row.Cells[i]
			switch {
			case c.Kind == document.Bar:
				cell.Text = barText(cell.From, cell.To)
			case c.Kind == document.Verdict && cell.Text != "":
				cell.Text, cell.Signs = prose.Join(cell.Text, shownSigns(cell.Signs)), ""
			}
			text.cells, interval.cells, signs.cells = append(text.cells, cell.Text),
				append(interval.cells, cell.Interval), append(signs.cells, cell.Signs)
			text.styles = append(text.styles, toneStyle(cell.Tone))
		}
		interval.styles = text.styles
		all = append(all, text, signs, interval)
	}
	width := p.width
	if t.Map {
		all[0].cells, width = shortened(all[0].cells, p.width/3), math.MaxInt
	}
	g, left := fit(all, width)
	for _, room := range []int{p.width / 3, p.width / 4} {
		if len(left) == 0 {
			break
		}
		compact, fewer := fit(compacted(all, max(room, ShortestName)), p.width)
		if compact.numbers() > g.numbers() {
			g, left = compact, fewer
		}
	}
	for _, part := range g.parts(p.width) {
		p.rows(part, rows)
	}
	if more := len(t.Rows) - len(rows); more > 0 {
		p.wrapped(faint, fmt.Sprintf("and %d more", more), 2)
	}
	return p.instead(t, left)
}

// rows writes the lines of a grid, with the headings above some of them.
func (p *paragraphs) rows(g grid, rows []document.Row) {
	if over := g.over(); over != "" {
		p.line(faint.paint(Shorten(over, p.width), p.o))
	}
	for i, l := range g.lines(p.o) {
		if i > 0 {
			row := rows[i-1]
			if row.Apart {
				p.line("")
			}
			if row.Group != "" {
				p.wrapped(strong, row.Group, 0)
			}
			if row.Strong {
				l = strong.paint(l, p.o)
			}
		}
		p.line(l)
	}
}

// compacted returns columns whose names fit into a room, with all signs of a row at its end.
func compacted(all []column, room int) []column {
	var out []column
	signs := column{optional: true, style: alarm}
	for i, c := range all {
		if i == 0 {
			signs.cells = make([]string, len(c.cells))
		}
		if c.cut {
			c.cells = apart(c.cells, room)
		}
		if c.style != alarm {
			out = append(out, c)
			continue
		}
		for j, cell := range c.cells {
			for sign := range strings.FieldsSeq(cell) {
				if !slices.Contains(strings.Fields(signs.cells[j]), sign) {
					signs.cells[j] = prose.Join(signs.cells[j], sign)
				}
			}
		}
	}
	return append(out, signs)
}

func (p *paragraphs) columnTitle(c document.Column) string {
	return prose.Join(Shorten(c.Title, p.width/3-len(c.Signs)), c.Signs)
}

// instead writes the replacements for dropped columns below a table, and returns the other columns.
func (p *paragraphs) instead(t document.Table, left []string) []string {
	var untold []string
	for _, title := range left {
		c := t.Columns[slices.IndexFunc(t.Columns, func(c document.Column) bool { return p.columnTitle(c) == title })]
		if len(c.Instead) > 0 {
			p.line("")
		}
		for _, text := range c.Instead {
			p.wrapped(plain, text, 2)
		}
		if c.Instead == nil && c.Kind != document.Range {
			untold = append(untold, Shorten(c.Title, p.width/3))
		}
	}
	return untold
}

// shownSigns returns as many signs as fit into a table.
func shownSigns(signs string) string {
	all := strings.Fields(signs)
	if more := len(all) - 1; more > 1 {
		return all[0] + " +" + strconv.Itoa(more)
	}
	return signs
}

func toneStyle(t document.Tone) style {
	const red, green style = "31", "32"
	switch t {
	case document.Good:
		return green
	case document.Bad:
		return red
	case document.Doubtful:
		return alarm
	case document.Faint:
		return faint
	}
	return plain
}

// barWidth is the width of the largest value's bar, in columns.
const barWidth = 16

// barText draws a bar that starts at the end of another: "      ███". A decreasing bar is lighter.
func barText(from, to float64) string {
	if from == to && to == 0 {
		return ""
	}
	at := func(share float64) int { return int(math.Round(share * barWidth)) }
	lo, hi, block := at(from), at(to), "█"
	if hi < lo {
		lo, hi, block = hi, lo, "░"
	}
	return strings.Repeat(" ", lo) + strings.Repeat(block, max(1, hi-lo))
}
