package reference

import (
	"bytes"
	"embed"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/unit"
)

//go:embed tables/*.csv
var builtInTables embed.FS

// Table is a table of a report as published: labels and digits, faults included.
type Table struct {
	// Name distinguishes the tables of one source; empty if there is only one.
	Name string
	// Columns of figures, in their order.
	Columns []Column
	Rows    []TableRow
}

// Column describes the figures of a column.
type Column struct {
	Title string
	// Quantity is "iops", "bandwidth" or "efficiency"; PerUnit converts a figure to base units: B/s for both bytes and
	// bits.
	Quantity string
	PerUnit  float64
	// Bits is true if the unit counts bits.
	Bits bool
}

// TableRow is a row with its figures as printed, one for each column; an empty one is missing.
type TableRow struct {
	Label   string
	Figures []string
	// Line of the file.
	Line int
}

func tables() csvFiles { return csvFiles{builtInTables, "tables", "tables", "headroom stages --help"} }

// TableNames returns the sources whose tables come with headroom.
func TableNames() ([]string, error) { return tables().names() }

// BuiltInTables reads the tables of a source that come with headroom.
func BuiltInTables(source string) ([]Table, error) {
	data, err := tables().read(source)
	if err != nil {
		return nil, err
	}
	return ParseTables(strings.TrimPrefix(source, Prefix)+".csv", bytes.NewReader(data))
}

// columnOf reads the title of a column: its unit determines the quantity.
func columnOf(title string) (Column, bool) {
	c := Column{Title: title, Quantity: "bandwidth"}
	words := strings.Fields(title)
	name := ""
	if len(words) > 0 {
		name = words[len(words)-1]
	}
	if strings.EqualFold(name, "IOPS") {
		c.Quantity, c.PerUnit = "iops", 1
		return c, true
	}
	if strings.HasSuffix(name, "%") {
		c.Quantity, c.PerUnit = "efficiency", 0.01
		return c, true
	}
	if per, ok := unit.Bandwidths()[name]; ok {
		c.PerUnit = per
		return c, true
	}
	per, ok := unit.Bitrates()[name]
	c.PerUnit, c.Bits = per/8, ok
	return c, ok
}

// ParseTables reads published tables that were typed as comma-separated values. The first line names the columns:
// label, and the unit of each other one (IOPS, MiB/s, Gbit/s, %, after words if needed); a column "table" distinguishes
// several tables. A missing figure is empty, and a line that begins with # is a comment.
//
//	table,label,IOPS,MiB/s,Gbit/s,efficiency %
//	multipath,IPoIB single randread Q1T1 8k,10558,80.5,0.675283105,
//	multipath,IPoIB con=2 randread Q1T1 8k,10275,80.3,0.673605383,99.7515528
func ParseTables(name string, r io.Reader) ([]Table, error) {
	in := newCSVTable(name, r)
	head, line, err := in.head("label, IOPS, MiB/s")
	if err != nil {
		return nil, err
	}
	label, table := -1, -1
	var columns []Column
	var at []int // the field of each column
	for i, title := range head {
		switch strings.ToLower(title) {
		case "label":
			label = i
			continue
		case "table":
			table = i
			continue
		}
		c, ok := columnOf(title)
		if !ok {
			return nil, in.fault(line, "expected a column that ends in its unit (IOPS, MiB/s, Gbit/s, %%), found %q",
				title)
		}
		columns, at = append(columns, c), append(at, i)
	}
	measured := func(c Column) bool { return c.Quantity != "efficiency" }
	if label < 0 || !slices.ContainsFunc(columns, measured) {
		return nil, in.fault(line, "expected the column label and one of IOPS or a bandwidth, found %s",
			strings.Join(head, ","))
	}
	var tables []Table
	for r, err := range in.rows() {
		if err != nil {
			return nil, err
		}
		row := TableRow{Label: r.fields[label], Line: r.line}
		some := false
		for i, c := range columns {
			text := r.fields[at[i]]
			if v, err := strconv.ParseFloat(text, 64); text != "" && (err != nil || !(v > 0) || !plainDecimal(text)) {
				return nil, in.fault(r.line, "expected a number above zero in the column %q, found %q", c.Title, text)
			}
			row.Figures = append(row.Figures, text)
			some = some || text != "" && c.Quantity != "efficiency"
		}
		if row.Label == "" || !some {
			return nil, in.fault(r.line, "expected a label and a figure other than the efficiency")
		}
		title := ""
		if table >= 0 {
			title = r.fields[table]
		}
		i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == title })
		if i < 0 {
			i = len(tables)
			tables = append(tables, Table{Name: title, Columns: columns})
		}
		tables[i].Rows = append(tables[i].Rows, row)
	}
	if len(tables) == 0 {
		return nil, in.fault(line, "expected rows below the names of the columns, found none")
	}
	return tables, nil
}

// plainDecimal reports whether a number has only digits and one point. It is checked to as many decimals as it has.
func plainDecimal(text string) bool {
	return len(text) <= 30 && strings.Trim(text, "0123456789.") == ""
}
