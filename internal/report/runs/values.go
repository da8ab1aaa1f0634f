package runs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// runValues returns tidy data: one line for each value, every line complete, so that a statistics program needs no
// other file. Parameters and levels have a column each; a run without one leaves it blank. Values are in base units.
func runValues(runs []summary.Run) *document.Data {
	fixed := []string{"run", "label", "suite", "target", "role", "cell", "job"}
	last := []string{"direction", "metric", "unit", "better", "value", "repetition", "boot", "block", "position",
		"start", "warnings"}
	params := paramColumns(runs)
	columns := slices.Clone(fixed)
	for _, p := range params {
		columns = append(columns, p.title(slices.Concat(fixed, last)))
	}
	return &document.Data{Columns: append(columns, last...), Rows: func(yield func([]document.Field) bool) {
		for i := range runs {
			s := &runs[i]
			for j := range s.Cells {
				if !cellValues(s, &s.Cells[j], params, yield) {
					return
				}
			}
		}
	}}
}

func cellValues(s *summary.Run, c *summary.Cell, params []paramColumn, yield func([]document.Field) bool) bool {
	head := []string{s.ID, s.Label, s.Suite, c.Target, c.Role, c.ID, c.Job}
	for _, p := range params {
		head = append(head, p.of(c))
	}
	for _, name := range c.MetricNames() {
		m := c.Metrics[name]
		direction, _, _ := lab.CutMetric(name)
		codes := strings.Join(codesFor(slices.Concat(s.Warnings, c.Warnings), name), " ")
		for _, v := range m.Values {
			if !yield(slices.Concat(document.Texts(head...),
				document.Texts(direction, name, string(m.Unit), string(m.Better)), document.Numbers(&v.Value),
				document.Texts(strconv.Itoa(v.Repetition), v.Boot, positive(v.Block), positive(v.Position),
					timeText(v.Start), codes))) {
				return false
			}
		}
	}
	return true
}

// codesFor returns the codes of the warnings that taint a metric.
func codesFor(warnings []lab.RepeatedWarning, metric string) []string {
	var codes []string
	for _, w := range warnings {
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

// title returns the column's title: the plain name, as one types it, unless another column has it.
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

func (p paramColumn) of(c *summary.Cell) string {
	if p.level {
		return c.Levels[p.name]
	}
	return c.Params[p.name]
}

// paramColumns returns all parameters of all runs, by name, then all factors.
func paramColumns(runs []summary.Run) []paramColumn {
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
	for _, name := range slices.Sorted(maps.Keys(params)) {
		out = append(out, paramColumn{name: name})
	}
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		out = append(out, paramColumn{name: name, level: true})
	}
	return out
}

// positive prints a count that starts at 1; zero means unknown.
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

// shown prints the number of a metric, or the sign for an absent one.
func shown(m *summary.Metric) string {
	if m == nil {
		return document.Absent
	}
	return unit.Value(m.Unit, m.Shown())
}

// confidenceText rounds down, so that 99.6% is not printed as certainty.
func confidenceText(c float64) string { return fmt.Sprintf("%.0f%%", math.Floor(c*100+1e-9)) }
