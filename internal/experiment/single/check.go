package single

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
)

// check plans the measurement of a state, and decides whether it is good or bad.
type check struct {
	*experiment.Run
	terms     CheckTerms
	good, bad []float64 // logarithms of the measured values of the two runs, as rates
	most      int
	alpha     float64
	measured  []lab.Repetition
}

// CheckTerms are the terms of a check of one state.
type CheckTerms struct {
	Good, Bad, Build string
	Most             int
	Options          experiment.RunOptions
}

// checkRisk is the probability that a check names the wrong side: a whole bisection takes about ten checks.
const checkRisk = 0.01

// Check measures the state that is checked out, and answers git bisect run by the exit code.
func Check(ctx context.Context, p *app.App, terms CheckTerms, args []string) error {
	s, err := p.OpenStore()
	if err != nil {
		return err
	}
	x := &check{Run: experiment.NewRun(p, s, terms.Options, args), terms: terms, most: terms.Most, alpha: checkRisk}
	err = experiment.Carry(ctx, p, s, experiment.Request{Design: lab.DesignRun, Args: args}, x)
	if _, unprepared := errors.AsType[*runner.Unprepared](err); unprepared {
		return &app.ExitError{Code: app.StatusSkip, Err: err}
	}
	return err
}

// Draft builds the state, makes its run, and reads the runs that it is compared with.
func (x *check) Draft(ctx context.Context, p *experiment.Plan) error {
	argv, err := experiment.BuildWords(x.terms.Build)
	if err != nil {
		return err
	}
	if err := x.Open(ctx, p); err != nil {
		return err
	}
	if err := x.buildHere(ctx, argv); err != nil {
		return err
	}
	if err := x.Run.Draft(ctx, p); err != nil {
		return err
	}
	m := x.Measurement
	m.Run.Anytime = true // the results decide the number of repetitions
	p.Schedule = &checking{RunSchedule: experiment.RunSchedule{Measurement: m}, check: x}
	for _, side := range []struct {
		ref  string
		logs *[]float64
	}{{x.terms.Good, &x.good}, {x.terms.Bad, &x.bad}} {
		b, err := m.Store.Find(side.ref)
		if err != nil {
			return err
		}
		if *side.logs, err = x.savedLevel(b); err != nil {
			return err
		}
	}
	if !stat.Differ(x.good, x.bad, checkRisk) {
		return app.Usage(fmt.Sprintf("the runs %s and %s don't differ clearly: %s and %s", x.terms.Good, x.terms.Bad,
			prose.Count(len(x.good), "repetition"), prose.Count(len(x.bad), "repetition")),
			"measure both more often: headroom run --repeat 10", "or they don't differ")
	}
	return nil
}

