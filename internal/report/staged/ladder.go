package staged

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Ladder builds the document about a ladder: the first rung that falls short, a table of all rungs for each load, and
// the warnings.
func Ladder(d ladder.Document, o report.Options) document.Document {
	all := ladderMarks(&d)
	top := d.Rungs[len(d.Rungs)-1].Name
	out := document.Document{Title: "Ladder from " + d.Rungs[0].Name + " to " + top}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(document.Sentence{Role: document.Answer, Text: prose.Join(d.Answer.Text, report.Signs(all, answerCodes(&d)))})
	answered := func(rung int, cell string) bool {
		return d.Answer.Rung != nil && *d.Answer.Rung == rung && d.Answer.Cell == cell
	}
	for _, t := range d.Guests {
		if !answered(t.Rung, t.Cell) {
			add(document.Sentence{Role: document.More, Text: t.Text})
		}
	}
	for _, l := range d.PodNetwork {
		if !answered(l.Rung, l.Cell) {
			add(document.Sentence{Role: document.More, Text: l.Text})
		}
	}
	add(suspectsOf(&d)...)
	add(tuningRuns(&d)...)
	for i := range d.Rungs[0].Cells {
		add(ladderTable(&d, i, all)...)
	}
	add(report.WarningBlocks(all)...)
	for _, n := range d.Notes {
		add(document.Sentence{Role: document.Note, Text: n})
	}
	for _, text := range append([]string{ladderReading(&d)}, elsewhereLines(&d)...) {
		add(document.Sentence{Role: document.Reading, Text: text})
	}
	add(savedAs(d.Rungs[0].Run, o)...)
	return out
}

// elsewhereLines names the rungs that were not measured on this machine.
func elsewhereLines(d *ladder.Document) []string {
	var targets []string
	names := map[string][]string{}
	for _, r := range d.Rungs {
		if r.Target != "" && !slices.Contains(targets, r.Target) {
			targets = append(targets, r.Target)
		}
		names[r.Target] = append(names[r.Target], r.Name)
	}
	var lines []string
	for _, t := range targets {
		if len(names[t]) == len(d.Rungs) {
			return []string{"Measured on " + t + "."}
		}
		lines = append(lines, "Measured on "+t+": "+strings.Join(names[t], ", ")+".")
	}
	return lines
}

// ladderMarks numbers the warnings of all rungs by code, in the order of the rungs.
func ladderMarks(d *ladder.Document) []report.Mark {
	titles := map[string]string{}
	for _, c := range d.Rungs[0].Cells {
		titles[c.Cell] = c.Title
	}
	var out []report.Mark
	for _, w := range d.Warnings {
		if !taintsShown(d, w) {
			continue
		}
		about := ""
		if w.Rung != ladder.WholeRun {
			about = d.Rungs[w.Rung].Name
		}
		if w.Cell != "" {
			about = loadOn(titles, w.Cell, about)
		}
		out = report.AddMark(out, w.CountedWarning, about)
	}
	return out
}

// taintsShown reports whether a warning is about a number in the tables, or about a whole run.
func taintsShown(d *ladder.Document, w ladder.RungWarning) bool {
	if w.Cell == "" {
		return true
	}
	return slices.ContainsFunc(d.Rungs[w.Rung].Cells, func(c ladder.Cell) bool {
		return c.Cell == w.Cell && w.Tainted(c.Metric)
	})
}

// answerCodes returns the warnings about the numbers on which the answer is based.
func answerCodes(d *ladder.Document) []string {
	if d.Answer.Rung == nil {
		return nil
	}
	var codes []string
	for _, c := range d.Rungs[*d.Answer.Rung].Cells {
		if c.Cell == d.Answer.Cell {
			codes = append(codes, c.Warnings...)
			for _, i := range c.Expected.Rungs {
				for _, below := range d.Rungs[i].Cells {
					if below.Cell == c.Cell {
						codes = append(codes, below.Warnings...)
					}
				}
			}
		}
	}
	return codes
}

// verdictWord returns a verdict for a table, with the cause in the case of a guest's disk.
func verdictWord(r *ladder.Rung, c *ladder.Cell) string {
	switch c.Verdict {
	case ladder.AtCeiling:
		return "at ceiling"
	case ladder.Unexpected:
		return ""
	}
	switch c.Cause {
	case ladder.Emulation:
		return string(c.Verdict) + ": " + r.Interface
	case ladder.Storage:
		return string(c.Verdict) + ": storage"
	case ladder.Both:
		return string(c.Verdict) + ": both"
	}
	return string(c.Verdict)
}

