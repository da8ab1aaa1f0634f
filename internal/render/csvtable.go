package render

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/unit"
)

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
