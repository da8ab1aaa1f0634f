package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"headroom/internal/app"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/load/served"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// Measurement is a run from its planning to its report.
type Measurement struct {
	*app.App
	Options RunOptions
	Store   *store.Store
	Target  target.Target

	Run     lab.Run
	Saved   []lab.Repetition
	Resumed *store.Bundle
	Before  facts.Document // the machine before the first load
	// Machine is what checks look at of it; nil where the facts of the run have all of that.
	Machine *validity.Machine
	device  *device // nil for a directory
	// blank is a device that was made for the target; nil for all others.
	blank *blankDevice
	// members are the devices of a place that is several, which are only read.
	members []*device
	fio     string // the load generator's program on the target; empty for the one on its PATH
	// MaxWrites in bytes; 0 is no limit.
	maxWrites int64
	// Role of the target in a run that measures several, but for the one under test; empty for a run by itself.
	Role string
	// Reboots says that the machine is started again on the way, or the place mounted, so that it is not the one that
	// was found when the run ends.
	Reboots bool
	// Server of a network's tests, nil where storage is measured, and client, the role of the target in them.
	Server *ServerEnd
	Client string
	// Backends are other machines that the data of the place comes from or through.
	Backends []runner.Backend
	// SharedScratch is a scratch file that another run has laid out and removes; nil where the run has its own.
	SharedScratch *runner.SharedScratch
	// SnapshotElsewhere says that another part of the run keeps the snapshots of the target.
	SnapshotElsewhere bool
	// Events are the events of the run, open. observer says that another part of the run carries them out.
	Events   []runner.ScheduledEvent
	Observer bool
	// Peers carry out each load at the same moment, on other targets, and enter makes an arm effective on a peer.
	Peers []*Measurement
	Enter func(ctx context.Context, arm string) (runner.ArmEntry, error)
	// Location is where the place is, in a run on several targets.
	Location Location
	// Concurrent is a measurement that goes on at the same time and was planned before this one; nil for a run by
	// itself.
	Concurrent *Measurement
}

// Place is the directory or device that is measured, or none.
func (m *Measurement) Place() lab.Place { return m.Run.Targets[0].Place }

// TargetRole is the role of the target in the run.
func (m *Measurement) TargetRole() string { return m.Run.Targets[0].Role }

// OnlyArm is the arm without levels of such a run.
const OnlyArm = "1"

// Execute measures and reports. What was measured before an error is kept.
func (m *Measurement) Execute(ctx context.Context) (failed error) {
	release, err := m.OpenEvents(ctx)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	outcome, err := m.Measure(ctx, func(runner.SharedScratch) error { return nil })
	if err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(m.Stderr, "%s are kept; go on with: %s\n", m.shareOfAll(len(outcome.Repetitions)),
				m.Run.MadeBy().Resume(m.Store.ShortID(m.Run.ID)))
		}
		return err
	}
	if err := m.Report(); err != nil {
		return err
	}
	return Failures(outcome)
}

// Measure carries out the run without a report. then is called when the loads have ended, before what was made for them
// is removed.
func (m *Measurement) Measure(ctx context.Context, then func(runner.SharedScratch) error) (runner.Outcome, error) {
	w, err := m.Begin(ctx)
	if err != nil {
		return runner.Outcome{}, err
	}
	e := m.RunnerMeasurement()
	var show *Progress
	if m.Run.Anytime {
		p := m.adaptivePlan()
		e.Plan, show = p, NewProgress(m.App, newAdaptiveProgress(p, m.Run, e.Cells, m.Saved))
	} else {
		order := m.Order()
		e.Plan, show = plan.Fixed(order),
			NewProgress(m.App, NewOrderClock(e.Cells, NotSaved(order, m.Saved), m.Pause()))
	}
	e.Progress = show.Tell
	e.AtEnd = func(_ context.Context, scratch runner.SharedScratch) error {
		show.End()
		return then(scratch)
	}
	outcome, runErr := runner.Run(ctx, e, w)
	show.End()
	return outcome, errors.Join(runErr, m.End(ctx, w, outcome, runErr))
}

// Failures of loads are an error, whose reasons the table has.
func Failures(outcome runner.Outcome) error {
	if outcome.Failed == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%d of %d loads failed; the table says which, and why", outcome.Failed,
		outcome.Measured)}
}

// Begin makes the bundle, or takes it up again.
func (m *Measurement) Begin(ctx context.Context) (*store.Writer, error) {
	w, err := m.open()
	if err != nil {
		return w, err
	}
	if err = m.Label(ctx, m.Run.ID); err == nil && m.Resumed == nil {
		err = m.SaveInitialSnapshot(w)
	}
	if err == nil {
		err = m.CopyFio(ctx, w)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(func(r *lab.Run) { r.Status = lab.Interrupted }))
	}
	return w, nil
}

