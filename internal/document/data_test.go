package document

import (
	"slices"
	"strings"
	"testing"
)

// Data for others is rewritten as it is read; numbers stay, and what was given is not changed.
func TestRewrittenData(t *testing.T) {
	one := 1.5
	rows := [][]Field{slices.Concat(Texts("disk SERIAL"), Numbers(&one, nil)), Texts("SERIAL", "", "")}
	d := Document{Data: &Data{Columns: []string{"disk", "value", "lo"}, Rows: slices.Values(rows)}}
	hidden := d.Rewritten(func(text string) string { return strings.ReplaceAll(text, "SERIAL", "-") })
	got := slices.Collect(hidden.Data.Rows)
	if len(got) != 2 || got[0][0].Text != "disk -" || got[0][1].Number != &one || got[0][2].Number != nil ||
		got[1][0].Text != "-" || rows[1][0].Text != "SERIAL" {
		t.Errorf("%+v of %+v", got, rows)
	}
	for range hidden.Data.Rows {
		break
	}
	if (Document{}).Rewritten(strings.ToUpper).Data != nil {
		t.Error("there is data where there was none")
	}
}
