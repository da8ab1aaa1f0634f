package vary

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/factor/load"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/search"
)

// The arms of the two ends; those between are numbered as they come.
const (
	fastArm = "fast"
	slowArm = "slow"
)

// endArms are the two states between which culprits are searched. Every arm names every factor, so that none is left as
// it was found.
func (x *Experiment) endArms() ([]lab.Arm, error) {
	if params := load.Params(nil, firstLevels(x.choices)); len(params) > 0 && x.hasCommands() {
		return nil, app.Usage("parameters of a command are filled into its arguments beforehand, so that a search "+
			"can't mix them",
			"let the command read a variable, and search env:NAME")
	}
	if x.options.Steps {
		return x.seriesEnds()
	}
	if len(x.choices) < 2 {
		return nil, app.Usage("the two states differ in one thing only: "+x.choices[0].Factor(),
			"what it costs: headroom ablate")
	}
	x.Run.Experiment.Baseline = fastArm
	arms := []lab.Arm{{ID: fastArm, Levels: map[string]string{}}, {ID: slowArm, Levels: map[string]string{}}}
	for _, c := range x.choices {
		if len(c.Levels) != 2 {
			return nil, app.Usage(fmt.Sprintf("%s needs two levels, the fast state's and the slow one's, and has %d",
				c.Factor(), len(c.Levels)),
				"write "+c.Factor()+"=FAST,SLOW")
		}
		arms[0].Levels[c.Factor()], arms[1].Levels[c.Factor()] = c.Levels[0], c.Levels[1]
	}
	for i := range arms {
		arms[i].Role = x.loadRole()
	}
	return arms, nil
}

// seriesEnds are the first and the last level of one factor.
func (x *Experiment) seriesEnds() ([]lab.Arm, error) {
	c := x.choices[0]
	switch {
	case len(x.choices) != 1:
		return nil, app.Usage("a series is the levels of one factor", "several settings: headroom bisect settings")
	case len(c.Levels) < 3:
		return nil, app.Usage(fmt.Sprintf("%s has %d levels, between which there is nothing to search", c.Factor(),
			len(c.Levels)), "what a level does: headroom sweep")
	}
	x.Run.Experiment.Baseline, x.Run.Experiment.Steps = fastArm, true
	return []lab.Arm{{ID: fastArm, Role: x.loadRole(), Levels: map[string]string{c.Factor(): c.Levels[0]}},
		{ID: slowArm, Role: x.loadRole(), Levels: map[string]string{c.Factor(): c.Levels[len(c.Levels)-1]}}}, nil
}

// replaySearch replays what was measured before an interruption into the search.
func (x *Experiment) replaySearch() (err error) {
	x.searchState, err = bisection.Replay(x.Run, slices.Values(x.Saved))
	return err
}

// search measures what the search asks for until it is over. What was asked is on disk before it is measured, so that a
// search that is resumed asks nothing twice.
func (x *Experiment) search(ctx context.Context, session *runner.Session) error {
	s := &searching{Experiment: x, session: session, begun: time.Now()}
	asked := x.Run.Experiment.SearchSteps
	if n := len(asked); n > 0 && asked[n-1].Failed == "" && !bisection.Completed(x.Run, asked[n-1].Arm,
		x.savedInBlock(n)) {
		if err := s.goOn(ctx); err != nil { // with the question that was interrupted
			return err
		}
	}
	return runner.Conduct(ctx, s)
}

// searching names the repetitions that answer the questions of a search.
type searching struct {
	*Experiment
	session *runner.Session
	begun   time.Time
	// open says that a question is being answered: remaining is what is still to be measured for it, and measured what
	// was.
	open      bool
	remaining []plan.Repetition
	measured  []lab.Repetition
}

// Next is the next repetition for the question that is open, or the first for the next question.
func (s *searching) Next(ctx context.Context) (plan.Repetition, bool, error) {
	for len(s.remaining) == 0 {
		if err := s.answer(); err != nil {
			return plan.Repetition{}, false, err
		}
		if err := s.expectByProfiles(); err != nil {
			return plan.Repetition{}, false, err
		}
		q, more := s.searchState.Search.Next()
		if !more || s.options.Budget > 0 && time.Since(s.begun) > s.options.Budget {
			return plan.Repetition{}, false, nil
		}
		if s.tooManyFailed() {
			q = search.Question{Subset: make(search.Subset, len(q.Subset)), Purpose: search.Anchor}
		}
		if err := s.recordQuestion(s.session, q); err != nil {
			return plan.Repetition{}, false, err
		}
		if err := s.goOn(ctx); err != nil {
			return plan.Repetition{}, false, err
		}
	}
	next := s.remaining[0]
	s.remaining = s.remaining[1:]
	return next, true, nil
}

