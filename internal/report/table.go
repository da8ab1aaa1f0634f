package report

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/prose"
)

// defaultWidth is that of a terminal which does not tell.
const defaultWidth = 80

// narrowest is the width below which a table is of no use; a terminal that claims less gets lines of this width.
const narrowest = 40

func (o Options) width() int {
	if o.Width <= 0 {
		return defaultWidth
	}
	return max(o.Width, narrowest)
}

// writeTables writes, for each run, the answer, the table, what weakens it, and what to type next.
func writeTables(w io.Writer, runs []Summary, o Options) error {
	out := bufio.NewWriter(w)
	for i := range runs {
		if i > 0 {
			out.WriteString("\n")
		}
		writeTable(out, &runs[i], o)
	}
	return out.Flush() // keeps the first error of all writes
}

func writeTable(out *bufio.Writer, s *Summary, o Options) {
	width := o.width()
	paragraph := func(style style, text string) {
		for _, line := range prose.Wrap(text, width, 0) {
			out.WriteString(style.paint(line, o) + "\n")
		}
	}
	listed, table, left, compact := layOutListed(s, o)
	paragraph(plain, title(listed.run, listed.marks))
	paragraph(strong, verdict(listed.run, listed.marks))
	out.WriteString("\n")

	for _, line := range table.lines(o) {
		out.WriteString(line + "\n")
	}
	out.WriteString("\n")

	if o.Warnings {
		for _, m := range listed.marks {
			writeMark(out, m, compact, width, o)
		}
	} else {
		for _, line := range listed.lines(shortID(s, o), o) {
			out.WriteString(line + "\n")
		}
	}
	if len(listed.marks)+len(listed.notes) > 0 {
		out.WriteString("\n")
	}
	for _, line := range reading(s) {
		paragraph(faint, line)
	}
	if len(left) > 0 {
		paragraph(faint, "Left out for want of room: "+prose.List(left)+".")
	}
	for _, line := range next(s, o) {
		paragraph(plain, line)
	}
}

// shortID is the id of a run as one types it; empty for none.
func shortID(s *Summary, o Options) string {
	if o.ShortID == nil || s.ID == "" {
		return s.ID
	}
	return o.ShortID(s.ID)
}

// next is what to type now.
func next(s *Summary, o Options) []string {
	if s.ID == "" {
		return nil
	}
	id := shortID(s, o)
	var lines []string
	if s.Status == lab.Interrupted {
		command := "run"
		if s.Experiment != nil {
			command = s.Experiment.Kind
		}
		lines = append(lines, "go on: headroom "+command+" --resume "+id)
	}
	if more := moreTime(s); more > 0 {
		lines = append(lines, "go on: headroom run --resume "+id+" --budget "+briefly(more))
	}
	return append(lines, "saved as "+id+" (headroom report "+id+" -o page.html)")
}

// briefly is a time of whole seconds as one types it: 22m rather than 22m0s.
func briefly(d time.Duration) string {
	text := d.String()
	for _, idle := range []struct{ end, left string }{{"m0s", "m"}, {"h0m", "h"}} {
		if stem, found := strings.CutSuffix(text, idle.end); found {
			text = stem + idle.left
		}
	}
	return text
}

// writeMark writes the sentences of a warning, each with the jobs that it is about: all of them when there are few
// different ones, the first few when a matrix has dozens. In the compact layout, where the signs are not beside the
// numbers, it names the numbers too.
func writeMark(out *bufio.Writer, m mark, compact bool, width int, o Options) {
	const most = 3
	indent := len(m.sign()) + 1
	head := m.sign() + " " + m.code + ": "
	for i, t := range m.texts {
		if i == most && len(m.texts) > most+1 {
			rest := strconv.Itoa(len(m.texts)-most) + " more like these: --json has all of them"
			for _, line := range prose.Wrap(strings.Repeat(" ", indent)+rest, width, indent) {
				out.WriteString(line + "\n")
			}
			return
		}
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		about := t.about(most)
		if compact && len(m.taints) > 0 && !slices.Contains(m.taints, "*") {
			about += ": " + strings.Join(m.taints, ", ")
		}
		for j, line := range prose.Wrap(head+t.text+" ["+about+"]", width, indent) {
			if i == 0 && j == 0 {
				line = alarm.paint(m.sign(), o) + strings.TrimPrefix(line, m.sign())
			}
			out.WriteString(line + "\n")
		}
	}
}

// layOutListed lays a table out with the warnings that go with it: all of them where they are asked for, else a
// shortlist.
func layOutListed(s *Summary, o Options) (listed topWarnings, table grid, left []string, compact bool) {
	listed = topWarnings{run: s, marks: marks(s)}
	if !o.Warnings {
		listed = newTopWarnings(s, nil)
	}
	table, left, compact = layOut(rows(listed.run), listed.marks, o.width())
	if o.Warnings || len(left) == 0 {
		return listed, table, left, compact
	}
	// What the table has no room for needs no mark, unless there is room for it without that mark.
	fewer := newTopWarnings(s, left)
	if t, still, c := layOut(rows(fewer.run), fewer.marks, o.width()); slices.Equal(still, left) {
		return fewer, t, left, c
	}
	return listed, table, left, compact
}

