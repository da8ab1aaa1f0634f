package report

import (
	"cmp"
	"slices"
	"strings"

	"headroom/internal/compare"
	"headroom/internal/prose"
)

// compareTopWarnings has the warnings of a comparison as its table shows them: the most important ones in a line each,
// the rest counted. Reasons why rows have no verdict come before what is said of the comparison as a whole.
type compareTopWarnings struct {
	// reasons have those of the most rows first; signed is how many of them have a sign and a line.
	reasons []grouped
	signed  int
	// whole are the warnings about all of it, but for the one that stands by the answer; listed is how many have a
	// line.
	whole  []compare.RunWarning
	listed int
	notes  []string
}

func newCompareTopWarnings(d *compare.Document, n *compare.ComparedRun,
	rows []*compare.ComparedMetric) compareTopWarnings {
	l := compareTopWarnings{reasons: groupReasons(rows)}
	size := func(g grouped) int {
		if g.all {
			return len(rows)
		}
		return len(g.jobs)
	}
	slices.SortStableFunc(l.reasons, func(a, b grouped) int { return cmp.Compare(size(b), size(a)) })
	room := maxMarks
	for _, w := range d.Warnings {
		switch {
		case w.Run != n.ID:
		case w.Code == sameRun:
			room-- // it stands by the answer
		default:
			l.whole = append(l.whole, w)
		}
	}
	l.signed = min(room, len(l.reasons))
	l.listed = min(room-l.signed, len(l.whole))
	for _, text := range noteTexts(rows) {
		name, _, _ := strings.Cut(text, ": ")
		l.notes = append(l.notes, name)
	}
	for _, g := range groupTexts(rows, unchecked) {
		l.notes = append(l.notes, "not known of one side: "+g.text)
	}
	return l
}

// signs of a row's reasons, and how many more it has: "!1 +2".
func (l compareTopWarnings) signs(c *compare.ComparedMetric) []string {
	var marks []mark
	for i, g := range l.reasons {
		if slices.ContainsFunc(c.Reasons, func(r compare.Reason) bool { return reasonKey(r) == g.key }) {
			m := mark{number: i + 1}
			if i >= l.signed {
				m.number = 0
			}
			marks = append(marks, m)
		}
	}
	return strings.Fields(signsText(marks))
}

// topWarnings writes the warnings of a comparison; again is the command that makes it once more.
func (p *paragraphs) topWarnings(l compareTopWarnings, rows []*compare.ComparedMetric, again string) {
	p.acceptedReasons(rows)
	var printed, others []string
	for i, g := range l.reasons {
		if i >= l.signed {
			others = append(others, reasonName(g))
			continue
		}
		sign := mark{number: i + 1}.sign()
		p.marked(sign, strings.TrimPrefix(briefMark(sign, g.text, g.about(), p.width), sign), 0)
		printed = append(printed, g.key)
	}
	for i, w := range l.whole {
		if i >= l.listed {
			others = append(others, w.Code)
			continue
		}
		p.marked(w.Code, shorten(": "+w.Text, p.width-prose.Columns(w.Code)), 0)
		printed = append(printed, w.Code)
	}
	for _, more := range moreWarnings(printed, others, l.notes, again+" --warnings", p.width) {
		p.command(more.what, more.command)
	}
	if len(printed)+len(others)+len(l.notes) > 0 {
		p.line("")
	}
}

// reasonName is the code of a reason that is a warning, else what comes before the figures.
func reasonName(g grouped) string {
	name, _, _ := strings.Cut(g.key, ": ")
	return name
}
