package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/compare"
	"headroom/internal/diff"
	"headroom/internal/facts"
	"headroom/internal/history"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/stat"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// WriteHistory writes, for each machine and place, the answer, a table with a line of runs for each cell, what changed
// where, what weakens it, and what to type next.
func WriteHistory(w io.Writer, d history.Document, o Options) error {
	out := bufio.NewWriter(w)
	for i := range d.Series {
		if i > 0 {
			out.WriteString("\n")
		}
		h := historyText{Document: &d, s: &d.Series[i], o: o, out: out}
		h.write()
	}
	return out.Flush() // keeps the first error of all writes
}

// historyText is the text of one series in the making.
type historyText struct {
	*history.Document
	s   *history.Series
	o   Options
	out *bufio.Writer
}

func (h historyText) write() {
	h.paragraph(plain, "", h.title())
	for _, line := range h.answer() {
		h.paragraph(strong, "", line)
	}
	h.out.WriteString("\n")
	table, left := fit(h.columns(), h.o.width())
	for _, line := range table.lines(h.o) {
		h.out.WriteString(line + "\n")
	}
	for _, e := range h.s.Events {
		h.out.WriteString("\n")
		h.event(e)
	}
	h.out.WriteString("\n")
	for _, line := range h.reading() {
		h.paragraph(faint, "", line)
	}
	if len(left) > 0 {
		h.paragraph(faint, "", "Left out for want of room: "+prose.List(left)+".")
	}
	for _, line := range h.next() {
		h.paragraph(plain, "", line)
	}
}

// paragraph writes a text behind a prefix; what does not fit goes on below, as far to the right.
func (h historyText) paragraph(s style, prefix, text string) {
	indent := prose.Columns(prefix)
	for i, line := range prose.Wrap(text, h.o.width()-indent, 0) {
		if i > 0 {
			prefix = strings.Repeat(" ", indent)
		}
		h.out.WriteString(s.paint(strings.TrimRight(prefix+line, " "), h.o) + "\n")
	}
}

func (h historyText) id(run string) string {
	if h.o.ShortID == nil {
		return run
	}
	return h.o.ShortID(run)
}

func (h historyText) title() string { return historyTitle(h.Suite, h.s) }

func historyTitle(suite string, s *history.Series) string {
	where := s.Host
	if where == "" {
		where = s.Target
	}
	text := suite
	if where != "" {
		text += " on " + where
	}
	if s.Place.Path != "" {
		text += ", " + s.Place.Path
	}
	first, last := s.Runs[0].Created, s.Runs[len(s.Runs)-1].Created
	text += ": " + prose.Count(len(s.Runs), "run")
	if len(s.Runs) > 1 {
		text += " over " + spanText(last.Sub(first))
	}
	text += ", " + day(first)
	if day(last) != day(first) {
		text += " to " + day(last)
	}
	return text
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// spanText is a time in the unit that people count it in.
func spanText(d time.Duration) string {
	days := d.Hours() / 24
	switch {
	case days < 2:
		return unit.Duration(d)
	case days < 14:
		return prose.Count(int(math.Round(days)), "day")
	default:
		return prose.Count(int(math.Round(days/7)), "week")
	}
}

// answer is what there is to know, in a sentence for each change and one for the newest run.
func (h historyText) answer() []string {
	var lines []string
	switch n := len(h.s.Events); {
	case n == 0 && h.s.FewestAfter == 0:
		lines = append(lines, fmt.Sprintf("Too few runs to find a change in %s.",
			prose.Count(len(h.s.Cells), "figure")))
	case n == 0:
		lines = append(lines, fmt.Sprintf("No change found in %s.", prose.Count(len(h.s.Cells), "figure")))
	default:
		for _, e := range h.s.Events {
			lines = append(lines, h.eventSentence(e))
		}
	}
	return append(lines, h.newestSentence())
}

// eventSentence names what changed most, by how much, since when, and with which update.
func (h historyText) eventSentence(e history.Event) string {
	track, c := h.largest(e)
	text := map[bool]string{false: "Changed: ", true: "Likely changed, not proved: "}[c.Likely] + track.Name + " " +
		stepText(c.Estimate) + ", " + c.Verdict
	if more := len(e.Cells) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more of %s", more, prose.Count(len(h.s.Cells), "figure"))
	}
	text += ", since " + day(e.Created) + " (run " + h.id(e.Run) + ")"
	var with []string
	for _, d := range e.Updates() {
		with = append(with, updateText(d))
	}
	if len(with) == 0 && len(e.Differences) > 0 {
		d := e.Differences[0]
		with = append(with, d.Name+" went from "+differenceValue(d, d.A)+" to "+differenceValue(d, d.B))
	}
	when := ", when "
	if e.Near {
		when = "; about then "
	}
	if len(with) > 0 {
		text += when + prose.List(with)
	}
	return text + "."
}