// Label has what others can see of the measurement carry the run's ID.
func (m *Measurement) Label(ctx context.Context, run string) error {
	targets := []target.Target{m.Target}
	if m.Server != nil {
		targets = append(targets, m.Server.Target)
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

// End leaves the place clean and closes the bundle of a run that ended with runErr. Its error is what went wrong here.
func (m *Measurement) End(ctx context.Context, w *store.Writer, outcome runner.Outcome, runErr error) error {
	end, err := w.Close, error(nil)
	if outcome.Aborted {
		end = w.Abandon // its load may still write
	} else {
		err = m.CleanDevice(ctx)
	}
	if runErr == nil && err == nil {
		err = m.CompareAfterwards(ctx, w)
	}
	return errors.Join(err, end(func(r *lab.Run) {
		r.Status = StatusOf(errors.Join(runErr, err), outcome)
		r.Finished = time.Now()
		r.RemoveWarnings(validity.OfRuns()) // a resumed run has those of its first part
		r.Warnings = append(slices.Clone(m.Run.Warnings), outcome.Warnings...)
		r.AddRunWarnings(validity.Run(*r, slices.Values(outcome.Repetitions)))
	}))
}

// CleanDevice cleans the device, also after an error or an interruption: what was measured is saved by now.
func (m *Measurement) CleanDevice(ctx context.Context) error {
	if m.device == nil {
		return nil
	}
	printed, err := m.device.leaveClean(context.WithoutCancel(ctx), m.Target)
	if printed != "" && err == nil {
		fmt.Fprintln(m.Stderr, printed)
	}
	return err
}

// StatusOf a run that ended with err. Whatever ended it early, the rest can be resumed.
func StatusOf(err error, outcome runner.Outcome) lab.Status {
	switch {
	case err != nil:
		return lab.Interrupted
	case outcome.Measured > 0 && outcome.Failed == outcome.Measured:
		return lab.Failed
	default:
		return lab.Complete
	}
}

func (m *Measurement) open() (*store.Writer, error) {
	m.RegisterRun(m.Store, m.Run.ID)
	if m.Resumed != nil {
		w, err := m.Store.Resume(m.Resumed)
		if err != nil {
			return nil, err
		}
		return w, w.Update(func(r *lab.Run) {
			r.Targets, r.Precision, r.Budget, r.Anytime, r.Terms = m.Run.Targets, m.Run.Precision, m.Run.Budget,
				m.Run.Anytime, m.Run.Terms
		})
	}
	return m.Store.Create(m.Run)
}

// RunnerMeasurement is the measurement as the runner carries it out.
func (m *Measurement) RunnerMeasurement() runner.Measurement {
	e := runner.Measurement{
		RunID: m.Run.ID, Role: m.Role, Target: m.Target, Place: m.Place(),
		Program: m.fio, Scratch: m.Place().Size, Saved: m.Saved, MaxWrites: m.maxWrites, Pause: m.Pause(),
		Events: m.Events, Observer: m.Observer,
		Backends: m.Backends, SharedScratch: m.SharedScratch, Enter: m.Enter,
		CountKernel: m.Run.Experiment != nil && m.Run.Experiment.Kind == app.BisectKind,
	}
	if m.Machine != nil {
		e.Machine = *m.Machine
	} else {
		e.Machine = facts.Machine(m.Run.Targets[0].Facts)
	}
	if m.Server != nil {
		e.Server = &m.Server.Server
	}
	if target.IsLocal(m.Target) {
		e.Tree, _ = os.Getwd() // where there is none, {tree} can't be filled in, and the load says so
	}
	if m.Traits(m.Target.Name()).HostedHere {
		e.Host = m.Local()
	}
	if m.device != nil {
		e.Claim, e.Blank = m.device, m.device.verdict.SeemsBlank()
	}
	if m.blank != nil {
		e.Claim, e.Blank = m.blank, len(m.Saved) == 0
	}
	for _, c := range m.Run.Cells {
		e.Cells = append(e.Cells, m.CellToRun(c))
	}
	for _, peer := range m.Peers {
		e.Peers = append(e.Peers, peer.RunnerMeasurement())
	}
	return e
}

// CellToRun is a cell with what carrying it out takes.
func (m *Measurement) CellToRun(c lab.Cell) runner.Cell {
	title := suiteCell(c).Title()
	if m.Role != "" && len(m.Peers) == 0 { // what several do at the same moment is shown as one
		title += " on " + m.Role
	}
	return runner.Cell{Cell: c, Title: title, Expected: expectedTime(c)}
}

// Owner is in the names of all that is made on the target.
func (m *Measurement) Owner() string { return runner.Owner(m.Run.ID, m.Role) }

// expectedTime of a load, ramp included; 0 when it ends by size, and for a command of which nobody knows.
func expectedTime(c lab.Cell) time.Duration {
	if c.Command != nil {
		return SecondsToDuration(c.Command.ExpectedSeconds)
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

// Pause is the time between two loads, for a device to come to rest.
func (m *Measurement) Pause() time.Duration { return time.Duration(m.Run.Pause * float64(time.Second)) }

// shareOfAll is how many repetitions of all.
func (m *Measurement) shareOfAll(n int) string {
	if m.Run.Anytime {
		return prose.Count(n, "repetition")
	}
	return fmt.Sprintf("%d of %d repetitions", n, m.Planned())
}

// Planned is how many repetitions there will be, unless what is measured decides that.
func (m *Measurement) Planned() int {
	n := 0
	for _, c := range m.Run.Cells {
		n += c.Repetitions
	}
	return n
}

// Report prints the finished run, and where to look for a reason. Doctor is not asked here: the rules take more memory
// than all of the measuring.
func (m *Measurement) Report() error {
	defer m.Footprint.WithLowMemory()()
	b, err := m.Store.Find(m.Run.ID)
	if err != nil {
		return err
	}
	format := cmp.Or(m.Options.Format, "table")
	if m.JSON {
		format = "json"
	}
	if err := results.WriteRuns(m.App, format, []*store.Bundle{b}, m.Stdout,
		report.Options{Names: format == "table"}); err != nil ||
		format != "table" {
		return err
	}
	fmt.Fprintf(m.Naming.Writer(m.Stdout), "what may hold this machine back: headroom doctor %s\n",
		m.Store.ShortID(m.Run.ID))
	return nil
}

// Release gives up the device and what else is held for the measurement.
func (m *Measurement) Release() {
	if m.device != nil {
		m.device.release()
	}
	for _, d := range m.members {
		d.release()
	}
}
