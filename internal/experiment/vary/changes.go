package vary

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/validity"
)

// bind finds the live settings on the machines that they are of, and takes down their levels as they are found.
func (x *Experiment) bind(ctx context.Context) error {
	if err := x.findMachines(ctx); err != nil {
		return err
	}
	for i, v := range x.Run.Experiment.Factors {
		c := x.choices[i]
		if c.Scheme.Class != scheme.Live {
			continue
		}
		var found []FoundLevel
		for _, m := range x.variedMachines {
			settings, err := m.Find(ctx, c)
			if err != nil {
				return err
			}
			for j, s := range settings {
				level, err := s.Read(ctx)
				if err != nil {
					return err
				}
				for _, l := range c.Levels {
					if err := s.CheckLevel(l); err != nil {
						return err
					}
				}
				at := m.Role
				if len(settings) > 1 {
					at += " " + m.Where[j].Adapter
				}
				found = append(found, FoundLevel{At: at, Level: level})
				x.warnOfMissing(s, at)
			}
			if len(settings) > 0 {
				m.Settings[v.Factor] = settings
			}
		}
		x.Run.Experiment.Factors[i].Found = FoundAt(found)
	}
	return nil
}

// warnOfMissing says once which parts of a setting a machine does not have.
func (x *Experiment) warnOfMissing(s scheme.Setting, at string) {
	if len(s.Lacks) == 0 {
		return
	}
	what := s.Factor + " without " + strings.Join(s.Lacks, ", ")
	if at != "" {
		what += " at the " + at
	}
	w := validity.BundleIncomplete(what)
	// a run that is resumed has said it
	if !slices.ContainsFunc(x.Run.Warnings, func(o lab.Warning) bool { return o.Code == w.Code && o.Text == w.Text }) {
		x.Run.Warnings = append(x.Run.Warnings, w)
	}
}

// findMachines finds those whose settings are varied.
func (x *Experiment) findMachines(ctx context.Context) (err error) {
	x.variedMachines = []*network.VariedMachine{{Where: []scheme.Scope{{Target: x.Target, Place: x.Place()}}}}
	if x.network != nil {
		if x.variedMachines, err = x.network.Machines(ctx); err != nil {
			return err
		}
	}
	commands := map[string]spot.Commands{}
	for name, c := range x.Run.Experiment.Commands {
		commands[name] = spot.Commands(c)
	}
	for _, m := range x.variedMachines {
		m.Settings = map[string][]scheme.Setting{}
		for i := range m.Where {
			m.Where[i].Commands = commands
		}
	}
	return nil
}

// openJournals begins those of all machines, and locks what is varied there. The journal of the machine that loads run
// on has the name of the run, those of others have their role behind it.
func (x *Experiment) openJournals(ctx context.Context) error {
	for i, m := range x.variedMachines {
		id := x.Run.ID
		if i > 0 {
			id += "-" + m.Role
		}
		var err error
		if m.Journal, err = x.App.Journal(x.Store, id, m.Where[0].Target); err != nil {
			return errors.Join(err, x.restoreSettings(ctx))
		}
		if err := m.Journal.Lock(ctx, slices.Concat(slices.Collect(maps.Values(m.Settings))...)...); err != nil {
			return errors.Join(err, x.restoreSettings(ctx))
		}
		for _, w := range m.Where {
			if err := m.Journal.Keep(ctx, w.Named(factor.KeepOfRole(x.Run.Experiment.Keep, m.Kind))); err != nil {
				return errors.Join(err, x.restoreSettings(ctx))
			}
		}
	}
	return nil
}

// applyLevel makes a level effective on all machines that the factor is of.
func (x *Experiment) applyLevel(ctx context.Context, name, level string) error {
	for _, m := range x.variedMachines {
		for _, s := range m.Settings[name] {
			if err := m.Journal.Change(ctx, s, level); err != nil {
				return err
			}
		}
	}
	return nil
}

// undo puts back what was changed, on all machines, the last of them first.
func (x *Experiment) undo(ctx context.Context) error {
	var errs []error
	for _, m := range slices.Backward(x.variedMachines) {
		if m.Journal != nil {
			errs = append(errs, m.Journal.Undo(ctx))
		}
	}
	return errors.Join(errs...)
}

// checkInEffect says whether everything that was changed is still in effect.
func (x *Experiment) checkInEffect(ctx context.Context) error {
	var errs []error
	for _, m := range x.variedMachines {
		errs = append(errs, m.Journal.CheckInEffect(ctx))
	}
	return errors.Join(errs...)
}

// possibleLevels are the levels that a factor can have, as far as the machine says whose it is.
func (x *Experiment) possibleLevels(name string) []string {
	for _, m := range x.variedMachines {
		for _, s := range m.Settings[name] {
			return s.Possible
		}
	}
	return nil
}

// restoreSettings leaves every setting as it was found, also after an error or an interruption.
func (x *Experiment) restoreSettings(ctx context.Context) error {
	var journals []*journal.Journal
	for _, m := range x.variedMachines {
		journals = append(journals, m.Journal)
	}
	return app.PutBack(ctx, journals...)
}

// levelTrials are all levels of the running machine: one that the kernel does not take, or that takes root, ends the
// run before its first load and not in the middle. Where machines are started again, what they take is only known then.
func (x *Experiment) levelTrials() []LevelTrial {
	if x.boots() {
		return nil
	}
	var list []LevelTrial
	for _, c := range x.choices {
		for _, level := range c.Levels {
			if t := (LevelTrial{Factor: c.Factor(), Level: level}); c.Scheme.Class == scheme.Live &&
				level != scheme.Found &&
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
		if t.Factor == mount.NFSFactor {
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
func (x *Experiment) withPossible(err error, t LevelTrial) error {
	e, ok := errors.AsType[*lab.Error](err)
	if possible := x.possibleLevels(t.Factor); ok && len(possible) > 0 && !slices.Contains(possible, t.Level) {
		e.Hints = append(slices.Clone(e.Hints), t.Factor+" can be "+strings.Join(possible, ", "))
	}
	return err
}

// FoundLevel is a level as it was found somewhere.
type FoundLevel struct{ At, Level string }

// FoundAt is a level as it was found, and where the ends of a network differ, that of each: "client 1500, server 9000".
func FoundAt(found []FoundLevel) string {
	var levels, each []string
	for _, f := range found {
		levels, each = append(levels, f.Level), append(each, f.At+" "+f.Level)
	}
	if len(slices.Compact(slices.Clone(levels))) == 1 {
		return levels[0]
	}
	return strings.Join(each, ", ")
}

// LevelTrial is a level that is set once and put back before anything is measured.
type LevelTrial struct{ Factor, Level string }

// Text is the trial as a line of a dry run.
func (t LevelTrial) Text() string { return "try " + t.Factor + "=" + t.Level }
