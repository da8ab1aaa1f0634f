package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// The states of a layout; see lab.LayoutState.
const (
	nothing   = "none"
	discarded = "discarded"
	filled    = "fill"
	written   = "file"
)

// prepare carries out the steps before the load.
func (s *Session) prepare(ctx context.Context, cell Cell) error {
	if _, network := served.Of(cell.Engine); network {
		return s.network.prepare(ctx, cell)
	}
	if cell.Engine == lab.EngineExec {
		did, err := s.commands.prepare(ctx, cell)
		s.entrySteps = append(s.entrySteps, did...)
		return err
	}
	steps := cell.Steps
	if s.dirAccess.Shared && cell.Params["ioengine"] != "null" && !slices.Contains(steps, lab.Layout) {
		steps = slices.Concat([]lab.Step{lab.Layout}, steps) // fio is not to make the file
	}
	for _, step := range steps {
		var err error
		switch step {
		case lab.Layout:
			err = s.layOut(ctx)
		case lab.Discard:
			err = s.discard(ctx)
		case lab.Fill:
			err = s.fill(ctx)
		case lab.Load, lab.CleanUp: // the load comes next; cleaning up is done once, at the end of the run
		default:
			err = &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s has the step %q, which is not known", cell.Title,
				step)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// layOut writes the scratch file, once for all cells and repetitions, with data that neither compresses nor repeats.
func (s *Session) layOut(ctx context.Context) error {
	if s.layout.Kind == written {
		return nil
	}
	if err := s.makeScratch(ctx); err != nil {
		return err
	}
	doing := "laying out " + unit.Bytes(float64(s.Scratch))
	if err := s.writeAll(ctx, doing, lab.Layout); err != nil {
		return err
	}
	s.laidOut(written, s.Scratch)
	return nil
}

// discard tells the device that none of its blocks is in use.
func (s *Session) discard(ctx context.Context) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	s.entrySteps = append(s.entrySteps, "discard "+s.Place.Path)
	s.report(Progress{Doing: "discarding " + s.Place.Path, Begins: true})
	err := s.Claim.Discard(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		s.warnOnce(lab.Warning{Code: "discard-unsupported", Taints: []string{"write.*"},
			Text: s.Place.Path + " does not support discard, so each write test ran on what the one before it left; " +
				"compare write tests only in the same order"})
		s.laidOut(nothing, 0)
		return nil
	}
	if err != nil {
		return err
	}
	s.laidOut(discarded, 0)
	return nil
}

// fill writes the whole device once, so that no read finds a block that was never written.
func (s *Session) fill(ctx context.Context) error {
	if s.layout.Kind == filled {
		return nil
	}
	if err := s.mayWrite(); err != nil {
		return err
	}
	doing := "filling " + s.Place.Path + " (" + unit.Capacity(float64(s.Place.Size)) + ")"
	if err := s.writeAll(ctx, doing, lab.Fill); err != nil {
		return err
	}
	s.laidOut(filled, s.Place.Size)
	return nil
}

// mayWrite asks whether the device is still the one that was proved empty.
func (s *Session) mayWrite() error {
	if s.Claim == nil {
		return &lab.Error{Kind: lab.Refused, What: s.Place.Path + " was not proved empty, so nothing is written to it"}
	}
	return s.Claim.MayWrite()
}

func (s *Session) laidOut(kind string, bytes int64) {
	s.layoutCount++
	s.layout = lab.LayoutState{Kind: kind, ID: fmt.Sprint(s.layoutCount), Written: time.Now(), Bytes: bytes}
}

// writeAll has fio write to the scratch file or the device from end to end.
func (s *Session) writeAll(ctx context.Context, doing string, step lab.Step) error {
	path := s.filename()
	params := WriteAllParams(step, s.Scratch)
	began := time.Now()
	defer func() { s.preparationTime += time.Since(began) }()
	l := fioLoad(string(step), params, fio.Options{Program: s.Program, Filename: path}, s.passedFilename())
	l.doing, l.movesData, l.slowest = doing, true, slowestTime(params, s.size())
	done, err := s.loads.run(ctx, l)
	if err != nil {
		return err
	}
	defer done.Cleanup(ctx)
	s.entrySteps = append(s.entrySteps, ShownCommand(string(step), params, path))
	if done.TimedOut {
		return &lab.Error{What: fmt.Sprintf("%s had not ended after %s, and was", doing, unit.Duration(done.Limit)),
			Target: host.RemoteName(s.Target), Command: done.Argv,
			Hints: []string{"look at the kernel's log for a device that does not answer"}}
	}
	if done.State.ExitCode != 0 {
		e := &lab.Error{What: doing + " failed", Target: host.RemoteName(s.Target), Command: done.Argv,
			Output: lab.HeadLines(done.OutputText(), 5)}
		if strings.Contains(done.OutputText(), "No space left") {
			e.Hints = []string{"free some space, or take a smaller file with --size"}
		}
		return e
	}
	return nil
}

// size is that of what loads work on.
func (s *Session) size() int64 {
	if s.Place.Kind == lab.Directory {
		return s.Scratch
	}
	return s.Place.Size
}

// WriteAllParams are the parameters of the load that lays out a scratch file of a size or fills a device.
func WriteAllParams(step lab.Step, scratch int64) map[string]string {
	params, _ := suite.StepLoad(step)
	if step == lab.Layout {
		params["size"] = fmt.Sprint(scratch)
	}
	return params
}

// ShownCommand is a load's command line as plans and records show it: without the files that headroom has fio write for
// itself.
func ShownCommand(name string, params map[string]string, path string) string {
	return lab.ShellQuote(fio.Argv(name, params, fio.Options{Filename: path}))
}

// cleanUp leaves the place as it was found. It goes on after an error and reports all of them.
func (s *Session) cleanUp() error {
	if s.outcome.Aborted {
		return nil // a load that could not be killed has files open; the next start looks again
	}
	if s.machines.lost(context.Background()) != nil {
		s.outcome.Aborted = true // what is left there, if it did not go with the target, is for the next start, too
		return nil
	}
	return errors.Join(s.removeScratch(context.Background()), s.commands.remove(context.Background()))
}

func (s *Session) warnOnce(w lab.Warning) {
	if !slices.ContainsFunc(s.outcome.Warnings, func(o lab.Warning) bool {
		return o.Code == w.Code && o.Text == w.Text
	}) {
		s.outcome.Warnings = append(s.outcome.Warnings, w)
	}
}
