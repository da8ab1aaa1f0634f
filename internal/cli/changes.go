package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/validity"
)

// variedMachine is one whose settings an experiment varies: the one under test, or an end of a network.
type variedMachine struct {
	// role is that of an end of a network, of which there may be several of a kind: client-2, a client. Both are empty
	// for the machine of a storage.
	role, kind string
	// where its settings are found: once for each adapter under test.
	where []factor.Scope
	// settings are its live factors, by name: one that is about the adapter under test is found on each of them.
	settings map[string][]factor.Setting
	journal  *factor.Journal
}

// foundLevel is a level as it was found somewhere.
type foundLevel struct{ at, level string }

// bind finds the live settings on the machines that they are of, and takes down their levels as they are found.
func (x *experiment) bind(ctx context.Context) error {
	if err := x.findMachines(ctx); err != nil {
		return err
	}
	for i, v := range x.run.Experiment.Factors {
		c := x.choices[i]
		if c.Scheme.Class != factor.Live {
			continue
		}
		var found []foundLevel
		for _, m := range x.variedMachines {
			settings, err := m.find(ctx, c)
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
				at := m.role
				if len(settings) > 1 {
					at += " " + m.where[j].Adapter
				}
				found = append(found, foundLevel{at, level})
				x.warnOfMissing(s, at)
			}
			if len(settings) > 0 {
				m.settings[v.Factor] = settings
			}
		}
		x.run.Experiment.Factors[i].Found = foundAt(found)
	}
	return nil
}

// warnOfMissing says once which parts of a setting a machine does not have.
func (x *experiment) warnOfMissing(s factor.Setting, at string) {
	if len(s.Lacks()) == 0 {
		return
	}
	what := s.Factor() + " without " + strings.Join(s.Lacks(), ", ")
	if at != "" {
		what += " at the " + at
	}
	w := validity.BundleIncomplete(what)
	// a run that is resumed has said it
	if !slices.ContainsFunc(x.run.Warnings, func(o lab.Warning) bool { return o.Code == w.Code && o.Text == w.Text }) {
		x.run.Warnings = append(x.run.Warnings, w)
	}
}

// find the settings of a machine that a choice is about; none where it is about another.
func (m *variedMachine) find(ctx context.Context, c factor.Choice) ([]factor.Setting, error) {
	if c.Role != "" && c.Role != m.kind {
		return nil, nil
	}
	places := m.where
	if !strings.Contains(c.Factor(), factor.UnderTest) {
		places = places[:1]
	}
	var settings []factor.Setting
	for _, w := range places {
		s, err := factor.Bind(ctx, w, c.Factor())
		if err != nil {
			return nil, err
		}
		settings = append(settings, s)
	}
	return settings, nil
}

// foundAt is a level as it was found, and where the ends of a network differ, that of each: "client 1500, server 9000".
func foundAt(found []foundLevel) string {
	var levels, each []string
	for _, f := range found {
		levels, each = append(levels, f.level), append(each, f.at+" "+f.level)
	}
	if len(slices.Compact(slices.Clone(levels))) == 1 {
		return levels[0]
	}
	return strings.Join(each, ", ")
}

// findMachines finds those whose settings are varied.
func (x *experiment) findMachines(ctx context.Context) (err error) {
	x.variedMachines = []*variedMachine{{where: []factor.Scope{{Target: x.target, Place: x.place()}}}}
	if x.network != nil {
		if x.variedMachines, err = x.network.machines(ctx); err != nil {
			return err
		}
	}
	commands := map[string]factor.Commands{}
	for name, c := range x.run.Experiment.Commands {
		commands[name] = factor.Commands(c)
	}
	for _, m := range x.variedMachines {
		m.settings = map[string][]factor.Setting{}
		for i := range m.where {
			m.where[i].Commands = commands
		}
	}
	return nil
}

// openJournals begins those of all machines: of the one that loads run on by the name of the run, of others with their
// role behind it.
func (x *experiment) openJournals(ctx context.Context) error {
	for i, m := range x.variedMachines {
		id := x.run.ID
		if i > 0 {
			id += "-" + m.role
		}
		var err error
		if m.journal, err = factor.Create(x.store.Changes(), id, m.where[0].Target); err != nil {
			return errors.Join(err, x.restoreSettings(ctx))
		}
		for _, w := range m.where {
			if err := m.journal.Keep(ctx, w.Named(factor.KeepOfRole(x.run.Experiment.Keep, m.kind))); err != nil {
				return errors.Join(err, x.restoreSettings(ctx))
			}
		}
		if x.AtStep != nil {
			m.journal.AtStep(x.AtStep)
		}
	}
	return nil
}

// applyLevel makes a level effective on all machines that the factor is of.
func (x *experiment) applyLevel(ctx context.Context, name, level string) error {
	for _, m := range x.variedMachines {
		for _, s := range m.settings[name] {
			if err := m.journal.Change(ctx, s, level); err != nil {
				return err
			}
		}
	}
	return nil
}

// undo puts back what was changed, on all machines, the last of them first.
func (x *experiment) undo(ctx context.Context) error {
	var errs []error
	for _, m := range slices.Backward(x.variedMachines) {
		if m.journal != nil {
			errs = append(errs, m.journal.Undo(ctx))
		}
	}
	return errors.Join(errs...)
}

// checkInEffect says whether everything that was changed is still in effect.
func (x *experiment) checkInEffect(ctx context.Context) error {
	var errs []error
	for _, m := range x.variedMachines {
		errs = append(errs, m.journal.CheckInEffect(ctx))
	}
	return errors.Join(errs...)
}

// possibleLevels are the levels that a factor can have, as far as the machine says whose it is.
func (x *experiment) possibleLevels(name string) []string {
	for _, m := range x.variedMachines {
		for _, s := range m.settings[name] {
			return s.Possible()
		}
	}
	return nil
}

// restoreSettings leaves every setting as it was found, also after an error or an interruption.
func (x *experiment) restoreSettings(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, m := range slices.Backward(x.variedMachines) {
		if m.journal == nil {
			continue
		}
		// What could not be put back stays in the journal, which must be let go of all the same: whoever looks for it
		// later takes it for one in use.
		errs = append(errs, m.journal.Undo(ctx), m.journal.Close())
	}
	return errors.Join(errs...)
}