// largest is the change of an event that is the furthest from none.
func (h historyText) largest(e history.Event) (track *history.Track, change history.Change) {
	size := -1.0
	for _, i := range e.Cells {
		for _, c := range h.s.Cells[i].Changes {
			if d := math.Abs(math.Log(c.Ratio)); d > size && h.distance(c.Run, e.Run) <= eventWidth {
				track, change, size = &h.s.Cells[i], c, d
			}
		}
	}
	return track, change
}

// eventWidth is how far apart in runs the changes of an event are at most.
const eventWidth = 2

func (h historyText) distance(a, b string) int {
	at := func(id string) int {
		return slices.IndexFunc(h.s.Runs, func(r history.RunInfo) bool { return r.ID == id })
	}
	d := at(a) - at(b)
	return max(d, -d)
}

func updateText(d diff.Difference) string {
	name := map[string]string{"kernel.release": "the kernel", "os.version": "the system", "os.name": "the system",
		"machine.bios.version": "the firmware", "disk.firmware": "the drive's firmware",
		"cpu.microcode": "the microcode", "tool.fio.version": "fio"}[d.Fact]
	return name + " went from " + d.A + " to " + d.B
}

// stepText is "-7.1% [-8.0, -6.2]".
func stepText(e history.Estimate) string {
	return strings.TrimRight(changeText(e.Ratio)+" "+changeBounds(&compare.Change{Ratio: e.Ratio,
		Bounds: compare.Bounds{Lo: e.Lo, Hi: e.Hi}}), " ")
}

func (h historyText) newestSentence() string {
	var bad, open []string
	measured := 0
	for _, t := range h.s.Cells {
		if !t.Ended || t.Newest.Verdict != history.None {
			measured++ // what the newest run was not meant to have is no news
		}
		switch t.Newest.Verdict {
		case history.Regression:
			bad = append(bad, t.Name+" ("+h.shortenIDs(t.Newest.Why)+")")
		case history.Undecided:
			open = append(open, t.Name)
		}
	}
	newest := "The newest run, " + h.id(h.s.Runs[len(h.s.Runs)-1].ID) + " of " +
		day(h.s.Runs[len(h.s.Runs)-1].Created) + ", "
	switch {
	case len(bad) > 0:
		text := newest + "shows a regression: " + prose.Few(bad, 3)
		if len(open) > 0 {
			text += "; " + prose.Count(len(open), "figure") + " can't be told"
		}
		return text + "."
	case measured == 0:
		return newest + "has none of these cells."
	case len(open) == measured:
		return newest + "can't be told to be as good as those before it or not: " + prose.Few(open, 3) + "."
	case len(open) > 0:
		return newest + fmt.Sprintf("shows no regression in %d of %s; can't be told: %s.", measured-len(open),
			prose.Count(measured, "figure"), prose.Few(open, 3))
	}
	return newest + "has no regression of more than " + unit.Percent(h.Margin) + " in any figure."
}

// shortenIDs shortens the ids of runs in a text.
func (h historyText) shortenIDs(text string) string {
	for _, r := range h.s.Runs {
		text = strings.ReplaceAll(text, r.ID, h.id(r.ID))
	}
	return text
}

// columns of the table of a series.
func (h historyText) columns() []column {
	name := column{title: "job"}
	line := column{title: "runs", drop: 2}
	level := column{title: "now", figures: true}
	scatter := column{title: "scatter", drop: 4, right: true, optional: true}
	last := column{title: "last change", drop: 6, optional: true}
	newest := column{title: "newest run"}
	room := min(max(h.o.width()/3, shortestName), len(h.s.Runs)+8)
	for _, t := range h.s.Cells {
		name.cells = append(name.cells, t.Name)
		line.cells = append(line.cells, sparkline(t, room, h.Margin))
		now := lastSegment(t)
		level.cells = append(level.cells, figureNamed(t.Metric, t.Unit, stat.Median(now)))
		spread := ""
		if c := stat.NextChange(now, stat.Median(now), 0.95); len(now) > 2 {
			spread = "±" + unit.Percent(c.Spread)
		}
		scatter.cells = append(scatter.cells, spread)
		changed := ""
		if n := len(t.Changes); n > 0 {
			changed = stepText(t.Changes[n-1].Estimate) + " " + h.id(t.Changes[n-1].Run)
		}
		last.cells = append(last.cells, changed)
		newest.cells = append(newest.cells, h.newestText(t))
	}
	return []column{name, line, level, scatter, last, newest}
}

