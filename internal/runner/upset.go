package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/outage"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// Upset is an event of the run, and what it takes to carry it out and to undo it.
type Upset struct {
	lab.Upset
	Target target.Target
	// Journal of the target, which has the way back on disk before anything is done; nil where the event ends by
	// itself.
	Journal *factor.Journal
	// Setting of an event that sets a factor.
	Setting factor.Setting
}

// fine is the step of a load's rate where events come upon it: the least that iperf3 takes, and as fine as fio's thread
// is punctual.
const fine = 100 * time.Millisecond

// fineStep is the step of the rates that loads are to tell in; 0 where a second will do.
func (s *Session) fineStep() time.Duration {
	if len(s.Upsets) == 0 {
		return 0
	}
	return fine
}

// happening is what became of an event, by this machine's clock.
type happening struct {
	begun, ended         time.Time
	undoBegun, undoEnded time.Time
	unsure               time.Duration
	failed               string
	// announced says that its undoing is on disk, done that there is something to undo.
	announced, done bool
}

// upsetting carries out the events of one load.
type upsetting struct {
	session *Session
	each    []happening
	// begun is when the load was started, over is closed when it has ended, and gone when all is done and undone.
	begun      time.Time
	over, gone chan struct{}
	err        error
}

// due is a moment at which something is to be done, after the start of the load.
type due struct {
	after time.Duration
	event int
	undo  bool
}

// agenda of a load that is expected to take so long, ramp included. What is undone is so when the load ends at the
// latest: not after it, since a load that has lost its other end may only end when that is back.
func (s *Session) agenda(ramp, expected time.Duration) []due {
	var all []due
	for i, u := range s.Upsets {
		at := ramp + secondsOf(u.At)
		all = append(all, due{at, i, false})
		if !u.Undone() {
			continue
		}
		end := at + secondsOf(u.For)
		if expected > 0 && (u.For == 0 || end > expected) {
			end = expected
		}
		if end > at {
			all = append(all, due{end, i, true})
		}
	}
	slices.SortStableFunc(all, func(a, b due) int { return cmp.Compare(a.after, b.after) })
	return all
}

func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// announceUpsets puts on disk how the events of a load are undone, before it begins: flushing a disk in the middle of
// it would upset it, too.
func (s *Session) announceUpsets(l load) (*upsetting, error) {
	u := &upsetting{session: s, over: make(chan struct{}), gone: make(chan struct{})}
	if l.cell == nil || s.Bystander {
		return u, nil
	}
	u.each = make([]happening, len(s.Upsets))
	for i, e := range s.Upsets {
		if len(e.Undo) == 0 {
			continue
		}
		if err := e.Journal.Announce(e.nameOf(), e.Undo); err != nil {
			return u, errors.Join(err, u.withdraw())
		}
		u.each[i].announced = true
	}
	return u, nil
}

// withdraw what was announced and did not come.
func (u *upsetting) withdraw() error {
	var errs []error
	for i := len(u.each) - 1; i >= 0; i-- {
		if e := u.session.Upsets[i]; u.each[i].announced {
			u.each[i].announced = false
			errs = append(errs, e.Journal.Withdraw(e.nameOf()))
		}
	}
	return errors.Join(errs...)
}

// begin to carry out the events of a load that was started just now.
func (u *upsetting) begin(ctx context.Context, l load) {
	u.begun = time.Now()
	if len(u.each) == 0 {
		close(u.gone)
		return
	}
	go func() {
		defer close(u.gone)
		u.follow(ctx, u.session.agenda(rampOf(l.cell.Cell), l.expected))
		u.undoAll(context.WithoutCancel(ctx))
	}()
}

// end waits until all that was done is undone. The error says that something is not.
func (u *upsetting) end() error {
	close(u.over)
	<-u.gone
	return errors.Join(u.err, u.withdraw())
}

