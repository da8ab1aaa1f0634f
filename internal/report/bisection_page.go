package report

import (
	_ "embed"
	"io"

	"headroom/internal/bisection"
)

//go:embed bisection.html.tmpl
var bisectionPageText string

type bisectionPage struct {
	Head                       pageHead
	Headline, Ends, ValueTitle string
	Answer                     []string
	Before                     []string
	Steps                      []bisectionPageStep
	Left                       []string
	Candidates                 []bisectionPageCandidate
	Marks                      []string
	Reading                    string
}

type bisectionPageStep struct {
	Number               int
	Class                string
	Tried, Value, Likely string
}

type bisectionPageCandidate struct{ Name, Good, Probability string }

// writeBisectionPage writes one page that needs nothing else.
func writeBisectionPage(w io.Writer, d bisection.Document, _ Options) error {
	t := newBisectionText(d)
	answer := t.answer()
	page := bisectionPage{Headline: answer[0], Answer: answer[1:], Ends: t.ends(), Before: t.before(),
		ValueTitle: t.valueTitle(),
		Head:       newPageHead(answer[0], "", comparePageStyle), Left: t.left(), Marks: warningTexts(t.marks),
		Reading: t.reading()}
	for _, s := range t.Steps {
		page.Steps = append(page.Steps, bisectionPageStep{s.Number, s.Purpose, t.tried(s), t.value(s.Value),
			t.likeliest(s, 3)})
	}
	for _, c := range t.Candidates {
		row := bisectionPageCandidate{t.name(c.Factor, c.Bad), t.name(c.Factor, c.Good), probabilityText(c.Probability)}
		if t.Series {
			row.Name, row.Good = titled(t.level(c.Bad), c.Title), t.level(c.Good)
		}
		page.Candidates = append(page.Candidates, row)
	}
	return writeHTML(w, bisectionPageText, page)
}