// expectByProfiles takes what profiles of the two ends say into account as soon as both were profiled, once. It is
// noted in the run, so that a search that goes on later expects the same.
func (x *Experiment) expectByProfiles() error {
	e := x.Run.Experiment
	if x.Run.Profile == nil || e.Steps || e.PriorsFrom == lab.PriorsFromNothing ||
		e.PriorsFrom == lab.PriorsFromProfiles || len(e.SearchSteps) < 2 ||
		e.SearchSteps[len(e.SearchSteps)-1].Purpose != search.Anchor.String() {
		return nil
	}
	b, err := x.Store.Find(x.Run.ID)
	if err != nil {
		return err
	}
	costs, err := results.Costs(b)
	if err != nil || len(costs) == 0 {
		return err
	}
	knowledge, err := diff.Load()
	if err != nil || !x.searchState.ExpectBy(knowledge, costs) {
		return err
	}
	x.Run.Experiment = x.searchState.Run.Experiment
	x.report(runner.Progress{Doing: "  by the profiles of the two ends: " + x.likeliestText(), Begins: true})
	return x.writer.Update(func(r *lab.Run) { r.Experiment = x.Run.Experiment })
}

// worthProfiling says whether a cell is worth profiling now. Of a search these are the ends, and what proves an answer:
// the mixtures between tell by their results.
func (x *Experiment) worthProfiling(lab.Cell) bool {
	asked := x.Run.Experiment.SearchSteps
	return len(asked) == 0 || asked[len(asked)-1].Purpose != search.Distinguish.String()
}

// Repeat carries out a repetition. A state that can't be measured is an answer, too.
func (s *searching) Repeat(ctx context.Context, next plan.Repetition) error {
	r, err := s.session.Repeat(ctx, next)
	if why := unmeasurable(r, err); why != "" {
		s.open, s.remaining = false, nil
		return s.skip(ctx, why, err)
	}
	if err == nil {
		s.measured = append(s.measured, r)
	}
	return err
}

// goOn begins to answer the question that was asked last. What an interrupted visit has measured for it counts.
func (s *searching) goOn(ctx context.Context) error {
	asked := s.Run.Experiment.SearchSteps
	block, arm := len(asked), asked[len(asked)-1].Arm
	s.measured = s.savedInBlock(block)
	for _, r := range s.measured {
		if why := unmeasurable(r, nil); why != "" {
			return s.skip(ctx, why, nil)
		}
	}
	times := 0 // that the arm was measured before
	for _, a := range asked[:block-1] {
		if a.Arm == arm {
			times++
		}
	}
	s.open, s.remaining = true, nil
	position := 0
	for _, c := range s.Run.Cells {
		if c.Arm != arm {
			continue
		}
		for turn := range c.Repetitions {
			position++
			next := plan.Repetition{Cell: c.ID, Arm: arm, Number: times*c.Repetitions + turn + 1, Block: block,
				Position: position}
			if !slices.ContainsFunc(s.measured, func(r lab.Repetition) bool {
				return r.Cell == next.Cell && r.Number == next.Number
			}) {
				s.remaining = append(s.remaining, next)
			}
		}
	}
	return nil
}

// answer tells the search what was measured for the question that is open.
func (s *searching) answer() error {
	if !s.open {
		return nil
	}
	s.open = false
	if err := s.searchState.Add(s.Run, s.measured); err != nil {
		return err
	}
	s.report(runner.Progress{Doing: "  " + s.searchStatus(), Begins: true})
	return nil
}

