package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// Begin makes the bundle, or reopens it.
func (m *Measurement) Begin(ctx context.Context) (*store.Writer, error) {
	w, err := m.open()
	if err != nil {
		return nil, err
	}
	return OrInterrupt(w, m.BeginIn(ctx, w))
}

// BeginIn begins a run, or an arm of one, whose bundle is open.
func (m *Measurement) BeginIn(ctx context.Context, w *store.Writer) error {
	err := m.Label(ctx, m.Run.ID)
	if err == nil && m.Resumed == nil {
		err = m.SaveInitialSnapshot(w)
	}
	if err == nil {
		err = m.BringPrograms(ctx, w)
	}
	return err
}

// OrInterrupt closes the bundle of a run that could not begin, because of err.
func OrInterrupt(w *store.Writer, err error) (*store.Writer, error) {
	if err == nil {
		return w, nil
	}
	return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
}

func (m *Measurement) open() (*store.Writer, error) {
	m.App.Started.Add(m.Store, m.Run.ID)
	if m.Resumed != nil {
		w, err := m.Store.Resume(m.Resumed)
		if err != nil {
			return nil, err
		}
		return w, w.Update(func(r *lab.Run) {
			r.Targets, r.Precision, r.Budget, r.Anytime, r.Terms = m.Run.Targets, m.Run.Precision, m.Run.Budget,
				m.Run.Anytime, m.Run.Terms
		})
	}
	return m.Store.Create(m.Run)
}

// Label has what others can see of the measurement carry the run's ID.
func (m *Measurement) Label(ctx context.Context, run string) error {
	targets := []host.Target{m.Target}
	if m.Server != nil {
		targets = append(targets, m.Server.Target)
	}
	for _, t := range targets {
		if l, ok := t.(host.Labelled); ok {
			if err := l.Label(ctx, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// End leaves the place clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (m *Measurement) End(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	return CloseBundle(w, outcome, runErr, func() error { return m.CleanDevice(ctx) },
		func() error { return m.CompareAfterwards(ctx, w) },
		func(r *lab.Run) { SetWarnings(r, m.Run.Warnings, outcome) })
}

// CloseBundle closes the bundle of a run that ended with runErr. Before that, clean leaves its places clean, unless a
// load may still write, and compare takes the second snapshots of a run that was not ended early. warn sets the
// warnings of the header after that. The error is what went wrong here.
func CloseBundle(w *store.Writer, outcome runner.Outcome, runErr error, clean, compare func() error,
	warn func(*lab.Run)) error {
	end, err := w.Close, error(nil)
	if outcome.Aborted {
		end = w.Abandon // its load may still write, perhaps to a device of another part
	} else {
		err = clean()
	}
	if runErr == nil && err == nil {
		err = compare()
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = statusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		warn(r)
	}))
}

// SetWarnings gives a header the warnings of its run: those that are known, those of the loads, and what the run as a
// whole shows.
func SetWarnings(r *lab.Run, known []lab.Warning, outcome runner.Outcome) {
	r.RemoveWarnings(validity.OfRuns()) // a resumed run has those of its first part
	r.Warnings = slices.Concat(known, outcome.Warnings)
	r.AddRunWarnings(validity.Run(*r, slices.Values(outcome.Repetitions)))
}

// CleanDevice cleans the device, also after an error or an interruption: what was measured is saved by now.
func (m *Measurement) CleanDevice(ctx context.Context) error {
	if m.held.device == nil {
		return nil
	}
	printed, err := m.held.device.leaveClean(context.WithoutCancel(ctx), m.Target)
	if printed != "" && err == nil {
		fmt.Fprintln(m.App.Stderr, printed)
	}
	return err
}

// statusOf a run that ended with err. Whatever ended it early, the rest can be resumed.
func statusOf(err error, outcome runner.Outcome) lab.Status {
	switch {
	case err != nil:
		return lab.Interrupted
	case outcome.Measured > 0 && outcome.Failed == outcome.Measured:
		return lab.Failed
	default:
		return lab.Complete
	}
}
