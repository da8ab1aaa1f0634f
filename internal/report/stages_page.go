package report

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/stages"
)

// stagesOnPage are the stages of a run beside each other, as pages and Markdown show them.
type stagesOnPage struct {
	Headline string
	// Of are the stages that others are held against.
	Of    []string
	Loads []stagesLoadOnPage
	Marks []pageMark
	Notes []string
}

// stagesLoadOnPage is one load in all stages.
type stagesLoadOnPage struct {
	Title string
	Rows  []stagesRowOnPage
}

type stagesRowOnPage struct {
	Stage, IOPS, Mebi, Giga string
	Shares                  []string
	Signs                   string
}

// newStagesOnPage is nil for a run without stages that stand beside each other.
func newStagesOnPage(d *stages.Document, section int) *stagesOnPage {
	if d == nil || len(d.Stages) < 2 {
		return nil
	}
	all := stagesMarks(d)
	shared := stagesShared(d)
	p := &stagesOnPage{Headline: joinNonEmpty(stagesHeadline(d), codeSigns(all, stagesOfAll(d))),
		Notes: append(stagePathTexts(d), d.Notes...)}
	for _, a := range d.Against {
		if !slices.Contains(p.Of, a.Of) {
			p.Of = append(p.Of, a.Of)
		}
	}
	for i, r := range d.Rows {
		if i == 0 || r.Group != d.Rows[i-1].Group || stagesLoad(r) != stagesLoad(d.Rows[i-1]) {
			p.Loads = append(p.Loads, stagesLoadOnPage{Title: stagesLoad(r)})
		}
		own := slices.DeleteFunc(slices.Clone(r.Warnings), func(code string) bool {
			return slices.Contains(shared, code)
		})
		row := stagesRowOnPage{Stage: r.Stage, IOPS: fixed(r.IOPS, 0), Mebi: fixed(r.Bandwidth/(1<<20), 2),
			Giga: gigabits(r.Bandwidth * 8 / 1e9), Signs: codeSigns(all, own)}
		for _, of := range p.Of {
			row.Shares = append(row.Shares, stagesShare(r, of))
		}
		load := &p.Loads[len(p.Loads)-1]
		load.Rows = append(load.Rows, row)
	}
	for _, m := range all {
		mark := newPageMark(m, section)
		mark.ID = "s" + mark.ID // the run has warnings of its own, numbered from 1
		tail := sharedTail(m.texts)
		for i := range mark.Texts[1:] {
			mark.Texts[i+1].Text = strings.TrimSuffix(mark.Texts[i+1].Text, tail)
		}
		p.Marks = append(p.Marks, mark)
	}
	p.Notes = append(p.Notes, "Shares are of bytes a second"+stagesSpread(d)+".")
	if !slices.ContainsFunc(d.Stages, func(s stages.Stage) bool { return s.Links != "" }) {
		p.Notes = append(p.Notes, "Nothing is said of what the links can carry: headroom stages RUN --link … -o "+
			"page.html")
	}
	return p
}

// writeMarkdown writes the stages below the run's own table.
func (p *stagesOnPage) writeMarkdown(out *bufio.Writer) {
	fmt.Fprintf(out, "\n### Stages\n\n%s\n\n| load | stage | IOPS | MiB/s | Gbit/s |", escapeMarkdown(p.Headline))
	for _, of := range p.Of {
		out.WriteString(" of " + escapeMarkdown(of) + " |")
	}
	out.WriteString(" |\n| --- | --- | ---: | ---: | ---: |" + strings.Repeat(" ---: |", len(p.Of)) + " --- |\n")
	for _, l := range p.Loads {
		for _, r := range l.Rows {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |", escapeMarkdown(l.Title), escapeMarkdown(r.Stage),
				escapeMarkdown(r.IOPS), escapeMarkdown(r.Mebi), escapeMarkdown(r.Giga))
			for _, s := range r.Shares {
				out.WriteString(" " + escapeMarkdown(s) + " |")
			}
			out.WriteString(" " + escapeMarkdown(r.Signs) + " |\n")
		}
	}
	out.WriteString("\n")
	for _, m := range p.Marks {
		for _, t := range m.Texts {
			fmt.Fprintf(out, "- %s %s: %s (%s)\n", escapeMarkdown(m.Sign), escapeMarkdown(m.Code),
				escapeMarkdown(t.Text), escapeMarkdown(t.About))
		}
	}
	for _, n := range p.Notes {
		out.WriteString("- " + escapeMarkdown(n) + "\n")
	}
}
