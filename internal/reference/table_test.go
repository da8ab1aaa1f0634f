package reference

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestTheReportsTables(t *testing.T) {
	tables, err := BuiltInTables("reference:nfs-rdma-report")
	if err != nil || len(tables) != 3 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	efficiencies := 0
	for i, rows := range []int{6, 12, 18} {
		if len(tables[i].Rows) != rows || len(tables[i].Columns) != 4 {
			t.Errorf("table %q has %d rows of %d columns, want %d of 4", tables[i].Name, len(tables[i].Rows),
				len(tables[i].Columns), rows)
		}
		for _, r := range tables[i].Rows {
			if r.Figures[3] != "" {
				efficiencies++
			}
		}
	}
	if efficiencies != 12 {
		t.Errorf("%d efficiencies, want 12", efficiencies)
	}
	if _, err := BuiltInTables("nobody"); lab.KindOf(err) != lab.Usage || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("tables of nobody: %v", err)
	}
}

func TestColumns(t *testing.T) {
	for title, want := range map[string]Column{
		"IOPS avg":     {},
		"avg IOPS":     {Quantity: "iops", PerUnit: 1},
		"BW in MiB/s":  {Quantity: "bandwidth", PerUnit: 1 << 20},
		"GB/s":         {Quantity: "bandwidth", PerUnit: 1e9},
		"Gbit/s":       {Quantity: "bandwidth", PerUnit: 1e9 / 8, Bits: true},
		"efficiency %": {Quantity: "efficiency", PerUnit: 0.01},
		"":             {},
	} {
		c, ok := columnOf(title)
		want.Title = title
		if ok != (want.PerUnit > 0) || ok && c != want {
			t.Errorf("%q: %+v %v, want %+v", title, c, ok, want)
		}
	}
}

func TestBadTables(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "found nothing",
		"label,speed\nx,1\n":              `t.csv:1: expected a column that ends in its unit (IOPS, MiB/s, Gbit/s, %), found "speed"`,
		"IOPS\n1\n":                       "expected the column label",
		"label,%\nx,1\n":                  "one of IOPS or a bandwidth",
		"label,IOPS\nx,fast\n":            `t.csv:2: expected a number above zero in the column "IOPS", found "fast"`,
		"label,IOPS\nx,1e3\n":             "found \"1e3\"",
		"label,IOPS\nx,-1\n":              "above zero",
		"label,IOPS\n# none\n":            "found none",
		"label,IOPS\nx,1\ny,1,2\n":        "wrong number of fields",
		"label,IOPS\n,1\n":                "expected a label",
		"label,IOPS,efficiency %\nx,,1\n": "a figure other than the efficiency",
	} {
		_, err := ParseTables("t.csv", strings.NewReader(text))
		if lab.KindOf(err) != lab.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Every table that is read is consistent: a row has a label and a figure for each column, and its digits are a number.
func FuzzParseTables(f *testing.F) {
	data, err := builtInTables.ReadFile("tables/nfs-rdma-report.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("label,IOPS\n\"a \"\"b\"\"\",12\n")
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := ParseTables("t.csv", strings.NewReader(text))
		if err != nil {
			if lab.KindOf(err) != lab.Usage {
				t.Errorf("not an error of the user's: %v", err)
			}
			return
		}
		if len(tables) == 0 {
			t.Error("neither tables nor an error")
		}
		for _, table := range tables {
			for _, r := range table.Rows {
				if r.Label == "" || len(r.Figures) != len(table.Columns) {
					t.Errorf("row %+v of %d columns", r, len(table.Columns))
				}
			}
		}
	})
}