// ladderTable shows one load on all rungs.
func ladderTable(d *ladder.Document, load int, all []report.Mark) []document.Block {
	first := d.Rungs[0].Cells[load]
	shared := sharedMarks(d, load)
	title := first.Title + ", " + report.MetricName(first.Metric)
	t := document.Table{Name: title, Columns: []document.Column{
		{Title: "rung", Kind: document.Words},
		{Title: "rate", Kind: document.Number, DropInterval: 5},
		{Title: "ceiling", Kind: document.Number, Optional: true},
		{Title: "what that is", Kind: document.Verdict, Drop: 2, Optional: true},
		{Title: "promised", Kind: document.Number, Drop: 3, Optional: true},
		{Title: "reached", Kind: document.Number, DropInterval: 1, Optional: true},
		{Title: "verdict", Kind: document.Verdict, Optional: true},
		{Kind: document.Bar, Drop: 6},
	}}
	most := 0.0
	for i := range d.Rungs {
		if c := d.Rungs[i].Cells[load].Center; c != nil {
			most = max(most, *c)
		}
	}
	for i := range d.Rungs {
		r, c := &d.Rungs[i], &d.Rungs[i].Cells[load]
		own := slices.DeleteFunc(slices.Clone(c.Warnings), func(code string) bool {
			return slices.Contains(shared, code)
		})
		rate := document.Cell{Text: document.Absent, Signs: report.Signs(all, own), Value: c.Center, Lo: c.Lo, Hi: c.Hi,
			Unit: string(c.Unit)}
		if c.Center != nil {
			rate.Text = unit.Value(c.Unit, *c.Center)
		}
		if c.Lo != nil {
			rate.Interval = "[" + unit.Value(c.Unit, *c.Lo) + ", " + unit.Value(c.Unit, *c.Hi) + "]"
		}
		var share, limiter, promised, reached, bar document.Cell
		if c.Center != nil && most > 0 {
			bar.To = *c.Center / most
		}
		if c.Share != nil {
			share = document.Cell{Text: unit.Percent(*c.Share), Value: c.Share, Unit: "1"}
			limiter.Text = c.Ceiling.Limiter
		}
		if c.Expected != nil {
			promised = document.Cell{Text: unit.Value(c.Unit, c.Expected.Value), Value: &c.Expected.Value,
				Unit: string(c.Unit)}
		}
		if c.Reached != nil {
			reached = document.Cell{Text: unit.Percent(c.Reached.Value), Value: &c.Reached.Value, Lo: c.Reached.Lo,
				Hi: c.Reached.Hi, Unit: "1"}
			if c.Reached.Informative() {
				reached.Interval = "[" + unit.Percent(*c.Reached.Lo) + ", " + unit.Percent(*c.Reached.Hi) + "]"
			}
		}
		t.Rows = append(t.Rows, document.Row{
			Cells: []document.Cell{{Text: rungTitle(r)}, rate, share, limiter, promised, reached,
				{Text: verdictWord(r, c)}, bar},
			Strong: d.Answer.Rung != nil && d.Answer.Cell == first.Cell && i == *d.Answer.Rung,
		})
	}
	return []document.Block{document.Heading{Text: prose.Join(title, report.Signs(all, shared))}, t}
}

// rungTitle returns a rung's name with its kind, unless the name implies it.
func rungTitle(r *ladder.Rung) string {
	if r.Kind == ladder.Files || r.Kind == ladder.Memory {
		return fmt.Sprintf("%s (%s)", r.Name, r.Filesystem)
	}
	if r.Kind == ladder.Guest {
		return fmt.Sprintf("%s (%s, %s)", r.Name, r.Interface, r.Backing)
	}
	return r.Name
}

// sharedMarks returns the codes that taint a load on all rungs with storage: they are listed once above the table.
func sharedMarks(d *ladder.Document, load int) []string {
	var codes []string
	counted := false
	for _, r := range d.Rungs {
		if r.Kind == ladder.Memory || r.Kind == ladder.Null {
			continue // these have no warnings
		}
		if c := r.Cells[load]; !counted {
			codes, counted = slices.Clone(c.Warnings), true
		} else {
			codes = slices.DeleteFunc(codes, func(code string) bool { return !slices.Contains(c.Warnings, code) })
		}
	}
	return codes
}

