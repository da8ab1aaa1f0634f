package vary

import (
	"context"
	"errors"
	"slices"
	"strings"

	"headroom/internal/experiment"
	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/runner"
)

// levelTrials are all levels of the running machine: one that the kernel does not take, or that takes root, ends the
// run before its first load and not in the middle. Where machines are started again, what they take is only known then.
func (x *Experiment) levelTrials() []experiment.LevelTrial {
	if x.boots() {
		return nil
	}
	var list []experiment.LevelTrial
	for _, c := range x.choices {
		for _, level := range c.Levels {
			if t := (experiment.LevelTrial{Factor: c.Factor(), Level: level}); c.Scheme.Class == factor.Live &&
				level != factor.Found &&
				!slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// tryLevels sets each level once, and puts it back.
func (x *Experiment) tryLevels(ctx context.Context) error {
	var first string
	for _, t := range x.levelTrials() {
		x.report(runner.Progress{Doing: t.Text(), Begins: true})
		if err := x.applyLevel(ctx, t.Factor, t.Level); err != nil {
			return x.withPossible(err, t)
		}
		if t.Factor == factor.NFSFactor {
			if err := x.sameRoot(ctx, t.Level, &first); err != nil {
				return err
			}
		}
		if err := x.undo(ctx); err != nil {
			return err
		}
	}
	return nil
}

// withPossible adds to an error what the target says that a setting can be, if that is not what was tried.
func (x *Experiment) withPossible(err error, t experiment.LevelTrial) error {
	e, ok := errors.AsType[*lab.Error](err)
	if possible := x.possibleLevels(t.Factor); ok && len(possible) > 0 && !slices.Contains(possible, t.Level) {
		e.Hints = append(slices.Clone(e.Hints), t.Factor+" can be "+strings.Join(possible, ", "))
	}
	return err
}
