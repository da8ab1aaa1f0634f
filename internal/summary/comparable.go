package summary

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

// Comparable is a summary as one side of a comparison. Name is what the user called the run; all are the facts of its
// machine. Hide takes out what names one piece of hardware or one host.
func Comparable(s Run, run lab.Run, name string, all []lab.Fact, hide bool) compare.Run {
	if hide {
		s = Redact(s, false)
		name, all = facts.NewRedactor(all).Text(name), facts.Redact(all)
		run.Label, run.Targets, run.Warnings = s.Label, s.Targets, nil
		for _, w := range s.Warnings {
			run.Warnings = append(run.Warnings, w.Warning)
		}
	}
	out := compare.Run{Run: run, Name: name, Facts: all}
	for _, c := range Conditions(&s) {
		out.Conditions = append(out.Conditions, compare.Condition(c))
	}
	for _, c := range s.Cells {
		cell := compare.Cell{Job: c.Job, Engine: c.Engine, Runs: c.Runs, Params: c.Params,
			Levels: levelsBesideParams(c), Role: c.Role, Target: c.Target, N: c.N,
			Values: make(map[string][]compare.Value, len(c.Metrics))}
		for metric, m := range c.Metrics {
			if c.NamesMetrics() {
				if cell.Own == nil {
					cell.Own = map[string]lab.MetricInfo{}
				}
				cell.Own[metric] = lab.MetricInfo{Unit: m.Unit, Better: m.Better, Decides: m.Decides}
			}
			for _, v := range m.Values {
				cell.Values[metric] = append(cell.Values[metric], compare.Value{Value: v.Value,
					Repetition: v.Repetition, Boot: v.Boot, Block: v.Block, Start: v.Start, Confirms: v.Confirms})
			}
		}
		cell.Warnings = append(cell.Warnings, c.Warnings...)
		if s.Experiment == nil {
			out.Cells = append(out.Cells, cell)
		} else {
			out.Cells = addCell(out.Cells, cell)
		}
	}
	return out
}

// levelsBesideParams are the levels of a cell that its parameters do not say: a load at job:iodepth=4 is any load with
// that depth.
func levelsBesideParams(c Cell) map[string]string {
	levels := map[string]string{}
	for factor, level := range c.Levels {
		if name, ok := strings.CutPrefix(factor, "job:"); !ok || c.Params[name] != level {
			levels[factor] = level
		}
	}
	return levels
}

// addCell adds a cell, or what was measured in it to that of another arm at the same levels: an ablation visits its
// baseline twice.
func addCell(cells []compare.Cell, c compare.Cell) []compare.Cell {
	i := slices.IndexFunc(cells, func(o compare.Cell) bool {
		return o.Job == c.Job && o.Role == c.Role && maps.Equal(o.Params, c.Params) && maps.Equal(o.Levels, c.Levels)
	})
	if i < 0 {
		return append(cells, c)
	}
	cells[i].N += c.N
	for metric, values := range c.Values {
		cells[i].Values[metric] = append(cells[i].Values[metric], values...)
	}
	for _, w := range c.Warnings {
		if !slices.ContainsFunc(cells[i].Warnings, func(o lab.RepeatedWarning) bool { return o.Code == w.Code }) {
			cells[i].Warnings = append(cells[i].Warnings, w)
		}
	}
	return cells
}
