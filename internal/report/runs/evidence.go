package runs

import (
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// evidence is what users need to investigate, and to repeat the run.
func (r runText) evidence() []document.Block {
	var blocks []document.Block
	if f := r.facts(); len(f.Blocks) > 0 {
		blocks = append(blocks, f)
	}
	commands := document.Folded{Title: "The exact commands"}
	names := summary.CellNames(r.Run)
	for _, c := range r.Cells {
		if len(c.Command) > 0 {
			commands.Blocks = append(commands.Blocks, document.Listing{Title: names[c.ID],
				Text: lab.ShellQuote(c.Command)})
		}
	}
	if len(commands.Blocks) > 0 {
		blocks = append(blocks, commands)
	}
	how := document.Folded{Title: "How it was run", Blocks: []document.Block{document.Conditions{List: r.settings()}}}
	if r.SuiteText != "" {
		how.Blocks = append(how.Blocks, document.Listing{Title: "The suite", Text: r.SuiteText})
	}
	return append(blocks, how)
}

// facts returns a table for each target.
func (r runText) facts() document.Folded {
	f := document.Folded{}
	index := catalogue.NewIndex()
	all, unknown := 0, 0
	for _, t := range r.Targets {
		table := document.Table{Name: "facts of " + t.Role}
		for _, title := range []string{"fact", "value", "read from"} {
			table.Columns = append(table.Columns, document.Column{Title: title, Kind: document.Words})
		}
		for _, section := range facts.Sections(t.Facts) {
			for i, one := range section.Rows {
				row := document.Row{Cells: []document.Cell{{Text: one.Fact.Key}, {Text: index.Show(one.Fact)},
					{Text: one.Fact.Source}}}
				if i == 0 {
					row.Group = section.Title
				}
				if one.Fact.Unknown != "" {
					unknown++
				}
				table.Rows = append(table.Rows, row)
			}
		}
		if all += len(t.Facts); len(t.Facts) > 0 {
			f.Blocks = append(f.Blocks, document.Heading{Text: prose.Join(t.Role, t.Target)}, table)
		}
	}
	f.Title = fmt.Sprintf("All facts (%d)", all)
	if unknown > 0 {
		f.Title = fmt.Sprintf("All facts (%d, %d unknown)", all, unknown)
	}
	return f
}

// settings returns what is needed to repeat the run.
func (r runText) settings() []document.Condition {
	var out []document.Condition
	add := func(name, text string) {
		if text != "" {
			out = append(out, document.Condition{Name: name, Text: text})
		}
	}
	add("run", r.ID)
	add("status", string(r.Status))
	add("command", lab.ShellQuote(r.Command))
	add("headroom", r.Version)
	add("order", r.Order)
	if r.Seed != 0 {
		add("seed", fmt.Sprint(r.Seed))
	}
	if r.Precision > 0 {
		add("precision", "±"+unit.Percent(r.Precision))
	}
	if r.Budget > 0 {
		add("budget", unit.Duration(time.Duration(r.Budget*float64(time.Second))))
	}
	if r.Pause > 0 {
		add("pause", unit.Value(lab.Seconds, r.Pause)+" between two loads")
	}
	return out
}
