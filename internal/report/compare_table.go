package report

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/compare"
	"headroom/internal/prose"
	"headroom/internal/reference"
)

// shownOtherDifferences is how many differences a table lists: what fits on a screen beside the answer.
const shownOtherDifferences = 5

// writeCompareTable writes an overview where there are several new runs, and for each of them the answer, the table,
// what weakens it, what else differs, and what to type next.
func writeCompareTable(w io.Writer, d *compare.Document, o Options) error {
	out := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	if len(d.New) > 1 {
		out.overview(d)
	}
	for i := range d.New {
		if i > 0 {
			out.line("")
		}
		out.compared(d, &d.New[i])
	}
	return out.out.Flush() // keeps the first error of all writes
}

// paragraphs writes text that is wrapped to the terminal.
type paragraphs struct {
	out   *bufio.Writer
	width int
	o     Options
}

func (p *paragraphs) line(text string) { p.out.WriteString(text + "\n") }

func (p *paragraphs) wrapped(s style, text string, indent int) {
	for _, l := range prose.Wrap(text, p.width, indent) {
		p.line(s.paint(l, p.o))
	}
}

// marked is a paragraph that begins with a sign.
func (p *paragraphs) marked(sign, text string, indent int) {
	for i, l := range prose.Wrap(sign+text, p.width, indent) {
		if i == 0 {
			l = alarm.paint(sign, p.o) + strings.TrimPrefix(l, sign)
		}
		p.line(l)
	}
}

