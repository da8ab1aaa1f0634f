package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outage"
	"github.com/headroom/headroom/internal/runner/clock"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/unit"
)

// ScheduledEvent is an event of the run, and what it takes to carry it out and to undo it.
type ScheduledEvent struct {
	lab.Event
	Target host.Target
	// Journal of the target, which has the way back on disk before anything is done; nil where the event ends by
	// itself.
	Journal *journal.Journal
	// Setting of an event that sets a factor.
	Setting scheme.Setting
}

// fineRateStep is the step of a load's rate when there are events: the smallest that iperf3 takes, and as fine as fio's
// thread is punctual.
const fineRateStep = 100 * time.Millisecond

// rateStep is the step of the rates that loads are to tell in; 0 where a second will do.
func (s *Session) rateStep() time.Duration {
	if len(s.Events) == 0 {
		return 0
	}
	return fineRateStep
}

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
	session *Session
	each    []occurrence
	// begun is when the load was started, over is closed when it has ended, and gone when all is done and undone.
	begun      time.Time
	over, gone chan struct{}
	err        error
}

// scheduledStep is something to do at a time after the start of the load.
type scheduledStep struct {
	after time.Duration
	event int
	undo  bool
}

// eventSchedule of a load that is expected to take so long, ramp included. What is undone is so when the load ends at
// the latest: not after it, since a load that has lost its other end may only end when that is back.
func (s *Session) eventSchedule(ramp, expected time.Duration) []scheduledStep {
	var all []scheduledStep
	for i, u := range s.Events {
		at := ramp + engine.SecondsOf(u.At)
		all = append(all, scheduledStep{at, i, false})
		if !u.HasUndo() {
			continue
		}
		end := at + engine.SecondsOf(u.For)
		if expected > 0 && (u.For == 0 || end > expected) {
			end = expected
		}
		if end > at {
			all = append(all, scheduledStep{end, i, true})
		}
	}
	slices.SortStableFunc(all, func(a, b scheduledStep) int { return cmp.Compare(a.after, b.after) })
	return all
}

// announceEvents puts on disk how the events of a load are undone, before it begins: flushing a disk during the load
// would disturb it.
func (s *Session) announceEvents(l load) (*eventRun, error) {
	u := &eventRun{session: s, over: make(chan struct{}), gone: make(chan struct{})}
	if l.cell == nil || s.Observer {
		return u, nil
	}
	u.each = make([]occurrence, len(s.Events))
	for i, e := range s.Events {
		if len(e.Undo) == 0 {
			continue
		}
		if err := e.Journal.Announce(e.journalName(), e.Undo); err != nil {
			return u, errors.Join(err, u.withdrawUnused())
		}
		u.each[i].announced = true
	}
	return u, nil
}

