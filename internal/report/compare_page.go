package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"headroom/internal/compare"
)

var (
	//go:embed compare.html.tmpl
	comparePageText string
	//go:embed compare.css
	comparePageStyle string
)

// maxListed is how many differences a page holds: those of two kernels are thousands, and the JSON has them.
const maxListed = 100

type comparePage struct {
	Head pageHead
	// BaseWord and NewWord name the sides where a narrow screen has no columns.
	BaseWord, NewWord string
	Parts             []comparePart
}

// comparePart is one new run beside the base.
type comparePart struct {
	Title, Headline, Base, New string
	// Trust is what the verdicts do not cover.
	Trust           []string
	Forest          template.HTML
	Rows            []comparePageRow
	Reading         []string
	ReasonTitle     string
	Reasons         []comparePageReason
	Notes           []string
	DifferenceTitle string
	Differences     []comparePageDifference
	More            []comparePageDifference
	MoreFrom        int
	NotListed       int
	Conditions      []compare.Pair
}

type comparePageRow struct {
	Class, Job, Params, Metric     string
	Base, BaseSpread               string
	New, NewSpread                 string
	Change, Interval, Verdict, Why string
	Signs                          []string
}

type comparePageReason struct{ Sign, Text, About string }

type comparePageDifference struct{ Name, Base, New, Why string }

// writeComparePage writes one page with a part for each new run.
func writeComparePage(w io.Writer, d *compare.Document, _ Options) error {
	page := comparePage{BaseWord: "base", NewWord: "new"}
	var titles []string
	for i := range d.New {
		part, err := newComparePart(d, &d.New[i])
		if err != nil {
			return err
		}
		page.Parts = append(page.Parts, part)
		titles = append(titles, part.Headline)
	}
	page.Head = newPageHead(strings.Join(titles, "; "), "", comparePageStyle)
	return writeHTML(w, comparePageText, page)
}

func newComparePart(d *compare.Document, n *compare.ComparedRun) (comparePart, error) {
	rows := compareRows(d, n.ID)
	part := comparePart{Title: "comparison", Headline: compareHeadline(d, n), Base: d.Base.Name, New: n.Name,
		Reading: compareReading(d, rows),
		Notes:   unmatchedText(d, n), Conditions: conditionPairs(d.Base.Conditions, n.Conditions)}
	if n.Suite != "" {
		part.Title = joinNonEmpty("comparison of", n.Suite)
	}
	for _, warning := range d.Warnings {
		if warning.Run == n.ID {
			part.Trust = append(part.Trust, warning.Code+": "+warning.Text)
		}
	}
	part.Forest = forest(rows)
	part.Rows = comparePageRows(rows)
	part.ReasonTitle = "Why some numbers are incomparable"
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.Anyway }) {
		part.ReasonTitle = "Compared anyway, though"
	}
	for i, g := range groupReasons(rows) {
		part.Reasons = append(part.Reasons, comparePageReason{mark{number: i + 1}.sign(), g.text, g.about()})
	}
	part.Notes = append(part.Notes, noteTexts(rows)...)
	for _, g := range groupTexts(rows, unchecked) {
		part.Notes = append(part.Notes, "One side does not tell "+g.text+" ["+g.about()+"]")
	}
	part.addDifferences(d, n)
	return part, nil
}

func comparePageRows(rows []*compare.ComparedMetric) []comparePageRow {
	var out []comparePageRow
	titles := rowTitles(rows)
	signs := reasonSigns(rows)
	for i, c := range rows {
		r := comparePageRow{Job: titles[i].job, Params: titles[i].params, Metric: titles[i].metric,
			Class: string(c.Verdict), Verdict: comparedWord(c), Why: whyText(c), Signs: signs(c)}
		r.Base, r.BaseSpread = sideText(c.Unit, c.Base)
		r.New, r.NewSpread = sideText(c.Unit, c.New)
		r.Change, r.Interval = changeTexts(c)
		if c.Verdict == compare.Incomparable {
			r.Why = ""
		}
		out = append(out, r)
	}
	return out
}

func (part *comparePart) addDifferences(d *compare.Document, n *compare.ComparedRun) {
	all := differencesOf(d, n.ID)
	part.DifferenceTitle = strings.TrimSuffix(differenceTitle(n, all), ":")
	if text := noFacts(n, len(all)); text != "" {
		part.DifferenceTitle = text
	}
	part.NotListed = max(0, len(all)-maxListed)
	for i, x := range all[:min(len(all), maxListed)] {
		name := x.Name
		if name == "" {
			name = x.Fact
		}
		item := comparePageDifference{Name: joinNonEmpty(name, x.About), Base: orEmpty(x.Base), New: orEmpty(x.New),
			Why: differenceDetail(x)}
		if i < 2*shownOtherDifferences {
			part.Differences = append(part.Differences, item)
		} else {
			part.More = append(part.More, item)
		}
	}
	part.MoreFrom = len(part.Differences) + 1
}

// conditionPairs puts the conditions of both runs side by side, in the order of the base.
func conditionPairs(base, next []compare.Condition) []compare.Pair {
	var out []compare.Pair
	for _, c := range base {
		out = append(out, compare.Pair{Name: c.Name, Base: c.Text})
	}
	for _, c := range next {
		i := slices.IndexFunc(out, func(p compare.Pair) bool { return p.Name == c.Name })
		if i < 0 {
			i = len(out)
			out = append(out, compare.Pair{Name: c.Name})
		}
		out[i].New = c.Text
	}
	return out
}
