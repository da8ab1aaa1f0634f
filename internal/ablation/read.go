package ablation

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
)

// Read takes a saved run apart: its design, the values of the deciding metrics, and the warnings that weaken them.
// Repetitions that failed are left out, and so are all of an arm in which a metric was 0 (Design.Outages). The arms of
// the run are named as in this package, the cells "CELL@ARM".
func Read(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (Design, []Measured, []ArmWarning, error) {
	d, err := designOf(run)
	if err != nil {
		return d, nil, nil, err
	}
	warnings := warnings{}
	for _, c := range run.Cells {
		warnings.of(c, c.Warnings).AddWhole(c.Warnings)
	}
	seen := map[string]map[string]bool{} // metrics by load
	type sample struct {
		cell       lab.Cell
		repetition lab.Repetition
	}
	var all []sample
	values := map[string]map[string][]map[string]float64{} // of all repetitions, by arm and load
	err = run.Read(repetitions, func(c lab.Cell, r lab.Repetition) error {
		warnings.addRepetition(c, r.Warnings)
		id := c.Load()
		arm := visited(c.Arm)
		if values[arm] == nil {
			values[arm] = map[string][]map[string]float64{}
		}
		if r.Failed() {
			values[arm][id] = append(values[arm][id], nil)
			return nil
		}
		values[arm][id] = append(values[arm][id], r.Values)
		if seen[id] == nil {
			seen[id] = map[string]bool{}
		}
		for metric := range r.Values {
			seen[id][metric] = true
		}
		all = append(all, sample{c, r})
		return nil
	})
	if err != nil {
		return d, nil, nil, err
	}
	for i, c := range d.Cells {
		d.Cells[i].Metrics = deciding(c, seen[c.ID])
	}
	d.Outages = outagesOf(d, values)
	var measured []Measured
	for _, x := range all {
		load, arm, r := x.cell.Load(), x.cell.Arm, x.repetition
		for _, metric := range d.cell(load).Metrics {
			_, stood := d.outage(number{load, metric}, visited(arm))
			if v, ok := r.Values[metric]; ok && !stood { // else it would look as if it never stood still
				measured = append(measured, Measured{Arm: arm, Cell: load, Metric: metric, Block: r.Block,
					Value: v})
			}
		}
	}
	return d, measured, warnings.list(run.Warnings), nil
}

// deciding are the metrics that answer what a cell was run for: those that its suite marks, or what is usual for its
// load. A command whose output a pattern was matched against, and of which none is marked, decides by all that it
// printed, and else by the time that it took.
func deciding(c Cell, seen map[string]bool) []string {
	if names := lab.Deciding(c.Own, c.Params, seen); len(names) > 0 && !slices.Equal(names, []string{"elapsed"}) {
		return names
	}
	var printed []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if name != "elapsed" && !strings.HasPrefix(name, "cpu.") && !strings.Contains(name, "latency.") {
			printed = append(printed, name)
		}
	}
	if len(printed) == 0 && seen["elapsed"] {
		return []string{"elapsed"}
	}
	return printed
}

// designOf reads what the header of a run says of its design.
func designOf(run lab.Run) (Design, error) {
	var d Design
	if run.Experiment == nil || run.Experiment.Kind != "ablate" {
		return d, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s is no ablation", run.ID),
			Hints: []string{"headroom list names the runs"}}
	}
	d.NotVerified = run.NotVerified
	levels := map[string]map[string]string{}
	for _, arm := range run.Arms {
		d.Arms = append(d.Arms, arm.ID)
		levels[arm.ID] = arm.Levels
	}
	for n := 1; ; n++ {
		set, ok := levels[AloneArm(n)]
		if !ok {
			break
		}
		s, err := settingOf(set)
		if err != nil {
			return d, &lab.Error{What: fmt.Sprintf("arm %s of run %s", AloneArm(n), run.ID), Err: err}
		}
		d.Settings = append(d.Settings, s)
	}
	if len(d.Settings) == 0 || !d.has(Baseline) {
		return d, &lab.Error{What: fmt.Sprintf("run %s has no arm with a setting alone, or no baseline", run.ID)}
	}
	for _, c := range run.Cells {
		id := c.Load()
		if slices.ContainsFunc(d.Cells, func(x Cell) bool { return x.ID == id }) {
			continue
		}
		d.Cells = append(d.Cells, Cell{ID: id, Job: c.Job, Title: titleOf(c), Engine: c.Engine, Params: c.Params,
			Own: c.Metrics})
	}
	return d, nil
}

// settingOf returns the one factor that an arm changes from its initial level.
func settingOf(levels map[string]string) (Setting, error) {
	var set []Setting
	for _, factor := range slices.Sorted(maps.Keys(levels)) {
		if level := levels[factor]; level != found {
			set = append(set, Setting{factor, level})
		}
	}
	if len(set) != 1 {
		return Setting{}, fmt.Errorf("it sets %d factors, and must set one", len(set))
	}
	return set[0], nil
}

// titleOf a cell, as people read it.
func titleOf(c lab.Cell) string {
	if c.Engine != "fio" {
		return c.Job
	}
	return suite.Cell{Job: c.Job, Params: c.Params}.Title()
}

func (d Design) cell(id string) Cell {
	return d.Cells[slices.IndexFunc(d.Cells, func(c Cell) bool { return c.ID == id })]
}
