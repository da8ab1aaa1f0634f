package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/report"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// measurement is a run from its planning to its report.
type measurement struct {
	*program
	options runOptions
	store   *store.Store
	target  target.Target

	run    lab.Run
	kept   []lab.Repetition
	resume *store.Bundle
	device *device // nil for a directory
	// maxWrites in bytes; 0 is no limit.
	maxWrites int64
}

func (m *measurement) place() lab.Place { return m.run.Targets[0].Place }

// plan makes the header of a new run out of the command line.
func (m *measurement) plan(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage("run what?", "headroom suites lists the suites", "for example: headroom run quick .")
	}
	su, err := loadSuite(args[0])
	if err != nil {
		return err
	}
	place, err := m.resolvePlace(ctx, su, args[1:])
	if err != nil {
		return err
	}
	cells, err := m.expand(&su, place)
	if err != nil {
		return err
	}
	seed := m.options.seed
	if seed == 0 {
		seed = su.Seed
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	m.run = lab.Run{
		ID: store.NewID(), Label: m.options.label, Status: lab.Running, Source: lab.Measured, Created: time.Now(), Version: m.Version,
		Command: m.Args, Suite: su.Name, SuiteText: su.Text, Order: string(su.Order), Seed: seed, Repetitions: su.Repetitions,
		Pause: su.Interval.Seconds(), AsPublished: m.options.asPublished,
		Arms:    []lab.Arm{{ID: onlyArm, Role: storageRole, Levels: map[string]string{}}},
		Cells:   recorded(cells),
		Targets: []lab.RunTarget{{Role: storageRole, Target: m.target.Name(), Place: place}},
	}
	for _, note := range su.Notes {
		m.run.Warnings = append(m.run.Warnings, lab.Warning{Code: "read-otherwise", Text: note})
	}
	if place.Kind == lab.Directory {
		if m.run.Targets[0].Place.Size, err = m.scratchSize(su, cells); err != nil {
			return err
		}
	}
	if err := m.secure(ctx); err != nil {
		return err
	}
	if m.run.Targets[0].Facts, err = facts.Snapshot(ctx, m.target, m.place()); err != nil {
		return err
	}
	if err := m.warnOfOthers(ctx); err != nil {
		return err
	}
	return m.warnOfStore(ctx)
}

// A run of storage jobs has one target, and an arm without levels.
const (
	storageRole = "storage"
	onlyArm     = "1"
)

// loadSuite finds a suite by its name or reads it from a file.
func loadSuite(name string) (suite.Suite, error) {
	if !strings.ContainsRune(name, filepath.Separator) && filepath.Ext(name) == "" {
		return suite.Load(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return suite.Suite{}, &lab.Error{Kind: lab.Usage, What: "can't read the suite", Err: err}
	}
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		return suite.Decode(name, data)
	}
	return suite.DecodeJobFile(name, data)
}

// resolvePlace finds out what to measure: what the command line says, or what a fio job file names.
func (m *measurement) resolvePlace(ctx context.Context, su suite.Suite, args []string) (lab.Place, error) {
	typed := ""
	if len(args) > 0 {
		typed = args[0]
	}
	path, err := su.ResolvePath(typed)
	if err != nil {
		return lab.Place{}, err
	}
	if path == "" {
		if !su.TouchesStorage() {
			return lab.Place{Kind: lab.NoPlace}, nil
		}
		return lab.Place{}, usage("measure what? name a directory or a device", fmt.Sprintf("for example: headroom run %s .", su.Name))
	}
	return facts.ResolvePlace(ctx, m.target, path)
}

// expand applies the command line to the suite and returns its cells.
func (m *measurement) expand(su *suite.Suite, place lab.Place) ([]suite.Cell, error) {
	if m.options.asPublished {
		published, err := su.AsPublished()
		if err != nil {
			return nil, err
		}
		*su = published
		su.Notes = append(su.Notes, su.Published.Note)
	}
	if o := suite.Order(m.options.order); o != "" {
		if !slices.Contains([]suite.Order{suite.Interleaved, suite.Shuffled, suite.Sequential}, o) {
			return nil, usage("there is no order "+m.options.order, "it is interleaved, shuffled or sequential")
		}
		su.Order = o
	}
	changed, err := su.With(m.options.set)
	if err != nil {
		return nil, err
	}
	*su = changed
	cells, err := su.Cells(place.Kind, false)
	if err != nil {
		return nil, err
	}
	for i := range cells {
		if m.options.repeat > 0 {
			cells[i].Repetitions = m.options.repeat
		}
	}
	return cells, nil
}

// recorded are the cells as the run keeps them.
func recorded(cells []suite.Cell) []lab.Cell {
	list := make([]lab.Cell, len(cells))
	for i, c := range cells {
		list[i] = lab.Cell{ID: c.ID, Arm: onlyArm, Job: c.Job, Engine: "fio", Params: c.Params, Steps: c.Steps, Repetitions: c.Repetitions}
	}
	return list
}

