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
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/unit"
)

// events are carried out during each load of a session, and undone.
type events struct {
	target host.Target // of the loads
	owner  string      // in the names of jobs
	all    []ScheduledEvent
	// observer means that another measurement of a joint one carries them out.
	observer bool
	// jobs is the number of jobs that carried out events.
	jobs int
	// notUndone are the errors of events that could not be undone during a load.
	notUndone []*lab.Error
}

func newEvents(m Measurement) *events {
	return &events{target: m.Target, owner: m.ownerName(), all: m.Events, observer: m.Observer,
		jobs: len(m.Saved) * len(m.Events)}
}

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

// journalName returns the name of an event in the journal. A command has no other name there than its text.
func (u ScheduledEvent) journalName() string {
	if u.Factor != "" {
		return u.Factor
	}
	return "event: " + u.Text()
}

// fineRateStep is the step of a load's rate when there are events: the smallest that iperf3 takes, and as fine as fio's
// thread is punctual.
const fineRateStep = 100 * time.Millisecond

// rateStep returns the step in which loads have to print their rates; 0 means that a second is fine enough.
func (v *events) rateStep() time.Duration {
	if len(v.all) == 0 {
		return 0
	}
	return fineRateStep
}

// scheduledStep is something to do at a time after the start of the load.
type scheduledStep struct {
	after time.Duration
	event int
	undo  bool
}

// schedule returns what to do during a load that is expected to take so long, ramp included. What is undone is so when
// the load ends at the latest: not after it, since a load that has lost its other end may only end when that is back.
func (v *events) schedule(ramp, expected time.Duration) []scheduledStep {
	var all []scheduledStep
	for i, u := range v.all {
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

// announce puts on disk how the events of a load are undone, before it begins: flushing a disk during the load
// would disturb it.
func (v *events) announce(l load) (*eventRun, error) {
	u := &eventRun{events: v, over: make(chan struct{}), gone: make(chan struct{})}
	if l.cell == nil || v.observer {
		return u, nil
	}
	u.each = make([]occurrence, len(v.all))
	for i, e := range v.all {
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

// undoLeft undoes what the events of the run have left, once its loads are over. It comes before anything is removed:
// while a link is cut or a file system frozen, a scratch file can't be. The errors of events that it undoes say so.
func (v *events) undoLeft() error {
	if v.observer {
		return nil
	}
	var errs []error
	for _, e := range slices.Backward(v.all) {
		if e.Journal != nil && len(e.Journal.Open()) > 0 {
			errs = append(errs, e.Journal.Undo(context.Background()))
		}
	}
	err := errors.Join(errs...)
	for _, fault := range v.notUndone {
		if err == nil {
			fault.Hints = []string{"it was undone when the loads were over"}
		}
	}
	v.notUndone = nil
	return err
}

// record records what the events did to a load that has ended.
func (v *events) record(ctx context.Context, a *attempt) {
	if len(a.done.occurrences) == 0 {
		return
	}
	ahead := engine.ReadOffset(ctx, v.target)
	var rate lab.Series
	var start engine.Timestamp
	if e, ok := a.engine.(engine.FineRateReader); ok && ahead.Known {
		rate, start, _ = e.Rate(ctx, a.done.Ended, a.rep.Seconds, ahead)
	}
	a.rep.Events = &lab.EventResult{Rate: rate}
	failed := false
	for i, h := range a.done.occurrences {
		e := v.all[i]
		one := lab.Occurrence{Failed: h.failed}
		if h.began.IsZero() {
			one.Failed = cmp.Or(one.Failed, "the load ended before it")
		} else if !start.IsZero() {
			one.At, one.Took = h.began.Sub(start.Time).Seconds(), max(0, h.ended.Sub(h.began).Seconds())
			if !h.undoBegan.IsZero() {
				one.Undone, one.UndoTook = h.undoBegan.Sub(start.Time).Seconds(), h.undoEnded.Sub(h.undoBegan).Seconds()
			}
			one.Uncertainty = (h.uncertainty + start.Uncertainty +
				engine.ReadOffset(ctx, e.Target).Uncertainty).Seconds()
		}
		a.rep.Events.Each = append(a.rep.Events.Each, one)
		if one.Failed != "" {
			failed = true
			a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "event-failed", Taints: []string{"event.*"},
				Text: fmt.Sprintf("the event %s was not carried out as intended: %s", e.Text(), one.Failed)})
		}
	}
	if failed {
		a.failed = true
		return
	}
	v.analyze(a)
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
			s.events.record(context.WithoutCancel(ctx), a)
		}
		return nil
	})
}

// analyze adds to a repetition what its events did to the rate.
func (v *events) analyze(a *attempt) {
	if a.rep.Values == nil { // there is no result that it could be added to
		return
	}
	stall, recovery, dip := 0.0, 0.0, 0.0
	for i, f := range outage.Of(*a.rep.Events) {
		text := v.all[i].Text()
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
			Text: fmt.Sprintf("after the event %s the rate was not back to %s of its former level when the load ended: "+
				"how long that takes is not known, and other repetitions alone would be too good; measure longer", text,
				unit.Percent(outage.RecoveredShare))})
	}
	a.rep.Values[lab.EventStall], a.rep.Values[lab.EventDip] = stall, dip
	if !math.IsInf(recovery, 0) {
		a.rep.Values[lab.EventRecovery] = recovery
	}
}

// beforeFirst cuts series at the first event: what comes after is no reason to doubt the load.
func (v *events) beforeFirst(all []lab.Series) []lab.Series {
	if len(v.all) == 0 {
		return all
	}
	first := math.Inf(1)
	for _, u := range v.all {
		first = min(first, u.At)
	}
	var cut []lab.Series
	for _, one := range all {
		one.Values = one.Values[:min(len(one.Values), int(first/one.Interval))]
		cut = append(cut, one)
	}
	return cut
}
