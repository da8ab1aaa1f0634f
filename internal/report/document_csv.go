package report

import (
	"io"
	"strconv"

	"headroom/internal/document"
)

// writeDocumentCSV writes tidy data: one line a number, with the table and the names of its row, in base units. What is
// no number has its text.
func writeDocumentCSV(w io.Writer, d document.Document, o Options) error {
	out := newTable(w, o)
	if !o.NoHeader {
		out.write([]string{"table", "row", "name", "column", "unit", "value", "lo", "hi", "text", "warnings"})
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return out.number(*v)
	}
	for _, b := range d.Blocks {
		t, ok := b.(document.Table)
		if !ok {
			continue
		}
		for i, row := range t.Rows {
			name := t.RowName(i)
			for j, c := range row.Cells {
				if k := t.Columns[j].Kind; k == document.Words || k == document.Bar || c.Text == "" {
					continue
				}
				out.write([]string{t.Name, strconv.Itoa(i + 1), name, t.Columns[j].Title, c.Unit, number(c.Value), number(c.Lo), number(c.Hi),
					joinNonEmpty(c.Text, c.Interval), c.Signs})
			}
		}
	}
	return out.flush()
}