// command is what to type, in several lines that a shell takes for one where it is longer than the terminal is wide.
func (p *paragraphs) command(what, command string) {
	const continues = ` \`
	lines := prose.Wrap(what+command, p.width, 2)
	if len(lines) > 1 {
		lines = prose.Wrap(what+command, p.width-len(continues), 2)
	}
	for i, l := range lines {
		if i < len(lines)-1 {
			l += continues
		}
		p.line(l)
	}
}

func (p *paragraphs) compared(d *compare.Document, n *compare.ComparedRun) {
	rows := compareRows(d, n.ID)
	p.wrapped(strong, compareHeadline(d, n), 0)
	p.runWarnings(d, n, true)
	listed := newCompareTopWarnings(d, n, rows)
	signs := listed.signs
	if p.o.Warnings {
		signs = reasonSigns(rows)
	}
	if len(rows) > 0 {
		p.line("")
		whyLeft := p.compareTable(d, n, rows, signs)
		p.line("")
		if whyLeft {
			p.whys(rows)
		}
	}
	if p.o.Warnings {
		p.reasons(rows)
		for _, text := range noteTexts(rows) {
			p.wrapped(plain, text, 2)
		}
		for _, g := range groupTexts(rows, unchecked) {
			p.wrapped(plain, "One side does not tell "+g.text+" ["+g.about()+"]", 2)
		}
	} else {
		p.topWarnings(listed, rows, p.repeatCommand(d, n))
	}
	for _, text := range unmatchedText(d, n) {
		p.wrapped(plain, text, 2)
	}
	if p.o.Warnings {
		p.runWarnings(d, n, false)
	}
	for _, text := range confirmedText(rows) {
		p.wrapped(plain, text, 2)
	}
	for _, text := range compareReading(d, rows) {
		p.wrapped(faint, text, 0)
	}
	p.otherDifferences(d, n)
	p.next(d, n, rows)
}

// sameRun is the code of the warning that a run was compared with itself.
const sameRun = "same-run"

// runWarnings are those about the comparison as a whole. That a run was compared with itself stands by the answer: it
// is a slip mostly.
func (p *paragraphs) runWarnings(d *compare.Document, n *compare.ComparedRun, itself bool) {
	for _, w := range d.Warnings {
		if w.Run == n.ID && itself == (w.Code == sameRun) {
			p.marked(w.Code, ": "+w.Text, 2)
		}
	}
}

func unchecked(c *compare.ComparedMetric) []string {
	if len(c.Unchecked) == 0 {
		return nil
	}
	return []string{prose.List(c.Unchecked)}
}

// compareTable writes the table and says whether it had no room for why.
func (p *paragraphs) compareTable(d *compare.Document, n *compare.ComparedRun, rows []*compare.ComparedMetric,
	signs func(*compare.ComparedMetric) []string) (whyLeft bool) {
	const whyTitle, rangeTitle = "why", "range"
	job, what := column{title: "job"}, column{optional: true}
	base, baseSpread := column{title: "base", figures: true},
		column{gap: 1, drop: 5, of: "base", right: true, optional: true}
	next, nextSpread := column{title: "new", figures: true},
		column{gap: 1, drop: 4, of: "new", right: true, optional: true}
	change, interval := column{title: "change", right: true}, column{gap: 1, optional: true}
	verdict := column{title: "verdict"}
	forest := column{title: rangeTitle, drop: 6, optional: true}
	why := column{title: whyTitle, drop: 7, optional: true}
	if name := shorten(d.Base.Name, 14); name != "" {
		base.title = name
	}
	if name := shorten(n.Name, 14); name != "" {
		next.title = name
	}
	if base.title == next.title && d.Base.Name != n.Name {
		base.title, next.title = "base", "new" // they differ further on than there is room for
	}
	baseSpread.of, nextSpread.of = base.title, next.title
	scale := newRatioScale(rows)
	titles := rowTitles(rows)
	for i, c := range rows {
		label, metric := titles[i].name(), titles[i].metric
		if !titles[i].first {
			label = ""
		}
		if p.width < wideTerminal {
			metric = briefTitle(metric)
		}
		job.cells = append(job.cells, label)
		what.cells = append(what.cells, metric)
		number, spread := sideText(c.Unit, c.Base)
		base.cells, baseSpread.cells = append(base.cells, number), append(baseSpread.cells, spread)
		number, spread = sideText(c.Unit, c.New)
		next.cells, nextSpread.cells = append(next.cells, number), append(nextSpread.cells, spread)
		text, bounds := changeTexts(c)
		change.cells, interval.cells = append(change.cells, text), append(interval.cells, bounds)
		verdict.cells = append(verdict.cells, joinNonEmpty(comparedWord(c), firstSigns(signs(c))))
		forest.cells = append(forest.cells, scale.draw(c))
		text = whyText(c)
		if c.Verdict == compare.Incomparable {
			text = ""
		}
		why.cells = append(why.cells, text)
	}
	if p.width < wideTerminal {
		verdict.gap = 1
	}
	lay := func() grid {
		g, _ := fit(cloned(job, what, base, baseSpread, next, nextSpread, change, interval, forest, verdict, why),
			p.width)
		return g
	}
	g := lay()
	if g.width() > p.width { // the interval goes last: it is what decides
		interval.drop = 1
		g = lay()
	}
	for i, l := range g.lines(p.o) {
		if i > 0 {
			l = p.paintVerdict(p.paintWould(l, rows[i-1]), rows[i-1])
		}
		p.line(l)
	}
	return !slices.ContainsFunc(g, func(c column) bool { return c.title == whyTitle })
}

// cloned keeps cells from being shortened where they are.
func cloned(columns ...column) []column {
	for i := range columns {
		columns[i].cells = slices.Clone(columns[i].cells)
	}
	return columns
}

// paintVerdict colours the word, which says it already.
func (p *paragraphs) paintVerdict(line string, c *compare.ComparedMetric) string {
	v, word := c.Verdict, comparedWord(c)
	colours := map[compare.Verdict]style{compare.Slower: "31", compare.Worse: "31", compare.Faster: "32",
		compare.Better:  "32",
		compare.Differs: alarm, compare.Undecided: alarm, compare.Incomparable: alarm}
	if i := strings.LastIndex(line, word); i >= 0 {
		return line[:i] + colours[v].paint(word, p.o) + line[i+len(word):]
	}
	return line
}

// paintWould makes faint the change of a row that has no verdict.
func (p *paragraphs) paintWould(line string, c *compare.ComparedMetric) string {
	if c.Would == nil || c.Change != nil {
		return line
	}
	change, interval := changeTexts(c)
	from := strings.Index(line, change)
	if from < 0 {
		return line
	}
	to := from + len(change)
	if rest := strings.Index(line[to:], interval); interval != "" && rest >= 0 {
		to += rest + len(interval)
	}
	return line[:from] + faint.paint(line[from:to], p.o) + line[to:]
}

// wideTerminal is the width from which on metrics are written out.
const wideTerminal = 100

// maxReasons is how many explanations are listed: a matrix of a hundred cells would hide the rest.
const maxReasons = 8

// whys are the explanations that the table had no room for, of what is undecided.
func (p *paragraphs) whys(rows []*compare.ComparedMetric) {
	reported := 0
	together := undecidedText(rows)
	if together != "" {
		reported++
		p.wrapped(plain, together, 2)
	}
	for _, g := range groupTexts(rows, func(c *compare.ComparedMetric) []string {
		if c.Verdict != compare.Undecided && c.Suggests == nil || together != "" && undecidedBySpread(c) {
			return nil
		}
		return []string{comparedWord(c) + ": " + whyText(c)}
	}) {
		if reported++; reported == maxReasons+1 {
			p.wrapped(plain, "more like these: --json has all of it", 2)
			break
		}
		p.wrapped(plain, g.text+" ["+g.about()+"]", 2)
	}
	if reported > 0 {
		p.line("")
	}
}

// firstSigns prints the signs of a row, the first ones where there are many: a row must fit.
func firstSigns(signs []string) string {
	const most = 3
	if more := len(signs) - most; more > 0 {
		return strings.Join(signs[:most], " ") + " +" + strconv.Itoa(more)
	}
	return strings.Join(signs, " ")
}

// reasons why numbers are not comparable.
func (p *paragraphs) reasons(rows []*compare.ComparedMetric) {
	all := groupReasons(rows)
	p.acceptedReasons(rows)
	for i, g := range all {
		sign := mark{number: i + 1}.sign()
		p.marked(sign, " "+g.text+" ["+g.about()+"]", len(sign)+1)
	}
	if len(all) > 0 {
		p.line("")
	}
}

// acceptedReasons says that the user asked for what follows to be put up with.
func (p *paragraphs) acceptedReasons(rows []*compare.ComparedMetric) {
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.Anyway }) {
		p.wrapped(plain, "Compared anyway (--anyway), though:", 0)
	}
}

func (p *paragraphs) otherDifferences(d *compare.Document, n *compare.ComparedRun) {
	all := differencesOf(d, n.ID)
	p.line("")
	if text := noFacts(n, len(all)); text != "" {
		p.wrapped(plain, text, 0)
		return
	}
	p.wrapped(plain, differenceTitle(n, all), 0)
	for i, x := range all[:min(len(all), shownOtherDifferences)] {
		p.wrapped(plain, "  "+strconv.Itoa(i+1)+"  "+differenceHead(x), 5)
		if text := differenceDetail(x); text != "" {
			p.wrapped(faint, "     "+text, 5)
		}
	}
}

// short is the ID of a run as one types it.
func (p *paragraphs) short(id string) string {
	if p.o.ShortID != nil && id != "" {
		return p.o.ShortID(id)
	}
	return id
}

// repeatCommand is the command that makes the comparison with a run once more.
func (p *paragraphs) repeatCommand(d *compare.Document, n *compare.ComparedRun) string {
	return "headroom " + joinNonEmpty("compare", p.short(d.Base.ID), p.short(n.ID), p.o.RepeatCommand)
}

// next is what to type now.
func (p *paragraphs) next(d *compare.Document, n *compare.ComparedRun, rows []*compare.ComparedMetric) {
	base, next := p.short(d.Base.ID), p.short(n.ID)
	command := p.repeatCommand(d, n)
	all := differencesOf(d, n.ID)
	published := strings.HasPrefix(d.Base.ID, reference.Prefix) || strings.HasPrefix(n.ID, reference.Prefix)
	if more := len(all) - shownOtherDifferences; more > 0 && published {
		p.command(strconv.Itoa(more)+" more: ", command+" --json")
	} else if more > 0 {
		p.command(strconv.Itoa(more)+" more: ", "headroom facts diff "+base+" "+next)
	}
	if run, ok := measuredOf(d, n); ok && published {
		p.command("how comparable it is: ", "headroom references for "+p.short(run))
	}
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return len(c.Reasons) > 0 && !c.Anyway }) {
		p.command("compare them nevertheless: ", command+" --anyway")
	}
	if what, decide := decisionText(n); decide != "" {
		p.command(what, decide)
	}
	p.command("as a page: ", command+" -o page.html")
}

// measuredOf is the ID of the side that is no published result; ok is false where neither is or both are.
func measuredOf(d *compare.Document, n *compare.ComparedRun) (id string, ok bool) {
	base, next := strings.HasPrefix(d.Base.ID, reference.Prefix), strings.HasPrefix(n.ID, reference.Prefix)
	if base {
		return n.ID, !next
	}
	return d.Base.ID, next
}

// forestWidth is how many columns the range of a row takes; it is odd, so that no change is in the middle.
const forestWidth = 25

// ratioScale is the logarithmic scale of the ranges of a table.
type ratioScale struct{ reach float64 }

// maxRatio is the factor at which the scale ends: beyond it a picture adds nothing to the number.
const maxRatio = 4

// newRatioScale is as wide as the widest interval, twice the margin at least, and maxRatio at most.
func newRatioScale(rows []*compare.ComparedMetric) ratioScale {
	a := ratioScale{}
	for _, c := range rows {
		a.reach = max(a.reach, 2*math.Log1p(c.Margin))
		if shownChange(c) == nil {
			continue
		}
		a.reach = max(a.reach, math.Abs(math.Log(shownChange(c).Ratio)))
		if shownChange(c).Known() {
			a.reach = max(a.reach, math.Abs(math.Log(*shownChange(c).Lo)), math.Abs(math.Log(*shownChange(c).Hi)))
		}
	}
	a.reach = min(a.reach, math.Log(maxRatio))
	return a
}

// at is the column of a ratio, and whether it is on the scale.
func (a ratioScale) at(ratio float64) (column int, inside bool) {
	const middle = forestWidth / 2
	x := math.Log(ratio) / a.reach
	return middle + int(math.Round(min(max(x, -1), 1)*middle)), math.Abs(x) <= 1+1e-9
}

// draw is a row's range: ● the estimate, ── the interval, ┊ no change, ░ the margin.
func (a ratioScale) draw(c *compare.ComparedMetric) string {
	if shownChange(c) == nil || !(shownChange(c).Ratio > 0) {
		return ""
	}
	cells := []rune(strings.Repeat(" ", forestWidth))
	from, _ := a.at(1 / (1 + c.Margin))
	to, _ := a.at(1 + c.Margin)
	for i := from; i <= to; i++ {
		cells[i] = '░'
	}
	cells[forestWidth/2] = '┊'
	if shownChange(c).Known() {
		lo, loInside := a.at(*shownChange(c).Lo)
		hi, hiInside := a.at(*shownChange(c).Hi)
		for i := lo; i <= hi; i++ {
			cells[i] = '─'
		}
		// An arrow at the end that the interval goes beyond, with both its ends or with one.
		if !hiInside {
			cells[hi] = endOf(hi)
		}
		if !loInside {
			cells[lo] = endOf(lo)
		}
	}
	at, inside := a.at(shownChange(c).Ratio)
	if inside {
		cells[at] = '●'
	}
	return string(cells)
}

// endOf is the arrow at an end of the scale.
func endOf(column int) rune {
	if column == 0 {
		return '<'
	}
	return '>'
}
