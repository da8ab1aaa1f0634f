package varied

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/sweep"
)

// sweepData has a line for each metric of each cell at each level, the reference last. If the factor is the requested
// rate, it has a line for each point of the curves instead. The columns are published.
func sweepData(d *sweep.Document) *document.Data {
	if len(d.Cells) == 0 {
		return curveData(d)
	}
	params := sweepParams(d)
	return &document.Data{
		Columns: slices.Concat([]string{"factor", "level", "cell", "job"}, params, []string{"metric", "unit", "better",
			"value", "lo", "hi", "n", "to_baseline", "to_baseline_lo", "to_baseline_hi", "verdict", "to_top",
			"to_top_lo", "to_top_hi", "top", "best", "enough", "harm", "at_ceiling", "cpu_per_io", "host_cpu_per_io",
			"energy_per_io", "warnings", "gives_up"}),
		Rows: func(yield func([]document.Field) bool) {
			for i := range d.Cells {
				c := &d.Cells[i]
				points := c.Levels
				if c.Reference != nil {
					points = append(slices.Clone(points), *c.Reference)
				}
				for j := range points {
					if points[j].Value != nil && !yield(levelData(d, c, &points[j], params)) {
						return
					}
				}
			}
		},
	}
}

func levelData(d *sweep.Document, c *sweep.Cell, p *sweep.Point, params []string) []document.Field {
	texts := []string{d.Factor, p.Level, c.Cell, c.Job}
	for _, name := range params {
		texts = append(texts, c.Params[name])
	}
	harmful := slices.ContainsFunc(c.Harm, func(h sweep.Harm) bool { return h.Level == p.Level })
	none := &sweep.Ratio{}
	return slices.Concat(
		document.Texts(append(texts, c.Metric, string(c.Unit), string(c.Better))...),
		document.Numbers(p.Value, p.Lo, p.Hi), document.Texts(strconv.Itoa(p.N)), ratioData(p.ToBaseline),
		document.Texts(string(cmp.Or(p.ToBaseline, none).Verdict)), ratioData(p.ToTop),
		document.Texts(oneOrNone(p.Level == c.Top), oneOrNone(slices.Contains(c.BestSet, p.Level)),
			oneOrNone(p.Level == c.SmallestForShare), oneOrNone(harmful), oneOrNone(c.AtCeiling)),
		costData(p.Costs), document.Texts(strings.Join(p.Warnings, " "), givenUpBy(d, p.Level)))
}

func curveData(d *sweep.Document) *document.Data {
	return &document.Data{
		Columns: []string{"factor", "level", "cell", "job", "direction", "rate", "offered", "reached", "reached_lo",
			"reached_hi", "mean", "mean_lo", "mean_hi", "quantile", "tail", "tail_lo", "tail_hi", "limit", "within",
			"cpu_per_io", "host_cpu_per_io", "energy_per_io"},
		Rows: func(yield func([]document.Field) bool) {
			for i := range d.Curves {
				c := &d.Curves[i]
				for _, p := range c.Points {
					limit, within := document.Field{}, document.Field{}
					if c.Limit != nil && p.Tail != nil {
						limit.Number, within.Text = &c.Limit.Seconds, oneOrNone(p.Tail.Value <= c.Limit.Seconds)
					}
					if !yield(slices.Concat(document.Texts(d.Factor, p.Level, c.Cell, c.Job, c.Direction, c.Rate),
						document.Numbers(p.Offered), estimatedData(p.Reached), estimatedData(p.Mean),
						document.Texts(c.Quantile), estimatedData(p.Tail), []document.Field{limit, within},
						costData(p.Costs))) {
						return
					}
				}
			}
		},
	}
}

// sweepParams returns the parameters that differ between cells, by name.
func sweepParams(d *sweep.Document) []string {
	differ := map[string]bool{}
	for _, c := range d.Cells {
		for name := range c.Params {
			if slices.ContainsFunc(d.Cells, func(o sweep.Cell) bool { return o.Params[name] != c.Params[name] }) {
				differ[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

func oneOrNone(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// costData returns the costs of an operation, in the order of costMetrics.
func costData(costs map[string]sweep.Cost) []document.Field {
	fields := make([]document.Field, len(costMetrics()))
	for i, metric := range costMetrics() {
		if cost, ok := costs[metric]; ok {
			fields[i].Number = &cost.Value
		}
	}
	return fields
}

func ratioData(r *sweep.Ratio) []document.Field {
	if r == nil {
		return make([]document.Field, 3)
	}
	return document.Numbers(&r.Ratio, r.Lo, r.Hi)
}

func estimatedData(e *sweep.Estimated) []document.Field {
	if e == nil {
		return make([]document.Field, 3)
	}
	return document.Numbers(&e.Value, e.Lo, e.Hi)
}
