package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/load/served"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// measurement is a run from its planning to its report.
type measurement struct {
	*program
	options runOptions
	store   *store.Store
	target  target.Target

	run     lab.Run
	saved   []lab.Repetition
	resumed *store.Bundle
	before  facts.Document // the machine before the first load
	// machine is what checks look at of it; nil where the facts of the run have all of that.
	machine *validity.Machine
	device  *device // nil for a directory
	// blank is a device that was made for the target; nil for all others.
	blank *blankDevice
	// members are the devices of a place that is several, which are only read.
	members []*device
	fio     string // the load generator's program on the target; empty for the one on its PATH
	// maxWrites in bytes; 0 is no limit.
	maxWrites int64
	// role of the target in a run that measures several, but for the one under test; empty for a run by itself.
	role string
	// reboots says that the machine is started again on the way, or the place mounted, so that it is not the one that
	// was found when the run ends.
	reboots bool
	// server of a network's tests, nil where storage is measured, and client, the role of the target in them.
	server *serverEnd
	client string
	// backends are other machines that the data of the place comes from or through.
	backends []runner.Backend
	// sharedScratch is a scratch file that another run has laid out and removes; nil where the run has its own.
	sharedScratch *runner.SharedScratch
	// snapshotElsewhere says that another part of the run keeps the snapshots of the target.
	snapshotElsewhere bool
	// events are the events of the run, open. observer says that another part of the run carries them out.
	events   []runner.ScheduledEvent
	observer bool
	// peers carry out each load at the same moment, on other targets, and enter makes an arm effective on a peer.
	peers []*measurement
	enter func(ctx context.Context, arm string) (runner.ArmEntry, error)
	// location is where the place is, in a run on several targets.
	location location
	// concurrent is a measurement that goes on at the same time and was planned before this one; nil for a run by
	// itself.
	concurrent *measurement
}

func (m *measurement) place() lab.Place { return m.run.Targets[0].Place }

// targetRole is the role of the target in the run.
func (m *measurement) targetRole() string { return m.run.Targets[0].Role }

// storageRole is that of the one target of a run of storage jobs.
const storageRole = "storage"

// onlyArm is the arm without levels of such a run.
const onlyArm = "1"

func (m *measurement) execute(ctx context.Context) (failed error) {
	release, err := m.openEvents(ctx)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	outcome, err := m.measure(ctx, func(runner.SharedScratch) error { return nil })
	if err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(m.Stderr, "%s are kept; go on with: %s\n", m.shareOfAll(len(outcome.Repetitions)),
				m.run.MadeBy().Resume(m.store.ShortID(m.run.ID)))
		}
		return err
	}
	if err := m.report(); err != nil {
		return err
	}
	return failures(outcome)
}

// measure carries out the run without a report. then is called when the loads have ended, before what was made for them
// is removed.
func (m *measurement) measure(ctx context.Context, then func(runner.SharedScratch) error) (runner.Outcome, error) {
	w, err := m.begin(ctx)
	if err != nil {
		return runner.Outcome{}, err
	}
	e := m.runnerMeasurement()
	var show *progress
	if m.run.Anytime {
		p := m.adaptivePlan()
		e.Plan, show = p, newProgress(m.program, newAdaptiveProgress(p, m.run, e.Cells, m.saved))
	} else {
		order := m.order()
		e.Plan, show = plan.Fixed(order),
			newProgress(m.program, newOrderClock(e.Cells, notSaved(order, m.saved), m.pause()))
	}
	e.Progress = show.tell
	e.AtEnd = func(_ context.Context, scratch runner.SharedScratch) error {
		show.end()
		return then(scratch)
	}
	outcome, runErr := runner.Run(ctx, e, w)
	show.end()
	return outcome, errors.Join(runErr, m.end(ctx, w, outcome, runErr))
}

// failures of loads are an error, whose reasons the table has.
func failures(outcome runner.Outcome) error {
	if outcome.Failed == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%d of %d loads failed; the table says which, and why", outcome.Failed,
		outcome.Measured)}
}