func (u *upsetting) follow(ctx context.Context, agenda []due) {
	for _, d := range agenda {
		timer := time.NewTimer(time.Until(u.begun.Add(d.after)))
		select {
		case <-timer.C:
		case <-u.over:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if d.undo {
			u.undo(context.WithoutCancel(ctx), d.event)
		} else {
			u.do(ctx, d.event)
		}
	}
}

// nameOf is the name of an event in the journal, where a command and its undoing have none of their own.
func (u Upset) nameOf() string {
	if u.Factor != "" {
		return u.Factor
	}
	return "event: " + u.Text()
}

// do carries out an event. What goes wrong with it is told beside it: the load goes on.
func (u *upsetting) do(ctx context.Context, i int) {
	e, h := u.session.Upsets[i], &u.each[i]
	if e.Factor != "" {
		h.done = true
		h.begun = time.Now()
		err := e.Journal.Change(ctx, e.Setting, e.Level)
		h.ended = time.Now()
		if err != nil {
			h.failed = err.Error()
		}
		return
	}
	h.done, h.announced = h.announced, false
	h.begun = time.Now()
	if err := u.command(ctx, e, h); err != nil {
		h.failed = err.Error()
	}
	if h.ended.IsZero() {
		h.ended = time.Now()
	}
}

// upsetPatience is how long a command of an event may go on after the load.
const upsetPatience = time.Minute

// command carries out the command of an event as a job: it may take long, as the migration of a guest does, and targets
// tell when jobs begin and end.
func (u *upsetting) command(ctx context.Context, e Upset, h *happening) error {
	s := u.session
	after := context.WithoutCancel(ctx)
	s.upsets++
	job, err := e.Target.Start(after, target.JobSpec{ID: fmt.Sprintf("%s-event-%d", s.owner(), s.upsets),
		Argv: e.Command})
	if err != nil {
		return err
	}
	over, stopped := u.over, ctx.Done()
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
			timer := time.NewTimer(upsetPatience)
			defer timer.Stop()
			over, late = nil, timer.C
		case <-late:
			err = fmt.Errorf("it had not ended %s after the load, and was", unit.Duration(upsetPatience))
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
		h.begun, h.ended = state.Started, state.Ended
		if !target.IsLocal(e.Target) {
			h.unsure = jobStep
		}
	}
	if state.ExitCode != 0 {
		said, err := job.Tail(after, "stderr", mostSaid)
		why := lab.Shorten(firstLines(string(said), 1), mostQuoted, 0)
		if err != nil || why == "" {
			why = fmt.Sprintf("exit status %d", state.ExitCode)
		}
		return errors.Join(errors.New(why), job.Remove(after))
	}
	return job.Remove(after)
}

// undo what an event did.
func (u *upsetting) undo(ctx context.Context, i int) {
	e, h := u.session.Upsets[i], &u.each[i]
	if !h.done {
		return
	}
	h.done = false
	h.undoBegun = time.Now()
	u.err = errors.Join(u.err, e.Journal.UndoOf(ctx, e.nameOf()))
	h.undoEnded = time.Now()
}

// undoAll undoes what is not undone, the last event first.
func (u *upsetting) undoAll(ctx context.Context) {
	for i := len(u.each) - 1; i >= 0; i-- {
		u.undo(ctx, i)
	}
}

// finely is an engine that tells the rate of a load in fine steps, and when the first of them began by this machine's
// clock.
type finely interface {
	rate(ctx context.Context, s *Session, a *attempt, clock offset) (lab.Series, moment, bool)
}

