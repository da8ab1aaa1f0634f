package varied

import (
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
)

// Search says which settings or steps make the slow state slow: the answer, a picture and a table of every
// measurement with what was likely after it, how the answer was proved, and all that differs.
func Search(d bisection.Document, o report.Options) document.Document {
	t := newBisectionText(d)
	out := document.Document{Title: "Search for culprits among " + t.differing(), Data: t.data()}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(report.Sentences(document.Answer, t.answer())...)
	add(t.plots(), document.Sentence{Role: document.More, Text: t.ends()})
	add(report.Sentences(document.Detail, t.before())...)
	if len(t.Steps) > 0 {
		add(t.steps())
	}
	add(report.Sentences(document.Detail, t.left())...)
	add(report.WarningBlocks(t.marks)...)
	add(document.Folded{Title: "All that differs", Blocks: []document.Block{t.differences()}},
		document.Sentence{Role: document.Reading, Text: t.reading()})
	add(report.SavedAs(d.Run, o)...)
	return out
}

// maxLikeliest is how many suspects stand beside a measurement where there is room.
const maxLikeliest = 3

// steps are the measurements in their order.
func (t bisectionText) steps() document.Table {
	table := document.Table{Name: "measurements", Columns: []document.Column{
		{Title: "", Kind: document.Number},
		{Title: "tried", Kind: document.Words},
		{Title: t.valueTitle(), Kind: document.Number},
	}}
	for i := range maxLikeliest {
		c := document.Column{Kind: document.Verdict, Drop: 1 + i, Optional: true}
		if i == 0 {
			c.Title = "most likely so far"
		}
		table.Columns = append(table.Columns, c)
	}
	for _, s := range t.Steps {
		cells := []document.Cell{{Text: strconv.Itoa(s.Number)}, {Text: t.tried(s)}, {Text: t.value(s.Value)}}
		likely := t.likeliest(s, maxLikeliest)
		for i := range maxLikeliest {
			text := ""
			if i < len(likely) {
				text = likely[i]
			}
			cells = append(cells, document.Cell{Text: text})
		}
		table.Rows = append(table.Rows, document.Row{Cells: cells})
	}
	return table
}

// differences are the candidates.
func (t bisectionText) differences() document.Table {
	table := document.Table{Name: "all that differs", Columns: []document.Column{
		{Title: "slow state", Kind: document.Words},
		{Title: "fast state", Kind: document.Words},
		{Title: "a culprit with", Kind: document.Number},
	}}
	for _, c := range t.Candidates {
		slow, fast := t.name(c.Factor, c.Bad), t.name(c.Factor, c.Good)
		if t.Series {
			slow, fast = titled(t.level(c.Bad), c.Title), t.level(c.Good)
		}
		table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: slow}, {Text: fast},
			{Text: probabilityText(c.Probability)}}})
	}
	return table
}

// plots are the measurements: by the states of a series, or else in their order.
func (t bisectionText) plots() document.Plots {
	if len(t.Steps) == 0 {
		return document.Plots{}
	}
	if t.Series {
		return document.Plots{List: []document.Plot{t.seriesPlot()},
			Reading: "A point is a measurement, and a thick line the median of a state."}
	}
	reading := "A point is a measurement, in the order of the table. The lines are the medians of the slow and of the " +
		"fast state."
	if len(t.Culprits) > 0 {
		reading += " Grey points are without " + t.culprits() + "."
	}
	return document.Plots{List: []document.Plot{t.orderPlot()}, Reading: reading}
}

func (t bisectionText) valueAxis() document.Axis {
	axis := document.Axis{Title: t.valueTitle(), Unit: string(t.unit()), Scale: document.Linear}
	values := make([]float64, len(t.Steps))
	for i, s := range t.Steps {
		values[i] = s.Value
	}
	if least := slices.Min(values); least > 0 && slices.Max(values) > report.LogarithmicFrom*least {
		axis.Scale = document.Logarithmic
	}
	return axis
}

