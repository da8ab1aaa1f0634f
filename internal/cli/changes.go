package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"headroom/internal/factor"
)

// changedMachine is one whose settings an experiment varies: the one under test, or an end of a network.
type changedMachine struct {
	// role is that of an end of a network; empty for the machine of a storage.
	role  string
	where factor.Where
	// settings are its live factors, by name, and journal what was changed of them.
	settings map[string]factor.Setting
	journal  *factor.Journal
}

// bind finds the live settings on the machines that they are of, and takes down their levels as they are found.
func (x *experiment) bind(ctx context.Context) error {
	if err := x.machines(ctx); err != nil {
		return err
	}
	for i, v := range x.run.Experiment.Factors {
		c := x.choices[i]
		if c.Scheme.Class != factor.Live {
			continue
		}
		var found []string
		for _, m := range x.changed {
			if c.Role != "" && c.Role != m.role {
				continue
			}
			s, err := factor.Bind(ctx, m.where, v.Factor)
			if err != nil {
				return err
			}
			level, err := s.Read(ctx)
			if err != nil {
				return err
			}
			m.settings[v.Factor] = s
			found = append(found, m.role+" "+level)
		}
		x.run.Experiment.Factors[i].Found = foundAt(found)
	}
	return nil
}

// foundAt is a level as it was found, and where the ends of a network differ, that of each: "client 1500, server 9000".
func foundAt(found []string) string {
	var levels []string
	for _, f := range found {
		_, level, _ := strings.Cut(f, " ")
		levels = append(levels, level)
	}
	if len(slices.Compact(slices.Clone(levels))) == 1 {
		return levels[0]
	}
	return strings.Join(found, ", ")
}

// machines are those whose settings are varied.
func (x *experiment) machines(ctx context.Context) error {
	commands := map[string]factor.Commands{}
	for name, c := range x.run.Experiment.Commands {
		commands[name] = factor.Commands(c)
	}
	add := func(role string, w factor.Where) {
		w.Commands = commands
		x.changed = append(x.changed, &changedMachine{role: role, where: w, settings: map[string]factor.Setting{}})
	}
	if x.network != nil {
		return x.network.machines(ctx, add)
	}
	add("", factor.Where{Target: x.target, Place: x.place()})
	return nil
}

// openJournals begins those of all machines: of the one that loads run on by the name of the run, of others with their role behind it.
func (x *experiment) openJournals(ctx context.Context) error {
	for i, m := range x.changed {
		id := x.run.ID
		if i > 0 {
			id += "-" + m.role
		}
		var err error
		if m.journal, err = factor.Create(x.store.Changes(), id, m.where.Target); err != nil {
			return errors.Join(err, x.putBack(ctx))
		}
		if err := m.journal.Keep(ctx, m.where.Named(factor.KeptAt(x.run.Experiment.Keep, m.role))); err != nil {
			return errors.Join(err, x.putBack(ctx))
		}
		if x.AtStep != nil {
			m.journal.AtStep(x.AtStep)
		}
	}
	return nil
}

// change makes a level effective on all machines that the factor is of.
func (x *experiment) change(ctx context.Context, name, level string) error {
	for _, m := range x.changed {
		if s, ok := m.settings[name]; ok {
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
	for _, m := range slices.Backward(x.changed) {
		if m.journal != nil {
			errs = append(errs, m.journal.Undo(ctx))
		}
	}
	return errors.Join(errs...)
}

// holds says whether everything that was changed is still in effect.
func (x *experiment) holds(ctx context.Context) error {
	var errs []error
	for _, m := range x.changed {
		errs = append(errs, m.journal.Holds(ctx))
	}
	return errors.Join(errs...)
}

// possible are the levels that a factor can have, as far as the machine says whose it is.
func (x *experiment) possible(name string) []string {
	for _, m := range x.changed {
		if s, ok := m.settings[name]; ok {
			return s.Possible()
		}
	}
	return nil
}

// putBack leaves every setting as it was found, also after an error or an interruption.
func (x *experiment) putBack(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, m := range slices.Backward(x.changed) {
		if m.journal == nil {
			continue
		}
		// What could not be put back stays in the journal, which must be let go of all the same: whoever looks for it later takes it for one in use.
		errs = append(errs, m.journal.Undo(ctx), m.journal.Close())
	}
	return errors.Join(errs...)
}
