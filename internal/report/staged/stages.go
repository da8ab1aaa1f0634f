package staged

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/unit"
)

// Stages builds the document about a run with stages: its faults in one line, the table with the shares of other
// stages, the findings in sentences, and how published tables agree.
func Stages(d stages.Document, o report.Options) document.Document {
	all := stagesMarks(&d)
	id := o.ID(d.Run)
	out := document.Document{Title: "Stages of run " + id}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(document.Sentence{Role: document.Answer, Text: prose.Join(stagesHeadline(&d), report.Signs(all,
		stagesOfAll(&d)))})
	var list document.List
	for _, s := range d.Stages {
		list.Items = append(list.Items, document.Item{Text: stageLine(s)})
	}
	add(list, stagesPlots(&d), stagesTable(&d, all))
	for i := range d.Published {
		add(publishedTable(&d, i, all)...)
	}
	add(stagesWarnings(all)...)
	for _, text := range stagePathTexts(&d) {
		add(document.Sentence{Role: document.Detail, Text: text})
	}
	for _, n := range d.Notes {
		add(document.Sentence{Role: document.Note, Text: n})
	}
	if !slices.ContainsFunc(d.Stages, func(s stages.Stage) bool { return s.Links != "" }) {
		add(document.Sentence{Role: document.Reading, Text: "To compare rates with what the links can carry: " +
			"headroom stages " + id + " --link RATE."})
	}
	add(document.Sentence{Role: document.Reading,
		Text: stagesLabels(&d) + " Shares are of bytes a second" + stagesSpread(&d) + "."})
	return out
}

// stagesWarnings returns all warnings about these tables, and the first few of the others.
func stagesWarnings(all []report.Mark) []document.Block {
	ours := []string{"unlike-pair", "label-differs", "published-differs", "at-one-of-several", "above-ceiling",
		"samples-above-ceiling", "maxima-above-ceiling", "writes-by-cache"}
	blocks := report.WarningBlocks(all)
	for i, m := range all {
		w := blocks[i].(document.WarningBlock)
		if !slices.Contains(ours, m.Code) {
			continue
		}
		w.Apart = true
		tail := sharedTail(m.Texts)
		for j := range w.Texts {
			w.Texts[j].About = w.Texts[j].All
			if j > 0 {
				w.Texts[j].Text = strings.TrimSuffix(w.Texts[j].Text, tail)
			}
		}
		blocks[i] = w
	}
	return blocks
}

// stagesTable has a row for each stage of a load. Loads that are not compared are kept apart.
func stagesTable(d *stages.Document, all []report.Mark) document.Table {
	shared := stagesShared(d)
	// If there is no room, figures that follow from the bytes are dropped first, then intervals; the shares are kept as
	// long as possible.
	const gigaGoes, iopsGoes, intervalsGo = 1000, 999, 500
	t := document.Table{Name: "stages", Columns: []document.Column{
		{Title: "stage", Kind: document.Words},
		{Title: "IOPS", Kind: document.Number, Drop: iopsGoes},
		{Title: "MiB/s", Kind: document.Number},
		{Title: "Gbit/s", Kind: document.Number, Drop: gigaGoes},
	}}
	of := stagesOf(d)
	for i, name := range of {
		t.Columns = append(t.Columns, document.Column{Title: "of " + name, Kind: document.Number, Drop: 1 + i,
			DropInterval: intervalsGo + i, Optional: true})
	}
	t.Columns = append(t.Columns, document.Column{Kind: document.Verdict, Optional: true}) // signs of a row
	for i := range d.Rows {
		r := &d.Rows[i]
		row := document.Row{Cells: []document.Cell{{Text: r.Stage},
			stageCell(fixed(r.IOPS, 0), r.IOPS, lab.PerSecond),
			stageCell(fixed(r.Bandwidth/(1<<20), 2), r.Bandwidth, lab.BytesPerSecond),
			stageCell(gigabits(r.Bandwidth*8/1e9), r.Bandwidth*8, lab.BitsPerSecond)}}
		if i == 0 || r.Group != d.Rows[i-1].Group || stagesLoad(*r) != stagesLoad(d.Rows[i-1]) {
			row.Group, row.Apart = stagesLoad(*r), i == 0 || r.Group != d.Rows[i-1].Group
		}
		for _, name := range of {
			row.Cells = append(row.Cells, shareCell(r, name))
		}
		own := slices.DeleteFunc(slices.Clone(r.Warnings), func(code string) bool {
			return slices.Contains(shared, code)
		})
		row.Cells = append(row.Cells, document.Cell{Signs: report.Signs(all, own)})
		t.Rows = append(t.Rows, row)
	}
	return t
}

