package varied

import (
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
)

// searchTables are the tables of a search, and its data.
type searchTables struct {
	bisection.Document
	names  candidateNames
	metric measuredMetric
}

// maxLikeliest is how many suspects are printed next to a measurement if there is room.
const maxLikeliest = 3

// steps returns the table of measurements in their order.
func (t searchTables) steps() document.Table {
	table := document.Table{Name: "measurements", Columns: []document.Column{
		{Title: "", Kind: document.Number},
		{Title: "tried", Kind: document.Words},
		{Title: t.metric.title(), Kind: document.Number},
	}}
	for i := range maxLikeliest {
		c := document.Column{Kind: document.Verdict, Drop: 1 + i, Optional: true}
		if i == 0 {
			c.Title = "most likely so far"
		}
		table.Columns = append(table.Columns, c)
	}
	for _, s := range t.Steps {
		cells := []document.Cell{{Text: strconv.Itoa(s.Number)}, {Text: t.names.tried(s)},
			{Text: t.metric.value(s.Value)}}
		likely := t.names.likeliest(s, maxLikeliest)
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

// differences returns the table of candidates.
func (t searchTables) differences() document.Table {
	table := document.Table{Name: "all that differs", Columns: []document.Column{
		{Title: "slow state", Kind: document.Words},
		{Title: "fast state", Kind: document.Words},
		{Title: "a culprit with", Kind: document.Number},
	}}
	for _, c := range t.Candidates {
		slow, fast := t.names.name(c.Factor, c.Bad), t.names.name(c.Factor, c.Good)
		if t.Series {
			slow, fast = titled(t.names.level(c.Bad), c.Title), t.names.level(c.Good)
		}
		table.Rows = append(table.Rows, document.Row{Cells: []document.Cell{{Text: slow}, {Text: fast},
			{Text: probabilityText(c.Probability)}}})
	}
	return table
}

// data has a row for each measurement, with a column for each setting: 1 if it had the level of the slow state, 0 if it
// had the level of the fast state.
func (t searchTables) data() *document.Data {
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
