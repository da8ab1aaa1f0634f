package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Undo restores what the journal has changed, the last change first. It continues after an error and returns all
// errors. It ignores the end of ctx: a run that is stopped must still restore the machine.
//
// A value that is neither the old nor the new one was set by another program. Undo leaves it alone and reports it, and
// the change stays in the journal, unless OnExternalChange has set something else: whoever set it knows why, and
// headroom does not. If the change was never read back, because the process died in between, any value that is not the
// old one counts as headroom's own.
func (j *Journal) Undo(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for i := len(j.record.open) - 1; i >= 0; i-- {
		done, err := j.undoStep(ctx, j.record.open[i])
		errs = append(errs, err)
		if done {
			j.record.open = slices.Delete(j.record.open, i, i+1)
			continue
		}
		if errors.Is(err, errLost) {
			break
		}
	}
	for _, line := range j.record.damaged {
		errs = append(errs,
			&lab.Error{What: fmt.Sprintf("a line of %s can't be read, so what it changed can't be put back: %.60s",
				j.record.path, line),
				Hints: []string{"look at the file, put back by hand what it names, and delete it"}})
	}
	return errors.Join(errs...)
}

// Lost is the error of a setting that is not put back, because its device or adapter is gone. The change is forgotten:
// whatever is in that place now has settings that others have chosen.
type Lost struct{ Was, Is string } // spot.Identities

func (l *Lost) Error() string {
	if l.Is == "" {
		return "it was of " + l.Was + ", which is gone"
	}
	return fmt.Sprintf("it was of %s; what is there now is %s, and is left alone", l.Was, l.Is)
}

// errLost marks an error after which Undo stops: the target does not answer.
var errLost = errors.New("the target does not answer; its settings stay changed until headroom restore reaches it")

// commandLimit is how long one step of undoing may take, for targets that hang.
const commandLimit = 2 * time.Minute

// undoStep undoes a step. Done says that nothing of it is left to undo, which can be so beside an error.
func (j *Journal) undoStep(ctx context.Context, s *step) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	j.writer.atStep("undo " + s.Factor)
	if err := j.writer.settle(ctx); err != nil {
		return false, err
	}
	if s.isOnce() {
		err := j.undoOnce(ctx, s)
		return err == nil, err
	}
	spots := []spot.Spot{{Kind: spot.InFile, Path: host.BootIDFile}}
	for _, p := range s.Spots {
		spots = append(spots, p.Spot)
	}
	readings, err := spot.Read(ctx, j.writer.target, spots)
	if err != nil {
		return false, errors.Join(j.writer.unreachable(err), errLost)
	}
	back := s.Spots
	if boot := readings[0].Value; s.Boot != "" && boot != "" && boot != s.Boot {
		back = slices.DeleteFunc(slices.Clone(back), func(p position) bool { return !p.OutlivesBoot() })
		if len(back) == 0 {
			return j.ended(s, rebooted, nil)
		}
		s.Companions = nil
	}
	back, gone, err := j.withoutLost(ctx, s, back)
	if err != nil {
		return false, err
	}
	if len(back) == 0 {
		return j.ended(s, replaced, gone)
	}
	external, err := j.externalChanges(s, back, readings[1:])
	if len(external) > 0 && j.externalChange == Accept {
		return j.ended(s, accepted, gone)
	}
	if len(external) > 0 {
		back = slices.DeleteFunc(slices.Clone(back), func(p position) bool {
			return slices.Contains(external, p.Key())
		})
		return false, errors.Join(err, j.writer.restore(ctx, back, nil))
	}
	if err := j.writer.restore(ctx, back, s.Companions); err != nil {
		if j.externalChange == Accept {
			return j.ended(s, accepted, gone)
		}
		return false, err
	}
	return j.ended(s, undone, gone)
}

// ended writes down how a step ended.
func (j *Journal) ended(s *step, how string, gone error) (done bool, err error) {
	err = j.record.note(s, how)
	return err == nil, errors.Join(err, gone)
}

// withoutLost leaves out what is of something that is not there any more, with the error that reports it, and drops
// such companions of the step.
func (j *Journal) withoutLost(ctx context.Context, s *step, back []position) (there []position, gone, err error) {
	all := slices.Concat(back, s.Companions)
	spots := make([]spot.Spot, len(all))
	for i, p := range all {
		spots[i] = p.Spot
	}
	identities, err := spot.Identities(ctx, j.writer.target, spots)
	if err != nil {
		return nil, nil, errors.Join(j.writer.unreachable(err), errLost)
	}
	s.Companions = nil
	for i, p := range all {
		switch is := p.Of == "" || identities[i] == spot.Unknown || spot.SameIdentity(p.Of, identities[i]); {
		case is && i < len(back):
			there = append(there, p)
		case is:
			s.Companions = append(s.Companions, p)
		case i < len(back):
			gone = errors.Join(gone, &lab.Error{Target: host.RemoteName(j.writer.target),
				What: fmt.Sprintf("%s was not put back from %q to %q", p.Spot, p.New, p.Old),
				Err:  &Lost{p.Of, identities[i]}})
		}
	}
	return there, gone, nil
}

// externalChanges returns the keys of the spots whose value another program has set, with the error that reports them.
func (j *Journal) externalChanges(s *step, back []position, readings []spot.Reading) ([]string, error) {
	if !s.applied || j.externalChange == Restore {
		return nil, nil
	}
	var keys []string
	var errs []error
	for i, p := range s.Spots {
		r := readings[i]
		ours := r.Err != nil || spot.Same(r.Value, p.Old) || spot.Same(r.Value, p.New)
		if ours || !slices.ContainsFunc(back, func(b position) bool { return b.Key() == p.Key() }) {
			continue
		}
		keys = append(keys, p.Key())
		errs = append(errs, &lab.Error{Kind: lab.Refused, Target: host.RemoteName(j.writer.target),
			What: fmt.Sprintf("%s is %q now: something else has changed it since headroom set it to %q; it was %q "+
				"before, and is left alone", p.Spot, r.Value, p.New, p.Old),
			Hints: []string{"headroom restore --anyway puts back what was there before",
				"headroom restore --accept leaves it and forgets the change"}})
	}
	return keys, errors.Join(errs...)
}
