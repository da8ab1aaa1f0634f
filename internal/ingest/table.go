package ingest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// levelTable reads tables of results that people keep: a line for each load, with its parameters in columns named as in
// fio, and its figures in columns whose titles end in the unit. A level of a factor is in a separate column, or in the
// titles of the figures. Three lines of each form:
//
//	rw,bs,iodepth,guest:iothreads,IOPS,p99 us
//	randread,4k,1,0,9120,230
//	randread,4k,1,4,18300,118
//
//	operation;block size;jobs;MiB/s guest:iothreads=0;MiB/s guest:iothreads=4
//	read;1M;16;6421,5;6790
//	write;1M;16;5800;5810
//
//	| rw       | bs | QD | IOPS   | BW (MiB/s) |
//	|----------|----|---:|-------:|-----------:|
//	| randread | 4k | 32 | 61.5k  | 240.2      |
func levelTable() Importer {
	return Importer{
		Name: "table",
		Title: "CSV and Markdown tables: columns of the load (rw, bs, iodepth, numjobs), levels (guest:iothreads) and figures " +
			"with units (IOPS, MiB/s, p99 us)",
		Units: "as their titles say: MB/s are 1,000,000 bytes a second, MiB/s 1,048,576; IOPS may have k and M; " +
			"a comma is decimal or parts thousands, as the numbers show",
		Sniff: func(_ string, head []byte) bool {
			t, err := readTableHead(head)
			return err == nil && t.loads() && t.figures() && !bytes.HasPrefix(head, []byte(">")) // a quotation
		},
		read: func(f file, d *runBuilder) error {
			if err := readTable(f, d); err != nil {
				return fmt.Errorf("%w (this is read as a table)", err)
			}
			return nil
		},
	}
}

// table is the parsed first line of a table.
type table struct {
	separator rune
	columns   []tableColumn
	// unknown are the titles without a known meaning.
	unknown []string
	// head is the line of the titles; ended is set after the last line of the table.
	head  int
	ended bool
	// comma is the meaning of a comma in its numbers.
	comma Comma
}

// tableColumn is one column.
type tableColumn struct {
	title string
	kind  columnKind
	// name of a parameter or of a factor.
	name string
	// direction, quantity and unit describe a figure. The direction is read or write, or empty for the load's own; the
	// quantity is "iops", "bandwidth" or a statistic of latency. unit is its name in the title, perUnit the factor to
	// base units.
	direction, quantity, unit string
	perUnit                   float64
	// levels in the title of a figure.
	levels map[string]string
}

type columnKind int

const (
	ofParameter columnKind = iota
	ofJob
	ofHost
	ofLevel
	ofFigure
	ofNothing // line numbers, or people's remarks
)

func (t *table) has(kinds ...columnKind) bool {
	return slices.ContainsFunc(t.columns, func(c tableColumn) bool { return slices.Contains(kinds, c.kind) })
}

func (t *table) loads() bool   { return t.has(ofParameter, ofJob) }
func (t *table) figures() bool { return t.has(ofFigure) }

// readTableHead reads the first line that is not a comment; in Markdown the first line of the first table.
func readTableHead(data []byte) (*table, error) {
	t := &table{separator: ','}
	var first string
	n := 0
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if n++; text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if first == "" {
			first, t.head = text, n
		}
		if strings.HasPrefix(text, "|") || strings.Count(text, "|") > 1 && first == text {
			first, t.head, t.separator = text, n, '|'
			break
		}
	}
	titles := markdownFields(first)
	if t.separator != '|' {
		for _, r := range []rune{';', '\t'} {
			if strings.Count(first, string(r)) > strings.Count(first, string(t.separator)) {
				t.separator = r
			}
		}
		in := csv.NewReader(strings.NewReader(first))
		in.Comma = t.separator
		var err error
		if titles, err = in.Read(); err != nil {
			return nil, err
		}
	}
	for _, title := range titles {
		c, known := columnOf(strings.TrimSpace(title))
		if !known {
			t.unknown = append(t.unknown, title)
		}
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// markdownFields splits a line of a table in Markdown.
func markdownFields(line string) []string {
	return strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
}

// tableRow is a line below the head.
type tableRow struct {
	line   int
	fields []string
}

// rows returns the lines below the head. A table in Markdown ends at the first other line; if another table follows,
// more is its line.
func (t *table) rows(data []byte) (rows []tableRow, more int, err error) {
	if t.separator == '|' {
		n := 0
		for line := range strings.Lines(string(data)) {
			text := strings.TrimSpace(line)
			n++
			switch {
			case n <= t.head, text != "" && strings.Trim(text, "|+-=: \t") == "": // a rule
			case !strings.Contains(text, "|"):
				t.ended = true
			case t.ended:
				return rows, n, nil
			default:
				rows = append(rows, tableRow{n, markdownFields(text)})
				if have := len(rows[len(rows)-1].fields); have != len(t.columns) {
					return nil, 0, fmt.Errorf("line %d: expected %d fields, found %d", n, len(t.columns), have)
				}
			}
		}
		return rows, 0, nil
	}
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma, in.Comment, in.TrimLeadingSpace = t.separator, '#', true
	if _, err := in.Read(); err != nil {
		return nil, 0, err
	}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		line, _ := in.FieldPos(0)
		rows = append(rows, tableRow{line, fields})
	}
}

