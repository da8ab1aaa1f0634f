package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// plan makes a new run out of the command line and makes sure that it can be carried out.
func (m *measurement) plan(ctx context.Context, args []string) error {
	if err := m.newHeader(ctx, args); err != nil {
		return err
	}
	if err := m.planEvents(m.eventTarget); err != nil {
		return err
	}
	return m.secureAndSnapshot(ctx)
}

// newHeader makes the header of a new run.
func (m *measurement) newHeader(ctx context.Context, args []string) error {
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
	return m.newHeaderOn(su, place)
}

// newHeaderOn makes the header of a new run of a suite on a place.
func (m *measurement) newHeaderOn(su suite.Suite, place lab.Place) error {
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
		ID: store.NewID(), Label: m.options.label, Status: lab.Running, Source: lab.Measured, Created: time.Now(),
		Version: m.Version,
		Command: m.Args, Design: lab.DesignRun, Suite: su.Name, SuiteText: su.Text, Order: string(su.Order), Seed: seed,
		Repetitions: su.Repetitions,
		Pause:       su.Interval.Seconds(), AsPublished: m.options.asPublished,
		Arms:    []lab.Arm{{ID: onlyArm, Role: storageRole, Levels: map[string]string{}}},
		Cells:   recordedCells(cells),
		Targets: []lab.RunTarget{{Role: storageRole, Target: m.target.Name(), Place: place}},
	}
	if err := m.readPrecision(); err != nil {
		return err
	}
	for _, note := range su.Notes {
		m.run.Warnings = append(m.run.Warnings, lab.Warning{Code: "read-otherwise", Text: note})
	}
	if place.Kind == lab.Directory {
		if m.run.Targets[0].Place.Size, err = m.scratchSize(su, cells); err != nil {
			return err
		}
	}
	return nil
}

// secureAndSnapshot secures the place of a drafted run, and takes down the machine as it is.
func (m *measurement) secureAndSnapshot(ctx context.Context) error {
	defer m.Footprint.withLowMemory()()
	var err error
	if !m.options.dryRun.asked() {
		err = m.requireFio(ctx)
	}
	if err != nil {
		return err
	}
	if err = m.securePlace(ctx); err != nil {
		return err
	}
	if m.before, err = m.snapshot(ctx, m.target, m.place()); err != nil {
		return err
	}
	m.run.Targets[0].Facts = withEmulation(m.target, facts.Brief(m.before.Facts))
	if m.run.Targets[0].NotVerified, err = ownArguments(ctx, m.target); err != nil {
		return err
	}
	if err := m.warnOfOtherLoad(ctx); err != nil {
		return err
	}
	return m.warnOfStore(ctx)
}

// loadSuite finds a suite by its name or reads it from a file.
func loadSuite(name string) (suite.Suite, error) {
	if !strings.ContainsRune(name, filepath.Separator) && filepath.Ext(name) == "" {
		return suite.Load(name)
	}
	data, err := readInput(name)
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
		if t, ok := m.target.(target.HasTestPath); ok {
			path = t.TestPath()
		}
	}
	if path == "" {
		return lab.Place{}, usage("measure what? name a directory or a device",
			fmt.Sprintf("for example: headroom run %s .", su.Name))
	}
	if !target.IsLocal(m.target) && !filepath.IsAbs(path) {
		return lab.Place{}, usage(fmt.Sprintf("%s is on %s, where no working directory is known", path,
			m.target.Name()), "write the whole path: /srv")
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
	if err := su.CheckParameters(); err != nil {
		return nil, err
	}
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

// recordedCells are the cells as the run keeps them.
func recordedCells(cells []suite.Cell) []lab.Cell {
	list := make([]lab.Cell, len(cells))
	for i, c := range cells {
		list[i] = lab.Cell{ID: c.ID, Arm: onlyArm, Job: c.Job, Engine: c.Engine, Command: c.Command, Metrics: c.Metrics,
			Params: c.Params,
			Steps:  c.Steps, Repetitions: c.Repetitions}
	}
	return list
}

// warnOfOtherLoad says when the disks are busy before anything was started.
func (m *measurement) warnOfOtherLoad(ctx context.Context) error {
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
	if !onThisMachine(ctx, m.target) {
		return nil
	}
	same, err := facts.SameDevice(ctx, m.target, m.place(), m.store.Dir())
	if err != nil || !same {
		return err
	}
	m.run.Warnings = append(m.run.Warnings, validity.StoreOnDevice(m.store.Dir(), strings.Join(m.place().Disks, ", ")))
	return nil
}
