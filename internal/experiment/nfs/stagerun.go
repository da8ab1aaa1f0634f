package nfs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// stageRun is a stage while it is measured.
type stageRun struct {
	nfsStage
	measurement *experiment.Measurement
	// stage is the name that its level has, by what the mount turned out to be.
	stage string
	// loads is the schedule of its repetitions, and done the repetitions that have ended.
	loads *experiment.RunSchedule
	done  []plan.Done
	// before is what the mount had carried before the first load; nil for the server's own storage.
	before *nfsTraffic
	// undoEvents gives back the targets of its events.
	undoEvents func() error
}

// enter mounts a stage, names it by what the mount turned out to be, and begins its run. The result is nil if all of it
// is measured. After an error nothing is mounted.
func (x *schedule) enter(ctx context.Context, s nfsStage) (run *stageRun, err error) {
	earlier := x.earlier[s.asked]
	if left, err := unmeasured(earlier); !left || err != nil {
		return nil, err
	}
	m := &experiment.Measurement{App: x.App, Options: x.runOptions(), Store: x.Store, Target: s.target,
		Resumed: earlier}
	run = &stageRun{nfsStage: s, measurement: m, undoEvents: func() error { return nil }}
	defer func() {
		if err != nil {
			run, err = nil, errors.Join(err, x.giveBack(ctx, run))
		}
	}()
	if s.mount != nil {
		x.App.Print("", "mounting "+s.mount.String()+" for "+s.asked)
		setting, err := mount.NFSSetting(ctx, s.target, *s.mount, s.folder)
		if err != nil {
			return run, err
		}
		if err := x.journal.Change(ctx, setting, s.mount.String()); err != nil {
			return run, err
		}
		m.Mounted = s.mount.String()
	}
	if s.inside {
		m.Backends = append(m.Backends,
			runner.Backend{Role: experiment.ClientRole, Target: x.plan.Opened(x.Options.Client), Mount: s.point})
	}
	if server := x.plan.Opened(x.Options.Server); s.point != "" && server != nil {
		m.Backends = append(m.Backends, runner.Backend{Role: experiment.ServerRole, Target: server})
	}
	if err := x.prepare(ctx, m, s); err != nil {
		return run, err
	}
	return run, x.begin(ctx, run)
}

// unmeasured reports whether something is left to measure of a stage. Earlier is what was saved of it; nil for nothing.
func unmeasured(earlier *store.Bundle) (bool, error) {
	if earlier == nil || earlier.Run.Status == lab.Interrupted {
		return true, nil
	}
	if !earlier.Run.Unfinished() {
		return false, nil
	}
	left := 0
	for _, c := range earlier.Run.Cells {
		left += c.Repetitions
	}
	for _, err := range earlier.Repetitions() {
		if err != nil {
			return false, err
		}
		left--
	}
	return left > 0, nil
}

// begin begins the run of a stage that is prepared.
func (x *schedule) begin(ctx context.Context, run *stageRun) error {
	m := run.measurement
	run.stage = serverStage(m.Place())
	var err error
	if run.point != "" {
		if run.before, err = x.traffic(ctx, run.point); err != nil {
			return err
		}
		run.stage = run.before.stage()
	}
	if run.inside {
		run.stage += app.InsideGuest
	}
	if was := m.Run.Arms[0].Levels[lab.StageLevel]; m.Resumed != nil && was != run.stage {
		return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("run %s measured %s, and it is %s now", m.Run.ID, was,
			run.stage), Hints: []string{"start a new experiment"}}
	}
	m.Run.Arms[0].Levels = map[string]string{lab.StageLevel: run.stage}
	if run.undoEvents, err = m.OpenEvents(ctx, x.plan.Targets()...); err != nil {
		run.undoEvents = func() error { return nil }
		return err
	}
	x.App.Print("", run.stage)
	m.PrintSummary(ctx)
	m.Options.Within = x.share()
	run.loads = &experiment.RunSchedule{Measurement: m}
	x.plan.Add(run.arm, m)
	x.at = run
	for _, r := range m.Saved {
		run.done = append(run.done, run.loads.Done(run.arm, r))
	}
	if err = x.plan.Start(ctx, run.arm); err != nil {
		x.at = nil
		return err
	}
	x.planned += m.Workload().Planned()
	return nil
}