// figureNamed prints a value with what it is, since rows of one column can be of different metrics.
func figureNamed(metric string, u lab.Unit, v float64) string {
	text := figure(u, v)
	switch {
	case u == lab.PerSecond && strings.HasSuffix(metric, ".iops"):
		text += " IOPS"
	case u == lab.PerSecond:
		text += "/s " + ownTitle(metric)
	}
	return text
}

func lastSegment(t history.Track) []float64 {
	from := 0
	if n := len(t.Changes); n > 0 {
		from = t.Changes[n-1].Index
	}
	var values []float64
	for _, p := range t.Points[from:] {
		values = append(values, p.Center)
	}
	return values
}

func (h historyText) newestText(t history.Track) string {
	switch n := t.Newest; {
	case t.Ended:
		return n.Why
	case n.Verdict == history.Regression:
		return h.shortenIDs(strings.TrimSuffix(n.Why, " before it"))
	case n.Verdict == history.Undecided && n.Margin != nil:
		return "? " + unit.Percent(*n.Margin) + " would tell"
	case n.Verdict == history.Undecided:
		return "? too few runs"
	default:
		return "as before"
	}
}

// sparkline draws the newest points that have room, with a bar where the level changed. Its scale is never finer than
// the margin on either side of the middle, so that scatter does not look like an event.
func sparkline(t history.Track, room int, margin float64) string {
	const blocks = "▁▂▃▄▅▆▇█"
	levels := []rune(blocks)
	points := t.Points
	bars := map[int]bool{}
	for _, c := range t.Changes {
		bars[c.Index] = true
	}
	from := max(0, len(points)+len(bars)-room)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range points[from:] {
		lo, hi = min(lo, math.Log(p.Center)), max(hi, math.Log(p.Center))
	}
	if least := 4 * math.Log1p(margin); hi-lo < least {
		middle := (lo + hi) / 2
		lo, hi = middle-least/2, middle+least/2
	}
	var b strings.Builder
	for i := from; i < len(points); i++ {
		if bars[i] && i > from {
			b.WriteRune('│')
		}
		share := (math.Log(points[i].Center) - lo) / (hi - lo)
		b.WriteRune(levels[min(int(share*float64(len(levels))), len(levels)-1)])
	}
	return b.String()
}

// mostExplained is how many differences of an event are listed: compare has all.
const mostExplained = 5

// event lists what changed, and what else did.
func (h historyText) event(e history.Event) {
	h.paragraph(strong, "", day(e.Created)+", run "+h.id(e.Run)+" against "+h.id(e.Before)+" before it:")
	var names, changes, levels, chance column
	names.gap = 2
	for _, i := range e.Cells {
		t := h.s.Cells[i]
		for j, c := range t.Changes {
			if h.distance(c.Run, e.Run) > eventWidth {
				continue
			}
			at := ""
			if c.Run != e.Run {
				at = " at " + h.id(c.Run)
			}
			names.cells = append(names.cells, "  "+t.Name)
			changes.cells = append(changes.cells, stepText(c.Estimate)+" "+c.Verdict+at)
			levels.cells = append(levels.cells,
				figureNamed(t.Metric, t.Unit, levelBefore(t, j))+" to "+figureNamed(t.Metric, t.Unit, levelAfter(t, j)))
			chance.cells = append(chance.cells, "P "+atMost(c.P))
		}
	}
	levels.drop, chance.drop = 1, 2
	table, _ := fit([]column{names, changes, levels, chance}, h.o.width())
	for _, line := range table.lines(h.o)[1:] {
		h.out.WriteString(line + "\n")
	}
	h.paragraph(plain, "  ", h.differencesNote(e))
	for i, d := range e.Differences[:min(len(e.Differences), mostExplained)] {
		h.paragraph(plain, fmt.Sprintf("  %2d  ", i+1), differenceText(d))
	}
	if more := len(e.Differences) - mostExplained; more > 0 {
		h.paragraph(faint, "      ", fmt.Sprintf("and %d more", more))
	}
}

// differencesNote says what the differences of an event are, or why there are none.
func (h historyText) differencesNote(e history.Event) string {
	switch {
	case e.Unknown != "":
		return e.Unknown
	case len(e.Differences) == 0:
		return "nothing that is known of the machine differs between these runs, nor between those two before and " +
			"two after"
	case e.Near:
		return "between these two runs nothing else changed; within two runs around them:"
	}
	return "what else changed, the likeliest to matter first:"
}

func differenceText(d diff.Difference) string {
	name := d.Name
	if d.Kind == "fact" && d.Fact != "" {
		name = d.Fact
	}
	text := name + ": " + differenceValue(d, d.A) + ", then " + differenceValue(d, d.B)
	if d.Why != "" {
		text += " (" + d.Why + ")"
	}
	return text
}

