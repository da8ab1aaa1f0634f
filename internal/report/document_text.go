package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/document"
	"headroom/internal/prose"
)

// writeDocumentText writes for a terminal: text that is wrapped, and tables that lose columns where there is no room.
func writeDocumentText(w io.Writer, d document.Document, o Options) error {
	p := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	var left []string
	apart := false // the next block is to stand apart from the last
	var before document.Block
	for _, b := range d.Blocks {
		if _, picture := b.(document.Plots); picture {
			continue
		}
		if before != nil && (apart || needsBlankLine(before, b)) {
			p.line("")
		}
		apart = false
		switch b := b.(type) {
		case document.Heading:
			p.wrapped(strong, b.Text, 0)
		case document.List:
			p.list(b, before)
		case document.Sentence:
			if b.Role == document.Reading && len(left) > 0 {
				p.wrapped(faint, "Left out for want of room: "+prose.List(left)+"; --json has all.", 0)
				left = nil
			}
			p.sentence(b)
		case document.Warning:
			p.warning(b)
		case document.Command:
			p.command(b.What+": ", b.Text)
		case document.Table:
			for _, title := range p.table(b) {
				if !slices.Contains(left, title) { // several tables can lose it
					left = append(left, title)
				}
			}
			apart = true
		case document.Entries:
			p.entries(b.List)
			apart = true
		}
		before = b
	}
	return p.out.Flush() // keeps the first error of all writes
}

// needsBlankLine says whether a block has a blank line between it and the one before it.
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
	case document.Warning:
		return listed
	case document.Sentence:
		return b.Role == document.More || b.Role == document.Subject || b.Role == document.Reading && listed
	}
	return false
}

// list writes items, below the sentence before them a little to the right.
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

// warning writes the first few sentences.
func (p *paragraphs) warning(w document.Warning) {
	const most = 3
	indent := len(w.Sign) + 1
	for i, t := range w.Texts {
		switch {
		case i == 0:
			p.marked(w.Sign, " "+w.Code+": "+t.Text+" ["+t.About+"]", indent)
		case i == most && len(w.Texts) > most+1 && !w.Apart:
			rest := strconv.Itoa(len(w.Texts)-most) + " more like these: --json has all of them"
			p.wrapped(plain, strings.Repeat(" ", indent)+rest, indent)
			return
		default:
			p.wrapped(plain, strings.Repeat(" ", indent)+t.Text+" ["+t.About+"]", indent)
		}
	}
}

// table writes what there is room for, and says which columns are left out. Intervals and signs are columns of their
// own, close to the number that they belong to.
func (p *paragraphs) table(t document.Table) (left []string) {
	var all []column
	for i, c := range t.Columns {
		text := column{title: c.Title, right: c.Kind == document.Number, drop: c.Drop, optional: c.Optional}
		interval := column{gap: 1, drop: c.DropInterval, optional: true, of: c.Title}
		signs := column{gap: 1, optional: true, style: alarm, of: c.Title}
		for _, row := range t.Rows {
			cell := row.Cells[i]
			if c.Kind == document.Bar {
				cell.Text = barText(cell.From, cell.To)
			}
			text.cells, interval.cells, signs.cells = append(text.cells, cell.Text),
				append(interval.cells, cell.Interval), append(signs.cells, cell.Signs)
		}
		all = append(all, text, signs, interval)
	}
	g, left := fit(all, p.width)
	for i, l := range g.lines(p.o) {
		if i > 0 {
			row := t.Rows[i-1]
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
	return left
}

// barWidth is how many columns the largest value takes.
const barWidth = 16

// barText draws a bar from where another ends: "      ███". One that goes back is lighter.
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
