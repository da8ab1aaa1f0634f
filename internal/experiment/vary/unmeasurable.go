package vary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/commits"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/kbuild"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
)

// Some states of a search can't be measured: a commit doesn't build, or a guest doesn't boot with two arguments at
// once. That is an answer, and the search continues without them.

// unmeasurable returns why an arm can't be measured, if the arm itself seems to be at fault. It is empty if nothing
// failed, or if the failure has nothing to do with the arm.
func unmeasurable(r lab.Repetition, err error) string {
	if e, ok := errors.AsType[*commits.Unbuilt](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*kbuild.Unbuilt](err); ok {
		return e.Reason
	}
	if e, ok := errors.AsType[*host.NotStarted](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*factor.NoEffect](err); ok { // mds=off does nothing without tsx_async_abort=off
		return e.Error()
	}
	if e, ok := errors.AsType[*runner.Unprepared](err); ok {
		text := e.Error()
		if fault, ok := errors.AsType[*lab.Error](err); ok && fault.Output != "" {
			text += ": " + fault.Output
		}
		return text
	}
	if err != nil || r.Cell == "" || !r.Failed() {
		return ""
	}
	i := slices.IndexFunc(r.Warnings, func(w lab.Warning) bool {
		return slices.Contains([]string{"command-failed", "no-result", "errors", "no-sum"}, w.Code)
	})
	if i < 0 {
		return "its load has no result"
	}
	text, _, _ := strings.Cut(r.Warnings[i].Text, "; nothing of this repetition counts")
	return text
}

// maxFailuresInARow is the number of successive unmeasurable states after which an end is measured: the machine may be
// at fault.
const maxFailuresInARow = 3

// tooManyFailed reports whether that many states have failed.
func (s *searching) tooManyFailed() bool {
	asked := s.sides.under.Run.Experiment.SearchSteps
	return len(asked) >= maxFailuresInARow && !slices.ContainsFunc(asked[len(asked)-maxFailuresInARow:],
		func(a lab.SearchStep) bool {
			return a.Failed == ""
		})
}

// skip records that the last arm can't be measured. If it is an end, the search stops: there is nothing to compare the
// others with. The states that failed just before it are tried again when the search is resumed.
func (s *searching) skip(ctx context.Context, why string, failed error) error {
	e := *s.sides.under.Run.Experiment
	e.SearchSteps = slices.Clone(e.SearchSteps)
	last := len(e.SearchSteps) - 1
	arm := s.sides.arm(e.SearchSteps[last].Arm)
	if bisection.End(s.sides.under.Run, arm.ID) {
		for i := last - 1; i >= 0 && e.SearchSteps[i].Failed != ""; i-- {
			e.SearchSteps[i].Failed = ""
		}
		return errors.Join(s.recordSearchStep(&e), s.endStateError(arm, why, failed))
	}
	e.SearchSteps[last].Failed = why
	if err := s.recordSearchStep(&e); err != nil {
		return err
	}
	s.carried.Tell(runner.Progress{Doing: "  " + s.stateText(arm) + " can't be measured: " + why, Begins: true})
	err := s.state.Skip(s.sides.under.Run)
	if s.entering.building.commits != nil {
		err = errors.Join(err, s.entering.building.commits.Drop(ctx, arm.Levels[commitFactor]))
	}
	return err
}

// recordSearchStep saves the question and its outcome on disk.
func (s *searching) recordSearchStep(e *lab.Experiment) error {
	s.sides.under.Run.Experiment = e
	return s.carried.Writer().Update(func(r *lab.Run) { r.Experiment = e })
}

// endStateError returns the error about an end that can't be measured.
func (s *searching) endStateError(arm lab.Arm, why string, failed error) error {
	hash := arm.Levels[commitFactor]
	switch {
	case hash != "":
		return &lab.Error{What: fmt.Sprintf("%s, one of the two ends, can't be measured", s.commitText(hash)),
			Output: why,
			Hints: []string{"choose another end", "or try its build by hand: " +
				lab.ShellQuote(append([]string{"git", "worktree", "add", "--detach", "/tmp/try"}, hash))}}
	case failed != nil:
		return failed
	}
	return bisection.NoResult(s.sides.under.Run)
}
