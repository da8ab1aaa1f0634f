package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/runner/recorder"
	"github.com/headroom/headroom/internal/validity"
)

// Profiling is what is recorded beside the repetitions of a measurement.
type Profiling struct {
	lab.ProfileTerms
	// Recorder has the program that records on the target, and returns its path there. Its error is why there is none.
	Recorder func(ctx context.Context) (string, error)
	// Kept is how many loads of each cell an earlier part of the run has profiled.
	Kept map[ProfiledPart]int
	// Only says of a cell whether it is worth profiling now; nil for always.
	Only func(lab.Cell) bool
}

// ProfiledPart is what is recorded of a cell.
type ProfiledPart struct {
	Cell string
	Part profile.Part
}

// profiler has loads of a session's cells recorded, beside their repetitions.
type profiler struct {
	terms    *Profiling
	place    lab.Place
	machines *machines
	loads    *loads
	storage  *storage
	// recorded is the number of loads that were recorded of each cell.
	recorded map[ProfiledPart]int
	// program records, in one boot of the target.
	program, boot string
}

func newProfiler(m Measurement, all *machines, ls *loads, s *storage) *profiler {
	p := &profiler{terms: m.Profile, place: m.Place, machines: all, loads: ls, storage: s,
		recorded: map[ProfiledPart]int{}}
	maps.Copy(p.recorded, m.Profile.Kept)
	return p
}

// CanProfile reports whether loads of a cell can be profiled: only fio's are counted in I/Os.
func CanProfile(c lab.Cell) bool { return lab.ByFio(c.Engine) }

// ProfiledCell is a cell as a part of it is profiled.
func ProfiledCell(c Cell, part profile.Part) Cell {
	c.Params, c.Expected, _ = recorder.Profiled(c.Params, part)
	return c
}

// ProfiledTime is how long the profiled loads of a cell are expected to take, one of each part; 0 where it is unknown.
func ProfiledTime(c Cell) time.Duration {
	sum := time.Duration(0)
	for _, part := range profile.Parts() {
		load := ProfiledCell(c, part)
		if load.Expected == 0 {
			return 0
		}
		sum += load.Expected + recorder.Around
	}
	return sum
}

// wants reports whether a cell is worth profiling now.
func (p *profiler) wants(c lab.Cell) bool { return p.terms.Only == nil || p.terms.Only(c) }

// enough reports whether a cell has all of its profiled loads. One that can't be profiled has one, with the reason.
func (p *profiler) enough(c lab.Cell, part profile.Part) bool {
	n := p.recorded[ProfiledPart{c.ID, part}]
	if !CanProfile(c) {
		return n > 0 || part != profile.Time
	}
	return n >= p.terms.Loads
}

// load carries out a load of a repetition's cell and has it recorded. An error ends the run.
func (p *profiler) load(ctx context.Context, beside *attempt, part profile.Part) (profile.Load, error) {
	l := profile.Load{Cell: beside.cell.ID, Arm: beside.cell.Arm, Number: beside.rep.Number, Boot: p.machines.boot,
		Part: part, Start: time.Now(), Values: map[string]float64{}}
	if !CanProfile(beside.cell.Cell) {
		l.Failed = "only loads of fio's are profiled"
		return l, nil
	}
	err := p.record(ctx, beside.cell, part, &l)
	switch {
	case err == nil:
	case p.machines.lost(ctx) != nil: // of which the next repetition hears, too
		p.loads.outcome.Aborted = false
	case p.loads.outcome.Aborted || ctx.Err() != nil ||
		slices.Contains([]lab.Kind{lab.Gate, lab.Refused, lab.Cancelled}, lab.KindOf(err)):
		return l, err
	}
	if err != nil {
		l.Failed = lab.Shorten(err.Error(), engine.MaxQuoted, 0)
	}
	return l, nil
}

