package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/runner"
)

// levelTrial is a level that is set once and put back before anything is measured.
type levelTrial struct{ factor, level string }

func (t levelTrial) text() string { return "try " + t.factor + "=" + t.level }

// levelTrials are all levels of the running machine: one that the kernel does not take, or that takes root, ends the
// run before its first load and not in the middle. Where machines are started again, what they take is only known then.
func (x *experiment) levelTrials() []levelTrial {
	if x.boots() {
		return nil
	}
	var list []levelTrial
	for _, c := range x.choices {
		for _, level := range c.Levels {
			if t := (levelTrial{c.Factor(), level}); c.Scheme.Class == factor.Live && level != factor.Found &&
				!slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// tryLevels sets each level once, and puts it back.
func (x *experiment) tryLevels(ctx context.Context) error {
	var first string
	for _, t := range x.levelTrials() {
		x.report(runner.Progress{Doing: t.text(), Begins: true})
		if err := x.applyLevel(ctx, t.factor, t.level); err != nil {
			return x.withPossible(err, t)
		}
		if t.factor == factor.NFSFactor {
			if err := x.sameRoot(ctx, t.level, &first); err != nil {
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
func (x *experiment) withPossible(err error, t levelTrial) error {
	e, ok := errors.AsType[*lab.Error](err)
	if possible := x.possibleLevels(t.factor); ok && len(possible) > 0 && !slices.Contains(possible, t.level) {
		e.Hints = append(slices.Clone(e.Hints), t.factor+" can be "+strings.Join(possible, ", "))
	}
	return err
}
