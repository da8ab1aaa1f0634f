package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/validity"
)

// pollPeriod is how often a load in progress is looked at. Each look reads the last lines of a file in memory.
const pollPeriod = time.Second

// loads runs the loads of a session on its target, one after the other. It starts each as a job, follows it, and ends
// it.
type loads struct {
	target   host.Target
	owner    string // in the names of jobs
	machines *machines
	events   *events
	outcome  *Outcome
	report   func(Progress)
	// pause is how long the target rests before a load.
	pause time.Duration
	// count is the number of jobs that were started.
	count int
	// spare is how long a load may take beyond its own time; 0 for what is usual, for which tests can't wait.
	spare time.Duration
}

// jobID names the job of a number.
func (ls *loads) jobID(n int) string { return fmt.Sprintf("%s-%d", ls.owner, n) }

// rest waits until the target has rested.
func (ls *loads) rest(ctx context.Context) {
	if ls.pause <= 0 {
		return
	}
	ls.report(Progress{Doing: "pausing"})
	timer := time.NewTimer(ls.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// run starts a load and reports its progress until it ends. When ctx is cancelled the load is killed first.
func (ls *loads) run(ctx context.Context, l load) (finished, error) {
	r, err := ls.begin(ctx, l)
	if err != nil {
		return finished{}, err
	}
	r.eventRun.begin(ctx, l)
	err = ls.await(ctx, &r.finished, l)
	return ls.finish(ctx, r, err)
}

// finished is a load that has ended, and what was seen of it meanwhile.
type finished struct {
	engine.Ended
	// during are the machine's counters in the middle of the load; zero when it was too short for a look.
	during validity.Counters
	// occurrences is what became of the events of the load.
	occurrences []occurrence
	// spent is what the host spent while it ran.
	spent counters.Spent
	// stopped says that it was ended because it had served its purpose.
	stopped bool
}

// running is a load that was started.
type running struct {
	finished
	load     load
	before   counters.EnergyReading
	eventRun *eventRun
}

// begin starts a load.
func (ls *loads) begin(ctx context.Context, l load) (*running, error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	ls.count++
	l.spec.ID = ls.jobID(ls.count)
	r := &running{load: l, finished: finished{Ended: engine.Ended{Argv: l.argv}}}
	var err error
	if r.before, err = ls.machines.meter.Read(ctx); err != nil {
		return nil, err
	}
	if r.eventRun, err = ls.events.announce(l); err != nil {
		return nil, err
	}
	if r.Job, err = ls.target.Start(ctx, l.spec); err != nil {
		return nil, errors.Join(err, r.eventRun.withdrawUnused())
	}
	return r, nil
}

// finish takes what a load has printed, or ends it after an error of waiting for it.
func (ls *loads) finish(ctx context.Context, r *running, err error) (finished, error) {
	done, job, l := r.finished, r.Job, r.load
	// Events are undone before anything else, also before the load is killed: it may hang because of them.
	err = errors.Join(err, r.eventRun.end())
	done.occurrences = r.eventRun.each
	after := context.WithoutCancel(ctx)
	// A reading that fails costs no result.
	if now, failed := ls.machines.meter.Read(after); failed == nil {
		done.spent = ls.machines.meter.Between(r.before, now)
	}
	if err != nil || done.TimedOut || done.Flood > 0 || done.stopped {
		// The job's processes are gone when Kill returns; of a load that was cancelled nothing is needed any more.
		if kill := ls.kill(after, job, l); kill != nil {
			ls.outcome.Aborted = true
			return finished{}, errors.Join(err, kill)
		}
	}
	if err != nil {
		return finished{}, errors.Join(err, job.Remove(after))
	}
	if done.State, err = job.Poll(after); err == nil {
		done.Printed, err = l.engine.Collect(after, job)
	}
	if err != nil {
		// Whether the load still runs is unknown on a target that can't be reached.
		if kill := job.Kill(after, 0); kill != nil {
			ls.outcome.Aborted = true
		}
		done.Cleanup(ctx)
		return finished{}, err
	}
	if done.State.ExitCode != 0 {
		// A load generator that was killed leaves its workers behind, which would run during the next load.
		if kill := job.Kill(after, 0); kill != nil {
			ls.outcome.Aborted = true
			return finished{}, kill
		}
	}
	return done, nil
}

// await reports a load's progress until it ends. An error says that the load must be ended now.
func (ls *loads) await(ctx context.Context, running *finished, l load) error {
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	started := time.Now()
	running.Limit = ls.limit(l)
	timeout := time.NewTimer(running.Limit)
	defer timeout.Stop()
	var last validity.Counters // of this load
	ls.report(Progress{Doing: l.doing, Begins: true, Cell: l.cell, Left: l.expected})
	for {
		select {
		case <-running.Job.Done():
			return nil
		case <-timeout.C:
			running.TimedOut = true
			return nil
		case <-ctx.Done():
			select {
			case <-running.Job.Done():
				return nil // both at once: it has finished, so it counts
			default:
				return cancelled(ctx)
			}
		case <-ticker.C:
			taken := time.Since(started)
			before := last
			var err error
			if last, err = ls.checkProgress(ctx, running, taken, l); err != nil {
				return err
			}
			if running.Floods(ctx) {
				return nil
			}
			if l.enough != nil && l.enough(ctx) {
				running.stopped = true
				return nil
			}
			e := ls.progress(ctx, running.Job, l, taken)
			if e.IOPS == 0 {
				// For its first seconds fio has no rates to show, and a command never has; the disks have.
				e.IOPS, e.Bandwidth = rates(before, last)
			}
			ls.report(e)
		}
	}
}

// checkProgress reads the machine's counters. An error says that the load has gone too far.
func (ls *loads) checkProgress(ctx context.Context, running *finished, taken time.Duration, l load) (validity.Counters,
	error) {
	middle := running.during.Time.IsZero() && taken >= l.expected/2
	read := ls.machines.counters.ReadDisks
	if middle {
		read = ls.machines.counters.Read
	}
	now, err := read(ctx)
	if err != nil {
		return now, err
	}
	ls.machines.writes.last = now
	if middle {
		running.during = now
	}
	return now, ls.machines.writes.check()
}

// rates are what the disks did a second between two looks, reads and writes together; 0 when there was only one.
func rates(before, now validity.Counters) (iops, bandwidth float64) {
	seconds := now.Time.Sub(before.Time).Seconds()
	if before.Time.IsZero() || seconds <= 0 {
		return 0, 0
	}
	for disk, c := range now.Disks {
		b := before.Disks[disk]
		iops += float64(c.ReadIOs + c.WriteIOs - b.ReadIOs - b.WriteIOs)
		bandwidth += float64(c.ReadBytes + c.WriteBytes - b.ReadBytes - b.WriteBytes)
	}
	return iops / seconds, bandwidth / seconds
}

// progress is what the load last printed about its progress.
func (ls *loads) progress(ctx context.Context, job host.Job, l load, taken time.Duration) Progress {
	e := Progress{Doing: l.doing, Cell: l.cell, Left: max(0, l.expected-taken)}
	text, err := job.Tail(ctx, "stdout", 1024)
	if err != nil {
		return e
	}
	reader, ok := l.engine.(engine.ProgressReader)
	if !ok {
		return e
	}
	if now, printed := reader.Progress(text); printed {
		e.IOPS, e.Bandwidth = now.IOPS, now.Bandwidth
		if l.expected == 0 && now.Known {
			e.Left = now.Left
		}
	}
	return e
}

// kill ends a load. A command's processes may work anywhere, so those are looked for first.
func (ls *loads) kill(ctx context.Context, job host.Job, l load) error {
	if _, isCommand := l.engine.(engine.Exec); isCommand {
		if err := workspace.EndProcesses(ctx, ls.target, l.started); err != nil {
			return err
		}
	}
	grace := 3 * time.Second
	if l.enough != nil {
		grace = 30 * time.Second // its result is an extra, which an emulated machine takes long to write
	}
	return job.Kill(ctx, grace)
}

// load is one job to run.
type load struct {
	engine engine.Engine
	// spec of the job, without its ID.
	spec host.JobSpec
	// argv as one would type it.
	argv  []string
	doing string // for people
	// expected time; 0 when it is not known.
	expected time.Duration
	// timeout after which it is ended; 0 for one from what else is known of it. slowest is how long it takes at the
	// very least of rates; 0 when that is not known. movesData says that it may take time before or after its own.
	timeout   time.Duration
	slowest   time.Duration
	movesData bool
	// started is what a command starts that may outlive its job.
	started host.Started
	// cell that it measures; nil for what is done before and after.
	cell *Cell
	// enough says that the load has served its purpose, and is ended; nil for one that ends by itself.
	enough func(ctx context.Context) bool
}

// workload is a kind of loads: of fio on the place, between the ends of a network, or a command.
type workload interface {
	// prepare does what comes before a load and takes long.
	prepare(ctx context.Context, cell Cell) (preparation, error)
	// load returns the load of a cell, whose output an engine reads.
	load(ctx context.Context, cell Cell, e engine.Engine) (load, error)
	// end ends what runs beside the load, and carries out what comes after it, also where prepare failed. It does so
	// once.
	end(ctx context.Context, cell Cell) []lab.Warning
}

// preparation is what was done before a load.
type preparation struct {
	did []string
	// shared is the part of its time that was spent on what later repetitions find done.
	shared time.Duration
}

// fioLoad is a job of fio's that works on what the options say, which it is handed by another name.
func fioLoad(name string, params map[string]string, opt fio.Options, handed string) load {
	opt.Output, opt.Logs, opt.Progress = engine.FioOutput, engine.FioLogs, true
	argv := fio.Argv(name, params, opt)
	opt.Filename = handed
	return load{engine: engine.Fio{}, argv: argv, spec: host.JobSpec{Argv: fio.Argv(name, params, opt)}}
}

// LoadParams are a cell's parameters, with the size of the scratch file where the cell names none: it makes the command
// line whole, so that it can be repeated by hand.
func LoadParams(place lab.Place, params map[string]string, scratch int64) map[string]string {
	if place.Kind != lab.Directory || params["size"] != "" {
		return params
	}
	params = maps.Clone(params)
	params["size"] = strconv.FormatInt(scratch, 10)
	return params
}