// record carries out a load of a cell while a recorder is there, and takes down what both say. The place is
// prepared as for a repetition.
func (p *profiler) record(ctx context.Context, c Cell, part profile.Part, l *profile.Load) (err error) {
	cell := ProfiledCell(c, part)
	doing := fmt.Sprintf("profiling %s, %s, %d of %d", c.Title, part, 1+p.recorded[ProfiledPart{c.ID, part}],
		p.terms.Loads)
	expected := cell.Expected
	if expected > 0 {
		expected += recorder.Around
	}
	p.loads.report(Progress{Doing: doing, Begins: true, Profiling: true, Left: expected})
	p.loads.rest(ctx)
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	if err := p.machines.writes.check(); err != nil {
		return err
	}
	if _, err := p.storage.prepare(ctx, cell); err != nil {
		return err
	}
	e, err := engine.Of(cell.Cell, 0)
	if err != nil {
		return err
	}
	load, err := p.storage.load(ctx, cell, e)
	if err != nil {
		return err
	}
	load.doing, load.cell = doing, nil
	r, err := p.start(ctx, c, part)
	if r != nil {
		defer func() {
			if left := r.End(ctx); left != nil {
				p.loads.outcome.Aborted, err = true, errors.Join(err, left)
			}
		}()
	}
	if err != nil {
		return err
	}
	if r.Done(ctx) { // the machine refuses all that would be recorded
		l.Recording, err = r.Recording(ctx)
		return err
	}
	load.enough = r.Done
	if cell.Expected > 0 { // which is when its recorder should be done
		load.timeout = p.loads.limit(load) + recorder.MaxProfiled
	}
	l.Start, l.Block = time.Now(), fio.BlockSize(cell.Params)
	done, err := p.loads.run(ctx, load)
	if err != nil {
		return err
	}
	defer done.Cleanup(context.WithoutCancel(ctx))
	if err := readProfiled(ctx, e, cell, done, l); err != nil {
		return err
	}
	if l.Recording, err = r.Recording(ctx); err != nil {
		return err
	}
	if !fio.CountedByKernel(cell.Params) {
		l.Recording.ForgetCounts()
	}
	idle, err := cost.Idle(*l)
	if idle {
		err = errors.New("the load did no I/O while it was recorded")
	}
	return err
}

// start starts the recorder of the next load.
func (p *profiler) start(ctx context.Context, c Cell, part profile.Part) (*recorder.Recorder, error) {
	program, err := p.recorderProgram(ctx)
	if err != nil {
		return nil, err
	}
	_, _, window := recorder.Profiled(c.Params, part)
	p.loads.count++
	return recorder.Start(ctx, recorder.Spec{Target: p.loads.target, Program: program,
		ID: p.loads.jobID(p.loads.count), Load: p.loads.jobID(p.loads.count + 1),
		Part: part, Hz: p.terms.Hz, Window: window, Place: p.place, Trims: fio.Trims(c.Params)})
}

// recorderProgram is the recorder on the machine. What was copied there is gone when that was started again.
func (p *profiler) recorderProgram(ctx context.Context) (string, error) {
	at := p.machines.boot + p.machines.generations()[0]
	if p.program == "" || p.boot != at {
		program, err := p.terms.Recorder(ctx)
		if err != nil {
			return "", err
		}
		p.program, p.boot = program, at
	}
	return p.program, nil
}

// readProfiled takes from a profiled load that has ended what its load generator says, and judges its end: the error
// is why nothing of it counts. What a load prints is an extra. One that was ended because its recorder was done may
// print nothing, crash, or have to be killed: fio does all of that.
func readProfiled(ctx context.Context, e engine.Engine, c Cell, done finished, l *profile.Load) error {
	rep, evidence := lab.Repetition{Cell: c.ID}, validity.Evidence{Cell: c.Cell}
	e.Read(ctx, done.Ended, &rep, &evidence)
	l.Seconds = done.State.Ended.Sub(done.State.Started).Seconds()
	if len(rep.Values) > 0 {
		l.Values = rep.Values
	}
	failed := slices.ContainsFunc(evidence.Group.Jobs, func(j fio.Job) bool {
		return j.Error != 0 || j.TotalErrors > 0
	})
	switch {
	case done.TimedOut:
		return fmt.Errorf("the load had not ended after %s", done.Limit)
	case done.Flood > 0:
		return errors.New("the load failed: " + done.WarnFlood()[0].Text)
	case failed:
		return errors.New("the load failed: " + strings.Join(evidence.Group.Errors, "; "))
	case done.stopped || done.State.ExitCode == 0:
		return nil
	case len(rep.Warnings) > 0:
		return errors.New("the load failed: " + rep.Warnings[0].Text)
	}
	return fmt.Errorf("the load failed: exit status %d", done.State.ExitCode)
}