// stagesOf returns the stages that others are compared with.
func stagesOf(d *stages.Document) []string {
	var of []string
	for _, a := range d.Against {
		if !slices.Contains(of, a.Of) {
			of = append(of, a.Of)
		}
	}
	return of
}

func stageCell(text string, value float64, u lab.Unit) document.Cell {
	c := document.Cell{Text: text, Unit: string(u)}
	if value > 0 { // nothing was measured
		c.Value = &value
	}
	return c
}

// shareCell returns a row's share of a stage; in brackets if the loads are not alike.
func shareCell(r *stages.Row, of string) document.Cell {
	for i := range r.Efficiency {
		e := &r.Efficiency[i]
		if e.Of != of {
			continue
		}
		c := document.Cell{Text: fixed(100*e.Ratio, 1) + "%", Value: &e.Ratio, Lo: e.Lo, Hi: e.Hi, Unit: "1"}
		if e.Informative() {
			c.Interval = fmt.Sprintf("[%s, %s]", fixed(100**e.Lo, 1), fixed(100**e.Hi, 1))
		}
		if len(e.Unlike) > 0 {
			c.Text = "(" + c.Text + ")"
		}
		return c
	}
	return document.Cell{}
}

// publishedTable shows row by row how a published table agrees: the load, and the figures that differ from the measured
// ones.
func publishedTable(d *stages.Document, number int, all []report.Mark) []document.Block {
	p := d.Published[number]
	title := "published"
	if p.Name != "" {
		title += ": " + p.Name
	}
	t := document.Table{Name: title, Columns: []document.Column{{Title: "published as", Kind: document.Words},
		{Title: "what ran", Kind: document.Words}}}
	var names []string
	same := map[stages.Agreement]int{}
	figures := 0
	for _, r := range p.Rows {
		for _, f := range r.Figures {
			figures++
			same[f.Agrees]++
			if !slices.Contains(names, f.Column) {
				names = append(names, f.Column)
				t.Columns = append(t.Columns, document.Column{Title: f.Column, Kind: document.Number, Drop: len(names)})
			}
		}
	}
	t.Columns = append(t.Columns, document.Column{Kind: document.Verdict, Optional: true}) // signs of a row
	for i, r := range p.Rows {
		ran := document.Absent
		if r.Row != nil {
			ran = d.Rows[*r.Row].Title + " in " + d.Rows[*r.Row].Stage
		}
		cells := make([]document.Cell, len(t.Columns))
		cells[0].Text, cells[1].Text = r.Label, ran
		for _, f := range r.Figures {
			cells[2+slices.Index(names, f.Column)] = document.Cell{Text: agreesSign(f)}
		}
		var codes []string
		for _, f := range d.Findings {
			if slices.Contains(f.Published, stages.Place{Table: number, Row: i}) {
				codes = append(codes, f.Code)
			}
		}
		cells[len(cells)-1].Signs = report.Signs(all, codes)
		t.Rows = append(t.Rows, document.Row{Cells: cells})
	}
	return []document.Block{document.Heading{Text: fmt.Sprintf("%s, %s: %d agree to their last digit with what was "+
		"measured, %d with the rounded figures in the same table, %d with neither", title, prose.Count(figures, "figure"),
		same[stages.Measured], same[stages.Derived], same[stages.Differs]+same[stages.Unknown])}, t}
}

// FastestMount is the stage on one of headroom's own mounts that was the fastest in most of the loads that several
// stages share, and the files that make the mount permanent.
type FastestMount struct {
	// Stage is empty if no stage is ahead.
	Stage string
	// Won is the number of Loads in which it was the fastest of Mounts.
	Won, Loads, Mounts int
	Files              []mount.ConfigFile
}

