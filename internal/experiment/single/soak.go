package single

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// SoakOptions are the flags of soak.
type SoakOptions struct {
	experiment.RunOptions
	// Job is the measured job of the suite; empty for its only one.
	Job string
	// For is how long it is measured, in rounds of Round each.
	For, Round time.Duration
	Result     results.DocumentOutput
}

// soaking plans one load that is repeated without a pause: the design of headroom soak.
type soaking struct {
	*experiment.Run
	options SoakOptions
}

// Soak measures one load for a long time, and reports whether its rate holds.
func Soak(ctx context.Context, p *app.App, s *store.Store, o SoakOptions, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measurement
	}
	if o.Round < time.Second || o.For < o.Round {
		return app.Usage(fmt.Sprintf("--for %s has no room for a round of %s", o.For, o.Round),
			"rounds of a second at least: --for 4h --round 1m")
	}
	r := o.Request(lab.DesignSoak, args)
	r.Complete = true // it is printed again
	return experiment.Carry(ctx, p, s, r, &soaking{experiment.NewRun(p, s, o.RunOptions, args), o})
}

// Targets returns none for a complete run: it is only printed.
func (s *soaking) Targets(saved *store.Bundle) ([]string, error) {
	return s.TargetsUntilComplete(saved)
}

// Draft plans the rounds.
func (s *soaking) Draft(ctx context.Context, p *experiment.Plan) error {
	err := s.DraftWith(ctx, p, s.oneLoad)
	p.Schedule = s.rounds()
	return err
}

// Rebuild reads the saved rounds.
func (s *soaking) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	err := s.Run.Rebuild(ctx, p, saved)
	p.Schedule = s.rounds()
	return err
}

func (s *soaking) rounds() rounds { return rounds{&experiment.RunSchedule{Measurement: s.Measurement}} }

// oneLoad reduces the run to a single load, in rounds.
func (s *soaking) oneLoad(m *experiment.Measurement) error {
	run := &m.Run
	var jobs []string
	for _, c := range run.Cells {
		jobs = append(jobs, c.ID)
	}
	if s.options.Job != "" {
		run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool {
			return c.ID != s.options.Job && c.Job != s.options.Job
		})
	}
	if n := len(run.Cells); n != 1 {
		return app.Usage(fmt.Sprintf("a soak is of one load, and this names %s", prose.Count(n, "load")),
			"name one with --job: "+prose.List(jobs))
	}
	c := &run.Cells[0]
	if !lab.ByFio(c.Engine) {
		return app.Usage("a soak is of a load of fio's, and "+c.ID+" is none", "headroom run repeats it: --repeat 60")
	}
	c.Params = maps.Clone(c.Params)
	c.Params["runtime"], c.Params["time_based"] = fmt.Sprintf("%gs", s.options.Round.Seconds()), "1"
	delete(c.Params, "ramp_time")
	c.Steps = stepsOfRounds(c.Steps)
	c.Repetitions = int((s.options.For + s.options.Round - 1) / s.options.Round)
	run.Design, run.Repetitions = lab.DesignSoak, c.Repetitions
	run.Order, run.Pause = string(suite.Sequential), 0
	return nil
}

// stepsOfRounds returns the steps of a load that lasts for hours. A device is filled before the first round instead of
// discarded before each: a discard would empty the cache that the soak fills.
func stepsOfRounds(steps []lab.Step) []lab.Step {
	if slices.Contains(steps, lab.Fill) {
		return slices.DeleteFunc(slices.Clone(steps), func(s lab.Step) bool { return s == lab.Discard })
	}
	rounds := slices.Clone(steps)
	if i := slices.Index(rounds, lab.Discard); i >= 0 {
		rounds[i] = lab.Fill
	}
	return rounds
}

// rounds is the schedule of a soak.
type rounds struct{ *experiment.RunSchedule }

// Summarize adds the number and length of the rounds.
func (r rounds) Summarize(ctx context.Context) {
	r.RunSchedule.Summarize(ctx)
	c := r.Measurement.Run.Cells[0]
	r.Measurement.App.Print("  ", fmt.Sprintf("%s of %s each, one after the other", prose.Count(c.Repetitions, "round"),
		unit.Duration(fio.WantedRuntime(c.Params))))
}

// Report prints the verdict.
func (s *soaking) Report() error {
	m := s.Measurement
	b, err := m.Store.Find(m.Run.ID)
	if err != nil {
		return err
	}
	return results.ShowRun(m.App, m.Store, b, s.options.Result)
}
