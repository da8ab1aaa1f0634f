package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/runner/engine"
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

// storage are the loads of fio's on the place: a directory with its scratch file, a device, or no place.
type storage struct {
	target  host.Target
	program string // the path of fio; empty for the one on the PATH
	place   lab.Place
	claim   Claim
	// rateStep is the step in which loads print their rates; 0 means that a second is fine enough.
	rateStep time.Duration
	loads    *loads
	scratch  *scratchFile
	// layout is what the place holds, layouts is how often that was changed.
	layout  lab.LayoutState
	layouts int
}

func newStorage(m Measurement, rateStep time.Duration, ls *loads) *storage {
	s := &storage{target: m.Target, program: m.Program, place: m.Place, claim: m.Claim, rateStep: rateStep, loads: ls,
		scratch: newScratchFile(m)}
	if m.Blank {
		s.laidOut(discarded, 0)
	}
	for _, r := range m.Saved {
		if id, err := strconv.Atoi(r.Layout.ID); err == nil {
			s.layouts = max(s.layouts, id)
		}
	}
	if m.Place.Kind == lab.Directory && m.SharedScratch != nil {
		s.layout = m.SharedScratch.State
	}
	return s
}

// prepare carries out the steps before the load.
func (s *storage) prepare(ctx context.Context, cell Cell) (preparation, error) {
	var p preparation
	steps := cell.Steps
	if s.scratch.access.Shared && cell.Params["ioengine"] != "null" && !slices.Contains(steps, lab.Layout) {
		steps = slices.Concat([]lab.Step{lab.Layout}, steps) // fio is not to make the file
	}
	for _, step := range steps {
		var err error
		switch step {
		case lab.Layout:
			err = s.layOut(ctx, &p)
		case lab.Discard:
			err = s.discard(ctx, &p)
		case lab.Fill:
			err = s.fill(ctx, &p)
		case lab.Load, lab.CleanUp: // the load comes next; cleaning up is done once, at the end of the run
		default:
			err = &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s has the step %q, which is not known", cell.Title,
				step)}
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// load returns fio on the place.
func (s *storage) load(ctx context.Context, cell Cell, e engine.Engine) (load, error) {
	if s.place.Kind == lab.Device && !fio.OnlyReads(cell.Params) {
		if err := s.mayWrite(); err != nil {
			return load{}, err
		}
	}
	if err := errors.Join(s.scratch.make(ctx, &preparation{}), s.scratch.checkSame()); err != nil {
		return load{}, err
	}
	l := fioLoad(cell.Job, LoadParams(s.place, cell.Params, s.scratch.size),
		fio.Options{Program: s.program, Filename: s.filename(), Together: s.place.Members, Fine: s.rateStep},
		s.passedName())
	l.engine, l.spec.Env, l.argv = e, cell.Environment, shellCommand(cell.Cell, l.argv)
	l.doing, l.expected, l.cell = cell.Title, cell.Expected, &cell
	l.movesData = movesData(cell.Params, s.place)
	if l.expected == 0 {
		l.slowest = slowestTime(cell.Params, s.size())
	}
	return l, nil
}

// end does nothing: cleaning up is done once, at the end of the run.
func (s *storage) end(context.Context, Cell) []lab.Warning { return nil }

// checkLayout forgets the layout where the scratch file is not there any more.
func (s *storage) checkLayout(ctx context.Context) error {
	if s.layout.Kind != written {
		return nil // a device keeps what it holds
	}
	out, err := s.target.Run(ctx, "stat", "-c", "%s", "--", s.scratch.path)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(out.Stdout)) != strconv.FormatInt(s.scratch.size, 10) {
		s.layout = lab.LayoutState{}
		return s.scratch.reset(ctx)
	}
	return nil
}

// reopen opens a scratch file that was laid out, and reports whether it is still the same.
func (s *storage) reopen() (bool, error) {
	if s.layout.Kind != written {
		return true, nil
	}
	return s.scratch.open()
}

