package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// mostReplacements is how often a run continues after its target was lost: a target that is lost more often is unfit to
// measure on.
const mostReplacements = 3

// replace replaces the ends that were lost in the course of a repetition, so that the repetition is lost and not the
// run. It returns the error of the repetition where both are still there, and where there is no replacement.
func (s *Session) replace(ctx context.Context, next plan.Repetition, failed error, tell func(Progress)) error {
	why := s.machines.lost(ctx)
	if why == nil {
		return failed
	}
	if s.replacements == mostReplacements {
		return errors.Join(why, &lab.Error{What: fmt.Sprintf("it is the loss number %d in this run", s.replacements+1),
			Hints: []string{"what was finished is kept; when the cluster is at rest: headroom run --resume " +
				s.RunID}})
	}
	s.replacements++
	tell(Progress{Doing: "waiting for another target in place of one that is gone", Begins: true})
	for _, p := range s.machines.ends {
		why := p.Lost(ctx)
		if why == nil {
			continue
		}
		if err := p.Replace(ctx); err != nil {
			s.outcome.Aborted = false // what ran there is gone with it
			return errors.Join(why, err)
		}
		text := fmt.Sprintf("repetition %d of %s was lost and repeated: %s", next.Number,
			next.Cell, briefError(why))
		if s.Server != nil && any(s.Server.Target) == any(p) {
			text += "; the server of the test was there"
		}
		s.outcome.Warnings = append(s.outcome.Warnings, lab.Warning{Code: "target-lost", Text: text})
	}
	// What could not be ended is gone with the target.
	s.outcome.Aborted = false
	return s.reattach(ctx)
}

// reattach prepares the session for ends of which one was replaced.
func (s *Session) reattach(ctx context.Context) error {
	s.visit, s.previous = visitID{}, ""
	if err := s.afterBoot(ctx); err != nil {
		return err
	}
	if s.commands.folder != "" {
		return s.commands.open(ctx, s.Cells)
	}
	return nil
}

// briefError is an error in a line, without what to do about it.
func briefError(err error) string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.What
	}
	return err.Error()
}