// begin makes the bundle, or takes it up again.
func (m *measurement) begin(ctx context.Context) (*store.Writer, error) {
	w, err := m.open()
	if err != nil {
		return w, err
	}
	if err = m.label(ctx, m.run.ID); err == nil && m.resumed == nil {
		err = m.saveInitialSnapshot(w)
	}
	if err == nil {
		err = m.copyFio(ctx, w)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

// label has what others can see of the measurement carry the run's ID.
func (m *measurement) label(ctx context.Context, run string) error {
	targets := []target.Target{m.target}
	if m.server != nil {
		targets = append(targets, m.server.Target)
	}
	for _, t := range targets {
		if l, ok := t.(target.Labelled); ok {
			if err := l.Label(ctx, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// end leaves the place clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (m *measurement) end(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	end, err := w.Close, error(nil)
	if outcome.Aborted {
		end = w.Abandon // its load may still write
	} else {
		err = m.cleanDevice(ctx)
	}
	if runErr == nil && err == nil {
		err = m.compareAfterwards(ctx, w)
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = statusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		r.RemoveWarnings(validity.OfRuns()) // a resumed run has those of its first part
		r.Warnings = append(slices.Clone(m.run.Warnings), outcome.Warnings...)
		r.AddRunWarnings(validity.Run(*r, slices.Values(outcome.Repetitions)))
	}))
}

// cleanDevice cleans the device, also after an error or an interruption: what was measured is saved by now.
func (m *measurement) cleanDevice(ctx context.Context) error {
	if m.device == nil {
		return nil
	}
	printed, err := m.device.leaveClean(context.WithoutCancel(ctx), m.target)
	if printed != "" && err == nil {
		fmt.Fprintln(m.Stderr, printed)
	}
	return err
}

// statusOf a run that ended with err. Whatever ended it early, the rest can be resumed.
func statusOf(err error, outcome runner.Outcome) lab.Status {
	switch {
	case err != nil:
		return lab.Interrupted
	case outcome.Measured > 0 && outcome.Failed == outcome.Measured:
		return lab.Failed
	default:
		return lab.Complete
	}
}

func (m *measurement) open() (*store.Writer, error) {
	m.registerRun(m.store, m.run.ID)
	if m.resumed != nil {
		w, err := m.store.Resume(m.resumed)
		if err != nil {
			return nil, err
		}
		return w, w.Update(func(r *lab.Run) {
			r.Targets, r.Precision, r.Budget, r.Anytime, r.Terms = m.run.Targets, m.run.Precision, m.run.Budget,
				m.run.Anytime, m.run.Terms
		})
	}
	return m.store.Create(m.run)
}

func (m *measurement) runnerMeasurement() runner.Measurement {
	e := runner.Measurement{
		RunID: m.run.ID, Role: m.role, Target: m.target, Place: m.place(),
		Program: m.fio, Scratch: m.place().Size, Saved: m.saved, MaxWrites: m.maxWrites, Pause: m.pause(),
		Events: m.events, Observer: m.observer,
		Backends: m.backends, SharedScratch: m.sharedScratch, Enter: m.enter,
		CountKernel: m.run.Experiment != nil && m.run.Experiment.Kind == bisectKind,
	}
	if m.machine != nil {
		e.Machine = *m.machine
	} else {
		e.Machine = facts.Machine(m.run.Targets[0].Facts)
	}
	if m.server != nil {
		e.Server = &m.server.Server
	}
	if target.IsLocal(m.target) {
		e.Tree, _ = os.Getwd() // where there is none, {tree} can't be filled in, and the load says so
	}
	if m.traits(m.target.Name()).HostedHere {
		e.Host = m.local()
	}
	if m.device != nil {
		e.Claim, e.Blank = m.device, m.device.verdict.SeemsBlank()
	}
	if m.blank != nil {
		e.Claim, e.Blank = m.blank, len(m.saved) == 0
	}
	for _, c := range m.run.Cells {
		e.Cells = append(e.Cells, m.cellToRun(c))
	}
	for _, peer := range m.peers {
		e.Peers = append(e.Peers, peer.runnerMeasurement())
	}
	return e
}

func (m *measurement) cellToRun(c lab.Cell) runner.Cell {
	title := suiteCell(c).Title()
	if m.role != "" && len(m.peers) == 0 { // what several do at the same moment is shown as one
		title += " on " + m.role
	}
	return runner.Cell{Cell: c, Title: title, Expected: expectedTime(c)}
}

// owner is in the names of all that is made on the target.
func (m *measurement) owner() string { return runner.Owner(m.run.ID, m.role) }

// expectedTime of a load, ramp included; 0 when it ends by size, and for a command of which nobody knows.
func expectedTime(c lab.Cell) time.Duration {
	if c.Command != nil {
		return secondsToDuration(c.Command.ExpectedSeconds)
	}
	if g, ok := served.Of(c.Engine); ok {
		return g.TestTime(c.Params)
	}
	d := fio.WantedRuntime(c.Params)
	if d > 0 {
		d += fio.Ramp(c.Params)
	}
	return d
}

// suiteCell is a cell of the run as suites have them.
func suiteCell(c lab.Cell) suite.Cell {
	return suite.Cell{ID: c.ID, Job: c.Job, Engine: c.Engine, Command: c.Command, Metrics: c.Metrics, Params: c.Params,
		Steps:       c.Steps,
		Repetitions: c.Repetitions, Runtime: expectedTime(c)}
}

func (m *measurement) pause() time.Duration { return time.Duration(m.run.Pause * float64(time.Second)) }

// shareOfAll is how many repetitions of all.
func (m *measurement) shareOfAll(n int) string {
	if m.run.Anytime {
		return prose.Count(n, "repetition")
	}
	return fmt.Sprintf("%d of %d repetitions", n, m.planned())
}

func (m *measurement) planned() int {
	n := 0
	for _, c := range m.run.Cells {
		n += c.Repetitions
	}
	return n
}

// report prints the finished run, and where to look for a reason. Doctor is not asked here: the rules take more memory
// than all of the measuring.
func (m *measurement) report() error {
	defer m.Footprint.withLowMemory()()
	b, err := m.store.Find(m.run.ID)
	if err != nil {
		return err
	}
	format := cmp.Or(m.options.format, "table")
	if m.json {
		format = "json"
	}
	if err := writeRuns(m.program, format, []*store.Bundle{b}, m.Stdout,
		report.Options{Names: format == "table"}); err != nil ||
		format != "table" {
		return err
	}
	fmt.Fprintf(m.naming.writer(m.Stdout), "what may hold this machine back: headroom doctor %s\n",
		m.store.ShortID(m.run.ID))
	return nil
}

func (m *measurement) release() {
	if m.device != nil {
		m.device.release()
	}
	for _, d := range m.members {
		d.release()
	}
}