// scratchSize is the size of the scratch file: as asked for, or as the suite needs.
func (m *measurement) scratchSize(su suite.Suite, cells []suite.Cell) (int64, error) {
	if m.options.size == "" {
		if size := su.ScratchSize(cells); size > 0 {
			return size, nil
		}
		return defaultScratch, nil
	}
	n, err := size(m.options.size)
	if err == nil && n < (suite.Suite{}).ScratchSize(cells) {
		return 0, usage("--size "+m.options.size+" is less than what the jobs work on", "change that too: --set size="+m.options.size)
	}
	if err != nil || n < 1<<20 {
		return 0, usage("--size "+m.options.size+" is not the size of a scratch file", "write something like 4g; 1m is the least")
	}
	return n, nil
}

// spare is how much must stay free beside the scratch file: a file system that is full to the last block is slow, and others
// use it too.
const spare = 64 << 20

// checkRoom fails when the scratch file does not fit.
func (m *measurement) checkRoom(ctx context.Context, place lab.Place) error {
	space, err := facts.Free(ctx, m.target, place.Path)
	if err != nil {
		return err
	}
	if space.Available < place.Size+spare {
		return &lab.Error{What: fmt.Sprintf("a scratch file of %s does not fit into %s, where %s are free", unit.Bytes(float64(place.Size)), place.Path, unit.Bytes(float64(space.Available))),
			Hints: []string{"take a smaller file with --size, or another directory"}}
	}
	return nil
}

// writeLimit reads --max-writes, and refuses at once what is known to go beyond it. What nobody can know beforehand, how much
// a load writes in its time, the runner watches.
func (m *measurement) writeLimit(cells []suite.Cell, place lab.Place) (int64, error) {
	if m.options.maxWrites == "" {
		return 0, nil
	}
	limit, err := size(m.options.maxWrites)
	if err != nil || limit == 0 {
		return 0, usage("--max-writes "+m.options.maxWrites+" is not an amount", "write something like 500g")
	}
	if known := suite.EstimateWrites(cells, place.Size, 0).Total(); known > float64(limit) {
		return 0, &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("this would write %s, more than --max-writes %s", unit.Capacity(known), unit.Capacity(float64(limit))),
			Hints: []string{"raise the limit, or leave out the cells that fill the device"}}
	}
	return limit, nil
}

// secure makes sure that the place can be measured: room for a scratch file, a device that is free and not too much to write.
func (m *measurement) secure(ctx context.Context) error {
	var err error
	switch m.place().Kind {
	case lab.Directory:
		err = m.checkRoom(ctx, m.place())
	case lab.Device:
		m.device, err = m.claim(ctx, m.place())
	case lab.NoPlace:
	}
	if err != nil {
		return err
	}
	m.maxWrites, err = m.writeLimit(m.suiteCells(), m.place())
	return err
}

// takeUp makes the measurement out of a run that was interrupted.
func (m *measurement) takeUp(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("--resume takes the suite and the place from the run", "headroom run --resume "+m.options.resume)
	}
	b, err := m.store.Find(m.options.resume)
	if err != nil {
		return err
	}
	if b.Run.Source != lab.Measured || b.Run.Status != lab.Interrupted {
		return usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status))
	}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		rep.Latency, rep.Series = nil, nil
		m.kept = append(m.kept, rep)
	}
	m.run, m.resume = b.Run, b
	m.run.Trust(validity.OfRuns())
	return m.findAgain(ctx)
}

// findAgain looks up the place of an interrupted run as it is now. The same path can lead to another device than before a
// reboot; what is there must be inspected, and must be what the run was on.
func (m *measurement) findAgain(ctx context.Context) error {
	was := m.place()
	if was.Kind == lab.NoPlace {
		return nil
	}
	now, err := facts.ResolvePlace(ctx, m.target, was.Path)
	if err != nil {
		return err
	}
	if now.Kind != was.Kind || was.Kind == lab.Device && now.Size != was.Size {
		return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s is not what run %s was on: a %s of %s then, a %s of %s now", was.Path, m.run.ID,
			was.Kind, unit.Capacity(float64(was.Size)), now.Kind, unit.Capacity(float64(now.Size))), Hints: []string{"start a new run"}}
	}
	if was.Kind == lab.Directory {
		now.Size = was.Size
	}
	m.run.Targets = slices.Clone(m.run.Targets)
	m.run.Targets[0].Place = now
	if err := m.secure(ctx); err != nil {
		return err
	}
	if m.device != nil {
		return m.device.sameDrive(m.run)
	}
	return nil
}