// share returns the part of the remaining budget for a stage that begins now: the stages after it get as much each. It
// is 0 if there is no budget.
func (x *schedule) share() time.Duration {
	if x.Options.Within == 0 {
		return 0
	}
	left := x.Options.Within - time.Since(x.started)
	return max(time.Nanosecond, left/time.Duration(len(x.remaining)))
}

// sharesScratch reports whether the scratch file of a stage can serve the mounts, which are measured after it.
func (x *schedule) sharesScratch(run *stageRun) bool {
	return run.point == "" && x.plan.LaidOut(run.arm).State.Bytes > 0 && !run.measurement.Run.AsPublished &&
		x.Options.Mounted == ""
}

// finish ends a stage that ended with failed, which is a part of its error, and unmounts it.
func (x *schedule) finish(ctx context.Context, run *stageRun, failed error) error {
	if failed == nil && run.before != nil {
		var after *nfsTraffic
		if after, failed = x.traffic(ctx, run.point); failed == nil {
			of := &run.measurement.Run
			of.Warnings = append(of.Warnings, run.before.warnings(*after, run.addresses())...)
		}
	}
	return errors.Join(x.plan.Finish(ctx, run.arm, failed), x.giveBack(ctx, run))
}

// giveBack releases the events of a stage, its mount and its place.
func (x *schedule) giveBack(ctx context.Context, run *stageRun) error {
	err := run.undoEvents()
	if run.mount != nil {
		err = errors.Join(err, x.journal.Undo(ctx))
	}
	run.measurement.Release()
	return err
}

// runOptions returns the options of each stage's run.
func (x *Stages) runOptions() experiment.RunOptions {
	o := x.Options.RunOptions
	o.On, o.Resume = nil, ""
	o.Set, o.Size, o.Repeat, o.Order = x.Options.NFS.Set, x.Options.NFS.Size, x.Options.NFS.Repeat, x.Options.NFS.Order
	return o
}

// prepare makes the run of a stage, or resumes the one that was interrupted.
func (x *schedule) prepare(ctx context.Context, m *experiment.Measurement, s nfsStage) error {
	part := !x.older
	if part {
		m.Role, m.Arm = s.arm, s.arm
	}
	if m.Resumed != nil {
		saved := m.Resumed.Run
		if part {
			saved.ID = x.id
		}
		return m.ResumeFrom(ctx, m.Resumed, saved)
	}
	place, err := storage.ResolvePlace(ctx, s.target, s.folder)
	if err != nil {
		return err
	}
	if err := m.NewHeaderOn(x.loads, place); err != nil {
		return err
	}
	if s.point != "" {
		m.Run.Events = s.eventsFor(x.Options.NFS.Events)
		if err := experiment.CheckEvents(m.Run.Events, m.Run.Cells); err != nil {
			return err
		}
	}
	m.Run.Design = lab.DesignNFS
	if part {
		m.Run.ID = x.id
	} else {
		m.Run.Pair = x.id
	}
	settled := x.Options.NFS
	settled.Requested = s.asked
	m.Run.NFS = &settled
	if s.point == "" && slices.Contains(memoryFilesystems(), place.Filesystem) {
		m.Run.Cells = throughMemory(m.Run.Cells)
	}
	if s.mount != nil {
		if m.SharedScratch, err = x.sharedFile(ctx, m); err != nil {
			return err
		}
	}
	if err := m.SecureAndSnapshot(ctx); err != nil {
		return err
	}
	x.bundles = append(x.bundles, m.SavedID())
	return nil
}

// sharedFile returns the scratch file that the server's own stage has laid out, if a client may write to it; nil
// otherwise. It spares each stage a layout over the network.
func (x *schedule) sharedFile(ctx context.Context, m *experiment.Measurement) (*runner.SharedScratch, error) {
	if x.sharedScratch == nil {
		return nil, nil
	}
	file := m.Place().Path + "/" + x.sharedScratch.Name
	out, err := m.Target.Run(ctx, "stat", "-c", "%s", "--", file)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(out.Stdout)) != strconv.FormatInt(m.Place().Size, 10) {
		return nil, &lab.Error{What: fmt.Sprintf("the file that lies in %s of the server is not seen in the mount",
			x.Options.Export), Target: host.RemoteName(m.Target), Output: string(out.Stderr),
			Hints: []string{"--export is the directory on the server, --path what its clients call it: " +
				x.Options.Path + " is another one"}}
	}
	if out, err = m.Target.Run(ctx, "test", "-w", file); err != nil || out.ExitCode != 0 {
		return nil, err // the server squashes root
	}
	return x.sharedScratch, nil
}
