package vary

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/search"
)

// The arms of the two ends. The arms between them are numbered in the order of measurement.
const (
	fastArm = "fast"
	slowArm = "slow"
)

// searching is the schedule of a search: it names the repetitions that answer the search's questions. A question is
// saved on disk before it is measured, so a resumed search asks nothing twice.
type searching struct {
	experiment.Plain
	sides    sides
	entering *entering
	carried  *experiment.Plan
	// budget is how long the search may take; 0 for no limit.
	budget time.Duration
	dryRun bool
	// state is the progress of the search.
	state *bisection.Progress
	begun time.Time
	// open is true while a question is being answered. remaining are the repetitions that it still needs, measured
	// those that it has.
	open      bool
	remaining []plan.Repetition
	measured  []lab.Repetition
}

// replay begins the search, and replays the repetitions from before an interruption.
func (s *searching) replay() (err error) {
	s.state, err = bisection.Replay(s.sides.under.Run, lab.Repetitions(s.sides.under.Saved))
	return err
}

// Next returns the next repetition for the open question.
func (s *searching) Next([]plan.Done) (plan.Repetition, bool) {
	if len(s.remaining) == 0 {
		return plan.Repetition{}, false
	}
	return s.remaining[0], true
}

// Grow asks the next question, or first the interrupted one.
func (s *searching) Grow(ctx context.Context) (bool, error) {
	if s.begun.IsZero() {
		s.begun = time.Now()
		asked := s.sides.under.Run.Experiment.SearchSteps
		if n := len(asked); n > 0 && asked[n-1].Failed == "" && !bisection.Completed(s.sides.under.Run, asked[n-1].Arm,
			s.savedInBlock(n)) {
			if err := s.goOn(ctx); err != nil {
				return false, err
			}
		}
	}
	for len(s.remaining) == 0 {
		if err := s.answer(); err != nil {
			return false, err
		}
		if err := s.expectByProfiles(); err != nil {
			return false, err
		}
		q, more := s.state.Search.Next()
		if !more || s.budget > 0 && time.Since(s.begun) > s.budget {
			return false, nil
		}
		if s.tooManyFailed() {
			q = search.Question{Subset: make(search.Subset, len(q.Subset)), Purpose: search.Anchor}
		}
		if err := s.recordQuestion(q); err != nil {
			return false, err
		}
		if err := s.goOn(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// expectByProfiles updates the priors by the profiles of the two ends as soon as both were profiled, once. It records
// them in the run, so a resumed search has the same priors.
func (s *searching) expectByProfiles() error {
	e := s.sides.under.Run.Experiment
	if s.sides.under.Run.Profile == nil || e.Steps || e.PriorsFrom == lab.PriorsFromNothing ||
		e.PriorsFrom == lab.PriorsFromProfiles || len(e.SearchSteps) < 2 ||
		e.SearchSteps[len(e.SearchSteps)-1].Purpose != search.Anchor.String() {
		return nil
	}
	b, err := s.sides.under.Store.Find(s.sides.under.Run.ID)
	if err != nil {
		return err
	}
	costs, err := results.Costs(b)
	if err != nil || len(costs) == 0 {
		return err
	}
	knowledge, err := diff.Load()
	if err != nil || !s.state.ExpectBy(knowledge, costs) {
		return err
	}
	s.sides.under.Run.Experiment = s.state.Run.Experiment
	s.carried.Tell(runner.Progress{Doing: "  by the profiles of the two ends: " + s.likeliestText(), Begins: true})
	return s.carried.Writer().Update(func(r *lab.Run) { r.Experiment = s.sides.under.Run.Experiment })
}

// worthProfiling reports whether a cell should be profiled now. A search profiles the ends and the proofs; for the
// mixtures between them the results are enough.
func worthProfiling(e *lab.Experiment) bool {
	asked := e.SearchSteps
	return len(asked) == 0 || asked[len(asked)-1].Purpose != search.Distinguish.String()
}

// Ended keeps a repetition for the question. A state that can't be measured is an answer, too.
func (s *searching) Ended(ctx context.Context, _ plan.Repetition, r lab.Repetition, failed error) error {
	if why := unmeasurable(r, failed); why != "" {
		s.open, s.remaining = false, nil
		return s.skip(ctx, why, failed)
	}
	if failed == nil {
		s.remaining, s.measured = s.remaining[1:], append(s.measured, r)
	}
	return failed
}

// Part returns the place under test.
func (s *searching) Part(plan.Repetition) string { return underTest }

// Done returns a repetition with the values that decide about its cell.
func (s *searching) Done(_ string, r lab.Repetition) plan.Done {
	return experiment.DoneIn(s.sides.under.Run, r)
}

// Source counts measurements: the results decide how many are left.
func (s *searching) Source() progress.Source {
	return progress.Counter(func() string {
		return fmt.Sprintf("measurement %d", len(s.sides.under.Run.Experiment.SearchSteps))
	})
}

// Complete counts no load as failed: a mixture whose loads fail is an answer to the search.
func (s *searching) Complete(m *experiment.Measured) { m.Failed = 0 }

// goOn begins to answer the last question. Repetitions of an interrupted visit count.
func (s *searching) goOn(ctx context.Context) error {
	asked := s.sides.under.Run.Experiment.SearchSteps
	block, arm := len(asked), asked[len(asked)-1].Arm
	s.measured = s.savedInBlock(block)
	for _, r := range s.measured {
		if why := unmeasurable(r, nil); why != "" {
			return s.skip(ctx, why, nil)
		}
	}
	times := 0 // how often the arm was measured before
	for _, a := range asked[:block-1] {
		if a.Arm == arm {
			times++
		}
	}
	s.open, s.remaining = true, nil
	position := 0
	for _, c := range s.sides.under.Run.Cells {
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

// answer passes the measured repetitions of the open question to the search.
func (s *searching) answer() error {
	if !s.open {
		return nil
	}
	s.open = false
	if err := s.state.Add(s.sides.under.Run, s.measured); err != nil {
		return err
	}
	s.carried.Tell(runner.Progress{Doing: "  " + s.status(), Begins: true})
	return nil
}

// recordQuestion records the next question in the run. A state that is measured for the first time gets a new arm.
func (s *searching) recordQuestion(q search.Question) error {
	levels := bisection.Levels(s.sides.under.Run.Experiment, q.Subset)
	i := slices.IndexFunc(s.sides.under.Run.Arms, func(a lab.Arm) bool { return maps.Equal(a.Levels, levels) })
	if i < 0 {
		i = len(s.sides.under.Run.Arms)
		s.sides.addArm(lab.Arm{ID: fmt.Sprint("mix", i-1), Role: s.sides.role(), Levels: levels}, fastArm)
	}
	terms := *s.sides.under.Run.Experiment
	terms.SearchSteps = append(slices.Clone(terms.SearchSteps),
		lab.SearchStep{Arm: s.sides.under.Run.Arms[i].ID, Purpose: q.Purpose.String()})
	s.sides.under.Run.Experiment = &terms
	return s.carried.Writer().Update(func(r *lab.Run) {
		r.Experiment, r.Arms, r.Cells = s.sides.under.Run.Experiment, s.sides.under.Run.Arms, s.sides.under.Run.Cells
	})
}

// savedInBlock returns the saved repetitions of a block, from an earlier part of the run.
func (s *searching) savedInBlock(block int) []lab.Repetition {
	return slices.DeleteFunc(slices.Clone(s.sides.under.Saved), func(r lab.Repetition) bool { return r.Block != block })
}