// heedUpsets takes down what the events did to a load that has ended.
func (s *Session) heedUpsets(ctx context.Context, a *attempt) {
	if len(a.done.happened) == 0 {
		return
	}
	clock := offsetOf(ctx, s.Target)
	var rate lab.Series
	var start moment
	if e, ok := a.engine.(finely); ok && clock.known {
		rate, start, _ = e.rate(ctx, s, a, clock)
	}
	a.rep.Upsets = &lab.Upsets{Rate: rate}
	failed := false
	for i, h := range a.done.happened {
		e := s.Upsets[i]
		one := lab.Happened{Failed: h.failed}
		if h.begun.IsZero() {
			one.Failed = cmp.Or(one.Failed, "the load ended before it")
		} else if !start.IsZero() {
			one.At, one.Took = h.begun.Sub(start.Time).Seconds(), max(0, h.ended.Sub(h.begun).Seconds())
			if !h.undoBegun.IsZero() {
				one.Undone, one.UndoTook = h.undoBegun.Sub(start.Time).Seconds(), h.undoEnded.Sub(h.undoBegun).Seconds()
			}
			one.Unsure = (h.unsure + start.unsure + offsetOf(ctx, e.Target).unsure).Seconds()
		}
		a.rep.Upsets.Each = append(a.rep.Upsets.Each, one)
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
	s.judgeUpsets(a)
}

// heedUpsets has those who did not carry out the events see what came of them.
func (j *joint) heedUpsets(ctx context.Context) {
	var happened []happening
	for i, a := range j.attempts {
		if !j.sessions[i].Bystander {
			happened = append(happened, a.done.happened...)
		}
	}
	j.each(func(i int, s *Session) error {
		if a := j.attempts[i]; s.Bystander && a.done.job != nil {
			a.done.happened = happened
			s.heedUpsets(context.WithoutCancel(ctx), a)
		}
		return nil
	})
}

// judgeUpsets adds to a repetition what its events did to the rate.
func (s *Session) judgeUpsets(a *attempt) {
	if a.rep.Values == nil { // there is no result that it could be added to
		return
	}
	stall, recovery, dip := 0.0, 0.0, 0.0
	for i, f := range outage.Of(*a.rep.Upsets) {
		text := s.Upsets[i].Text()
		if f.Unknown != "" {
			a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "event-unknown", Taints: []string{"event.*"},
				Text: fmt.Sprintf("what the event %s did can't be told: %s", text, f.Unknown)})
			return
		}
		stall, dip = max(stall, f.Stall), max(dip, 1-f.Lowest)
		if f.Recovery != nil {
			recovery = max(recovery, *f.Recovery)
			continue
		}
		recovery = math.Inf(1)
		a.rep.Warnings = append(a.rep.Warnings, lab.Warning{Code: "not-recovered", Taints: []string{lab.UpsetRecovery},
			Text: fmt.Sprintf("after the event %s the rate was not back to %s of what it was when the load ended: "+
				"how long that takes is not known, and other repetitions alone would be too good; measure longer", text,
				unit.Percent(outage.Enough))})
	}
	a.rep.Values[lab.UpsetStall], a.rep.Values[lab.UpsetDip] = stall, dip
	if !math.IsInf(recovery, 0) {
		a.rep.Values[lab.UpsetRecovery] = recovery
	}
}

// untilUpset are series up to the first event: what comes after is no reason to doubt the load.
func (s *Session) untilUpset(all []lab.Series) []lab.Series {
	if len(s.Upsets) == 0 {
		return all
	}
	first := math.Inf(1)
	for _, u := range s.Upsets {
		first = min(first, u.At)
	}
	var cut []lab.Series
	for _, one := range all {
		one.Values = one.Values[:min(len(one.Values), int(first/one.Interval))]
		cut = append(cut, one)
	}
	return cut
}

// bySecond is a series in steps of a second.
func bySecond(s lab.Series) lab.Series {
	n := int(math.Round(1 / s.Interval))
	if n <= 1 {
		return s
	}
	long := lab.Series{Metric: s.Metric, Interval: 1}
	for i := 0; i+n <= len(s.Values); i += n {
		sum := 0.0
		for _, v := range s.Values[i : i+n] {
			sum += v
		}
		long.Values = append(long.Values, sum/float64(n))
	}
	return long
}
