package staged

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// Layers builds the document about the cost of each layer: the answer, a table for each number of each job, whether the
// parts add up, and the warnings.
func Layers(d layers.Document, o report.Options) document.Document {
	all := layersMarks(&d)
	bottom, top := d.Layers[0].Name, d.Layers[len(d.Layers)-1].Name
	out := document.Document{Title: fmt.Sprintf("Layers of storage from %s to %s", bottom, top)}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(document.Sentence{Role: document.Answer, Text: layersHeadline(d, all)})
	for i, s := range d.Steps {
		if s.Layer == 0 {
			add(layersTable(d, d.Steps[i:i+len(d.Layers)], all)...)
		}
	}
	for _, s := range d.Sums {
		add(document.Sentence{Role: document.Detail, Text: sumText(s)})
	}
	add(report.WarningBlocks(all)...)
	for _, n := range d.Notes {
		add(document.Sentence{Role: document.Note, Text: n})
	}
	add(document.Sentence{Role: document.Reading,
		Text: fmt.Sprintf("Each interval holds with %s, for its difference alone; the answer names a layer with as much "+
			"for all layers together. Differences are taken within a pass, so drifts affect all layers alike. CPU is the "+
			"time of the load's own process, without threads of the kernel.", report.Confidence(d.Confidence))})
	add(savedAs(d.Layers[0].Run, o)...)
	return out
}

// savedAs names the saved run, given the first arm's name.
func savedAs(first string, o report.Options) []document.Block {
	whole, _ := lab.CutArm(first)
	return report.SavedAs(cmp.Or(whole, first), o)
}

// layersHeadline is the answer for one operation at a time. If no such load was run, it describes what was measured.
func layersHeadline(d layers.Document, all []report.Mark) string {
	bottom, top := d.Layers[0].Name, d.Layers[len(d.Layers)-1].Name
	plainly := fmt.Sprintf("what the %d layers from %s to %s add", len(d.Layers), bottom, top)
	if !d.Stacked() {
		plainly = fmt.Sprintf("how the %d places from %s to %s differ", len(d.Layers), bottom, top)
	}
	for i, s := range d.Steps {
		if s.Layer != 0 || !strings.HasSuffix(s.Metric, "latency.mean") {
			continue
		}
		steps := d.Steps[i : i+len(d.Layers)]
		last := steps[len(steps)-1]
		if s.N == 0 || last.N == 0 {
			continue
		}
		var most *layers.Step // of those that surely add something
		total := 0.0
		var codes []string
		for _, step := range steps {
			codes = append(codes, step.Warnings...)
		}
		for _, step := range steps[1:] {
			if step.Added == nil {
				return plainly
			}
			total += step.Added.Value
			if step.Clear && (most == nil || step.Added.Value > most.Added.Value) {
				most = &step
			}
		}
		text := s.Title + ": " + betweenText(d, difference(s.Unit, total), most != nil)
		if most != nil && len(steps) > 2 {
			part := "most of it"
			if most.Added.Value <= total/2 {
				part = "the largest part of it"
			}
			text += fmt.Sprintf(", %s at %s (%s)", part, d.Layers[most.Layer].Name,
				difference(most.Unit, most.Added.Value))
		}
		return prose.Join(text, report.Signs(all, codes))
	}
	return plainly
}

// betweenText describes the difference between bottom and top: the cost of the layers, if they are stacked.
func betweenText(d layers.Document, total string, clear bool) string {
	bottom, top := d.Layers[0].Name, d.Layers[len(d.Layers)-1].Name
	switch {
	case !d.Stacked() && clear:
		return fmt.Sprintf("%s differs from %s by %s on average", top, bottom, total)
	case !d.Stacked():
		return fmt.Sprintf("%s differs from %s by no more than the noise (%s on average)", top, bottom, total)
	case clear:
		return fmt.Sprintf("from %s to %s %s on average", bottom, top, total)
	default:
		return fmt.Sprintf("what the layers from %s to %s add does not stand out from the noise (%s on average)",
			bottom, top, total)
	}
}

