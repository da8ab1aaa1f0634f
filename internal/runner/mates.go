package runner

import (
	"context"
	"errors"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/plan"
)

// openMates opens the sessions of those who carry out each load at the same moment.
func (s *Session) openMates(ctx context.Context) error {
	for _, e := range s.Mates {
		m, err := Open(ctx, e, s.saver)
		if err != nil {
			return errors.Join(err, s.closeMates())
		}
		m.joint, s.joint = true, true
		s.mates = append(s.mates, m)
	}
	return nil
}

func (s *Session) closeMates() error {
	var errs []error
	for _, m := range s.mates {
		o, err := m.Close()
		errs = append(errs, err)
		s.outcome.Stuck = s.outcome.Stuck || o.Stuck
		for _, w := range o.Warnings {
			w.Text = m.Role + ": " + w.Text
			s.outcome.Warnings = append(s.outcome.Warnings, w)
		}
	}
	return errors.Join(errs...)
}

// repeatTogether carries out one repetition with all mates. One result is kept: what they did together, with what each has printed.
func (s *Session) repeatTogether(ctx context.Context, next plan.Repetition) (lab.Repetition, error) {
	cell, err := s.cell(next.Cell)
	if err != nil {
		return lab.Repetition{}, err
	}
	j := newJoint(append([]*Session{s}, s.mates...))
	j.own = func(*Session) plan.Repetition { return next }
	j.begins = func() { s.tell(Event{Doing: cell.Title, Begins: true, Cell: &cell, Left: cell.Expected}) }
	var rep lab.Repetition
	err = j.repeat(ctx, func() error {
		var err error
		rep, err = s.keepTogether(next, cell, j)
		return err
	})
	return rep, err
}

// keepTogether saves what all of them did as one repetition.
func (s *Session) keepTogether(next plan.Repetition, cell Cell, j *joint) (lab.Repetition, error) {
	rep := (&together{}).sum(next, &cell, j)
	first := j.attempts[0]
	rep.After, rep.Layout, rep.Did, rep.Command = first.rep.After, first.rep.Layout, first.rep.Did, first.rep.Command
	var errs []error
	for i, m := range j.sessions {
		errs = append(errs, m.keepPrinted(j.attempts[i], m.Role))
		rep.Raw = append(rep.Raw, j.attempts[i].rep.Raw...)
		for _, w := range j.attempts[i].rep.Warnings {
			if slices.ContainsFunc(rep.Warnings, func(o lab.Warning) bool { return o.Code == w.Code && o.Text == w.Text }) {
				continue
			}
			if m.Role != "" {
				w.Text = m.Role + ": " + w.Text
			}
			rep.Warnings = append(rep.Warnings, w)
		}
	}
	errs = append(errs, s.saver.Repetition(rep), s.saver.Commit())
	whole := &attempt{cell: cell, rep: rep, failed: slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.failed })}
	if err := s.saved(whole, errors.Join(errs...)); err != nil {
		return lab.Repetition{}, err
	}
	s.finished(whole)
	for _, m := range s.mates {
		m.previous = cell.ID
	}
	return rep, nil
}
