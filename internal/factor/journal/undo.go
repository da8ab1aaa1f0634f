package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Undo puts back what the journal has changed, the last change first. It goes on after an error and returns all of
// them. It ignores the end of ctx: a run that is stopped must still leave the machine as it was.
//
// A value that is neither the old nor the new one was set by somebody else since. It is left as it is, reported, and
// stays in the journal, unless OnExternalChange says otherwise: whoever set it knows of it, and headroom does not.
// Where the change was never read back, because the process died in between, any value that is not the old one counts
// as headroom's own.
func (j *Journal) Undo(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for i := len(j.open) - 1; i >= 0; i-- {
		done, err := j.undoStep(ctx, j.open[i])
		errs = append(errs, err)
		if done {
			j.open = slices.Delete(j.open, i, i+1)
			continue
		}
		if errors.Is(err, errLost) {
			break
		}
	}
	for _, line := range j.damaged {
		errs = append(errs,
			&lab.Error{What: fmt.Sprintf("a line of %s can't be read, so what it changed can't be put back: %.60s",
				j.path, line),
				Hints: []string{"look at the file, put back by hand what it names, and delete it"}})
	}
	return errors.Join(errs...)
}

// Lost is the error of a setting that is not put back, because what it was of is not there any more. It is forgotten:
// what is there now is something else, whose settings others have chosen.
type Lost struct{ Was, Is string } // spot.Identities

func (l *Lost) Error() string {
	if l.Is == "" {
		return "it was of " + l.Was + ", which is gone"
	}
	return fmt.Sprintf("it was of %s; what is there now is %s, and is left alone", l.Was, l.Is)
}

// errLost marks an error after which going on is pointless: the target does not answer.
var errLost = errors.New("the target does not answer; its settings stay changed until headroom restore reaches it")

// commandLimit is how long one step of undoing may take, for targets that hang.
const commandLimit = 2 * time.Minute

// undoStep undoes a step. Done says that nothing of it is left to undo, which can be so beside an error.
func (j *Journal) undoStep(ctx context.Context, s *step) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	j.atStep("undo " + s.Factor)
	if j.unsure {
		if err := j.awaitWriters(ctx); err != nil {
			return false, err
		}
		j.unsure = false
	}
	if s.isOnce() {
		err := j.undoOnce(ctx, s)
		return err == nil, err
	}
	spots := []spot.Spot{{Kind: spot.InFile, Path: host.BootIDFile}}
	for _, p := range s.Spots {
		spots = append(spots, p.Spot)
	}
	readings, err := spot.Read(ctx, j.target, spots)
	if err != nil {
		return false, errors.Join(j.unreachable(err), errLost)
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
		return false, errors.Join(err, j.restore(ctx, s, back, nil))
	}
	if err := j.restore(ctx, s, back, s.Companions); err != nil {
		if j.externalChange == Accept {
			return j.ended(s, accepted, gone)
		}
		return false, err
	}
	return j.ended(s, undone, gone)
}

// ended writes down how a step ended.
func (j *Journal) ended(s *step, how string, gone error) (done bool, err error) {
	err = j.note(s, how)
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
	identities, err := spot.Identities(ctx, j.target, spots)
	if err != nil {
		return nil, nil, errors.Join(j.unreachable(err), errLost)
	}
	s.Companions = nil
	for i, p := range all {
		switch is := p.Of == "" || identities[i] == spot.Unknown || spot.SameIdentity(p.Of, identities[i]); {
		case is && i < len(back):
			there = append(there, p)
		case is:
			s.Companions = append(s.Companions, p)
		case i < len(back):
			gone = errors.Join(gone, &lab.Error{Target: host.RemoteName(j.target),
				What: fmt.Sprintf("%s was not put back from %q to %q", p.Spot, p.New, p.Old),
				Err:  &Lost{p.Of, identities[i]}})
		}
	}
	return there, gone, nil
}

// externalChanges are the spots whose value somebody else has set, with the error that reports them.
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
		errs = append(errs, &lab.Error{Kind: lab.Refused, Target: host.RemoteName(j.target),
			What: fmt.Sprintf("%s is %q now: somebody else has changed it since headroom set it to %q; it was %q "+
				"before, and is left alone", p.Spot, r.Value, p.New, p.Old),
			Hints: []string{"headroom restore --anyway puts back what was there before",
				"headroom restore --accept leaves it and forgets the change"}})
	}
	return keys, errors.Join(errs...)
}

