package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/unit"
)

// occurrence is when an event happened, by this machine's clock, and whether it failed.
type occurrence struct {
	began, ended         time.Time
	undoBegan, undoEnded time.Time
	uncertainty          time.Duration
	failed               string
	// announced says that the way to undo it is on disk, done that there is something to undo.
	announced, done bool
}

// eventRun carries out the events of one load.
type eventRun struct {
	events *events
	each   []occurrence
	// begun is when the load was started, over is closed when it has ended, and gone when all is done and undone.
	begun      time.Time
	over, gone chan struct{}
	err        error
}

// withdrawUnused withdraws events that were announced and not carried out.
func (r *eventRun) withdrawUnused() error {
	var errs []error
	for i := len(r.each) - 1; i >= 0; i-- {
		if e := r.events.all[i]; r.each[i].announced {
			r.each[i].announced = false
			errs = append(errs, e.Journal.Withdraw(e.journalName()))
		}
	}
	return errors.Join(errs...)
}

// begin to carry out the events of a load that was started just now.
func (r *eventRun) begin(ctx context.Context, l load) {
	r.begun = time.Now()
	if len(r.each) == 0 {
		close(r.gone)
		return
	}
	go func() {
		defer close(r.gone)
		r.follow(ctx, r.events.schedule(engine.Ramp(l.cell.Cell), l.expected))
		r.undoAll(context.WithoutCancel(ctx))
	}()
}

// end waits until all that was done is undone. The error says that something is not.
func (r *eventRun) end() error {
	close(r.over)
	<-r.gone
	return errors.Join(r.err, r.withdrawUnused())
}

func (r *eventRun) follow(ctx context.Context, agenda []scheduledStep) {
	for _, d := range agenda {
		timer := time.NewTimer(time.Until(r.begun.Add(d.after)))
		select {
		case <-timer.C:
		case <-r.over:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if d.undo {
			r.undo(context.WithoutCancel(ctx), d.event)
		} else {
			r.do(ctx, d.event)
		}
	}
}

// do carries out an event. An error is recorded with the event, and the load continues.
func (r *eventRun) do(ctx context.Context, i int) {
	e, h := r.events.all[i], &r.each[i]
	if e.Factor != "" {
		h.done = true
		h.began = time.Now()
		err := e.Journal.Change(ctx, e.Setting, e.Level)
		h.ended = time.Now()
		if err != nil {
			h.failed = err.Error()
		}
		return
	}
	h.done, h.announced = h.announced, false
	h.began = time.Now()
	if err := r.command(ctx, e, h); err != nil {
		h.failed = err.Error()
	}
	if h.ended.IsZero() {
		h.ended = time.Now()
	}
}

// eventCommandGrace is how long a command of an event may run after the load.
const eventCommandGrace = time.Minute

// command carries out the command of an event as a job: it may take long, as the migration of a guest does, and targets
// tell when jobs begin and end.
func (r *eventRun) command(ctx context.Context, e ScheduledEvent, h *occurrence) error {
	after := context.WithoutCancel(ctx)
	r.events.jobs++
	job, err := e.Target.Start(after, host.JobSpec{ID: fmt.Sprintf("%s-event-%d", r.events.owner, r.events.jobs),
		Argv: e.Command})
	if err != nil {
		return err
	}
	over, stopped := r.over, ctx.Done()
	var late <-chan time.Time
wait:
	for {
		select {
		case <-job.Done():
			break wait
		case <-stopped:
			err = cancelled(ctx)
			break wait
		case <-over:
			timer := time.NewTimer(eventCommandGrace)
			defer timer.Stop()
			over, late = nil, timer.C
		case <-late:
			err = fmt.Errorf("it had not ended %s after the load, and was", unit.Duration(eventCommandGrace))
			break wait
		}
	}
	if err != nil {
		return errors.Join(err, job.Kill(after, time.Second), job.Remove(after))
	}
	state, err := job.Poll(after)
	if err != nil {
		return err
	}
	if !state.Started.IsZero() {
		h.began, h.ended = state.Started, state.Ended
		if !host.IsLocal(e.Target) {
			h.uncertainty = engine.JobTimeStep
		}
	}
	if state.ExitCode != 0 {
		printed, err := job.Tail(after, "stderr", engine.MaxSearchedOutput)
		why := lab.Shorten(lab.HeadLines(string(printed), 1), engine.MaxQuoted, 0)
		if err != nil || why == "" {
			why = fmt.Sprintf("exit status %d", state.ExitCode)
		}
		return errors.Join(errors.New(why), job.Remove(after))
	}
	return job.Remove(after)
}

// undo what an event did.
func (r *eventRun) undo(ctx context.Context, i int) {
	e, h := r.events.all[i], &r.each[i]
	if !h.done {
		return
	}
	h.done = false
	h.undoBegan = time.Now()
	err := e.Journal.UndoOf(ctx, e.journalName())
	h.undoEnded = time.Now()
	if fault, ok := errors.AsType[*lab.Error](err); ok {
		r.events.notUndone = append(r.events.notUndone, fault)
	}
	r.err = errors.Join(r.err, err)
}

// undoAll undoes what is not undone, the last event first.
func (r *eventRun) undoAll(ctx context.Context) {
	for i := len(r.each) - 1; i >= 0; i-- {
		r.undo(ctx, i)
	}
}