// NFS builds the document about the stages of an NFS server, with the files that make the fastest mount permanent.
// Without serial numbers these are left out, because they contain the server's addresses.
func NFS(d stages.Document, best FastestMount, o report.Options) document.Document {
	out := Stages(d, o)
	if best.Stage == "" || !o.Serials {
		return out
	}
	text := "To have " + best.Stage + " for good"
	if best.Mounts > 1 {
		text += fmt.Sprintf(", the fastest of %s in %d of %s by the medians; a difference of a few per cent may be "+
			"noise", prose.Count(best.Mounts, "mount"), best.Won, prose.Count(best.Loads, "load"))
	}
	files := document.Entries{Name: "for good"}
	for _, f := range best.Files {
		lines := []document.Line{{Label: "cost", Text: f.Cost}}
		for _, line := range f.Lines {
			lines = append(lines, document.Line{Text: line, Typed: true})
		}
		files.List = append(files.List, document.Entry{Title: "on " + f.Where + ", in " + f.Name, Name: f.Name,
			Parts: []document.Part{{Name: "change", Obvious: true, Lines: lines}}})
	}
	out.Blocks = append(out.Blocks, document.Heading{Text: text + ":"}, files)
	return out
}

// stagesPlots returns one picture for each load, with a bar for each stage.
func stagesPlots(d *stages.Document) document.Plots {
	var plots document.Plots
	for from := 0; from < len(d.Rows); {
		to := from
		for to < len(d.Rows) && d.Rows[to].Group == d.Rows[from].Group {
			to++
		}
		plot := stagesPlot(d, d.Rows[from:to])
		if len(plot.References) > 0 {
			plots.Reading = "A line across a row is what the links of that stage carry together, where that is near."
		}
		plots.List = append(plots.List, plot)
		from = to
	}
	return plots
}

// stagesPlot shows one load in its stages, in bits a second, or in operations if bytes are not known for all stages.
func stagesPlot(d *stages.Document, rows []stages.Row) document.Plot {
	u, quantity := lab.BitsPerSecond, "bandwidth"
	value := func(r stages.Row) float64 { return 8 * r.Bandwidth }
	if slices.ContainsFunc(rows, func(r stages.Row) bool { return !(r.Bandwidth > 0) && r.IOPS > 0 }) {
		u, quantity = lab.PerSecond, "IOPS"
		value = func(r stages.Row) float64 { return r.IOPS }
	}
	direction := rows[0].Direction
	p := document.Plot{Tabled: true, X: document.Axis{Title: prose.Join(direction, quantity), Unit: string(u)},
		Y: document.Axis{Scale: document.Names}}
	s := document.Series{Direction: direction, Bars: true}
	var loads []string
	most := 0.0
	for i, r := range rows {
		if load := stagesLoad(r); !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
		p.Y.Names = append(p.Y.Names, r.Stage)
		s.Points = append(s.Points, document.Point{At: float64(i), Value: value(r), Name: "in " + r.Stage,
			Text: unit.Value(u, value(r)), Codes: r.Warnings})
		most = max(most, value(r))
	}
	if len(loads) > 1 {
		for i, r := range rows {
			s.Points[i].Name = stagesLoad(r) + " in " + r.Stage
		}
	}
	p.Title, p.Series = strings.Join(loads, "; "), []document.Series{s}
	for i, r := range rows {
		at := slices.IndexFunc(d.Stages, func(s stages.Stage) bool { return s.Name == r.Stage })
		const near = 3 // times the fastest; with a more distant ceiling all bars would be short
		if u != lab.BitsPerSecond || at < 0 || !(d.Stages[at].Rate > 0) || 8*d.Stages[at].Rate > near*most {
			continue
		}
		p.References = append(p.References, document.Reference{Name: "links of " + r.Stage,
			Level: document.Level{From: float64(i) - 0.45, To: float64(i) + 0.45, Value: 8 * d.Stages[at].Rate}})
	}
	return p
}
