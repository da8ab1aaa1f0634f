package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	gonum "gonum.org/v1/gonum/stat"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/stat"
	"headroom/internal/store"
)

// What git bisect run reads in an exit status: 0 is good, 1 to 124 bad, 125 to be skipped, and from 128 on it stops.
const (
	statusBad  = 1
	statusSkip = 125
	statusStop = 129
)

// exitError ends the command with an exit code of its own; without an error nothing is left to be said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// stopBisect has an error end git bisect run, whatever its kind: it would take any other code for an answer.
func stopBisect(err error) error {
	if _, ok := errors.AsType[*exitError](err); ok || err == nil || exitCode(err) >= 128 {
		return err
	}
	return &exitError{statusStop, err}
}

// check is the measurement of a state that is to be found good or bad.
type check struct {
	*measurement
	good, bad []float64 // logarithms of what was measured of the two, as rates
	most      int
	alpha     float64
}

func (p *program) bisectCheckCommand() *cobra.Command {
	var good, bad, build, label string
	var set []string
	most := 20
	c := &cobra.Command{
		Use:   "check SUITE [DIR] --good RUN --bad RUN",
		Short: "For git bisect run: is the checkout as fast as a good run, or as slow as a bad one?",
		Long: `Measures what is checked out now, in the folder that it is started in, as often as it takes until it is clear
whether it is as in the good run or as in the bad one. Both are saved runs of the same suite, with some repetitions
each. {tree} in the suite's commands stands for the folder that it is started in.

It ends as git bisect run reads it: 0 good, 1 bad, 125 where that can't be told, or the build or the load fails
(git skips the commit), and 129 where the set-up is wrong (git stops).

headroom bisect commits does the whole search, with fewer measurements where they are noisy.`,
		Example: `  git checkout v1.4 && make && headroom run bench.yaml /srv --repeat 5 --label good
  git checkout main && make && headroom run bench.yaml /srv --repeat 5 --label bad
  git bisect start main v1.4 && git bisect run headroom bisect check bench.yaml /srv --good good --bad bad --build make`,
	}
	// Errors in the command line end git bisect run as well.
	c.Args = func(c *cobra.Command, args []string) error {
		return stopBisect(argumentCount(1, 2, "a suite and a directory")(c, args))
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return stopBisect(usage(err.Error(), c.CommandPath()+" --help lists the flags"))
	})
	c.ValidArgsFunction = completeSuites
	c.RunE = func(c *cobra.Command, args []string) error {
		if good == "" || bad == "" || most < 2 {
			return stopBisect(
				usage("headroom bisect check needs a good run and a bad one, and two measurements or more",
					"--good RUN --bad RUN; headroom list names them"))
		}
		return stopBisect(
			runCheck(c.Context(), p, checkTerms{good, bad, build, most, runOptions{label: label, set: set}},
				args))
	}
	f := c.Flags()
	f.StringVar(&good, "good", "", "a saved run of the good state")
	f.StringVar(&bad, "bad", "", "a saved run of the bad state")
	f.StringVar(&build, "build", "", "the command that builds what is checked out, as words: no shell reads it")
	f.IntVar(&most, "most", most, "measurements at most")
	f.StringVar(&label, "label", "", "text to find the run by")
	f.StringArrayVar(&set, "set", nil, "a parameter for every job; may be repeated")
	for _, name := range []string{"good", "bad"} {
		if err := c.RegisterFlagCompletionFunc(name, p.completeRuns); err != nil {
			panic(err) // the flag is not there: an error of the program
		}
	}
	return c
}

type checkTerms struct {
	good, bad, build string
	most             int
	options          runOptions
}

// checkRisk is how often a check may name the wrong side: a whole bisection takes some ten of them.
const checkRisk = 0.01

func runCheck(ctx context.Context, p *program, terms checkTerms, args []string) error {
	s, err := p.openStore()
	if err != nil {
		return err
	}
	if err := recoverLeftovers(ctx, p, s, localTarget); err != nil {
		return err
	}
	t, err := p.openTarget(ctx, localTarget)
	if err != nil {
		return err
	}
	x := &check{measurement: &measurement{program: p, options: terms.options, store: s, target: t}, most: terms.most,
		alpha: checkRisk}
	defer x.release()
	argv, err := buildWords(terms.build)
	if err != nil {
		return err
	}
	if err := x.buildHere(ctx, argv); err != nil {
		return err
	}
	if err := x.plan(ctx, args); err != nil {
		return err
	}
	for _, side := range []struct {
		ref  string
		logs *[]float64
	}{{terms.good, &x.good}, {terms.bad, &x.bad}} {
		b, err := s.Find(side.ref)
		if err != nil {
			return err
		}
		if *side.logs, err = x.savedLevel(b); err != nil {
			return err
		}
	}
	if !stat.Differ(x.good, x.bad, checkRisk) {
		return usage(fmt.Sprintf("the runs %s and %s can't be told apart: %s and %s", terms.good, terms.bad,
			prose.Count(len(x.good), "repetition"), prose.Count(len(x.bad), "repetition")),
			"measure both more often: headroom run --repeat 10", "or they don't differ")
	}
	return x.execute(ctx)
}

