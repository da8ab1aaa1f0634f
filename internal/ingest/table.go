package ingest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/unit"
)

// levelTable reads tables that people keep of results: a line for each load, its parameters in columns that are called
// as fio calls them, its figures in columns that end in their unit. A level of a factor has a column of its own, or
// stands in the titles of the figures. Of each way three lines:
//
//	rw,bs,iodepth,guest:iothreads,IOPS,p99 us
//	randread,4k,1,0,9120,230
//	randread,4k,1,4,18300,118
//
//	operation;block size;jobs;MiB/s guest:iothreads=0;MiB/s guest:iothreads=4
//	read;1M;16;6421,5;6790
//	write;1M;16;5800;5810
func levelTable() Importer {
	return Importer{
		Name: "table",
		Title: "CSV tables: columns of the load (rw, bs, iodepth, numjobs), levels (guest:iothreads) and figures " +
			"with units (IOPS, MiB/s, p99 us)",
		Units: "as their titles say: MB/s are 1,000,000 bytes a second, MiB/s 1,048,576; IOPS may have k and M",
		Sniff: func(_ string, head []byte) bool {
			t, err := readTableHead(head)
			return err == nil && t.loads() && t.figures()
		},
		read: readTable,
	}
}

// table is what the first line of a table says.
type table struct {
	separator rune
	columns   []tableColumn
	// unknown are the titles that mean nothing here.
	unknown []string
}

// tableColumn is one column.
type tableColumn struct {
	title string
	kind  columnKind
	// name is that of a parameter or of a factor.
	name string
	// direction, quantity and perUnit are a figure's: read, write or empty for that of the load; "iops", "bandwidth" or
	// a statistic of latency.
	direction, quantity string
	perUnit             float64
	// levels stand in the title of a figure.
	levels map[string]string
}

type columnKind int

const (
	ofParameter columnKind = iota
	ofJob
	ofHost
	ofLevel
	ofFigure
	ofNothing // counts the lines, or says what somebody thought of them
)

func (t *table) has(kinds ...columnKind) bool {
	return slices.ContainsFunc(t.columns, func(c tableColumn) bool { return slices.Contains(kinds, c.kind) })
}

func (t *table) loads() bool   { return t.has(ofParameter, ofJob) }
func (t *table) figures() bool { return t.has(ofFigure) }

