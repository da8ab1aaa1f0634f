package experiment

import (
	"slices"
	"time"

	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// Workload is what a run measures: the cells in its header, and how often and in which order they are repeated.
type Workload struct {
	Run lab.Run
	// Saved is what earlier parts of the run have measured, and profiled how many loads of each cell they profiled.
	Saved    []lab.Repetition
	profiled map[runner.ProfiledPart]int
	// laidOut is set where another run has laid out the scratch file.
	laidOut bool
}

// Workload returns what the run measures, as far as that is known by now.
func (m *Measurement) Workload() Workload {
	return Workload{m.Run, m.Saved, m.profiled, m.SharedScratch != nil}
}

func (w Workload) place() lab.Place { return w.Run.Targets[0].Place }

// Pause is the time between two loads, for a device to become idle.
func (w Workload) Pause() time.Duration { return time.Duration(w.Run.Pause * float64(time.Second)) }

// Time is how long the repetitions take that are still to be made; 0 if that is unknown.
func (w Workload) Time() time.Duration { return suite.EstimateTime(w.SuiteCells(), w.Pause()) }

// Planned is how many repetitions there will be; 0 where what is measured decides that.
func (w Workload) Planned() int {
	n := 0
	if w.Run.Anytime {
		return n
	}
	for _, c := range w.Run.Cells {
		n += c.Repetitions
	}
	return n
}

// Order is the order of all repetitions of the run, including those that are already saved.
func (w Workload) Order() []plan.Repetition {
	return plan.InStages(w.PlanCells(), orderOf(suite.Order(w.Run.Order)), w.Run.Seed)
}

// PlanCells are the cells as plans see them. A device is filled once and not for every cell that reads, so the cells
// that need no fill come first and the ones that do after them.
func (w Workload) PlanCells() []plan.Cell {
	var cells []plan.Cell
	for _, c := range w.Run.Cells {
		stage := 0
		if slices.Contains(c.Steps, lab.Fill) {
			stage = 1
		}
		cell := plan.Cell{ID: c.ID, Repetitions: c.Repetitions, Stage: stage}
		if t := expectedTime(c); t > 0 {
			cell.Seconds = (t + progress.RepetitionOverhead + w.Pause()).Seconds()
		}
		cells = append(cells, cell)
	}
	return cells
}

// SuiteCells are the cells of the run as the suite's estimates take them, with the repetitions that are still to be
// made.
func (w Workload) SuiteCells() []suite.Cell {
	cells := make([]suite.Cell, len(w.Run.Cells))
	for i, c := range w.Run.Cells {
		cells[i] = suiteCell(c)
		for _, r := range w.Saved {
			if r.Cell == c.ID {
				cells[i].Repetitions--
			}
		}
	}
	return cells
}

// PlanAndSource are the plan of a run on one target, and what knows how far it has come. Within limits the time of
// repetitions that are fixed beforehand.
func (w Workload) PlanAndSource(cells []runner.Cell, within time.Duration) (plan.Plan, progress.Source) {
	if w.Run.Anytime {
		p := w.adaptivePlan()
		return p, progress.WithProfiles(progress.NewAdaptive(p, w.Run, cells, w.Saved), w.profilesTime())
	}
	order := w.Order()
	clock := progress.NewOrderClock(cells, NotSaved(order, w.Saved), w.Pause()).Within(within)
	limit := 0.0
	if within > 0 {
		limit = within.Seconds() + spent(w.Saved)
	}
	return plan.Within(plan.Fixed(order), limit), progress.WithProfiles(clock, w.profilesTime())
}

// profilesLeft is how many loads of a cell are still to be profiled. Where what is measured decides how often it is
// repeated, it is often enough.
func (w Workload) profilesLeft(c lab.Cell) int {
	if w.Run.Profile == nil || !runner.CanProfile(c) {
		return 0
	}
	each := w.Run.Profile.Loads
	if n := w.mostOf(c); n > 0 {
		each = min(each, n)
	}
	left := 0
	for _, part := range profile.Parts() {
		left += max(0, each-w.profiled[runner.ProfiledPart{Cell: c.ID, Part: part}])
	}
	return left
}

// profiles is how many loads are still to be profiled.
func (w Workload) profiles() int {
	n := 0
	for _, c := range w.Run.Cells {
		n += w.profilesLeft(c)
	}
	return n
}

// profilesTime is how long those take, as far as that is known.
func (w Workload) profilesTime() time.Duration {
	takes := time.Duration(0)
	for _, c := range w.Run.Cells {
		if n := w.profilesLeft(c); n > 0 {
			each := runner.ProfiledTime(runner.Cell{Cell: c, Expected: expectedTime(c)}) /
				time.Duration(len(profile.Parts()))
			takes += time.Duration(n) * (each + w.Pause())
		}
	}
	return takes
}

// mostOf is how many repetitions of a cell there can be; 0 where what is measured decides that.
func (w Workload) mostOf(c lab.Cell) int {
	switch {
	case w.Run.Anytime:
		return 0
	case w.Run.Experiment != nil:
		return c.Repetitions * w.Run.Experiment.Blocks
	}
	return c.Repetitions
}

// withProfiles are cells with what is profiled of them among their repetitions.
func (w Workload) withProfiles(cells []suite.Cell) []suite.Cell {
	cells = slices.Clone(cells)
	for i, c := range w.Run.Cells {
		cells[i].Repetitions += w.profilesLeft(c)
	}
	return cells
}

// expectedTime of a load, ramp included; 0 when it ends by size, and if it is unknown, as of most commands.
func expectedTime(c lab.Cell) time.Duration {
	if c.Command != nil {
		return unit.SecondsToDuration(c.Command.ExpectedSeconds)
	}
	if g, ok := served.Of(c.Engine); ok {
		return g.TestTime(c.Params)
	}
	d := fio.WantedRuntime(c.Params)
	if d > 0 {
		d += fio.Ramp(c.Params)
	}
	return d
}

// suiteCell is a cell of the run as suites have them.
func suiteCell(c lab.Cell) suite.Cell {
	return suite.Cell{ID: c.ID, Job: c.Job, Engine: c.Engine, Command: c.Command, Metrics: c.Metrics, Params: c.Params,
		Steps:       c.Steps,
		Repetitions: c.Repetitions, Runtime: expectedTime(c)}
}