// buildHere builds what is checked out. A build that fails says nothing of the speed.
func (x *check) buildHere(ctx context.Context, argv []string) error {
	if len(argv) == 0 {
		return nil
	}
	out, err := x.target.Run(ctx, argv...)
	if err != nil {
		return err
	}
	if out.ExitCode != 0 {
		return &exitError{statusSkip, &lab.Error{What: "the build failed", Command: argv,
			Output: lastLines(string(out.Stdout)+string(out.Stderr), 5)}}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// savedLevel a saved run: its passes over the cells that are measured now.
func (x *check) savedLevel(b *store.Bundle) ([]float64, error) {
	if b.Run.Experiment != nil {
		return nil, usage("run "+x.store.ShortID(b.Run.ID)+" is a "+b.Run.Experiment.Noun()+", and no level",
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
		return nil, usage(fmt.Sprintf("run %s has %s of all that %s measures", x.store.ShortID(b.Run.ID),
			prose.Count(len(logs), "repetition"), x.run.Suite),
			"both runs must be of the same suite, with two repetitions or more: headroom run --repeat 5")
	}
	return logs, nil
}

// passMean over all cells, as the mean logarithm of their deciding metrics as rates; false where a cell has none.
func (x *check) passMean(repetitions []lab.Repetition) (log float64, whole bool) {
	sum, n := 0.0, 0
	for _, c := range x.run.Cells {
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

// logs of the passes that are whole, and whether a load has failed.
func (x *check) logs(measured []lab.Repetition) (logs []float64, failed bool) {
	for from := 0; from+len(x.run.Cells) <= len(measured); from += len(x.run.Cells) {
		log, ok := x.passMean(measured[from : from+len(x.run.Cells)])
		if !ok {
			return logs, true
		}
		logs = append(logs, log)
	}
	return logs, slices.ContainsFunc(measured, lab.Repetition.Failed)
}

// side is what is known so far.
func (x *check) side(logs []float64) stat.Side {
	if len(logs) < 2 {
		return stat.NeitherSide
	}
	return stat.SideOf(x.good, x.bad, logs, x.most-1, x.alpha)
}

func (x *check) execute(ctx context.Context) error {
	x.run.Anytime = true // what is measured decides how often
	w, err := x.begin(ctx)
	if err != nil {
		return err
	}
	e := x.runnerMeasurement()
	show := newProgress(x.measurement.program, &checkClock{most: x.most * len(x.run.Cells)})
	e.Progress = show.tell
	session, err := runner.Open(ctx, e, w)
	var outcome runner.Outcome
	if err == nil {
		err = runner.Conduct(ctx, &checking{x, session, nil})
		var closing error
		outcome, closing = session.Close()
		err = errors.Join(err, closing)
	}
	show.end()
	if err := errors.Join(err, x.end(ctx, w, outcome, err)); err != nil {
		return err
	}
	return x.reportSide(outcome.Repetitions)
}

// checking names the passes over the loads of a check: until it is clear, a load has failed, or they were measured as
// often as was allowed.
type checking struct {
	*check
	session  *runner.Session
	measured []lab.Repetition
}

func (c *checking) Next(context.Context) (plan.Repetition, bool, error) {
	cells := c.run.Cells
	passes, i := len(c.measured)/len(cells), len(c.measured)%len(cells)
	if i == 0 {
		logs, failed := c.logs(c.measured)
		if passes == c.most || failed || c.side(logs) != stat.NeitherSide {
			return plan.Repetition{}, false, nil
		}
	}
	return plan.Repetition{Cell: cells[i].ID, Arm: cells[i].Arm, Number: passes + 1, Block: passes + 1,
		Position: i + 1}, true, nil
}

func (c *checking) Repeat(ctx context.Context, next plan.Repetition) error {
	r, err := c.session.Repeat(ctx, next)
	if _, unprepared := errors.AsType[*runner.Unprepared](err); unprepared {
		return &exitError{statusSkip, err}
	}
	if err == nil {
		c.measured = append(c.measured, r)
	}
	return err
}

// reportSide says what was found, and ends as git bisect run reads it.
func (x *check) reportSide(measured []lab.Repetition) error {
	logs, failed := x.logs(measured)
	if failed {
		return &exitError{statusSkip, &lab.Error{What: "a load failed, so that this can't be told",
			Hints: []string{"headroom show " + x.store.ShortID(x.run.ID) + " --raw shows what it said"}}}
	}
	after := fmt.Sprintf("%s (run %s)", prose.Count(len(logs), "measurement"), x.store.ShortID(x.run.ID))
	change := func(level []float64) string {
		return fmt.Sprintf("%+.1f%%", 100*math.Expm1(gonum.Mean(logs, nil)-gonum.Mean(level, nil)))
	}
	switch x.side(logs) {
	case stat.FirstSide:
		fmt.Fprintf(x.Stdout, "good: %s from the good run, after %s\n", change(x.good), after)
		return nil
	case stat.SecondSide:
		fmt.Fprintf(x.Stdout, "bad: %s from the good run, after %s\n", change(x.good), after)
		return &exitError{code: statusBad}
	}
	return &exitError{statusSkip,
		&lab.Error{What: fmt.Sprintf("neither good (%s from it) nor bad (%s from it), after %s",
			change(x.good), change(x.bad), after),
			Hints: []string{"--most allows for more measurements"}}}
}

// checkClock counts. Nobody knows how many measurements it still takes.
type checkClock struct{ done, most int }

func (c *checkClock) update(e runner.Progress) {
	if e.Ended != nil {
		c.done++
	}
}

func (c *checkClock) left(runner.Progress) (time.Duration, bool) { return 0, false }

func (c *checkClock) boundText() string { return "of at most" }

func (c *checkClock) resultTable() []string { return nil }

func (c *checkClock) countText() string { return fmt.Sprintf("%d of at most %d", c.done, c.most) }
