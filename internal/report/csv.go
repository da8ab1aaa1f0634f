package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// writeCSV writes tidy data: one line a value, every line complete in itself, so that a statistics program needs no
// other file. Parameters and levels have a column each; a run that does not have one leaves it blank. Values are in
// base units.
func writeCSV(w io.Writer, runs []Summary, o Options) error {
	out := newTable(w, o)
	fixed := []string{"run", "label", "suite", "target", "role", "cell", "job"}
	params := paramColumns(runs)
	last := []string{"direction", "metric", "unit", "better", "value", "repetition", "boot", "block", "position",
		"start", "warnings"}
	if !o.NoHeader {
		header := slices.Clone(fixed)
		for _, p := range params {
			header = append(header, p.title(slices.Concat(fixed, last)))
		}
		out.write(append(header, last...))
	}
	for i := range runs {
		s := &runs[i]
		for j := range s.Cells {
			c := &s.Cells[j]
			head := []string{s.ID, s.Label, s.Suite, c.Target, c.Role, c.ID, c.Job}
			for _, p := range params {
				head = append(head, p.of(c))
			}
			for _, name := range c.metricNames() {
				m := c.Metrics[name]
				direction, _, _ := cutMetric(name)
				codes := strings.Join(codesFor(s, c, name), " ")
				for _, v := range m.Values {
					out.write(append(slices.Clone(head), direction, name, string(m.Unit), string(m.Better),
						out.number(v.Value),
						strconv.Itoa(v.Repetition), v.Boot, positive(v.Block), positive(v.Position), timeText(v.Start),
						codes))
				}
			}
		}
	}
	return out.flush()
}

// codesFor are the codes of the warnings, about the cell and about the run, that taint a metric.
func codesFor(s *Summary, c *Cell, metric string) []string {
	var codes []string
	for _, w := range slices.Concat(s.Warnings, c.Warnings) {
		if w.Tainted(metric) && !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// paramColumn is a column for a parameter of the load, or for the level of a factor.
type paramColumn struct {
	name  string
	level bool
}

// title of the column: the plain name, which is what one types, but for the rare one that another column has.
func (p paramColumn) title(taken []string) string {
	switch {
	case p.level:
		return "level." + p.name
	case slices.Contains(taken, p.name):
		return "param." + p.name
	default:
		return p.name
	}
}

func (p paramColumn) of(c *Cell) string {
	if p.level {
		return c.Levels[p.name]
	}
	return c.Params[p.name]
}

// paramColumns are all parameters of all runs, by name, then all factors.
func paramColumns(runs []Summary) []paramColumn {
	params, levels := map[string]bool{}, map[string]bool{}
	for _, s := range runs {
		for _, c := range s.Cells {
			for name := range c.Params {
				params[name] = true
			}
			for name := range c.Levels {
				levels[name] = true
			}
		}
	}
	var out []paramColumn
	for _, name := range sortedKeys(params) {
		out = append(out, paramColumn{name: name})
	}
	for _, name := range sortedKeys(levels) {
		out = append(out, paramColumn{name: name, level: true})
	}
	return out
}

// positive prints a count that starts at 1; zero means that it is not known.
func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// sheetTable writes comma-separated values in the user's notation of numbers.
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

func (t *sheetTable) writeAll(rows [][]string) error {
	for _, fields := range rows {
		t.write(fields)
	}
	return t.flush()
}

func (t *sheetTable) flush() error {
	t.w.Flush()
	if t.err != nil {
		return t.err
	}
	return t.w.Error()
}

func (t *sheetTable) number(v float64) string { return t.decimal(number(v)) }

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