// warnOfOthers says when the disks are busy before anything was started.
func (m *measurement) warnOfOthers(ctx context.Context) error {
	if len(m.place().Disks) == 0 {
		return nil
	}
	activity, err := facts.InUse(ctx, m.target, m.place().Disks)
	if err == nil && activity.Disturbing() {
		m.run.Warnings = append(m.run.Warnings, validity.BusyBefore(activity.String()))
	}
	return err
}

// warnOfStore says when the results are kept on the disk that is measured.
func (m *measurement) warnOfStore(ctx context.Context) error {
	same, err := facts.SameDevice(ctx, m.target, m.place(), m.store.Dir())
	if err != nil || !same {
		return err
	}
	m.run.Warnings = append(m.run.Warnings, validity.StoreOnDevice(m.store.Dir(), strings.Join(m.place().Disks, ", ")))
	return nil
}

func (m *measurement) carryOut(ctx context.Context) error {
	w, err := m.open()
	if err != nil {
		return err
	}
	show := m.newProgress()
	outcome, runErr := runner.Run(ctx, m.experiment(show.tell), w)
	show.end()
	end := w.Close
	if outcome.Stuck {
		end = w.Abandon // its load may still write
	} else {
		runErr = errors.Join(runErr, m.leaveClean(ctx))
	}
	err = end(func(r *lab.Run) {
		r.Status = statusOf(runErr, outcome)
		r.Finished = time.Now()
		r.Trust(validity.OfRuns()) // a resumed run has those of its first part
		r.Warnings = append(slices.Clone(m.run.Warnings), outcome.Warnings...)
		r.Distrust(validity.Run(*r, slices.Values(outcome.Repetitions)))
	})
	if err := errors.Join(runErr, err); err != nil {
		if len(outcome.Repetitions) > 0 {
			fmt.Fprintf(m.Stderr, "%d of %d repetitions are kept; go on with: headroom run --resume %s\n",
				len(outcome.Repetitions), m.planned(), m.store.ShortID(m.run.ID))
		}
		return err
	}
	if err := m.report(); err != nil {
		return err
	}
	if outcome.Failed > 0 {
		return &lab.Error{What: fmt.Sprintf("%d of %d loads failed; the table says which, and why", outcome.Failed, outcome.Measured)}
	}
	return nil
}

// leaveClean cleans the device, also after an error or an interruption: what was measured is saved by now.
func (m *measurement) leaveClean(ctx context.Context) error {
	if m.device == nil {
		return nil
	}
	said, err := m.device.leaveClean(context.WithoutCancel(ctx), m.target)
	if said != "" && err == nil {
		fmt.Fprintln(m.Stderr, said)
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
	if m.resume != nil {
		w, err := m.store.Resume(m.resume)
		if err != nil {
			return nil, err
		}
		return w, w.Update(func(r *lab.Run) { r.Targets = m.run.Targets })
	}
	return m.store.Create(m.run)
}

func (m *measurement) experiment(progress func(runner.Event)) runner.Experiment {
	e := runner.Experiment{
		RunID: m.run.ID, Target: m.target, Place: m.place(), Machine: facts.Machine(m.run.Targets[0].Facts),
		Order: suite.Order(m.run.Order), Seed: m.run.Seed, Scratch: m.place().Size, Kept: m.kept, Progress: progress,
		MaxWrites: m.maxWrites,
		Pause:     m.pause(),
	}
	if m.device != nil {
		e.Claim, e.Blank = m.device, m.device.verdict.Empty
	}
	for _, c := range m.run.Cells {
		e.Cells = append(e.Cells, runner.Cell{Cell: c, Title: suite.Cell{Job: c.Job, Params: c.Params}.Title(), Expected: expectedTime(c.Params)})
	}
	return e
}

// expectedTime of a load, ramp included; 0 when it ends by size.
func expectedTime(params map[string]string) time.Duration {
	d := fio.WantedRuntime(params)
	if d > 0 {
		d += fio.Ramp(params)
	}
	return d
}

func (m *measurement) pause() time.Duration { return time.Duration(m.run.Pause * float64(time.Second)) }

func (m *measurement) planned() int {
	n := 0
	for _, c := range m.run.Cells {
		n += c.Repetitions
	}
	return n
}

// report prints the finished run.
func (m *measurement) report() error {
	b, err := m.store.Find(m.run.ID)
	if err != nil {
		return err
	}
	format := "table"
	if m.json {
		format = "json"
	}
	return m.write(format, []*store.Bundle{b}, m.Stdout, report.Options{})
}

func (m *measurement) release() {
	if m.device != nil {
		m.device.release()
	}
}

// size reads an amount that the user typed. It is fio's notation without its decimal Ki and Mi: here somebody who writes
// 4GiB means 4 GiB, and fio would not.
func size(typed string) (int64, error) {
	return unit.ParseBytes(strings.ReplaceAll(strings.ToLower(typed), "i", ""))
}