// layersMarks numbers the warnings of all layers by code, in the order of the layers.
func layersMarks(d *layers.Document) []report.Mark {
	titles := map[string]string{}
	for _, s := range d.Steps {
		titles[s.Cell] = s.Title
	}
	var out []report.Mark
	for _, w := range d.Warnings {
		about := d.Layers[w.Layer].Name
		if w.Cell != "" {
			about = loadOn(titles, w.Cell, about)
		}
		out = report.AddMark(out, w.CountedWarning, about)
	}
	return out
}

// loadOn names a load in a place. One of which no number is shown has no title.
func loadOn(titles map[string]string, cell, place string) string {
	return cmp.Or(titles[cell], cell) + " on " + place
}

// sharedCodes returns the codes of warnings that taint the numbers of all layers: they are listed once above the table.
func sharedCodes(steps []layers.Step) []string {
	return slices.DeleteFunc(slices.Clone(steps[0].Warnings), func(code string) bool {
		return slices.ContainsFunc(steps, func(s layers.Step) bool { return !slices.Contains(s.Warnings, code) })
	})
}

func layersTable(d layers.Document, steps []layers.Step, all []report.Mark) []document.Block {
	word := "added"
	if !d.Stacked() {
		word = "differs"
	}
	shared := sharedCodes(steps)
	inAll := func(code string) bool { return slices.Contains(shared, code) }
	first, most := steps[0], 0.0
	for _, s := range steps {
		most = max(most, s.Value)
	}
	title := first.Title + ", " + report.MetricName(first.Metric)
	t := document.Table{Name: title, Columns: []document.Column{
		{Title: "layer", Kind: document.Words},
		{Title: "mean", Kind: document.Number},
		{Title: word, Kind: document.Number, DropInterval: 1, Optional: true},
		{Title: "times", Kind: document.Number, Drop: 2, Optional: true},
		{Kind: document.Bar, Drop: 3},
	}}
	for i, s := range steps {
		mean := document.Cell{Text: document.Absent, Unit: string(s.Unit),
			Signs: report.Signs(all, slices.DeleteFunc(slices.Clone(s.Warnings), inAll))}
		if s.N > 0 {
			mean.Text, mean.Value = unit.Value(s.Unit, s.Value), &s.Value
		}
		var added, times, bar document.Cell
		if s.Added != nil {
			added = document.Cell{Text: difference(s.Unit, s.Added.Value), Value: &s.Added.Value, Lo: s.Added.Lo,
				Hi: s.Added.Hi, Unit: string(s.Unit)}
			if s.Added.Lo != nil && (s.Ratio == nil || s.Ratio.Informative()) {
				added.Interval = "[" + difference(s.Unit, *s.Added.Lo) + ", " + difference(s.Unit, *s.Added.Hi) + "]"
			}
		}
		if s.Ratio != nil {
			times = document.Cell{Text: report.RatioDigits(s.Ratio.Value) + "x", Value: &s.Ratio.Value, Lo: s.Ratio.Lo,
				Hi: s.Ratio.Hi, Unit: "1"}
		}
		if most > 0 {
			if i > 0 {
				bar.From = steps[i-1].Value / most
			}
			bar.To = s.Value / most
		}
		t.Rows = append(t.Rows,
			document.Row{Cells: []document.Cell{{Text: d.Layers[s.Layer].Name}, mean, added, times, bar}})
	}
	return []document.Block{document.Heading{Text: prose.Join(title, report.Signs(all, shared))}, t}
}

// difference formats a number with its sign.
func difference(u lab.Unit, v float64) string {
	if v < 0 {
		return "-" + unit.Value(u, -v)
	}
	return "+" + unit.Value(u, v)
}

// sumText describes whether the parts add up.
func sumText(s layers.Sum) string {
	text := fmt.Sprintf("%s, %s: the parts add up to %s of %s", s.Title, report.MetricName(s.Metric),
		difference(lab.Seconds, s.Parts.Value), difference(lab.Seconds, s.Whole.Value))
	if s.Whole.Lo != nil {
		text += fmt.Sprintf(" [%s, %s]", difference(lab.Seconds, *s.Whole.Lo), difference(lab.Seconds, *s.Whole.Hi))
	}
	text += " from bottom to top, measured in other passes"
	if !s.Agree {
		text += ": they do not agree, so the machine changed while it was measured; repeat with more --pairs"
	}
	return text
}
