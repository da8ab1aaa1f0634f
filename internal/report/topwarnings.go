package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/validity"
)

// maxMarks is how many warnings a table for the terminal prints: more than that are read by nobody.
const maxMarks = 3

// topWarnings has the warnings of a run as its table shows them: the most important ones in a line each, the rest
// counted.
type topWarnings struct {
	// run is without its notes.
	run *Summary
	// marks have the printed ones first, from 1; the others have no number.
	marks []mark
	// notes are the codes of what is worth knowing of the run and taints no number that its table shows.
	notes []string
}

// newTopWarnings chooses warnings for a table that has no room for some columns.
func newTopWarnings(s *Summary, left []string) topWarnings {
	l := topWarnings{}
	shown := shownMetrics(rows(s), left)
	l.run, l.notes = withoutNotes(s, shown)
	l.marks = marks(l.run)
	l.notes = slices.DeleteFunc(l.notes, func(code string) bool {
		return slices.ContainsFunc(l.marks, func(m mark) bool { return m.code == code })
	})
	ranks, weights := map[string]int{}, validity.Weights()
	for _, m := range l.marks {
		ranks[m.code] = 2 * l.rank(m.code, shown)
		if weight := weights[m.code]; weight == validity.Widens || weight == validity.Note {
			ranks[m.code]++ // what repetitions differ by stands beside each number
		}
	}
	slices.SortStableFunc(l.marks, func(a, b mark) int {
		wide := func(m mark) int {
			if l.run.warns(m.code) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(ranks[a.code], ranks[b.code]), cmp.Compare(wide(a), wide(b)),
			cmp.Compare(len(b.names()), len(a.names())))
	})
	for i := range l.marks {
		l.marks[i].number = 0
		if i < maxMarks {
			l.marks[i].number = i + 1
		}
	}
	return l
}

// warns says whether a run as a whole has a warning.
func (s *Summary) warns(code string) bool {
	return slices.ContainsFunc(s.Warnings, func(w Warning) bool { return w.Code == code })
}

// shownMetrics are the metrics of each cell, by its ID, that a table shows without some columns.
func shownMetrics(lines []row, left []string) map[string][]string {
	shown := map[string][]string{}
	for _, n := range tableNumbers(needsMean(lines), lines) {
		if slices.Contains(left, n.title) {
			continue
		}
		for _, r := range lines {
			if name, m := n.of(r); m != nil {
				shown[r.cell.ID] = append(shown[r.cell.ID], name)
			}
		}
	}
	return shown
}

// withoutNotes is a run without the warnings that are no reason to distrust what its table shows, and their codes:
// results that are kept on the disk under test, as they must be on a machine with one disk, and percentiles that
// stand nowhere.
func withoutNotes(s *Summary, shown map[string][]string) (*Summary, []string) {
	var codes []string
	without := func(all []Warning, note func(Warning) bool) []Warning {
		return slices.DeleteFunc(slices.Clone(all), func(w Warning) bool {
			if note(w) && !slices.Contains(codes, w.Code) {
				codes = append(codes, w.Code)
			}
			return note(w)
		})
	}
	run := *s
	run.Warnings = without(s.Warnings, func(w Warning) bool { return w.Code == "store-on-device" })
	run.Cells = slices.Clone(s.Cells)
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Warnings = without(c.Warnings, func(w Warning) bool {
			return w.Code == "few-operations" && !slices.ContainsFunc(shown[c.ID], w.Tainted)
		})
	}
	return &run, codes
}

// rank is 0 for a warning that taints a number of the answer, or is why a row has none; 1 for one that taints another
// number of the table; 2 for the others.
func (l topWarnings) rank(code string, shown map[string][]string) int {
	tainted := func(c *Cell, names []string) bool {
		return slices.ContainsFunc(slices.Concat(l.run.Warnings, c.Warnings), func(w Warning) bool {
			return w.Code == code && slices.ContainsFunc(names, w.Tainted)
		})
	}
	var ofEvents []string
	if l.run.Events != nil {
		ofEvents = []string{lab.EventStall, lab.EventRecovery, lab.EventDip} // below the table
	}
	rank := 2
	for i := range l.run.Cells {
		c := &l.run.Cells[i]
		empty := len(shown[c.ID]) == 0
		if empty && slices.ContainsFunc(c.Warnings, func(w Warning) bool {
			return w.Code == code && len(w.Taints) > 0
		}) {
			return 0
		}
		if tainted(c, shown[c.ID]) || tainted(c, ofEvents) {
			rank = 1
		}
	}
	for _, n := range answerMetrics(rows(l.run)) {
		if tainted(n.cell, []string{n.metric}) {
			return 0
		}
	}
	return rank
}

// cellMetric is a number of a table.
type cellMetric struct {
	cell   *Cell
	metric string
}

