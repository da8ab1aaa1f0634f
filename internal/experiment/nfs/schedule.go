package nfs

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/plan"
)

// schedule measures the stages one after the other. One that can't be had does not keep the others from being measured.
type schedule struct {
	*Stages
	remaining []nfsStage
	// at is the stage that is measured; nil between two.
	at *stageRun
	// server is the server's own stage when it is measured, while its scratch file serves the mounts; nil for none.
	server *stageRun
}

// Next is the next repetition of the stage that is measured, or the first of the next stage.
func (s *schedule) Next(ctx context.Context) (plan.Repetition, bool, error) {
	for {
		if s.at != nil {
			if next, more, err := s.at.Next(ctx); more || err != nil {
				return next, more, err
			}
			if err := s.leaveStage(ctx, nil); err != nil {
				return plan.Repetition{}, false, err
			}
		}
		if len(s.remaining) == 0 {
			return plan.Repetition{}, false, nil
		}
		next := s.remaining[0]
		s.unmeasured = len(s.remaining)
		s.remaining = s.remaining[1:]
		run, err := s.enter(ctx, next)
		if err := s.noteMissing(ctx, next, err); err != nil {
			return plan.Repetition{}, false, err
		}
		s.at = run
	}
}

// Repeat carries out a repetition; a stage where that fails is left.
func (s *schedule) Repeat(ctx context.Context, next plan.Repetition) error {
	if err := s.at.Repeat(ctx, next); err != nil {
		return s.leaveStage(ctx, err)
	}
	return nil
}

// leaveStage leaves the stage that is measured, which ended with failed. The server's own is ended after the others,
// where its scratch file spares each of them a layout.
func (s *schedule) leaveStage(ctx context.Context, failed error) error {
	run := s.at
	s.at = nil
	if failed == nil && s.sharesScratch(run) {
		scratch := run.Session.LaidOut()
		s.server, s.sharedScratch = run, &scratch
		run.show.End()
		return nil
	}
	return s.noteMissing(ctx, run.nfsStage, s.leave(ctx, run, failed))
}

// end leaves the stages that are still open after an experiment that ended with failed, which is a part of its error.
func (s *schedule) end(ctx context.Context, failed error) error {
	if s.at != nil {
		failed = errors.Join(failed, s.leaveStage(ctx, failed))
	}
	if s.server != nil {
		s.sharedScratch = nil
		failed = errors.Join(failed, s.noteMissing(ctx, s.server.nfsStage, s.leave(ctx, s.server, nil)))
	}
	return failed
}

// noteMissing notes that a stage could not be measured because of err, and returns what ends the experiment: the user's
// wish, or a mount that is still there.
func (s *schedule) noteMissing(ctx context.Context, stage nfsStage, err error) error {
	if err == nil || ctx.Err() != nil || len(s.journal.Open()) > 0 {
		return err
	}
	s.App.PrintError(err)
	s.missing = append(s.missing, stage.asked)
	return nil
}
