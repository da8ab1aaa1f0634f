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
func Read(run lab.Run, repetitions iter.Seq[lab.Repetition]) (Design, []Measured, []ArmWarning, error) {
	d, err := designOf(run)
	if err != nil {
		return d, nil, nil, err
	}
	cells := map[string]lab.Cell{}
	warnings := warnings{}
	for _, w := range run.Warnings {
		warnings.add(w, "", "", false)
	}
	for _, c := range run.Cells {
		cells[c.ID] = c
		for _, w := range c.Warnings {
			warnings.add(w, suiteCell(c), c.Arm, false)
		}
	}
	seen := map[string]map[string]bool{} // metrics by cell of the suite
	var all []lab.Repetition
	values := map[string]map[string][]map[string]float64{} // of all repetitions, by arm and cell of the suite
	for r := range repetitions {
		c, ok := cells[r.Cell]
		if !ok {
			return d, nil, nil,
				&lab.Error{What: fmt.Sprintf("run %s holds a repetition of a cell %q that it has not", run.ID, r.Cell)}
		}
		warnings.count(suiteCell(c), c.Arm)
		for _, w := range r.Warnings {
			warnings.add(w, suiteCell(c), c.Arm, true)
		}
		id := suiteCell(c)
		arm := visited(c.Arm)
		if values[arm] == nil {
			values[arm] = map[string][]map[string]float64{}
		}
		if r.Failed() {
			values[arm][id] = append(values[arm][id], nil)
			continue
		}
		values[arm][id] = append(values[arm][id], r.Values)
		if seen[id] == nil {
			seen[id] = map[string]bool{}
		}
		for metric := range r.Values {
			seen[id][metric] = true
		}
		all = append(all, r)
	}
	for i, c := range d.Cells {
		d.Cells[i].Metrics = deciding(c, seen[c.ID])
	}
	d.Outages = outagesOf(d, values)
	var measured []Measured
	for _, r := range all {
		c := cells[r.Cell]
		for _, metric := range d.cell(suiteCell(c)).Metrics {
			_, stood := d.outage(number{suiteCell(c), metric}, visited(c.Arm))
			if v, ok := r.Values[metric]; ok && !stood { // else it would look as if it never stood still
				measured = append(measured, Measured{Arm: c.Arm, Cell: suiteCell(c), Metric: metric, Block: r.Block,
					Value: v})
			}
		}
	}
	return d, measured, warnings.list(), nil
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
		id := suiteCell(c)
		if slices.ContainsFunc(d.Cells, func(x Cell) bool { return x.ID == id }) {
			continue
		}
		d.Cells = append(d.Cells, Cell{ID: id, Job: c.Job, Title: titleOf(c), Engine: c.Engine, Params: c.Params,
			Own: c.Metrics})
	}
	return d, nil
}

// settingOf is the one factor that an arm does not leave as it was found.
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

// suiteCell is the ID that a cell has in the suite.
func suiteCell(c lab.Cell) string { return strings.TrimSuffix(c.ID, "@"+c.Arm) }

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