// answerMetrics are the numbers that the answer names.
func answerMetrics(lines []row) []cellMetric {
	var found []cellMetric
	for _, direction := range lab.Directions() {
		if r, m := highest(lines, direction, func(r row) *Metric { return r.iops }); m != nil {
			found = append(found, cellMetric{r.cell, lab.IOPS(direction)})
		}
		if r, m := highest(lines, direction, func(r row) *Metric { return r.bandwidth }); m != nil {
			found = append(found, cellMetric{r.cell, lab.Bandwidth(direction)})
		}
	}
	for _, r := range singles(lines) {
		for _, part := range []string{"p50", "p99"} {
			found = append(found, cellMetric{r.cell, lab.Latency(r.direction, part)})
		}
	}
	for _, r := range bestOfCommands(lines) {
		name, _ := r.headline()
		found = append(found, cellMetric{r.cell, name})
	}
	return found
}

// names of all cells that a mark is about, each once.
func (m mark) names() []string {
	var all []string
	for _, t := range m.texts {
		for _, name := range t.names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// lines are the printed warnings, the rest as a count, and what to type to read more; id is that of the run, as one
// types it.
func (l topWarnings) lines(id string, o Options) []string {
	var lines []string
	var printed, others []string
	for _, m := range l.marks {
		if m.number == 0 {
			others = append(others, m.code)
			continue
		}
		line := briefMark(m.sign(), m.code+": "+l.text(m), l.about(m), o.width())
		lines = append(lines, alarm.paint(m.sign(), o)+strings.TrimPrefix(line, m.sign()))
		printed = append(printed, m.code)
	}
	command := ""
	if id != "" {
		command = joinNonEmpty("headroom show", id, map[bool]string{true: "--cells"}[l.run.Experiment != nil],
			"--warnings")
	}
	for _, more := range moreWarnings(printed, others, l.notes, command, o.width()) {
		lines = append(lines, prose.Wrap(more.what+more.command, o.width(), 2)...)
	}
	return lines
}

// text is what was seen, where the cells agree on it; else what the figures of each cell have in common.
func (l topWarnings) text(m mark) string {
	if title := checkTitle(m.code); len(m.texts) > 1 && title != "" {
		return title
	}
	return m.texts[0].text
}

// checkTitle is the title of a warning; empty for a code that is not in the list of checks.
func checkTitle(code string) string {
	for _, c := range validity.Checks() {
		if c.Code == code {
			return c.Title
		}
	}
	return ""
}

// about names the cells of a mark in a few words.
func (l topWarnings) about(m mark) string {
	const few = 2
	names := m.names()
	switch {
	case l.run.warns(m.code):
		return "the whole run"
	case len(names) == len(l.run.Cells) && len(names) > 1:
		return "all"
	case len(names) <= few:
		return prose.List(names)
	}
	return strconv.Itoa(len(names)) + " of " + strconv.Itoa(len(l.run.Cells))
}

// briefMark is a warning in one line, with as much of its text as there is room for. On a narrow terminal what it is
// about gives way.
func briefMark(sign, text, about string, width int) string {
	const readable = 24
	head, tail := sign+" ", " ["+shorten(about, width/3)+"]"
	if width-prose.Columns(head)-prose.Columns(tail) < readable {
		tail = ""
	}
	return head + shorten(text, max(width-prose.Columns(head)-prose.Columns(tail), 1)) + tail
}

// remainingWarnings is a line that ends in what to type, if anything.
type remainingWarnings struct{ what, command string }

// moreWarnings counts, by their codes, the warnings that are not printed, and notes. They are read with a command;
// empty for none.
func moreWarnings(printed, others, notes []string, command string, width int) []remainingWarnings {
	counts := func(named int) string { // of how many kinds the codes are named
		var parts []string
		for i, kind := range []struct {
			noun  string
			codes []string
		}{{"more warning", others}, {"note", notes}} {
			text := prose.Count(len(kind.codes), kind.noun)
			if len(printed) == 0 {
				text = strings.Replace(text, "more ", "", 1)
			}
			if i < named {
				text += " (" + strings.Join(kind.codes, ", ") + ")"
			}
			if len(kind.codes) > 0 {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	}
	var lines []remainingWarnings
	named := 2
	for named > 0 && prose.Columns(counts(named)+": "+command) > width {
		named--
	}
	what := counts(named)
	switch {
	case what != "" && command != "":
		lines = append(lines, remainingWarnings{what + ": ", command})
	case what != "":
		lines = append(lines, remainingWarnings{what, ""})
	case len(printed) > 0 && command != "":
		lines = append(lines, remainingWarnings{"in full: ", command})
	}
	if i := slices.IndexFunc(printed, func(code string) bool { return checkTitle(code) != "" }); i >= 0 {
		lines = append(lines, remainingWarnings{"what it means and what to do: ", "headroom explain " + printed[i]})
	}
	return lines
}
