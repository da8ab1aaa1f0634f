package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// doneLevel is the level of a step that is an announced command.
const doneLevel = "done"

// Announce puts on disk how to undo what a command is about to do. The caller runs the command; UndoOf undoes it, and
// Withdraw says that it was not run. Whether it was run can't be read, so after a crash it is undone in any case,
// perhaps twice: the undo command must be idempotent.
func (j *Journal) Announce(what string, undo []string) error {
	if len(undo) == 0 {
		return &lab.Error{Kind: lab.Usage, What: what + " has no command that undoes it"}
	}
	next := &step{Seq: j.record.seq + 1, Time: time.Now().UTC(), Factor: what, Level: doneLevel,
		Spots: []position{{Spot: spot.Spot{Kind: spot.OnceDone, Name: what, Commands: &spot.Commands{Undo: undo}}}}}
	return j.record.begin(next)
}

// UndoOf undoes the last change of a factor, or the last announced command of that name. Without one it does nothing.
// It ignores the end of ctx, as Undo does.
func (j *Journal) UndoOf(ctx context.Context, factor string) error {
	for i := len(j.record.open) - 1; i >= 0; i-- {
		if j.record.open[i].Factor != factor {
			continue
		}
		done, err := j.undoStep(context.WithoutCancel(ctx), j.record.open[i])
		if done {
			j.record.open = slices.Delete(j.record.open, i, i+1)
		}
		return err
	}
	return nil
}

// Withdraw forgets the last announced command of a name, which was not carried out.
func (j *Journal) Withdraw(what string) error {
	for i := len(j.record.open) - 1; i >= 0; i-- {
		if s := j.record.open[i]; s.Factor == what && s.isOnce() {
			j.record.open = slices.Delete(j.record.open, i, i+1)
			return j.record.note(s, undone)
		}
	}
	return nil
}

// isOnce reports whether a step is a command that was announced.
func (s *step) isOnce() bool { return len(s.Spots) == 1 && s.Spots[0].Kind == spot.OnceDone }

// undoOnce carries out the command that undoes another.
func (j *Journal) undoOnce(ctx context.Context, s *step) error {
	undo := s.Spots[0].Commands.Undo
	j.writer.atStep("undo by " + undo[0])
	out, err := j.writer.run(ctx, undo...)
	if err == nil && out.ExitCode == 0 {
		return j.record.note(s, undone)
	}
	if j.externalChange == Accept {
		return j.record.note(s, accepted)
	}
	fault := &lab.Error{What: fmt.Sprintf("%s was not undone", s.Factor),
		Target: host.RemoteName(j.writer.target), Command: undo,
		Output: strings.TrimSpace(string(out.Stderr)), Err: err,
		Hints: []string{"headroom restore tries it again; headroom restore --accept leaves it and forgets it"}}
	if err != nil {
		if own, ok := errors.AsType[*lab.Error](err); ok {
			fault.Err = own.Err // the command is told already
		}
		return errors.Join(fault, errLost)
	}
	return fault
}
