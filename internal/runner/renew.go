package runner

import (
	"context"
	"errors"
	"fmt"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/target"
)

// mostRenewals is how often a run goes on after its target was lost: what is lost more often is no place to measure on.
const mostRenewals = 3

// lost says why the target is gone for good, where another can be had; nil otherwise.
func (s *Session) lost(ctx context.Context) error {
	if t, ok := s.Target.(target.Perishable); ok && ctx.Err() == nil {
		return t.Lost(ctx)
	}
	return nil
}

// renew has another target in place of one that was lost in the course of a repetition, so that the repetition is lost and not the run. It
// returns the error of the repetition where the target is still there, and where no other can be had.
func (s *Session) renew(ctx context.Context, next plan.Repetition, failed error, tell func(Event)) error {
	why := s.lost(ctx)
	if why == nil {
		return failed
	}
	if s.renewed == mostRenewals {
		return errors.Join(why, &lab.Error{What: fmt.Sprintf("it is the loss number %d in this run", s.renewed+1),
			Hints: []string{"what was finished is kept; when the cluster is at rest: headroom run --resume " + s.RunID}})
	}
	s.renewed++
	tell(Event{Doing: "waiting for another target in place of one that is gone", Begins: true})
	if err := s.Target.(target.Perishable).Renew(ctx); err != nil {
		s.outcome.Stuck = false // what went on there is gone with it
		return errors.Join(why, err)
	}
	// Nothing goes on any more of what could not be ended, and what runs next finds a machine that was away.
	s.outcome.Stuck = false
	s.visit, s.previous = visited{}, ""
	s.outcome.Warnings = append(s.outcome.Warnings, lab.Warning{Code: "target-lost",
		Text: fmt.Sprintf("repetition %d of %s was lost and carried out anew: %s", next.Number, next.Cell, what(why))})
	if err := s.afterBoot(ctx); err != nil {
		return err
	}
	if s.commands.folder != "" {
		return s.openCommands(ctx)
	}
	return nil
}

// what is an error in a line, without what to do about it.
func what(err error) string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.What
	}
	return err.Error()
}
