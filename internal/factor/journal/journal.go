// Package journal changes settings of a target and puts them back: the old value is on disk before a new one is set.
package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Journal changes settings of one target and puts them back. The old values are on disk, flushed, before new ones are
// set. A file is one journal, made for one run and removed when all of it is undone. It is locked while it is in use;
// the kernel releases the lock when the process ends, so a journal without one was left by a killed process.
//
// Its lines are JSON: a heading, then a line before each change and one after it, and one when it has been undone.
//
//	{"schema":"headroom/changes/v1","id":"7KQ4M2X9TD","target":"local","created":"2026-11-21T22:00:00Z","process":4711}
//	{"seq":1,"time":"…","factor":"queue:scheduler","level":"none","boot":"5e0c…","spots":[{"kind":"file","path":"/sys/block/sda/queue/scheduler","old":"mq-deadline","new":"none"}],"along":[{"kind":"file","path":"/sys/block/sda/queue/nr_requests","old":"256"}]}
//	{"seq":1,"time":"…","did":"applied"}
//	{"seq":1,"time":"…","did":"undone"}
type Journal struct {
	record         *record
	writer         *writer
	locker         *locker
	keeper         keeper
	externalChange ExternalChange
}

func newJournal(r *record, t host.Target) *Journal {
	w := &writer{target: t, mark: "headroom-" + r.head.ID, atStep: r.atStep}
	return &Journal{record: r, writer: w, locker: newLocker(r, w), keeper: keeper{writer: w}}
}

// ExternalChange is what Undo does about a value that another program has changed since.
type ExternalChange int

// What Undo can do about such a value.
const (
	Report  ExternalChange = iota // leave it, say so, and keep the change in the journal
	Restore                       // put back what was there before the change all the same
	Accept                        // leave it, and forget the change
)

// AtStep sets a function that is called before every step of a change and of its undoing, with the step's name, so that
// tests can kill the process there.
func (j *Journal) AtStep(f func(step string)) { j.record.atStep, j.writer.atStep = f, f }

// For sets the command that the journal is made for, as typed. A run that finds a setting locked shows it.
func (j *Journal) For(command string) { j.locker.holder.Command = shortened(command) }

// OnExternalChange sets what Undo does about a value that another program has changed since. The default is Report.
func (j *Journal) OnExternalChange(f ExternalChange) { j.externalChange = f }

// ID returns the ID of the journal.
func (j *Journal) ID() string { return j.record.head.ID }

// Target returns the name of the target that the journal is about.
func (j *Journal) Target() string { return j.record.head.Target }

// Change makes a level of a setting effective: it reads what is there, writes that to the journal, sets the new values,
// and reads them back. A level that does not become effective is an error, and the change is undone. The level Found
// changes nothing; a level that is in effect already is verified and nothing more.
func (j *Journal) Change(ctx context.Context, s scheme.Setting, level string) error {
	if level == scheme.Found {
		return nil
	}
	if err := factor.Check(s.Factor, level); err != nil {
		return err
	}
	if s.At != nil {
		own, err := s.At(ctx, level)
		if err != nil {
			return err
		}
		s = own
	}
	wanted, err := s.Wanted(level)
	if err != nil {
		return err
	}
	if err := j.keeper.refuse(ctx, s); err != nil {
		return err
	}
	if err := j.Lock(ctx, s); err != nil {
		return err
	}
	next, err := j.newStep(ctx, s, level, wanted)
	if err != nil {
		return err
	}
	if next == nil {
		return nil
	}
	if err := j.record.begin(next); err != nil {
		return err
	}
	err = j.apply(ctx, s, next)
	if err == nil {
		next.applied = true
		return j.record.note(next, applied)
	}
	return errors.Join(err, j.undoFailed(ctx, next))
}

// undoFailed undoes a step that failed.
func (j *Journal) undoFailed(ctx context.Context, failed *step) error {
	ctx = context.WithoutCancel(ctx)
	done, err := j.undoStep(ctx, failed)
	if done {
		j.record.open = j.record.open[:len(j.record.open)-1]
	}
	return err
}

