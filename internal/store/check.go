package store

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
)

// checkContents refuses a bundle from elsewhere that could not be shown: its parts name each other, and a name that
// nothing has, or one with control characters, would fail later in every command that reads the run.
func (b *Bundle) checkContents() error {
	if err := checkHeader(b.Run); err != nil {
		return refusedRun(b.Run.ID+"/"+headerName, err)
	}
	known := namesOf(b.Run)
	segments, err := b.segments()
	if err != nil {
		return err
	}
	for _, n := range segments {
		if err := known.checkSegment(b.Run.ID, b.segment(n)); err != nil {
			return err
		}
	}
	number := 0
	for l, err := range b.Profiles() {
		if err != nil {
			return err
		}
		number++
		if err := known.checkProfile(l); err != nil {
			return refusedRun(fmt.Sprintf("%s/profiles, load %d", b.Run.ID, number), err)
		}
	}
	return nil
}

// refusedRun names the place of what makes a run unreadable.
func refusedRun(place string, err error) error {
	return &lab.Error{Kind: lab.Usage, What: "not a run that headroom made: " + place, Err: err,
		Hints: []string{"ask for another export of the run: headroom export RUN --format run"}}
}

// runNames are what the repetitions of a run may name.
type runNames struct {
	cells, arms map[string]bool
	roles       map[string]bool
	events      map[string]int // by cell
}

func namesOf(run lab.Run) runNames {
	n := runNames{map[string]bool{}, map[string]bool{"": true}, map[string]bool{"": true}, map[string]int{}}
	events := map[string]int{}
	for _, t := range run.Targets {
		n.roles[t.Role] = true
	}
	for _, a := range run.Arms {
		n.arms[a.ID], events[a.ID] = true, len(run.Events)
		if a.Stage != nil {
			events[a.ID] = len(a.Stage.Events)
		}
	}
	for _, c := range run.Cells {
		n.cells[c.ID], n.events[c.ID] = true, events[c.Arm]
	}
	return n
}

// checkHeader checks the names of a header, and what its parts say of each other.
func checkHeader(run lab.Run) error {
	if err := checkHeaderNames(run); err != nil {
		return err
	}
	roles, arms, cells := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range run.Targets {
		if roles[t.Role] {
			return fmt.Errorf("two targets have the role %q", t.Role)
		}
		roles[t.Role] = true
	}
	for _, t := range run.Targets {
		if t.FactsAs != "" && !roles[t.FactsAs] {
			return fmt.Errorf("the target %q has the facts of %q, which is no target of the run", t.Role, t.FactsAs)
		}
	}
	for _, a := range run.Arms {
		if arms[a.ID] {
			return fmt.Errorf("two arms are called %q", a.ID)
		}
		arms[a.ID] = true
	}
	for _, c := range run.Cells {
		switch {
		case cells[c.ID]:
			return fmt.Errorf("two cells are called %q", c.ID)
		case !arms[c.Arm]:
			return fmt.Errorf("the cell %q is of the arm %q, which the run does not have", c.ID, c.Arm)
		}
		cells[c.ID] = true
		if err := checkHistograms(c.Latency); err != nil {
			return fmt.Errorf("the cell %q: %w", c.ID, err)
		}
	}
	return checkExperiment(run.Experiment, arms)
}

// checkExperiment checks which arms an experiment names, and which of its factors.
func checkExperiment(e *lab.Experiment, arms map[string]bool) error {
	if e == nil {
		return nil
	}
	named := map[string]string{"baseline": e.Baseline, "reference": e.Reference}
	for i, s := range e.SearchSteps {
		named[fmt.Sprintf("measurement %d", i+1)] = s.Arm
	}
	for _, what := range slices.Sorted(maps.Keys(named)) {
		if arm := named[what]; arm != "" && !arms[arm] {
			return fmt.Errorf("the %s of the experiment is the arm %q, which the run does not have", what, arm)
		}
	}
	for _, pair := range e.Pairs {
		if min(pair[0], pair[1]) < 1 || max(pair[0], pair[1]) > len(e.Factors) {
			return fmt.Errorf("the settings %d and %d are a pair, of %d settings", pair[0], pair[1], len(e.Factors))
		}
	}
	return nil
}

