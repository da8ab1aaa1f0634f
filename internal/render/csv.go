package render

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// CSV writes the data of a document. A document without tidy data has one line for each number, with the table and the
// names of its row, in base units, or with the picture and the name of its point. Other cells have their text.
func CSV(w io.Writer, d document.Document, o Options) error {
	out := newTable(w, o)
	if d.Data != nil {
		out.data(d.Data, o)
		return out.flush()
	}
	if !o.NoHeader {
		out.write([]string{"table", "row", "name", "column", "unit", "value", "lo", "hi", "text", "warnings"})
	}
	out.blocks(d.Blocks, codesBySign(d))
	return out.flush()
}

// data writes the rows of a published file.
func (t *sheetTable) data(d *document.Data, o Options) {
	if !o.NoHeader {
		t.write(d.Columns)
	}
	for row := range d.Rows {
		fields := make([]string, len(row))
		for i, f := range row {
			if fields[i] = f.Text; f.Number != nil {
				fields[i] = t.number(*f.Number)
			}
		}
		t.write(fields)
	}
}

func (t *sheetTable) blocks(blocks []document.Block, codes func(string) string) {
	heading := ""
	for _, b := range blocks {
		switch b := b.(type) {
		case document.Section:
			t.blocks(b.Blocks, codesBySign(b.Document))
		case document.Folded:
			t.blocks(b.Blocks, codes)
		case document.Heading:
			heading = b.Text
		case document.Entries:
			t.entries(b)
		case document.Plots:
			for _, p := range b.List {
				if !p.Tabled {
					plotCSV(t.write, t.optional, p)
				}
			}
		case document.Table:
			t.table(b, heading, codes)
		}
	}
}

func (t *sheetTable) table(of document.Table, heading string, codes func(string) string) {
	for i, row := range of.Rows {
		name, ofRow := of.RowName(i), rowWide(row)
		for j, c := range row.Cells {
			k := of.Columns[j].Kind
			if k == document.Words || k.Picture() || c.Text == "" {
				continue
			}
			t.cell([]string{of.Name, strconv.Itoa(i + 1), name, of.Columns[j].Name()}, c,
				codes(prose.Join(heading, ofRow, of.Columns[j].Signs, c.Signs)))
		}
	}
}

// cell writes a cell's content, after its position and before the codes of its warnings.
func (t *sheetTable) cell(place []string, c document.Cell, codes string) {
	fields := append(place, c.Unit, t.optional(c.Value), t.optional(c.Lo), t.optional(c.Hi))
	t.write(append(fields, prose.Join(c.Text, c.Interval), codes))
}

// rowWide returns the signs that apply to all numbers of a row.
func rowWide(row document.Row) string {
	var all []string
	for _, c := range row.Cells {
		if c.Text == "" {
			all = append(all, c.Signs)
		}
	}
	return prose.Join(all...)
}

// plotCSV writes a line for each point, with its name and its place.
func plotCSV(write func([]string), number func(*float64) string, p document.Plot) {
	values, places := p.Y, p.X
	if p.Y.Scale == document.Names {
		values, places = p.X, p.Y
	}
	n := 0
	for _, s := range p.Series {
		for _, at := range s.Points {
			n++
			name := at.Name
			if places.Scale != document.Names || name == "" {
				name = prose.Join(name, axisText(places, at.At, number))
			}
			write([]string{p.Title, strconv.Itoa(n), name, values.Title, values.Unit, number(&at.Value), number(at.Lo),
				number(at.Hi), at.Text, strings.Join(at.Codes, " ")})
		}
	}
}

// axisText returns a place on an axis in a form for programs.
func axisText(a document.Axis, at float64, number func(*float64) string) string {
	switch i := int(at); {
	case a.Scale == document.Time:
		return time.Unix(int64(at), 0).UTC().Format(time.RFC3339)
	case a.Scale == document.Names && i >= 0 && i < len(a.Names):
		return a.Names[i]
	}
	return number(&at)
}

// codesBySign returns a function that gives the codes of the warnings whose signs are in a text: "page-cache
// few-operations". A sign in the heading above a table applies to all of its numbers.
func codesBySign(d document.Document) func(text string) string {
	codes := map[string]string{}
	for b := range document.All(d.Blocks) {
		switch b := b.(type) {
		case document.WarningBlock:
			codes[b.Sign] = b.Code
		case document.Warnings:
			for _, w := range b.List {
				codes[w.Sign] = w.Code
			}
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

// sheetTable writes comma-separated values in the user's number format.
type sheetTable struct {
	w     *csv.Writer
	comma bool
	raw   bool
	err   error
}

func newTable(w io.Writer, o Options) *sheetTable {
	t := &sheetTable{w: csv.NewWriter(w), comma: o.DecimalComma, raw: o.RawCells}
	if o.DecimalComma {
		t.w.Comma = ';'
	}
	return t
}

func (t *sheetTable) write(fields []string) {
	if !t.raw {
		fields = slices.Clone(fields)
		for i := range fields {
			fields[i] = withoutFormula(fields[i])
		}
	}
	if t.err == nil {
		t.err = t.w.Write(fields)
	}
}

func (t *sheetTable) flush() error {
	t.w.Flush()
	if t.err != nil {
		return t.err
	}
	return t.w.Error()
}

func (t *sheetTable) number(v float64) string { return t.decimal(unit.Decimal(v)) }

func (t *sheetTable) optional(v *float64) string {
	if v == nil {
		return ""
	}
	return t.number(*v)
}

func (t *sheetTable) decimal(text string) string {
	if t.comma {
		return strings.Replace(text, ".", ",", 1)
	}
	return text
}