func (t bisectionText) plotTitle() string {
	return prose.Capital(t.valueTitle()) + " of every measurement"
}

// orderPlot has a point for each measurement, as they came.
func (t bisectionText) orderPlot() document.Plot {
	p := document.Plot{Title: t.plotTitle(), Tabled: true, Y: t.valueAxis(),
		X: document.Axis{Title: "measurement", Scale: document.Names}}
	var points document.Series
	ends := map[string][]float64{}
	for i, s := range t.Steps {
		p.X.Names = append(p.X.Names, strconv.Itoa(s.Number))
		without := len(t.Culprits) > 0 && !slices.ContainsFunc(s.Applied, func(n int) bool {
			return slices.ContainsFunc(t.Culprits, func(c bisection.Culprit) bool {
				return c.Factor == t.Candidates[n-1].Factor && c.Bad == t.Candidates[n-1].Bad
			})
		})
		points.Points = append(points.Points, document.Point{At: float64(i), Value: s.Value, Name: t.tried(s),
			Text: t.value(s.Value), Faint: without})
		if name := t.mixture(s.Applied); name == slowState || name == fastState {
			ends[name] = append(ends[name], s.Value)
		}
	}
	for _, name := range []string{slowState, fastState} {
		if len(ends[name]) > 0 {
			p.References = append(p.References, document.Reference{Name: name,
				Level: document.Level{Value: stat.Median(ends[name])}})
		}
	}
	p.Series = []document.Series{points}
	return p
}

// mostNamedStates is how many states of a series have room for their names.
const mostNamedStates = 40

// seriesPlot has the states of a series in their order, with a mark where the result changed.
func (t bisectionText) seriesPlot() document.Plot {
	p := document.Plot{Title: t.plotTitle(), Tabled: true, X: t.valueAxis(), Y: document.Axis{Scale: document.Names}}
	states := len(t.Candidates) + 1
	index := map[string]int{}
	for i := range states {
		index[t.state(i)] = i
		p.Y.Names = append(p.Y.Names, t.state(i))
	}
	if states > mostNamedStates {
		p.X = document.Axis{Title: "steps after " + t.state(0), Unit: string(lab.Count), Scale: document.Linear}
		p.Y = t.valueAxis()
	}
	var series document.Series
	values := map[int][]float64{}
	for _, s := range t.Steps {
		n := len(s.Applied)
		values[n] = append(values[n], s.Value)
		series.Points = append(series.Points, document.Point{At: float64(n), Value: s.Value, Name: t.state(n),
			Text: t.value(s.Value)})
	}
	for n := range states {
		if len(values[n]) > 0 {
			series.Levels = append(series.Levels, document.Level{From: float64(n) - 0.3, To: float64(n) + 0.3,
				Value: stat.Median(values[n])})
		}
	}
	for _, c := range t.Culprits {
		at := float64(index[t.level(c.Good)]+index[t.level(c.Bad)]) / 2
		p.Marks = append(p.Marks, document.Mark{At: at, Text: report.ChangeText(t.towards(c.Effect).Ratio)})
	}
	p.Series = []document.Series{series}
	return p
}

// data has a row for each measurement, with a column for each setting: 1 where it was as in the slow state, 0 where it
// was as in the fast one.
func (t bisectionText) data() *document.Data {
	data := &document.Data{Columns: []string{"number", "arm", "purpose", "metric", "unit", "value"}}
	for _, c := range t.Candidates {
		data.Columns = append(data.Columns, c.Factor+"="+c.Bad)
	}
	var rows [][]document.Field
	for _, s := range t.Steps {
		row := append(document.Texts(strconv.Itoa(s.Number), s.Arm, s.Purpose, t.Metric, string(t.Unit)),
			document.Numbers(&s.Value)...)
		for i := range t.Candidates {
			applied := "0"
			if slices.Contains(s.Applied, i+1) {
				applied = "1"
			}
			row = append(row, document.Field{Text: applied})
		}
		rows = append(rows, row)
	}
	data.Rows = slices.Values(rows)
	return data
}
