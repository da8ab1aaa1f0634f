package compared

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// References lists published results.
func References(references []reference.Reference) document.Document {
	list := document.Entries{Name: "references"}
	for _, r := range references {
		loads := float64(len(r.Results))
		list.List = append(list.List, document.Entry{Name: r.Name, Title: fmt.Sprintf("%s: %s (%s)", r.Name, r.Title,
			prose.Join(r.Hardware+",", prose.Count(len(r.Results), "load"))), Values: []document.Value{
			{Name: "loads", Cell: document.Cell{Text: strconv.Itoa(len(r.Results)), Value: &loads, Unit: "1"}},
			report.TextValue("hardware", r.Hardware)}})
	}
	return document.Document{Title: "Published results", Blocks: []document.Block{list}}
}

// Reference describes a published result with its conditions, and what its source does not state.
func Reference(r reference.Reference) document.Document {
	conditions := document.List{}
	row := func(name, text string) {
		if text != "" {
			conditions.Items = append(conditions.Items, document.Item{Text: name + ": " + text})
		}
	}
	row("source", r.Source.String())
	row("hardware", r.Hardware)
	row("place", prose.Join(string(r.Place.Kind), r.Place.Path, r.Place.Filesystem))
	for _, f := range r.Facts {
		row("stated", f.Key+" "+f.Value)
	}
	for _, u := range r.Unstated {
		row("not stated", u)
	}
	var doubts document.Warnings
	for _, w := range r.Warnings {
		doubts.List = append(doubts.List, document.WarningBlock{Code: w.Code, Explained: report.Explained(w.Code),
			Texts: []document.WarningText{{Text: w.Text, About: prose.Few(w.Taints, 4), All: prose.List(w.Taints)}}})
	}
	results := document.Entries{Name: "results"}
	for _, result := range r.Results {
		results.List = append(results.List, publishedEntry(result))
	}
	return document.Document{Title: r.Name, Blocks: []document.Block{
		document.Sentence{Role: document.Answer, Text: r.Name + ": " + r.Title}, conditions, doubts, results}}
}

func publishedEntry(result reference.Result) document.Entry {
	e := document.Entry{Name: result.Job, Parts: []document.Part{
		{Name: "load", Lines: []document.Line{{Text: strings.TrimSpace(mapText(result.Params))}}},
		{Name: "from", Lines: []document.Line{{Text: result.Where}}}}}
	var figures []string
	for _, metric := range slices.Sorted(maps.Keys(result.Values)) {
		c := metricCell(metric, result.Values[metric])
		figures = append(figures, metric+" "+c.Text)
		e.Values = append(e.Values, document.Value{Name: metric, Cell: c})
	}
	e.Title = result.Job + ": " + strings.Join(figures, ", ")
	return e
}

func metricCell(metric string, v float64) document.Cell {
	u := lab.Metric(metric).Unit
	return document.Cell{Text: unit.Value(u, v), Value: &v, Unit: string(u)}
}

// Standings builds the document that compares a run with published results: each with its grade, which comes before the
// ratio, and with the reasons against a better one.
func Standings(d reference.RunStandings, name string) document.Document {
	out := document.Document{Title: "Run " + name + " compared with published results",
		Blocks: []document.Block{document.Sentence{Role: document.Answer, Text: standingsSentence(d, name)}}}
	plots := document.Plots{Reading: "Right of the line is more than was published. Of grey points only the order of " +
		"magnitude counts, and hollow ones are doubtful."}
	var entries []document.Block
	first := ""
	for _, c := range d.Cells {
		if len(c.Standings) == 0 {
			continue
		}
		title := loadName(c)
		list := document.Entries{Name: title}
		var rows []report.PlottedChange
		for _, s := range c.Standings {
			list.List = append(list.List, standingEntry(s))
			row := report.PlottedChange{Name: s.Reference, Of: s.Metric, Ratio: s.Ratio,
				Text:    fmt.Sprintf("%.3gx", s.Ratio),
				Decided: s.Grade != reference.OrderOfMagnitude}
			if len(s.Doubts) > 0 {
				row.Codes = []string{"source-doubtful"}
			}
			rows = append(rows, row)
			if first == "" {
				first = s.Reference
			}
		}
		for _, plot := range report.ChangesPlots(title, "", "", rows) {
			plot.X.Title = "times what was published"
			plots.List = append(plots.List, plot)
		}
		entries = append(entries, document.Heading{Text: title}, list)
	}
	if first == "" {
		return out
	}
	out.Blocks = append(append(out.Blocks, plots), entries...)
	out.Blocks = append(out.Blocks, document.Command{What: "next", Text: "headroom references show " + first})
	return out
}

// standingsSentence counts the published results by their grade.
func standingsSentence(d reference.RunStandings, name string) string {
	grades := map[reference.Grade]int{}
	loads := 0
	for _, c := range d.Cells {
		if len(c.Standings) > 0 {
			loads++
			grades[c.Standings[0].Grade]++
		}
	}
	if loads == 0 {
		return fmt.Sprintf("Nothing is published here for the loads of run %s", name)
	}
	worth := "none better than the order of magnitude"
	if same, near := grades[reference.SameConditions], grades[reference.Close]; same+near > 0 {
		worth = fmt.Sprintf("%d under the same conditions, %d close", same, near)
	}
	return fmt.Sprintf("Published results for %d of %d loads of run %s, %s", loads, len(d.Cells), name, worth)
}

func standingEntry(s reference.Standing) document.Entry {
	measured, published := metricCell(s.Metric, s.Measured), metricCell(s.Metric, s.Published)
	e := document.Entry{Name: s.Reference, Title: fmt.Sprintf("%s: %.3gx %s (%s %s against %s)", s.Grade, s.Ratio,
		s.Reference, s.Metric, measured.Text, published.Text), Values: []document.Value{
		report.TextValue("grade", string(s.Grade)), report.TextValue("metric", s.Metric),
		{Name: "measured", Cell: measured},
		{Name: "published", Cell: published},
		{Name: "ratio", Cell: document.Cell{Text: fmt.Sprintf("%.3g", s.Ratio), Value: &s.Ratio, Unit: "1"}}}}
	var differ []string
	for _, d := range s.Differences {
		differ = append(differ, d.String())
	}
	if len(differ) > 0 {
		e.Parts = append(e.Parts, document.Part{Name: "differs", Lines: []document.Line{
			{Text: strings.Join(differ, "; ")}}})
	}
	for _, d := range s.Doubts {
		e.Parts = append(e.Parts, document.Part{Name: "doubtful", Lines: []document.Line{{Text: d}}})
	}
	return e
}

// loadName distinguishes a load from others of the same job: "randread 4k q32 x4".
func loadName(c reference.LoadStandings) string {
	name := prose.Join(c.Job, c.Params["bs"])
	if depth := c.Params["iodepth"]; depth != "" {
		name += " q" + depth
	}
	if jobs := c.Params["numjobs"]; jobs != "" && jobs != "1" {
		name += " x" + jobs
	}
	return name
}
