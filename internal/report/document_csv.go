package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/document"
)

// writeDocumentCSV writes tidy data: one line a number, with the table and the names of its row, in base units. What is
// no number has its text.
func writeDocumentCSV(w io.Writer, d document.Document, o Options) error {
	out := newTable(w, o)
	if !o.NoHeader {
		out.write([]string{"table", "row", "name", "column", "unit", "value", "lo", "hi", "text", "warnings"})
	}
	codes := codesBySign(d)
	heading := ""
	for _, b := range d.Blocks {
		if h, ok := b.(document.Heading); ok {
			heading = h.Text
		}
		if e, ok := b.(document.Entries); ok {
			out.entries(e)
		}
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
				out.cell([]string{t.Name, strconv.Itoa(i + 1), name, t.Columns[j].Title}, c,
					codes(heading+" "+c.Signs))
			}
		}
	}
	return out.flush()
}

// cell writes what a cell holds behind where it stands, and before the codes of its warnings.
func (t *sheetTable) cell(place []string, c document.Cell, codes string) {
	fields := append(place, c.Unit)
	for _, v := range []*float64{c.Value, c.Lo, c.Hi} {
		text := ""
		if v != nil {
			text = t.number(*v)
		}
		fields = append(fields, text)
	}
	t.write(append(fields, joinNonEmpty(c.Text, c.Interval), codes))
}

// codesBySign gives the codes of the warnings whose signs are in a text: "page-cache few-operations". A sign in the
// heading above a table is about all of its numbers.
func codesBySign(d document.Document) func(text string) string {
	codes := map[string]string{}
	for _, b := range d.Blocks {
		if w, ok := b.(document.Warning); ok {
			codes[w.Sign] = w.Code
		}
	}
	return func(text string) string {
		var found []string
		signs(text, func(n string) string {
			if code := codes["!"+n]; code != "" && !slices.Contains(found, code) {
				found = append(found, code)
			}
			return ""
		})
		return strings.Join(found, " ")
	}
}