// metric returns the metric of a figure, given the direction of its load.
func (c *tableColumn) metric(direction string) string {
	switch c.quantity {
	case "iops":
		return lab.IOPS(direction)
	case "bandwidth":
		return lab.Bandwidth(direction)
	}
	return lab.Latency(direction, c.quantity)
}

func readTable(f file, d *runBuilder) error {
	t, err := readTableHead(f.data)
	if err != nil {
		return err
	}
	if len(t.unknown) > 0 {
		return fmt.Errorf("expected columns of the load (rw, bs, iodepth, numjobs), of levels (guest:iothreads, "+
			"level.NAME), and of figures that end in their unit (IOPS, MiB/s, p99 us), found %s", quoted(t.unknown))
	}
	below, more, err := t.rows(f.data)
	if err == nil {
		err = t.findComma(below, f.before)
	}
	if err != nil {
		return err
	}
	if more > 0 {
		d.warn(lab.Warning{Code: "import-left-out", Text: fmt.Sprintf("a second table of %s is left out, which begins "+
			"at line %d: give each a file", f.name, f.before+more)})
	}
	rows := 0
	for _, row := range below {
		line := f.before + row.line
		found, err := t.row(row.fields)
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		for _, m := range found {
			m.line = line
			if err := d.add(m); err != nil {
				return err
			}
			rows++
		}
	}
	if rows == 0 {
		return errors.New("expected lines with figures below the names of the columns, found none")
	}
	return nil
}

// row makes a measurement of a line for each level that it has figures of.
func (t *table) row(fields []string) ([]measurement, error) {
	m := measurement{params: map[string]string{}, levels: map[string]string{}}
	for i, c := range t.columns {
		text := strings.TrimSpace(fields[i])
		if text == "" {
			continue
		}
		switch c.kind {
		case ofParameter:
			m.params[c.name] = fioSpelling(c.name, text)
		case ofJob:
			m.job = text
		case ofHost:
			m.host = text
		case ofLevel:
			m.levels[c.name] = text
		}
	}
	own, err := directionOf(m.params["rw"])
	if err != nil {
		return nil, err
	}
	if m.job == "" {
		m.job = m.params["rw"]
	}
	var found []measurement
	at := map[string]int{}
	for i, c := range t.columns {
		text := strings.TrimSpace(fields[i])
		if c.kind != ofFigure || text == "" || text == "-" || strings.EqualFold(text, "n/a") {
			continue
		}
		direction := c.direction
		if direction == "" {
			direction = own
		}
		if direction == "" {
			return nil, fmt.Errorf("whether the figures of the column %q are of reading or of writing is not said: "+
				"call it \"read %s\", or name the load's rw", c.title, c.title)
		}
		v, err := c.value(text, t.comma)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.title, err)
		}
		key := fmt.Sprint(c.levels)
		n, seen := at[key]
		if !seen {
			n = len(found)
			at[key] = n
			one := m
			one.levels, one.repetition.Values = mergeUnder(maps.Clone(c.levels), m.levels), map[string]float64{}
			found = append(found, one)
		}
		found[n].repetition.Values[c.metric(direction)] = v
	}
	return found, nil
}

// fioSpelling writes a parameter in fio's notation. In fio 4KiB means 4000 bytes; authors of tables mean 4096.
func fioSpelling(name, text string) string {
	switch {
	case name == "rw":
		return strings.NewReplacer("random ", "rand", "rand ", "rand", "sequential ", "", "seq ", "").Replace(
			strings.ToLower(text))
	case name == "bs" && strings.HasSuffix(text, "iB"):
		if v, err := unit.ParseIEC(text); err == nil {
			return unit.BlockSize(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return text
}

// directionOf returns the direction of a fio pattern; empty if it has both, or is not given.
func directionOf(rw string) (string, error) {
	directions := fio.Directions(rw)
	switch {
	case len(directions) == 0 && rw != "":
		return "", fmt.Errorf("expected a pattern of fio (read, randread, write, randwrite, randrw), found %q", rw)
	case len(directions) == 1:
		return directions[0], nil
	}
	return "", nil
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, strconv.Quote(s))
	}
	return strings.Join(out, ", ")
}