// ladderReading explains the table.
func ladderReading(d *ladder.Document) string {
	promised := "for a drive, equal drives; for several drives together, the sum of each alone; for a rung over them, " +
		"the rung below with as many jobs"
	if slices.ContainsFunc(d.Rungs, func(r ladder.Rung) bool { return r.Kind == ladder.Port }) {
		promised = "for a port, equal ports; for several ports together, the sum of each alone; for both ways, one " +
			"way; for a loopback, what the ports can carry by the facts"
	}
	if len(d.PodNetwork) > 0 {
		promised += "; for pods, the same pods in their nodes' own network"
	}
	text := fmt.Sprintf("Ceiling is the share of the tightest known ceiling. Promised is the rate of the rungs below "+
		"in the same pass: %s. A rung is short if it is certainly more than %g%% below that, at a ceiling or not",
		promised, 100*d.Margin)
	if d.Claims > 0 {
		text += "; " + report.HoldTogether(verdictsOf(d.Claims, d.Passes), d.Alpha)
	}
	text += ". Intervals of rates hold with " + report.Confidence(0.95) + " each."
	if len(d.Guests) > 0 {
		text += " For a guest's disk, promised is the rung that stores its data; for a disk without storage, the rung " +
			"that stores the others. If a disk without storage is short as well, the cause is the interface (virtio, " +
			"NVMe); otherwise it is the storage behind it."
	}
	return text
}

// verdictsOf counts the verdicts of a number of passes.
func verdictsOf(claims, passes int) string {
	return fmt.Sprintf("%s of %d passes", prose.Count(claims, "verdict"), passes)
}

// suspectsOf lists what doctor finds on the ends of a network that falls short.
func suspectsOf(d *ladder.Document) []document.Block {
	var list document.List
	for _, c := range d.Suspects {
		item := document.Item{Text: fmt.Sprintf("%s: %s (%s, %s)", c.Target, c.Title, c.Severity, c.Rule)}
		if c.Effect != "" {
			item.Below = append(item.Below, c.Effect)
		}
		for _, r := range c.Remedies {
			item.Below = append(item.Below, "remedy: "+r)
		}
		for _, k := range c.Kept {
			item.Below = append(item.Below, strings.Replace(k, c.Effect, "what it costs is above", 1))
		}
		list.Items = append(list.Items, item)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return []document.Block{document.Heading{Text: "What is known of the machines that may be why"}, list}
}

// tuningRuns shows the results of other ladders of the same ports.
func tuningRuns(d *ladder.Document) []document.Block {
	if len(d.TuningRuns) == 0 {
		return nil
	}
	var list document.List
	for _, t := range d.TuningRuns {
		text := fmt.Sprintf("%s: %s %s, %s before (%s)", prose.Join(t.Label, t.Run), t.Name, unit.Bitrate(t.After),
			unit.Bitrate(t.Before), shareOfChange(t.Change))
		if len(t.Changed) > 0 {
			text += "; " + strings.Join(t.Changed, "; ")
		}
		if t.Forbidden != "" {
			text += "; not allowed, since " + t.Forbidden + " must stay (--keep)"
		}
		list.Items = append(list.Items, document.Item{Text: text})
	}
	return []document.Block{document.Heading{Text: "What was tried"}, list,
		document.Sentence{Role: document.Answer, Text: bestTuningRun(d)}}
}

// bestTuningRun names the best of all tuning runs, and the best of the permitted ones.
func bestTuningRun(d *ladder.Document) string {
	kept, any := ladder.Best(d.TuningRuns)
	name := func(i int) string { return prose.Join(d.TuningRuns[i].Label, unit.Bitrate(d.TuningRuns[i].After)) }
	switch {
	case any < 0:
		return "None of it gained anything that is sure."
	case kept == any:
		return "The best of it: " + name(any) + "."
	case kept < 0:
		return "The best of it is not allowed: " + name(any) + "; nothing else gained anything that is sure."
	}
	return "The best of it is not allowed: " + name(any) + ". The best that is: " + name(kept) + "."
}

func shareOfChange(i stat.Estimate) string {
	if !i.Informative() {
		return fmt.Sprintf("%.2f times", i.Value) + prose.PassesToDecide(0)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f] times", i.Value, *i.Lo, *i.Hi)
}