// readTableHead reads the first line that is no remark.
func readTableHead(data []byte) (*table, error) {
	var first string
	for line := range bytes.Lines(data) {
		if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "#") {
			first = text
			break
		}
	}
	t := &table{separator: ','}
	for _, r := range []rune{';', '\t'} {
		if strings.Count(first, string(r)) > strings.Count(first, string(t.separator)) {
			t.separator = r
		}
	}
	in := csv.NewReader(strings.NewReader(first))
	in.Comma = t.separator
	titles, err := in.Read()
	if err != nil {
		return nil, err
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

// parameterNames are what people call fio's parameters, and their names in fio.
func parameterNames() map[string]string {
	return map[string]string{
		"rw": "rw", "readwrite": "rw", "operation": "rw", "pattern": "rw", "bs": "bs", "blocksize": "bs",
		"block_size": "bs", "block size": "bs",
		"iodepth": "iodepth", "depth": "iodepth", "queue depth": "iodepth", "queue_depth": "iodepth",
		"numjobs": "numjobs", "jobs": "numjobs", "processes": "numjobs",
		"rwmixread": "rwmixread", "size": "size", "runtime": "runtime", "ramp_time": "ramp_time", "direct": "direct",
		"sync": "sync", "fsync": "fsync",
		"fdatasync": "fdatasync", "ioengine": "ioengine", "engine": "ioengine", "rate": "rate",
		"rate_iops": "rate_iops", "thinktime": "thinktime",
	}
}

// columnOf says what a column is by its title.
func columnOf(title string) (tableColumn, bool) {
	c := tableColumn{title: title}
	lower := strings.ToLower(title)
	if name, ok := parameterNames()[lower]; ok {
		c.name = name
		return c, true
	}
	switch lower {
	case "job", "load", "name", "label":
		c.kind = ofJob
		return c, true
	case "host":
		c.kind = ofHost
		return c, true
	case "repetition", "run", "n", "date", "time", "remark", "note", "":
		c.kind = ofNothing
		return c, true
	}
	if name, ok := strings.CutPrefix(title, "level."); ok && name != "" {
		c.kind, c.name = ofLevel, name
		return c, true
	}
	if c.figure(title) {
		return c, true
	}
	if strings.Contains(title, ":") && !strings.ContainsAny(title, "= ") {
		c.kind, c.name = ofLevel, title
		return c, true
	}
	c.kind = ofNothing
	return c, false
}

// figure reads "[DIRECTION] [STATISTIC] UNIT [FACTOR=LEVEL ...]": "IOPS", "read MiB/s", "write p99 ms", "MB/s
// guest:iothreads=4".
func (c *tableColumn) figure(title string) bool {
	words := strings.Fields(title)
	for len(words) > 0 {
		name, level, ok := strings.Cut(words[len(words)-1], "=")
		if !ok || name == "" || level == "" {
			break
		}
		if c.levels == nil {
			c.levels = map[string]string{}
		}
		c.levels[name] = level
		words = words[:len(words)-1]
	}
	if len(words) > 1 && slices.Contains(lab.Directions(), strings.ToLower(words[0])) {
		c.direction, words = strings.ToLower(words[0]), words[1:]
	}
	if len(words) == 0 || len(words) > 2 {
		return false
	}
	name, known := words[len(words)-1], false
	c.kind = ofFigure
	switch {
	case strings.EqualFold(name, "IOPS"):
		c.quantity, c.perUnit, known = "iops", 1, len(words) == 1
	case unit.Bandwidths()[name] > 0:
		c.quantity, c.perUnit, known = "bandwidth", unit.Bandwidths()[name], len(words) == 1
	case unit.Bitrates()[name] > 0:
		c.quantity, c.perUnit, known = "bandwidth", unit.Bitrates()[name]/8, len(words) == 1
	case unit.Times()[name] > 0 && len(words) == 2:
		c.quantity, c.perUnit = strings.ToLower(words[0]), unit.Times()[name]
		known = slices.Contains([]string{"mean", "min", "max"}, c.quantity) ||
			slices.ContainsFunc(lab.Quantiles(), func(q lab.Quantile) bool { return q.Name == c.quantity })
	}
	return known
}

// metric that a figure is about, by the direction of its load.
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
	in := csv.NewReader(bytes.NewReader(f.data))
	in.Comma, in.Comment, in.TrimLeadingSpace = t.separator, '#', true
	if _, err := in.Read(); err != nil {
		return err
	}
	rows := 0
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		line, _ := in.FieldPos(0)
		line += f.before
		found, err := t.row(fields)
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
		v, err := t.number(text, c.quantity == "iops")
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
		found[n].repetition.Values[c.metric(direction)] = v * c.perUnit
	}
	return found, nil
}

// fioSpelling writes a parameter as fio has it. To fio 4KiB are 4000 bytes; who writes a table means 4096.
func fioSpelling(name, text string) string {
	switch {
	case name == "rw":
		return strings.ToLower(text)
	case name == "bs" && strings.HasSuffix(text, "iB"):
		if v, err := unit.ParseIEC(text); err == nil {
			return unit.BlockSize(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return text
}

// directionOf is what a pattern of fio does; empty where it does both, or is not said.
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

// number reads a figure; where fields are separated by something else than commas, a comma may be the decimal sign.
func (t *table) number(text string, prefixes bool) (float64, error) {
	plain, factor := text, 1.0
	if t.separator != ',' {
		plain = strings.Replace(plain, ",", ".", 1)
	}
	if n := len(plain); prefixes && n > 1 {
		if i := strings.IndexByte("kM", plain[n-1]); i >= 0 {
			plain, factor = plain[:n-1], math.Pow(1000, float64(i+1))
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(plain), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("expected a number, found %q", text)
	}
	return v * factor, nil
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, strconv.Quote(s))
	}
	return strings.Join(out, ", ")
}
