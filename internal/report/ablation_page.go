package report

import (
	_ "embed"
	"html/template"
	"io"

	"headroom/internal/ablation"
	"headroom/internal/compare"
	"headroom/internal/lab"
)

//go:embed ablation.html.tmpl
var ablationPageText string

type ablationPage struct {
	Head            pageHead
	Title, Headline string
	// Broken are the controls that failed; they stand by the answer.
	Broken []string
	// Heads and SideBySide are the loads side by side, where there are several.
	Heads      []string
	SideBySide []sideBySideRow
	Numbers    []ablationPageNumber
	Costs      [][2]string
	Sums       []string
	Marks      []string
	Reading    []string
}

type sideBySideRow struct {
	Name  string
	Cells []sideBySideCell
}

type sideBySideCell struct{ Head, Text string }

type ablationPageNumber struct {
	Title, Signs string
	Forest       template.HTML
	Rows         []ablationPageRow
}

type ablationPageRow struct {
	Class, Name, Alone, AloneBounds, Set, SetBounds, Verdict, Visible, Cost string
}

// writeAblationPage writes one page that needs nothing else, with a forest of intervals for each number.
func writeAblationPage(w io.Writer, d ablation.Document, _ Options) error {
	page, err := newAblationPage(newAblationText(d))
	if err != nil {
		return err
	}
	return writeHTML(w, ablationPageText, page)
}

func newAblationPage(t ablationText) (ablationPage, error) {
	page := ablationPage{Head: newPageHead(t.headline(), "", comparePageStyle), Title: "ablation",
		Headline: t.headline(),
		Costs:    t.costs(), Sums: t.sums(), Marks: warningTexts(t.marks), Reading: t.reading()}
	controls, broken := t.controls()
	if broken {
		page.Broken = controls
	} else {
		page.Sums = append(page.Sums, controls...)
	}
	names := t.names()
	numbers := t.numbers()
	if len(numbers) > 1 {
		for _, n := range numbers {
			page.Heads = append(page.Heads, t.short(n))
		}
		for _, s := range t.Settings {
			b := sideBySideRow{Name: names[s.Number]}
			for _, n := range numbers {
				b.Cells = append(b.Cells, sideBySideCell{t.short(n), sideBySideText(t.effect(s, n))})
			}
			page.SideBySide = append(page.SideBySide, b)
		}
	}
	for _, n := range numbers {
		number := ablationPageNumber{Title: t.title(n), Signs: t.signs(n)}
		for _, s := range t.Settings {
			p := t.effect(s, n)
			if p == nil {
				continue
			}
			row := ablationPageRow{Class: string(p.Verdict), Name: names[s.Number], Verdict: t.verdict(s, p),
				Visible: visibleText(detectable(p)), Cost: costWord(s.Cost)}
			row.Alone, row.AloneBounds = estimateTexts(p.Alone)
			row.Set, row.SetBounds = estimateTexts(p.Removed)
			number.Rows = append(number.Rows, row)
		}
		number.Forest = forest(t.forestRows(n))
		page.Numbers = append(page.Numbers, number)
	}
	return page, nil
}

// forestRows are the ratios of a number as a picture of a comparison has them: of each setting the one alone, and below
// it the one in the set.
func (t ablationText) forestRows(n ablationNumber) []*compare.ComparedMetric {
	var rows []*compare.ComparedMetric
	names := t.names()
	for _, s := range t.Settings {
		p := t.effect(s, n)
		if p == nil {
			continue
		}
		for _, side := range []struct {
			name string
			*ablation.Estimate
		}{{names[s.Number], p.Alone}, {"in the set", p.Removed}} {
			if side.Estimate == nil {
				continue
			}
			verdict := compare.Undecided
			if side.Verdict != ablation.Undecided && side.Verdict != ablation.NotVerified {
				verdict = compare.Verdict(side.Verdict)
			}
			rows = append(rows, &compare.ComparedMetric{Job: side.name, Margin: t.Margin, Verdict: verdict,
				Unit:   lab.PerSecond,
				Change: &compare.Change{Ratio: side.Ratio, Bounds: compare.Bounds{Lo: side.Lo, Hi: side.Hi}}})
		}
	}
	return rows
}