// newStep reads what is there and makes the record of a change; nil where nothing has to be changed.
func (j *Journal) newStep(ctx context.Context, s scheme.Setting, level string, wanted []string) (*step, error) {
	along := without(s.Companions, s.Spots)
	all := slices.Concat(s.Spots, along, []spot.Spot{{Kind: spot.InFile, Path: host.BootIDFile}})
	readings, err := spot.Read(ctx, j.writer.target, all)
	if err != nil {
		return nil, j.writer.unreachable(err)
	}
	identities, err := spot.Identities(ctx, j.writer.target, all)
	if err != nil {
		return nil, j.writer.unreachable(err)
	}
	for i, of := range identities {
		if of == spot.Unknown {
			identities[i] = ""
		}
	}
	next := &step{Seq: j.record.seq + 1, Time: time.Now().UTC(), Factor: s.Factor, Level: level,
		Boot: readings[len(all)-1].Value}
	differs := false
	for i, place := range s.Spots {
		if r := readings[i]; r.Err != nil {
			return nil, &lab.Error{What: s.Factor + " can't be changed: what is there can't be read",
				Target: host.RemoteName(j.writer.target), Err: r.Err, Hints: spot.HintsOf(r.Err)}
		}
		if !storable(readings[i].Value) {
			return nil, &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s is refused: %s holds more than a line of text, which is not written back as it "+
					"was", s.Factor, place)}
		}
		differs = differs || readings[i].Err != nil || !spot.Same(readings[i].Value, wanted[i])
		next.Spots = append(next.Spots,
			position{Spot: place, Of: identities[i], Old: readings[i].Value, New: wanted[i]})
	}
	if !differs {
		return nil, nil
	}
	for i, place := range along {
		if at := len(s.Spots) + i; readings[at].Err == nil && storable(readings[at].Value) {
			next.Companions = append(next.Companions,
				position{Spot: place, Of: identities[at], Old: readings[at].Value})
		}
	}
	return next, nil
}

// storable reports whether a value can be written down and written back: one line of text.
func storable(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsAny(value, "\n\x00")
}

// without leaves out spots that are in a second list or twice in the first.
func without(spots, others []spot.Spot) []spot.Spot {
	seen := map[string]bool{}
	for _, s := range others {
		seen[s.Key()] = true
	}
	var left []spot.Spot
	for _, s := range spots {
		if !seen[s.Key()] {
			seen[s.Key()] = true
			left = append(left, s)
		}
	}
	return left
}

// apply sets the values of a step, and compares what is in effect with what was requested.
func (j *Journal) apply(ctx context.Context, s scheme.Setting, next *step) error {
	readings, failed, err := j.writer.set(ctx, "change", next.Spots, func(p position) string { return p.New })
	if err != nil {
		return err
	}
	var values []string
	missed := false
	for i, p := range next.Spots {
		values = append(values, readings[i].Value)
		missed = missed || readings[i].Err != nil || !spot.Same(readings[i].Value, p.New)
	}
	switch cause := errors.Join(failed...); {
	case ctx.Err() != nil:
		return ctx.Err()
	case missed && cause != nil:
		return cause
	case missed:
		return &lab.Error{What: fmt.Sprintf("%s is %q, and %q was asked for", s.Factor, s.LevelOf(values), next.Level),
			Target: host.RemoteName(j.writer.target),
			Hints: []string{"the kernel or the driver takes another value than it is given: headroom factors " +
				s.Factor + " shows what is possible"}}
	}
	if err := j.keeper.restore(ctx, next); err != nil {
		return err
	}
	if s.Later != nil {
		next.effective, err = s.Later(ctx, next.Level)
	}
	return err
}

// CheckInEffect returns an error if a change is no longer in effect: a later change can have undone an earlier one, and
// an interrupt moves when it next comes. Call it before a load and after it.
func (j *Journal) CheckInEffect(ctx context.Context) error {
	newest := map[string]position{}
	factors := map[string]string{}
	var order []spot.Spot
	for _, s := range j.record.open {
		for _, p := range s.Spots {
			if _, ok := newest[p.Key()]; !ok {
				order = append(order, p.Spot)
			}
			newest[p.Key()], factors[p.Key()] = p, s.Factor
		}
	}
	readings, err := spot.Read(ctx, j.writer.target, order)
	if err != nil {
		return errors.Join(j.writer.unreachable(err), errLost)
	}
	var errs []error
	for i, place := range order {
		p := newest[place.Key()]
		if readings[i].Err == nil && spot.Same(readings[i].Value, p.New) {
			continue
		}
		errs = append(errs, &lab.Error{What: fmt.Sprintf("%s is no longer in effect: %s is %q and was set to %q",
			factors[place.Key()], place, readings[i].Value, p.New),
			Target: host.RemoteName(j.writer.target), Err: readings[i].Err,
			Hints: []string{"two factors that change one thing can't be varied together"}})
	}
	for _, s := range j.record.open {
		if s.effective != nil {
			errs = append(errs, s.effective(ctx))
		}
	}
	return errors.Join(errs...)
}
