package runner

import (
	"context"

	"github.com/headroom/headroom/internal/plan"
)

// Schedule names the repetitions of an experiment, one after the other, and carries them out. What it names may depend
// on everything that was measured before.
type Schedule interface {
	// Next is the repetition to carry out now; false when the experiment has ended.
	Next(ctx context.Context) (next plan.Repetition, more bool, err error)
	// Repeat carries it out and keeps it. An error ends the experiment.
	Repeat(ctx context.Context, next plan.Repetition) error
}

// Conduct carries out an experiment to its end, or to the first error that makes the rest pointless. Every repetition
// of every kind of experiment is started here.
func Conduct(ctx context.Context, s Schedule) error {
	for {
		next, more, err := s.Next(ctx)
		if !more || err != nil {
			return err
		}
		if err := s.Repeat(ctx, next); err != nil {
			return err
		}
	}
}