// buildHere builds the checked-out state. A failed build shows nothing about the speed.
func (x *check) buildHere(ctx context.Context, argv []string) error {
	if len(argv) == 0 {
		return nil
	}
	out, err := x.Measurement.Target.Run(ctx, argv...)
	if err != nil {
		return err
	}
	if out.ExitCode != 0 {
		return &app.ExitError{Code: app.StatusSkip, Err: &lab.Error{What: "the build failed", Command: argv,
			Output: lastLines(string(out.Stdout)+string(out.Stderr), 5)}}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (x *check) shortID(run string) string { return x.Measurement.Store.ShortID(run) }

// savedLevel returns the level of a saved run: the means of its passes over the cells that are measured now.
func (x *check) savedLevel(b *store.Bundle) ([]float64, error) {
	if b.Run.Experiment != nil {
		return nil, app.Usage("run "+x.shortID(b.Run.ID)+" is a "+b.Run.Experiment.Noun()+", and no level",
			"name a run that headroom run made")
	}
	byPass := map[int][]lab.Repetition{}
	for r, err := range b.Repetitions() {
		if err != nil {
			return nil, err
		}
		byPass[r.Number] = append(byPass[r.Number], r)
	}
	var logs []float64
	for pass := 1; pass <= len(byPass); pass++ {
		if log, ok := x.passMean(byPass[pass]); ok {
			logs = append(logs, log)
		}
	}
	if len(logs) < 2 {
		return nil, app.Usage(fmt.Sprintf("run %s has %s of all that %s measures", x.shortID(b.Run.ID),
			prose.Count(len(logs), "repetition"), x.Measurement.Run.Suite),
			"both runs must be of the same suite, with two repetitions or more: headroom run --repeat 5")
	}
	return logs, nil
}

// passMean returns the mean over all cells of the logarithms of their deciding metrics as rates; false if a cell has
// none.
func (x *check) passMean(repetitions []lab.Repetition) (log float64, whole bool) {
	sum, n := 0.0, 0
	for _, c := range x.Measurement.Run.Cells {
		i := slices.IndexFunc(repetitions, func(r lab.Repetition) bool { return r.Cell == c.ID })
		if i < 0 || repetitions[i].Failed() {
			return 0, false
		}
		values := repetitions[i].Values
		for _, name := range lab.Deciding(c.Metrics, c.Params, values) {
			v := math.Log(values[name])
			if c.Metric(name).Better == lab.Lower {
				v = -v
			}
			if math.IsInf(v, 0) || math.IsNaN(v) {
				return 0, false
			}
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n), n > 0
}

// logs returns the logarithms of the complete passes, and whether a load has failed.
func (x *check) logs(measured []lab.Repetition) (logs []float64, failed bool) {
	for from := 0; from+len(x.Measurement.Run.Cells) <= len(measured); from += len(x.Measurement.Run.Cells) {
		log, ok := x.passMean(measured[from : from+len(x.Measurement.Run.Cells)])
		if !ok {
			return logs, true
		}
		logs = append(logs, log)
	}
	return logs, slices.ContainsFunc(measured, lab.Repetition.Failed)
}

// side returns the side that is known so far.
func (x *check) side(logs []float64) stat.Side {
	if len(logs) < 2 {
		return stat.NeitherSide
	}
	return stat.SideOf(x.good, x.bad, logs, x.most-1, x.alpha)
}

// checking is the schedule of a check: passes over the loads until the side of the state is clear, a load has failed,
// or the allowed number of passes is measured.
type checking struct {
	experiment.RunSchedule
	*check
}

// Next returns the next load of the pass, or the first of another pass.
func (c *checking) Next(done []plan.Done) (plan.Repetition, bool) {
	cells := c.Measurement.Run.Cells
	passes, i := len(done)/len(cells), len(done)%len(cells)
	if i == 0 {
		logs, failed := c.logs(c.measured)
		if passes == c.most || failed || c.side(logs) != stat.NeitherSide {
			return plan.Repetition{}, false
		}
	}
	return plan.Repetition{Cell: cells[i].ID, Arm: cells[i].Arm, Number: passes + 1, Block: passes + 1,
		Position: i + 1}, true
}

// Done keeps the repetition, of which all values are used.
func (c *checking) Done(part string, r lab.Repetition) plan.Done {
	c.measured = append(c.measured, r)
	return c.RunSchedule.Done(part, r)
}

// Summarize prints nothing: a bisection has many such checks.
func (c *checking) Summarize(context.Context) {}

// Source counts measurements.
func (c *checking) Source() progress.Source {
	return progress.Counter(func() string {
		return fmt.Sprintf("%d of at most %d", len(c.measured), c.most*len(c.Measurement.Run.Cells))
	})
}

// Complete clears the message of the end: Report prints the answer.
func (c *checking) Complete(m *experiment.Measured) { *m = experiment.Measured{} }

// Report prints the answer, and returns the exit code that git bisect run reads.
func (x *check) Report() error {
	logs, failed := x.logs(x.measured)
	if failed {
		return &app.ExitError{Code: app.StatusSkip, Err: &lab.Error{What: "a load failed, so the answer is unknown",
			Hints: []string{"headroom show " + x.shortID(x.Measurement.Run.ID) + " --raw shows what it said"}}}
	}
	after := fmt.Sprintf("%s (run %s)", prose.Count(len(logs), "measurement"), x.shortID(x.Measurement.Run.ID))
	change := func(level []float64) string {
		return fmt.Sprintf("%+.1f%%", 100*math.Expm1(gonum.Mean(logs, nil)-gonum.Mean(level, nil)))
	}
	switch x.side(logs) {
	case stat.FirstSide:
		fmt.Fprintf(x.Measurement.App.Stdout, "good: %s from the good run, after %s\n", change(x.good), after)
		return nil
	case stat.SecondSide:
		fmt.Fprintf(x.Measurement.App.Stdout, "bad: %s from the good run, after %s\n", change(x.good), after)
		return &app.ExitError{Code: app.StatusBad}
	}
	return &app.ExitError{Code: app.StatusSkip,
		Err: &lab.Error{What: fmt.Sprintf("neither good (%s from it) nor bad (%s from it), after %s",
			change(x.good), change(x.bad), after),
			Hints: []string{"--most allows for more measurements"}}}
}
