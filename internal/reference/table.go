package reference

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

//go:embed tables/*.csv
var builtInTables embed.FS

// Table is a table of a report as it was published: labels and digits, faults included.
type Table struct {
	// Name tells the tables of one source apart; empty where there is one.
	Name string
	// Columns of figures, in their order.
	Columns []Column
	Rows    []TableRow
}

// Column is what the figures of a column are in.
type Column struct {
	Title string
	// Quantity is "iops", "bandwidth" or "efficiency"; PerUnit turns a figure into base units: B/s for both bytes and bits.
	Quantity string
	PerUnit  float64
	// Bits says that the unit is one of bits.
	Bits bool
}

// TableRow is a row with its figures as they were printed, one for each column; an empty one is none.
type TableRow struct {
	Label   string
	Figures []string
	// Line of the file.
	Line int
}

// TableNames are the sources whose tables come with headroom.
func TableNames() ([]string, error) {
	files, err := fs.Glob(builtInTables, "tables/*.csv")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".csv"))
	}
	return names, err
}

// BuiltInTables reads the tables of a source that come with headroom.
func BuiltInTables(source string) ([]Table, error) {
	names, err := TableNames()
	if err != nil {
		return nil, err
	}
	source = strings.TrimPrefix(source, Prefix)
	if !slices.Contains(names, source) {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("no published tables of %q come with headroom", source),
			Hints: []string{"there are those of " + strings.Join(names, ", "), "or name a file of your own, which headroom stages --help describes"}}
	}
	data, err := builtInTables.ReadFile("tables/" + source + ".csv")
	if err != nil {
		return nil, err
	}
	return ParseTables(source+".csv", bytes.NewReader(data))
}

// columnOf reads the title of a column: its unit says what is in it.
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

// maxTableRows bounds a table: a published one is read by people.
const maxTableRows = 10000

// ParseTables reads published tables that somebody typed as comma-separated values. The first line names the columns: label, and the
// unit of each other one (IOPS, MiB/s, Gbit/s, %, with words before it if need be); a column "table" keeps several tables apart. What
// is not there is left empty, and a line that begins with # is a remark.
//
//	table,label,IOPS,MiB/s,Gbit/s,efficiency %
//	multipath,IPoIB single randread Q1T1 8k,10558,80.5,0.675283105,
//	multipath,IPoIB con=2 randread Q1T1 8k,10275,80.3,0.673605383,99.7515528
func ParseTables(name string, r io.Reader) ([]Table, error) {
	fault := func(line int, format string, args ...any) error {
		return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))}
	}
	in := csv.NewReader(bufio.NewReader(r))
	in.Comment, in.TrimLeadingSpace = '#', true
	head, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fault(1, "expected a line that names the columns (label, IOPS, MiB/s), found nothing")
	case err != nil:
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
	}
	line, _ := in.FieldPos(0)
	label, table := -1, -1
	var columns []Column
	var at []int // the field of each column
	for i, title := range head {
		title = strings.TrimSpace(title)
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
			return nil, fault(line, "expected a column that ends in its unit (IOPS, MiB/s, Gbit/s, %%), found %q", title)
		}
		columns, at = append(columns, c), append(at, i)
	}
	measured := func(c Column) bool { return c.Quantity != "efficiency" }
	if label < 0 || !slices.ContainsFunc(columns, measured) {
		return nil, fault(line, "expected the column label and one of IOPS or a bandwidth, found %s", strings.Join(head, ","))
	}
	var tables []Table
	for n := 0; ; n++ {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
		}
		line, _ := in.FieldPos(0)
		if n == maxTableRows {
			return nil, fault(line, "expected %d rows at most", maxTableRows)
		}
		row := TableRow{Label: strings.TrimSpace(fields[label]), Line: line}
		some := false
		for i, c := range columns {
			text := strings.TrimSpace(fields[at[i]])
			if v, err := strconv.ParseFloat(text, 64); text != "" && (err != nil || !(v > 0) || !plainDecimal(text)) {
				return nil, fault(line, "expected a number above zero in the column %q, found %q", c.Title, text)
			}
			row.Figures = append(row.Figures, text)
			some = some || text != "" && c.Quantity != "efficiency"
		}
		if row.Label == "" || !some {
			return nil, fault(line, "expected a label and a figure besides the efficiency")
		}
		title := ""
		if table >= 0 {
			title = strings.TrimSpace(fields[table])
		}
		i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == title })
		if i < 0 {
			i = len(tables)
			tables = append(tables, Table{Name: title, Columns: columns})
		}
		tables[i].Rows = append(tables[i].Rows, row)
	}
	if len(tables) == 0 {
		return nil, fault(line, "expected rows below the names of the columns, found none")
	}
	return tables, nil
}

// plainDecimal says whether a number is written with digits and one point alone: how many decimals it has is what it is checked to.
func plainDecimal(text string) bool {
	return len(text) <= 30 && strings.Trim(text, "0123456789.") == ""
}
