package runner

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// ArmEntry is what was done to make an arm's levels effective.
type ArmEntry struct {
	// Did has a line for each step, as a dry run lists them.
	Did []string
	// Booted means that the machine was started again, so that it has other counters and perhaps another scratch file.
	Booted bool
	// Mounted means that the place was mounted again, so that it is looked for what was laid out.
	Mounted bool
}

// visitID is the arm that was entered last, and in which block. A visit that an interruption cut in two is entered
// again.
type visitID struct {
	arm   string
	block int
}

// enter makes the arm of a repetition effective, unless the repetition before had the same. It returns what was done.
func (s *Session) enter(ctx context.Context, cell lab.Cell, next plan.Repetition) ([]string, error) {
	visit := visitID{cell.Arm, next.Block}
	if s.Enter == nil || s.visit == visit {
		return nil, nil
	}
	s.visit = visitID{}
	if err := s.storage.scratch.release(); err != nil {
		return nil, err
	}
	in, err := s.Enter(ctx, cell.Arm)
	if err != nil {
		return nil, err
	}
	if in.Booted {
		err = s.afterBoot(ctx)
	} else if in.Mounted {
		err = s.storage.checkLayout(ctx)
	}
	if same, lost := s.storage.reopen(); err == nil && (lost != nil || !same) {
		err = errors.Join(s.storage.scratch.replaced(), lost)
	}
	if err != nil {
		return nil, err
	}
	s.visit = visit
	s.previous = "" // what ran before was in another arm
	return in.Did, nil
}

// afterBoot looks at the machine that came up: its boot, its counters, and whether the scratch file is still there.
func (s *Session) afterBoot(ctx context.Context) error {
	if err := s.machines.open(ctx); err != nil {
		return err
	}
	return s.storage.checkLayout(ctx)
}