// withdrawUnused withdraws events that were announced and not carried out.
func (r *eventRun) withdrawUnused() error {
	var errs []error
	for i := len(r.each) - 1; i >= 0; i-- {
		if e := r.session.Events[i]; r.each[i].announced {
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
		r.follow(ctx, r.session.eventSchedule(engine.Ramp(l.cell.Cell), l.expected))
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

// journalName is the name of an event in the journal, where a command and its undoing have none of their own.
func (u ScheduledEvent) journalName() string {
	if u.Factor != "" {
		return u.Factor
	}
	return "event: " + u.Text()
}

// do carries out an event. An error is recorded with the event, and the load goes on.
func (r *eventRun) do(ctx context.Context, i int) {
	e, h := r.session.Events[i], &r.each[i]
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

// eventCommandGrace is how long a command of an event may go on after the load.
const eventCommandGrace = time.Minute

// command carries out the command of an event as a job: it may take long, as the migration of a guest does, and targets
// tell when jobs begin and end.
func (r *eventRun) command(ctx context.Context, e ScheduledEvent, h *occurrence) error {
	s := r.session
	after := context.WithoutCancel(ctx)
	s.eventRuns++
	job, err := e.Target.Start(after, host.JobSpec{ID: fmt.Sprintf("%s-event-%d", s.ownerName(), s.eventRuns),
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
			h.uncertainty = clock.JobTimeStep
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
	e, h := r.session.Events[i], &r.each[i]
	if !h.done {
		return
	}
	h.done = false
	h.undoBegan = time.Now()
	err := e.Journal.UndoOf(ctx, e.journalName())
	h.undoEnded = time.Now()
	if fault, ok := errors.AsType[*lab.Error](err); ok {
		r.session.notUndone = append(r.session.notUndone, fault)
	}
	r.err = errors.Join(r.err, err)
}

// undoEvents undoes what the events of the run have left, once its loads are over. It comes before anything is removed:
// while a link is cut or a file system frozen, a scratch file can't be. The errors of events that it undoes say so.
func (s *Session) undoEvents() error {
	if s.Observer {
		return nil
	}
	var errs []error
	for _, e := range slices.Backward(s.Events) {
		if e.Journal != nil && len(e.Journal.Open()) > 0 {
			errs = append(errs, e.Journal.Undo(context.Background()))
		}
	}
	err := errors.Join(errs...)
	for _, fault := range s.notUndone {
		if err == nil {
			fault.Hints = []string{"it was undone when the loads were over"}
		}
	}
	s.notUndone = nil
	return err
}

// undoAll undoes what is not undone, the last event first.
func (r *eventRun) undoAll(ctx context.Context) {
	for i := len(r.each) - 1; i >= 0; i-- {
		r.undo(ctx, i)
	}
}

// recordEvents records what the events did to a load that has ended.
func (s *Session) recordEvents(ctx context.Context, a *attempt) {
	if len(a.done.occurrences) == 0 {
		return
	}
	ahead := clock.ReadOffset(ctx, s.Target)
	var rate lab.Series
	var start clock.Timestamp
	if e, ok := a.engine.(engine.FineRateReader); ok && ahead.Known {
		rate, start, _ = e.Rate(ctx, a.done.Ended, a.rep.Seconds, ahead)
	}
	a.rep.Events = &lab.EventResult{Rate: rate}
	failed := false
	for i, h := range a.done.occurrences {
		e := s.Events[i]
		one := lab.Occurrence{Failed: h.failed}
		if h.began.IsZero() {
			one.Failed = cmp.Or(one.Failed, "the load ended before it")
		} else if !start.IsZero() {
			one.At, one.Took = h.began.Sub(start.Time).Seconds(), max(0, h.ended.Sub(h.began).Seconds())
			if !h.undoBegan.IsZero() {
				one.Undone, one.UndoTook = h.undoBegan.Sub(start.Time).Seconds(), h.undoEnded.Sub(h.undoBegan).Seconds()
			}
			one.Uncertainty = (h.uncertainty + start.Uncertainty +
				clock.ReadOffset(ctx, e.Target).Uncertainty).Seconds()
		}
		a.rep.Events.Each = append(a.rep.Events.Each, one)
		if one.Failed != "" {
			failed = true
			a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "event-failed", Taints: []string{"event.*"},
				Text: fmt.Sprintf("the event %s was not carried out as it was meant: %s", e.Text(), one.Failed)})
		}
	}
	if failed {
		a.failed = true
		return
	}
	s.analyzeEvents(a)
}

// recordEvents records the events for observers, which did not carry them out.
func (j *jointRepetition) recordEvents(ctx context.Context) {
	var occurrences []occurrence
	for i, a := range j.attempts {
		if !j.sessions[i].Observer {
			occurrences = append(occurrences, a.done.occurrences...)
		}
	}
	j.forEach(func(i int, s *Session) error {
		if a := j.attempts[i]; s.Observer && a.done.Job != nil {
			a.done.occurrences = occurrences
			s.recordEvents(context.WithoutCancel(ctx), a)
		}
		return nil
	})
}

// analyzeEvents adds to a repetition what its events did to the rate.
func (s *Session) analyzeEvents(a *attempt) {
	if a.rep.Values == nil { // there is no result that it could be added to
		return
	}
	stall, recovery, dip := 0.0, 0.0, 0.0
	for i, f := range outage.Of(*a.rep.Events) {
		text := s.Events[i].Text()
		if f.Unknown != "" {
			a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "event-unknown", Taints: []string{"event.*"},
				Text: fmt.Sprintf("the effect of the event %s is unknown: %s", text, f.Unknown)})
			return
		}
		stall, dip = max(stall, f.Stall), max(dip, 1-f.Lowest)
		if f.Recovery != nil {
			recovery = max(recovery, *f.Recovery)
			continue
		}
		recovery = math.Inf(1)
		a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "not-recovered", Taints: []string{lab.EventRecovery},
			Text: fmt.Sprintf("after the event %s the rate was not back to %s of what it was when the load ended: "+
				"how long that takes is not known, and other repetitions alone would be too good; measure longer", text,
				unit.Percent(outage.RecoveredShare))})
	}
	a.rep.Values[lab.EventStall], a.rep.Values[lab.EventDip] = stall, dip
	if !math.IsInf(recovery, 0) {
		a.rep.Values[lab.EventRecovery] = recovery
	}
}

// beforeFirstEvent are series up to the first event: what comes after is no reason to doubt the load.
func (s *Session) beforeFirstEvent(all []lab.Series) []lab.Series {
	if len(s.Events) == 0 {
		return all
	}
	first := math.Inf(1)
	for _, u := range s.Events {
		first = min(first, u.At)
	}
	var cut []lab.Series
	for _, one := range all {
		one.Values = one.Values[:min(len(one.Values), int(first/one.Interval))]
		cut = append(cut, one)
	}
	return cut
}
