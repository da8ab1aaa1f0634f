package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/sweep"
)

// writeSweepCSV writes one line for each metric of each cell at each level, the reference last; where the factor is how
// much the load asks for, one for each point of the curves.
func writeSweepCSV(w io.Writer, d *sweep.Document, o Options) error {
	out := newTable(w, o)
	if len(d.Cells) == 0 {
		return writeCurvesCSV(out, d, o)
	}
	params := sweepParams(d)
	if !o.NoHeader {
		out.write(slices.Concat([]string{"factor", "level", "cell", "job"}, params,
			[]string{"metric", "unit", "better", "value", "lo", "hi", "n",
				"to_baseline", "to_baseline_lo", "to_baseline_hi", "verdict", "to_top", "to_top_lo", "to_top_hi", "top",
				"best", "enough", "harm",
				"at_ceiling", "cpu_per_io", "host_cpu_per_io", "energy_per_io", "warnings"}))
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		points := slices.Clone(c.Levels)
		if c.Reference != nil {
			points = append(points, *c.Reference)
		}
		for _, p := range points {
			if p.Value == nil {
				continue
			}
			row := []string{d.Factor, p.Level, c.Cell, c.Job}
			for _, name := range params {
				row = append(row, c.Params[name])
			}
			row = append(row, c.Metric, string(c.Unit), string(c.Better), out.number(*p.Value), out.optional(p.Lo),
				out.optional(p.Hi), strconv.Itoa(p.N))
			row = append(row, out.ratio(p.ToBaseline)...)
			verdict := ""
			if p.ToBaseline != nil {
				verdict = string(p.ToBaseline.Verdict)
			}
			row = append(append(row, verdict), out.ratio(p.ToTop)...)
			harmful := slices.ContainsFunc(c.Harm, func(h sweep.Harm) bool { return h.Level == p.Level })
			row = append(row, oneOrNone(p.Level == c.Top), oneOrNone(slices.Contains(c.BestSet, p.Level)),
				oneOrNone(p.Level == c.SmallestForShare), oneOrNone(harmful),
				oneOrNone(c.AtCeiling))
			row = append(row, out.costs(p.Costs)...)
			out.write(append(row, strings.Join(p.Warnings, " ")))
		}
	}
	return out.flush()
}

func writeCurvesCSV(out *sheetTable, d *sweep.Document, o Options) error {
	titles := []string{"factor", "level", "cell", "job", "direction", "rate", "offered", "reached", "reached_lo",
		"reached_hi", "mean", "mean_lo", "mean_hi",
		"quantile", "tail", "tail_lo", "tail_hi", "limit", "within", "cpu_per_io", "host_cpu_per_io", "energy_per_io"}
	if !o.NoHeader {
		out.write(titles)
	}
	for _, c := range d.Curves {
		for _, p := range c.Points {
			row := []string{d.Factor, p.Level, c.Cell, c.Job, c.Direction, c.Rate, out.optional(p.Offered)}
			row = append(row, out.estimated(p.Reached)...)
			row = append(append(row, out.estimated(p.Mean)...), c.Quantile)
			row = append(append(row, out.estimated(p.Tail)...), out.within(&c, p)...)
			out.write(append(row, out.costs(p.Costs)...))
		}
	}
	return out.flush()
}

// sweepParams are the parameters that differ between cells, by name.
func sweepParams(d *sweep.Document) []string {
	names := map[string]bool{}
	for _, c := range d.Cells {
		for name := range c.Params {
			for _, other := range d.Cells {
				names[name] = names[name] || other.Params[name] != c.Params[name]
			}
		}
	}
	return slices.DeleteFunc(sortedKeys(names), func(name string) bool { return !names[name] })
}

func oneOrNone(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// costs of an operation, in the order of costMetrics.
func (t *sheetTable) costs(costs map[string]sweep.Cost) []string {
	var texts []string
	for _, metric := range costMetrics() {
		text := ""
		if cost, ok := costs[metric]; ok {
			text = t.number(cost.Value)
		}
		texts = append(texts, text)
	}
	return texts
}

// within is the limit of latency, and whether the tail at a level stays below it.
func (t *sheetTable) within(c *sweep.Curve, p sweep.CurvePoint) []string {
	if c.Limit == nil || p.Tail == nil {
		return []string{"", ""}
	}
	return []string{t.number(c.Limit.Seconds), oneOrNone(p.Tail.Value <= c.Limit.Seconds)}
}

func (t *sheetTable) optional(v *float64) string {
	if v == nil {
		return ""
	}
	return t.number(*v)
}

func (t *sheetTable) ratio(r *sweep.Ratio) []string {
	if r == nil {
		return []string{"", "", ""}
	}
	return []string{t.number(r.Ratio), t.optional(r.Lo), t.optional(r.Hi)}
}

func (t *sheetTable) estimated(e *sweep.Estimated) []string {
	if e == nil {
		return []string{"", "", ""}
	}
	return []string{t.number(e.Value), t.optional(e.Lo), t.optional(e.Hi)}
}