// atMost is a probability that was counted among permutations.
func atMost(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return "= " + strconv.FormatFloat(p, 'f', 3, 64)
}

func differenceValue(d diff.Difference, value string) string {
	if value == "" {
		return "nothing"
	}
	if d.Kind == "fact" {
		return facts.Show(lab.Fact{Key: d.Fact, Value: value})
	}
	return value
}

func levelBefore(t history.Track, change int) float64 {
	from := 0
	if change > 0 {
		from = t.Changes[change-1].Index
	}
	return levelOf(t, from, t.Changes[change].Index)
}

func levelAfter(t history.Track, change int) float64 {
	to := len(t.Points)
	if change+1 < len(t.Changes) {
		to = t.Changes[change+1].Index
	}
	return levelOf(t, t.Changes[change].Index, to)
}

func levelOf(t history.Track, from, to int) float64 {
	var values []float64
	for _, p := range t.Points[from:to] {
		values = append(values, p.Center)
	}
	return stat.Median(values)
}

// proved is how many changes of a track are.
func proved(t history.Track) int {
	n := 0
	for _, c := range t.Changes {
		if !c.Likely {
			n++
		}
	}
	return n
}

// reading says how sure all of this is, and what weakens it.
func (h historyText) reading() []string {
	var lines []string
	if codes := h.warned(); codes != "" {
		lines = append(lines, "Warnings taint some of these numbers: "+codes+"; headroom show RUN has them.")
	}
	var wander []string
	for _, t := range h.s.Cells {
		if t.Lag1 != nil && *t.Lag1 > stat.ClearCorrelation(len(t.Points), proved(t)) {
			wander = append(wander, t.Name)
		}
	}
	if len(wander) > 0 {
		lines = append(lines, "Neighbouring runs are alike ("+prose.Few(wander, 3)+"): the level wanders, so changes "+
			"come out by chance more often than said.")
	}
	var ended []string
	for _, t := range h.s.Cells {
		if t.Ended {
			ended = append(ended, t.Name+" (last in "+h.id(t.Points[len(t.Points)-1].Run)+")")
		}
	}
	if len(ended) > 0 {
		lines = append(lines, "Not in the newest run, because the load is another or was left out: "+
			prose.Few(ended, 3)+".")
	}
	if h.s.FewestAfter > 0 {
		lines = append(lines,
			fmt.Sprintf("A run counts with its median. When nothing changes, at most one such history in %.0f shows "+
				"a change at one look; a change must have %s after it to be found, and until then the newest run is "+
				"compared alone.",
				1/h.Alpha, prose.Count(h.s.FewestAfter, "run")))
	} else {
		lines = append(lines, "A run counts with its median. So few runs can't show a change for certain; the newest "+
			"is compared with those before it.")
	}
	return lines
}

// warned counts the runs by the code of their warnings.
func (h historyText) warned() string {
	runs := map[string]map[string]bool{}
	for _, t := range h.s.Cells {
		for _, p := range t.Points {
			for _, code := range p.Warnings {
				if runs[code] == nil {
					runs[code] = map[string]bool{}
				}
				runs[code][p.Run] = true
			}
		}
	}
	var words []string
	for _, code := range sortedKeys(runs) {
		words = append(words, code+" in "+prose.Count(len(runs[code]), "run"))
	}
	return prose.Few(words, 3)
}

// next is what to type now.
func (h historyText) next() []string {
	var lines []string
	if n := len(h.s.Events); n > 0 {
		e := h.s.Events[n-1]
		lines = append(lines, "next: headroom compare "+h.id(e.Before)+" "+h.id(e.Run),
			"      headroom facts diff "+h.id(e.Before)+" "+h.id(e.Run))
	}
	most, none := 0.0, false
	for _, t := range h.s.Cells {
		if t.Newest.Verdict == history.Undecided {
			if t.Newest.Margin == nil {
				none = true
			} else {
				most = max(most, *t.Newest.Margin)
			}
		}
	}
	switch {
	case none:
		// where the file of a suite is, its runs don't say
		again := "measure " + joinNonEmpty(h.Suite, h.s.Place.Path) + " again"
		if slices.Contains(suite.Builtin(), h.Suite) {
			again = "headroom run " + h.Suite
			if h.s.Place.Path != "" {
				again += " " + lab.ShellQuote([]string{h.s.Place.Path})
			}
		}
		lines = append(lines, "more runs would tell: "+again)
	case most > 0:
		lines = append(lines, fmt.Sprintf("with --margin %s it could have been told; steadier runs make do with less",
			unit.Percent(most)))
	}
	return lines
}
