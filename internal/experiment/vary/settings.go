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
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// settings are the varied settings of running machines, and these machines: the one that loads run on, or the ends of a
// network, the first client first. Old values are in a journal on disk before new ones are set.
type settings struct{ machines []*network.VariedMachine }

// settingsOf returns the settings of machines, with the commands that change the user's own settings. Nothing is bound
// yet.
func settingsOf(machines []*network.VariedMachine, of map[string]lab.SettingCommands) *settings {
	commands := map[string]spot.Commands{}
	for name, c := range of {
		commands[name] = spot.Commands(c)
	}
	for _, m := range machines {
		m.Settings = map[string][]scheme.Setting{}
		for i := range m.Where {
			m.Where[i].Commands = commands
		}
	}
	return &settings{machines}
}

// bind finds a live factor on the machines that have it. It returns the current levels, and warnings about parts that a
// machine does not have.
func (s *settings) bind(ctx context.Context, c factor.Choice) (string, []lab.Warning, error) {
	var found []FoundLevel
	var warnings []lab.Warning
	for _, m := range s.machines {
		bound, err := m.Find(ctx, c)
		if err != nil {
			return "", nil, err
		}
		for j, one := range bound {
			level, err := one.Read(ctx)
			if err != nil {
				return "", nil, err
			}
			for _, l := range c.Levels {
				if err := one.CheckLevel(l); err != nil {
					return "", nil, err
				}
			}
			at := m.Role
			if len(bound) > 1 {
				at += " " + m.Where[j].Adapter
			}
			found = append(found, FoundLevel{At: at, Level: level})
			if len(one.Lacks) > 0 {
				warnings = append(warnings, incomplete(one, at))
			}
		}
		if len(bound) > 0 {
			m.Settings[c.Factor()] = bound
		}
	}
	return FoundAt(found), warnings, nil
}

// incomplete warns of the parts of a setting that a machine does not have.
func incomplete(s scheme.Setting, at string) lab.Warning {
	what := s.Factor + " without " + strings.Join(s.Lacks, ", ")
	if at != "" {
		what += " at the " + at
	}
	return validity.BundleIncomplete(what)
}

// settable returns an error if a level of a factor can't be set on some machine.
func (s *settings) settable(ctx context.Context, c factor.Choice) error {
	for _, m := range s.machines {
		bound, err := m.Find(ctx, c)
		if err != nil {
			return err
		}
		for _, one := range bound {
			for _, level := range c.Levels {
				if err := one.Settable(level); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// open begins the journals of all machines, and locks the varied settings and those that must stay. The journal of the
// machine that loads run on has the name of the run; journals of others append their role.
func (s *settings) open(ctx context.Context, p *app.App, st *store.Store, run string, keep []string) error {
	for i, m := range s.machines {
		id := run
		if i > 0 {
			id += "-" + m.Role
		}
		var err error
		if m.Journal, err = p.Journal(st, id, m.Where[0].Target); err != nil {
			return errors.Join(err, s.restore(ctx))
		}
		if err := m.Journal.Lock(ctx, slices.Concat(slices.Collect(maps.Values(m.Settings))...)...); err != nil {
			return errors.Join(err, s.restore(ctx))
		}
		for _, w := range m.Where {
			if err := m.Journal.Keep(ctx, w.Named(factor.KeepOfRole(keep, m.Kind))); err != nil {
				return errors.Join(err, s.restore(ctx))
			}
		}
	}
	return nil
}

// apply makes a level effective on all machines that have the factor.
func (s *settings) apply(ctx context.Context, name, level string) error {
	for _, m := range s.machines {
		for _, one := range m.Settings[name] {
			if err := m.Journal.Change(ctx, one, level); err != nil {
				return err
			}
		}
	}
	return nil
}

// changed reports whether a factor is changed on the machine that loads run on.
func (s *settings) changed(name string) bool {
	return slices.Contains(s.machines[0].Journal.Open(), name)
}

// undo restores what was changed, on all machines, the last machine first.
func (s *settings) undo(ctx context.Context) error {
	var errs []error
	for _, m := range slices.Backward(s.machines) {
		if m.Journal != nil {
			errs = append(errs, m.Journal.Undo(ctx))
		}
	}
	return errors.Join(errs...)
}

// inEffect returns an error unless everything that was changed is still in effect.
func (s *settings) inEffect(ctx context.Context) error {
	var errs []error
	for _, m := range s.machines {
		errs = append(errs, m.Journal.CheckInEffect(ctx))
	}
	return errors.Join(errs...)
}

// possible returns the levels that a factor can have, as far as its machine reports them.
func (s *settings) possible(name string) []string {
	for _, m := range s.machines {
		for _, one := range m.Settings[name] {
			return one.Possible
		}
	}
	return nil
}

// restore restores every setting, also after an error or an interruption, and closes the journals.
func (s *settings) restore(ctx context.Context) error {
	var journals []*journal.Journal
	for _, m := range s.machines {
		journals = append(journals, m.Journal)
	}
	return app.PutBack(ctx, journals...)
}

// try sets a level, calls look, and restores the setting.
func (s *settings) try(ctx context.Context, t LevelTrial, look func() error) error {
	if err := s.apply(ctx, t.Factor, t.Level); err != nil {
		return s.withPossible(err, t)
	}
	if err := look(); err != nil {
		return err
	}
	return s.undo(ctx)
}

// withPossible adds to an error the levels that the target reports as possible, if the tried one is not among them.
func (s *settings) withPossible(err error, t LevelTrial) error {
	e, ok := errors.AsType[*lab.Error](err)
	if possible := s.possible(t.Factor); ok && len(possible) > 0 && !slices.Contains(possible, t.Level) {
		e.Hints = append(slices.Clone(e.Hints), t.Factor+" can be "+strings.Join(possible, ", "))
	}
	return err
}

// bind finds the live settings on the machines that have them, and records their current levels.
func (x *Experiment) bind(ctx context.Context) error {
	if err := x.findMachines(ctx); err != nil {
		return err
	}
	for i := range x.under.Run.Experiment.Factors {
		if x.varies.choices[i].Scheme.Class != scheme.Live {
			continue
		}
		found, warnings, err := x.settings.bind(ctx, x.varies.choices[i])
		if err != nil {
			return err
		}
		x.under.Run.Experiment.Factors[i].Found = found
		for _, w := range warnings { // a resumed run has the warning already
			if !slices.ContainsFunc(x.under.Run.Warnings, func(o lab.Warning) bool {
				return o.Code == w.Code && o.Text == w.Text
			}) {
				x.under.Run.Warnings = append(x.under.Run.Warnings, w)
			}
		}
	}
	return nil
}

// findMachines finds the machines whose settings are varied.
func (x *Experiment) findMachines(ctx context.Context) (err error) {
	machines := []*network.VariedMachine{{Where: []scheme.Scope{{Target: x.under.Target, Place: x.under.Place()}}}}
	if x.network != nil {
		if machines, err = x.network.Machines(ctx); err != nil {
			return err
		}
	}
	x.settings = settingsOf(machines, x.under.Run.Experiment.Commands)
	return nil
}

// FoundLevel is the level that was found at an end.
type FoundLevel struct{ At, Level string }

// FoundAt returns the level that was found, or one for each end of a network if they differ: "client 1500, server
// 9000".
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

// LevelTrial is a level that is set once and undone before anything is measured.
type LevelTrial struct{ Factor, Level string }

// Text returns the trial as a line of a dry run.
func (t LevelTrial) Text() string { return "try " + t.Factor + "=" + t.Level }