// checkHeaderNames checks the names in a header that other parts of it, or output for other programs, refer to. Texts,
// such as those of jobs, labels and facts, can be anything: they are escaped where they are written.
func checkHeaderNames(run lab.Run) error {
	var all nameCheck
	for _, t := range run.Targets {
		all.add("role", t.Role)
		for _, f := range t.Facts {
			all.add("fact", f.Key)
		}
	}
	for _, a := range run.Arms {
		all.add("arm", a.ID)
		all.add("role", a.Role)
		all.add("level", slices.Collect(maps.Keys(a.Levels))...)
	}
	for _, c := range run.Cells {
		all.cell(c)
	}
	all.warnings(run.Warnings)
	for _, s := range run.Stages {
		all.add("stage", s.Name)
	}
	if run.Terms != nil {
		all.add("metric", run.Terms.Metrics...)
	}
	if run.Concurrent != nil {
		for _, c := range run.Concurrent.Combinations {
			all.add("combination", c.ID)
			all.add("group", c.Groups...)
		}
	}
	return all.err
}

// nameCheck keeps the first name that a terminal would obey, or that would begin another line in a file for another
// program.
type nameCheck struct{ err error }

func (all *nameCheck) add(what string, names ...string) {
	for _, name := range names {
		if all.err == nil && prose.HasControl(name) {
			all.err = fmt.Errorf("the %s %q has control characters", what, lab.Shorten(name, 100, 20))
		}
	}
}

func (all *nameCheck) cell(c lab.Cell) {
	all.add("cell", c.ID)
	all.add("load generator", c.Engine)
	all.add("parameter", slices.Collect(maps.Keys(c.Params))...)
	all.add("direction", slices.Collect(maps.Keys(c.Latency))...)
	all.add("end", slices.Collect(maps.Keys(c.Placement))...)
	for name, m := range c.Metrics {
		all.add("metric", name)
		all.add("unit", string(m.Unit))
	}
	all.warnings(c.Warnings)
}

func (all *nameCheck) warnings(list []lab.Warning) {
	for _, w := range list {
		all.add("warning", w.Code)
		all.add("metric", w.Taints...)
	}
}

func (all *nameCheck) repetition(r lab.Repetition) {
	all.add("metric", slices.Collect(maps.Keys(r.Values))...)
	all.add("metric", slices.Collect(maps.Keys(r.Samples))...)
	all.add("counter", slices.Collect(maps.Keys(r.KernelCounters))...)
	all.add("direction", slices.Collect(maps.Keys(r.Latency))...)
	for _, s := range r.Series {
		all.add("metric", s.Metric)
	}
	for _, p := range r.Ports {
		all.add("port", p.End, p.Port)
	}
	all.warnings(r.Warnings)
}

// checkSegment reads the repetitions of a segment.
func (n runNames) checkSegment(id, name string) (err error) {
	line := 0
	readSegment(name, func(r lab.Repetition, damaged error) bool {
		line++
		if err = damaged; err == nil {
			if err = n.checkRepetition(r); err != nil {
				err = refusedRun(fmt.Sprintf("%s, line %d", path.Join(id, "repetitions", filepath.Base(name)), line),
					err)
			}
		}
		return err == nil
	})
	return err
}

func (n runNames) checkRepetition(r lab.Repetition) error {
	switch {
	case !n.cells[r.Cell]:
		return fmt.Errorf("a repetition of the cell %q, which the run does not have", r.Cell)
	case r.After != "" && !n.cells[r.After]:
		return fmt.Errorf("a repetition after the cell %q, which the run does not have", r.After)
	case r.Events != nil && len(r.Events.Each) > n.events[r.Cell]:
		return fmt.Errorf("a repetition with %d events, of a cell that has %d", len(r.Events.Each), n.events[r.Cell])
	}
	if err := checkHistograms(r.Latency); err != nil {
		return err
	}
	var all nameCheck
	all.repetition(r)
	return all.err
}

func (n runNames) checkProfile(l profile.Load) error {
	switch {
	case !n.cells[l.Cell]:
		return fmt.Errorf("a profile of the cell %q, which the run does not have", l.Cell)
	case !n.arms[l.Arm]:
		return fmt.Errorf("a profile of the arm %q, which the run does not have", l.Arm)
	case !n.roles[l.Role]:
		return fmt.Errorf("a profile of the role %q, which no target of the run has", l.Role)
	}
	var all nameCheck
	all.add("metric", slices.Collect(maps.Keys(l.Values))...)
	return all.err
}

// checkHistograms refuses bins without counts, and counts without bins.
func checkHistograms(all map[string]lab.Histogram) error {
	for _, direction := range slices.Sorted(maps.Keys(all)) {
		if h := all[direction]; len(h.Nanoseconds) != len(h.Counts) {
			return fmt.Errorf("the latency %q has %d bins and %d counts", direction, len(h.Nanoseconds), len(h.Counts))
		}
	}
	return nil
}