// recordQuestion takes down what is measured next, with an arm of its own where it is measured for the first time.
func (x *Experiment) recordQuestion(session *runner.Session, q search.Question) error {
	levels := bisection.Levels(x.Run.Experiment, q.Subset)
	i := slices.IndexFunc(x.Run.Arms, func(a lab.Arm) bool { return maps.Equal(a.Levels, levels) })
	before := len(x.Run.Cells)
	if i < 0 {
		i = len(x.Run.Arms)
		x.addArm(lab.Arm{ID: fmt.Sprint("mix", i-1), Role: x.loadRole(), Levels: levels}, fastArm)
	}
	terms := *x.Run.Experiment
	terms.SearchSteps = append(slices.Clone(terms.SearchSteps),
		lab.SearchStep{Arm: x.Run.Arms[i].ID, Purpose: q.Purpose.String()})
	x.Run.Experiment = &terms
	if err := x.writer.Update(func(r *lab.Run) {
		r.Experiment, r.Arms, r.Cells = x.Run.Experiment, x.Run.Arms, x.Run.Cells
	}); err != nil {
		return err
	}
	if before < len(x.Run.Cells) {
		session.Add(x.Measurement.RunnerMeasurement())
	}
	return nil
}

// savedInBlock are the repetitions of a block that an earlier part of the run has measured.
func (x *Experiment) savedInBlock(block int) []lab.Repetition {
	return slices.DeleteFunc(slices.Clone(x.Saved), func(r lab.Repetition) bool { return r.Block != block })
}

// searchStatus is what is known after the last measurement.
func (x *Experiment) searchStatus() string {
	steps := x.searchState.Steps
	last := steps[len(steps)-1]
	if len(last.Likeliest) == 0 {
		return fmt.Sprintf("measurement %d: %s", last.Number, x.likeliestText())
	}
	return fmt.Sprintf("measurement %d, %s", last.Number, x.likeliestText())
}

// likeliestText are the likeliest candidates at the moment.
func (x *Experiment) likeliestText() string {
	steps := x.searchState.Steps
	var parts []string
	for _, l := range steps[len(steps)-1].Likeliest {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", x.candidateText(l), 100*l.Probability))
	}
	if len(parts) == 0 {
		return "nothing stands out yet"
	}
	return "most likely: " + strings.Join(parts, ", ")
}

// candidateText in a few words.
func (x *Experiment) candidateText(s bisection.Suspect) string {
	e := x.Run.Experiment
	if e.Steps {
		names := bisection.LevelNames(e.Factors[0].Factor, e.Factors[0].Levels)
		return "from " + names[s.Candidate] + " to " + names[s.Last+1]
	}
	return e.Factors[s.Candidate].Factor
}

// printSearch lists what a search may set: what it measures in which order is decided on the way.
func (x *Experiment) printSearch(ctx context.Context) error {
	if x.JSON {
		return x.PrintJSON(x.searchState.Document())
	}
	l := x.Listing(x.options.DryRun)
	if f := x.Run.Experiment.Factors[0]; x.Run.Experiment.Steps {
		if x.Run.Experiment.Commits != nil {
			l.Line("every measurement is of one of these commits, which is built the first time")
			l.Line("first the two ends, until it is clear that they differ, and then what tells most")
			return x.listMeasurement(ctx, l)
		}
		l.Line("every measurement sets %s to one of %s", f.Factor, strings.Join(levelWords(f.Levels), ", "))
		l.Line("first some of them spread over the series, twice, and then what tells most")
		return x.listMeasurement(ctx, l)
	}
	l.Line("every measurement sets each of these to one of two levels, as in the fast state or as in the slow one")
	for _, f := range x.Run.Experiment.Factors {
		words := levelWords(f.Levels)
		l.Line("  %s: %s or %s", strings.TrimSuffix(f.Factor, ":"), words[0], words[1])
	}
	var first []string
	for _, e := range x.armSteps(nil, x.arm(slowArm).Levels) {
		first = append(first, e.text)
	}
	l.Line("first the slow state")
	l.Each(first)
	l.Line("then the fast one, both again until it is clear that they differ, and mixtures of the two after that")
	return x.listMeasurement(ctx, l)
}

// listMeasurement ends a dry run with the commands of a measurement, which are the same in all.
func (x *Experiment) listMeasurement(ctx context.Context, l app.Listing) error {
	if text := x.profilesText(); text != "" {
		l.Line("%s", text)
		l.Commands(x.ProfiledCommands()...)
	}
	if !l.Full {
		return l.End()
	}
	lines := map[string]runner.Lines{}
	for _, side := range x.measurements() {
		if err := side.Preview(ctx, lines); err != nil {
			return err
		}
	}
	l.Line("each measurement carries out")
	for _, c := range x.Run.Cells {
		if c.Arm == "" || c.Arm == slowArm {
			l.Commands(slices.Concat(lines[c.ID].Prepare, []string{lines[c.ID].Load}, lines[c.ID].CleanUp)...)
		}
	}
	return nil
}