// restore sets the old values, the last spot first, and then those that the kernel has changed along, and holds the
// values against what is there in the end.
func (j *Journal) restore(ctx context.Context, s *step, main, along []position) error {
	main = slices.Clone(main)
	slices.Reverse(main)
	all := append(main, along...)
	if len(all) == 0 {
		return nil
	}
	readings, failed, err := j.writeSpots(ctx, "undo", all, func(p position) string { return p.Old })
	if err != nil {
		return err
	}
	var errs []error
	for i, p := range all {
		gone := readings[i].Err != nil && i >= len(main) // with what it belonged to
		if gone || readings[i].Err == nil && spot.Same(readings[i].Value, p.Old) {
			continue
		}
		now := fmt.Sprintf("is %q", readings[i].Value)
		if readings[i].Err != nil {
			now = "can't be read (" + readings[i].Err.Error() + ")"
		}
		errs = append(errs, &lab.Error{What: fmt.Sprintf("%s was not put back: it %s and was %q", p.Spot, now, p.Old),
			Target: host.RemoteName(j.target), Err: failed[i],
			Hints: append(spot.HintsOf(failed[i]), "headroom restore tries it again; headroom restore --accept leaves "+
				"it and forgets the change")})
	}
	return errors.Join(errs...)
}

// awaitWriters waits until no command of this journal is running any more. One whose headroom was killed, or whose
// connection was cut, could still be about to write.
func (j *Journal) awaitWriters(ctx context.Context) error {
	blank := map[string]int{} // looks at which a process had no arguments
	for {
		running, err := j.writers(ctx, blank)
		if err != nil || len(running) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return &lab.Error{What: fmt.Sprintf("commands that change settings are still running: processes %s",
				strings.Join(running, ", ")),
				Target: host.RemoteName(j.target), Hints: []string{"end them, then: headroom restore"}}
		case <-time.After(writersPause):
		}
	}
}

// maxEmptyReads is how many times a process without arguments is taken for one that is becoming another program.
const maxEmptyReads = 50

const writersPause = 20 * time.Millisecond

// writers are the processes that have the journal's mark as an argument, and those that could: while a process becomes
// another program (execve) it has no arguments for a moment. Nor has a thread of the kernel, ever, or a process that
// hides them, so such processes are checked a limited number of times.
func (j *Journal) writers(ctx context.Context, blank map[string]int) ([]string, error) {
	entries, err := fs.ReadDir(j.target.FS(), "proc")
	if err != nil {
		return nil, errors.Join(j.unreachable(err), errLost)
	}
	var paths []string
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" {
			paths = append(paths, "/proc/"+e.Name()+"/cmdline")
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	read, err := j.target.ReadFiles(ctx, paths...)
	if err != nil {
		return nil, errors.Join(j.unreachable(err), errLost)
	}
	var running, stats []string
	for p, f := range read {
		pid := strings.Split(p, "/")[2]
		switch {
		case slices.ContainsFunc(bytes.Split(f.Data, []byte{0}), func(arg []byte) bool {
			return string(arg) == j.mark()
		}):
			running = append(running, pid)
		case f.Err == nil && len(f.Data) == 0 && blank[pid] < maxEmptyReads:
			stats = append(stats, "/proc/"+pid+"/stat")
		}
	}
	if len(stats) == 0 {
		return running, nil
	}
	if read, err = j.target.ReadFiles(ctx, stats...); err != nil {
		return nil, errors.Join(j.unreachable(err), errLost)
	}
	for _, p := range stats {
		pid := strings.Split(p, "/")[2]
		if blank[pid]++; read[p].Err != nil || noProgram(string(read[p].Data)) {
			blank[pid] = maxEmptyReads
			continue
		}
		running = append(running, pid)
	}
	return running, nil
}

// noProgram says whether a process is a thread of the kernel, or has ended and waits for its parent to take note, by
// its stat file:
//
//	2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0
//	4711 (sh) Z 1 4711 4711 0 -1 4194564 0 0 0 0
//	4712 (dd) R 4711 4711 4711 0 -1 4194304 0 0 0 0
//
// The seventh field after the name are the flags; PF_KTHREAD is 0x200000. Source: proc(5), and the kernel's
// include/linux/sched.h.
func noProgram(stat string) bool {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	const kernelThread = 0x200000
	return fields[0] == "Z" || fields[0] == "X" || err == nil && flags&kernelThread != 0
}