// layOut writes the scratch file, once for all cells and repetitions, with data that neither compresses nor repeats.
func (s *storage) layOut(ctx context.Context, p *preparation) error {
	if s.layout.Kind == written {
		return nil
	}
	if err := s.scratch.make(ctx, p); err != nil {
		return err
	}
	doing := "laying out " + unit.Bytes(float64(s.scratch.size))
	if err := s.writeAll(ctx, p, doing, lab.Layout); err != nil {
		return err
	}
	s.laidOut(written, s.scratch.size)
	return nil
}

// discard tells the device that none of its blocks is in use.
func (s *storage) discard(ctx context.Context, p *preparation) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	p.did = append(p.did, "discard "+s.place.Path)
	s.loads.report(Progress{Doing: "discarding " + s.place.Path, Begins: true})
	err := s.claim.Discard(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		s.loads.outcome.warnOnce(lab.Warning{Code: "discard-unsupported", Taints: []string{"write.*"},
			Text: s.place.Path + " does not support discard, so each write test ran on what the one before it left; " +
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
func (s *storage) fill(ctx context.Context, p *preparation) error {
	if s.layout.Kind == filled {
		return nil
	}
	if err := s.mayWrite(); err != nil {
		return err
	}
	doing := "filling " + s.place.Path + " (" + unit.Capacity(float64(s.place.Size)) + ")"
	if err := s.writeAll(ctx, p, doing, lab.Fill); err != nil {
		return err
	}
	s.laidOut(filled, s.place.Size)
	return nil
}

// mayWrite asks whether the device is still the one that was proved empty.
func (s *storage) mayWrite() error {
	if s.claim == nil {
		return &lab.Error{Kind: lab.Refused, What: s.place.Path + " was not proved empty, so nothing is written to it"}
	}
	return s.claim.MayWrite()
}

func (s *storage) laidOut(kind string, bytes int64) {
	s.layouts++
	s.layout = lab.LayoutState{Kind: kind, ID: fmt.Sprint(s.layouts), Written: time.Now(), Bytes: bytes}
}

// writeAll has fio write to the scratch file or the device from end to end.
func (s *storage) writeAll(ctx context.Context, p *preparation, doing string, step lab.Step) error {
	path := s.filename()
	params := WriteAllParams(step, s.scratch.size)
	began := time.Now()
	defer func() { p.shared += time.Since(began) }()
	l := fioLoad(string(step), params, fio.Options{Program: s.program, Filename: path}, s.passedName())
	l.doing, l.movesData, l.slowest = doing, true, slowestTime(params, s.size())
	done, err := s.loads.run(ctx, l)
	if err != nil {
		return err
	}
	defer done.Cleanup(ctx)
	p.did = append(p.did, ShownCommand(string(step), params, path))
	if done.TimedOut {
		return &lab.Error{What: fmt.Sprintf("%s had not ended after %s, and was", doing, unit.Duration(done.Limit)),
			Target: host.RemoteName(s.target), Command: done.Argv,
			Hints: []string{"look at the kernel's log for a device that does not answer"}}
	}
	if done.State.ExitCode != 0 {
		e := &lab.Error{What: doing + " failed", Target: host.RemoteName(s.target), Command: done.Argv,
			Output: lab.HeadLines(done.OutputText(), 5)}
		if strings.Contains(done.OutputText(), "No space left") {
			e.Hints = []string{"free some space, or take a smaller file with --size"}
		}
		return e
	}
	return nil
}

// filename returns what loads work on: the scratch file, the device, or nothing.
func (s *storage) filename() string {
	if s.place.Kind == lab.Device {
		return s.place.Resolved
	}
	return s.scratch.path
}

// passedName returns filename as the load generator gets it.
func (s *storage) passedName() string {
	if s.place.Kind == lab.Device {
		return s.place.Resolved
	}
	return s.scratch.passedName()
}

// size returns the size of the scratch file or the device.
func (s *storage) size() int64 {
	if s.place.Kind == lab.Directory {
		return s.scratch.size
	}
	return s.place.Size
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