// layOut chooses the roomy layout where all numbers fit into it. Else the compact one, which drops the least asked
// for of them and says which.
func layOut(lines []row, all []mark, width int) (table grid, left []string, compact bool) {
	if table, left = fit(tableColumns(lines, all, 0), width); len(left) == 0 && table.width() <= width {
		return table, nil, false
	}
	table, left = fit(tableColumns(lines, all, max(shortestName, width/3)), width)
	return table, left, true
}

// tableColumns are all that a table can show. Columns with a higher rank are dropped first when the terminal is narrow.
// In the compact layout, which has room for so many columns of name, name and parameters share a column, and all signs
// stand at the end of the row; room is 0 for the other.
func tableColumns(lines []row, all []mark, room int) []column {
	compact := room > 0
	name := column{title: "job"}
	params := column{optional: true}
	signs := column{style: alarm, optional: true}
	reached := column{title: "ceiling", drop: 19, right: true, optional: true}
	numbers := tableNumbers(needsMean(lines), lines)
	const perNumber = 3 // the number, its spread, its signs
	grid := make([]column, perNumber*len(numbers))
	for i, n := range numbers {
		grid[perNumber*i] = column{title: n.title, drop: n.drop, figures: true, optional: true}
		grid[perNumber*i+1] = column{gap: 1, drop: n.spread, of: n.title, optional: true, right: true}
		grid[perNumber*i+2] = column{gap: 1, of: n.title, optional: true, style: alarm}
	}
	for _, r := range lines {
		label, detail := r.job, r.params
		if compact {
			label, detail = strings.TrimSpace(shorten(r.job, room)+" "+shorten(r.brief, room)), ""
		}
		if !r.first {
			label, detail = "", ""
		}
		whole, of := rowSigns(all, r)
		if compact {
			whole, of = allSigns(all, r), func(string) string { return "" }
		}
		switch {
		case r.several && compact && !r.first:
			label = "  " + r.direction
		case r.several && compact:
			label += " " + r.direction
		case r.several:
			detail = strings.TrimSpace(detail + " " + r.direction)
		}
		name.cells = append(name.cells, label)
		params.cells = append(params.cells, detail)
		signs.cells = append(signs.cells, whole)
		reached.cells = append(reached.cells, reachedText(r))
		for i, n := range numbers {
			metric, m := n.of(r)
			text := ""
			if m != nil {
				text = n.text(m)
			}
			grid[perNumber*i].cells = append(grid[perNumber*i].cells, text)
			grid[perNumber*i+1].cells = append(grid[perNumber*i+1].cells, spreadText(m))
			grid[perNumber*i+2].cells = append(grid[perNumber*i+2].cells, of(metric))
		}
	}
	return append(append([]column{name, params}, grid...), reached, signs)
}

// tableNumber is a number that a row can show, with the ranks at which it and its spread are dropped: even ones, so
// that other columns fit between.
type tableNumber struct {
	title        string
	of           func(row) (name string, m *Metric)
	drop, spread int
	// own is set for a metric of commands.
	own bool
}

func tableNumbers(mean bool, lines []row) []tableNumber {
	latency := func(part string, m func(row) *Metric) func(row) (string, *Metric) {
		return func(r row) (string, *Metric) { return lab.Latency(r.direction, part), m(r) }
	}
	all := []tableNumber{
		{"IOPS", func(r row) (string, *Metric) { return lab.IOPS(r.direction), r.iops }, 0, 2, false},
		{"bandwidth", func(r row) (string, *Metric) { return lab.Bandwidth(r.direction), r.bandwidth }, 4, 18, false},
		{"mean", latency("mean", func(r row) *Metric { return r.mean }), 12, 22, false},
		{"p50", latency("p50", func(r row) *Metric { return r.p50 }), 8, 16, false},
		{"p99", latency("p99", func(r row) *Metric { return r.p99 }), 6, 14, false},
		{"p99.9", latency("p99.9", func(r row) *Metric { return r.p999 }), 10, 20, false},
	}
	if !slices.ContainsFunc(lines, func(r row) bool { return !r.cell.namesMetrics() }) {
		all = nil
	}
	all = append(all, commandNumbers(lines)...)
	if mean {
		return all
	}
	return slices.DeleteFunc(all, func(n tableNumber) bool { return n.title == "mean" })
}

// needsMean says whether some row knows its latency by the mean alone, as output without percentiles does.
func needsMean(lines []row) bool {
	for _, r := range lines {
		if r.mean != nil && r.p50 == nil {
			return true
		}
	}
	return false
}

// style is a second signal; the text alone says everything.
type style string

const (
	plain  style = ""
	strong style = "1"
	faint  style = "2"
	alarm  style = "33"
)

func (s style) paint(text string, o Options) string {
	if o.Colour == nil || s == plain || strings.TrimSpace(text) == "" {
		return text
	}
	return o.Colour("\x1b["+string(s)+"m") + text + o.Colour("\x1b[0m")
}
