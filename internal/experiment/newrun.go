package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/validity"
)

// NewHeader makes the header of a new run.
func (m *Measurement) NewHeader(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return app.Usage("run what?", "headroom suites lists the suites", "for example: headroom run quick .")
	}
	su, err := LoadSuite(args[0])
	if err != nil {
		return err
	}
	place, err := ResolvePlace(ctx, m.Target, su, args[1:])
	if err != nil {
		return err
	}
	return m.NewHeaderOn(su, place)
}

// NewHeaderOn makes the header of a new run of a suite on a place.
func (m *Measurement) NewHeaderOn(su suite.Suite, place lab.Place) error {
	cells, err := m.Options.Expand(&su, place)
	if err != nil {
		return err
	}
	seed := m.Options.Seed
	if seed == 0 {
		seed = su.Seed
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	m.Run = lab.Run{
		ID: store.NewID(), Label: m.Options.Label, Status: lab.Running, Source: lab.Measured, Created: time.Now(),
		Version: m.App.Version,
		Command: m.App.Args, Design: lab.DesignRun, Suite: su.Name, SuiteText: su.Text, Order: string(su.Order),
		Seed: seed, Repetitions: su.Repetitions,
		Pause: su.Interval.Seconds(), AsPublished: m.Options.AsPublished,
		Arms:    []lab.Arm{{ID: lab.OnlyArm, Role: app.StorageRole, Levels: map[string]string{}}},
		Cells:   RecordedCells(cells),
		Targets: []lab.RunTarget{{Role: app.StorageRole, Target: m.Target.Name(), Place: place}},
	}
	m.Run.Profile, err = m.Options.profileTerms()
	if err := errors.Join(m.Options.setPrecision(&m.Run, m.Saved, m.Resumed != nil), err); err != nil {
		return err
	}
	for _, note := range su.Notes {
		m.Run.Warnings = append(m.Run.Warnings, lab.Warning{Code: "read-otherwise", Text: note})
	}
	if place.Kind == lab.Directory {
		if m.Run.Targets[0].Place.Size, err = m.Options.scratchSize(su, cells); err != nil {
			return err
		}
	}
	return nil
}

// SecureAndSnapshot secures the place of a drafted run, and takes down the machine as it is.
func (m *Measurement) SecureAndSnapshot(ctx context.Context) error {
	defer m.App.Footprint.WithLowMemory()()
	var err error
	if !m.Options.DryRun.Asked() {
		err = m.programs().requireFio(ctx)
	}
	if err != nil {
		return err
	}
	if err = m.securePlace(ctx); err != nil {
		return err
	}
	if m.Before, err = m.App.Snapshot(ctx, m.Target, m.Place()); err != nil {
		return err
	}
	m.Run.Targets[0].Facts = app.WithEmulation(m.Target, facts.Brief(m.Before.Facts))
	if m.Run.Targets[0].NotVerified, err = app.OwnArguments(ctx, m.Target); err != nil {
		return err
	}
	warnings, err := warningsOfPlace(ctx, m.Target, m.Place(), m.Store.Dir())
	m.Run.Warnings = append(m.Run.Warnings, warnings...)
	return err
}

// LoadSuite finds a suite by its name or reads it from a file.
func LoadSuite(name string) (suite.Suite, error) {
	if !strings.ContainsRune(name, filepath.Separator) && filepath.Ext(name) == "" {
		return suite.Load(name)
	}
	data, err := app.ReadInput(name)
	if err != nil {
		return suite.Suite{}, &lab.Error{Kind: lab.Usage, What: "can't read the suite", Err: err}
	}
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		return suite.Decode(name, data)
	}
	return suite.DecodeJobFile(name, data)
}

// IsSuite tells a suite from a place: a built-in name, or a file as suites are kept in. A folder that is called like a
// suite is named with its path: ./quick.
func IsSuite(arg string) bool {
	return slices.Contains(suite.Builtin(), arg) ||
		slices.Contains([]string{".yaml", ".yml", ".fio"}, filepath.Ext(arg))
}

// ResolvePlace finds out what to measure: what the command line says, or what a fio job file names.
func ResolvePlace(ctx context.Context, t host.Target, su suite.Suite, args []string) (lab.Place, error) {
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
		if has, ok := t.(host.HasTestPath); ok {
			path = has.TestPath()
		}
	}
	if path == "" {
		return lab.Place{}, app.Usage("measure what? name a directory or a device",
			fmt.Sprintf("for example: headroom run %s .", su.Name))
	}
	if !host.IsLocal(t) && !filepath.IsAbs(path) {
		return lab.Place{}, app.Usage(fmt.Sprintf("%s is on %s, where no working directory is known", path,
			t.Name()), "write the whole path: /srv")
	}
	return storage.ResolvePlace(ctx, t, path)
}

// Expand applies the command line to the suite and returns its cells.
func (o RunOptions) Expand(su *suite.Suite, place lab.Place) ([]suite.Cell, error) {
	if o.AsPublished {
		published, err := su.AsPublished()
		if err != nil {
			return nil, err
		}
		*su = published
		su.Notes = append(su.Notes, su.Published.Note)
	}
	if order := suite.Order(o.Order); order != "" {
		if !slices.Contains([]suite.Order{suite.Interleaved, suite.Shuffled, suite.Sequential}, order) {
			return nil, app.Usage("there is no order "+o.Order, "it is interleaved, shuffled or sequential")
		}
		su.Order = order
	}
	changed, err := su.With(o.Set)
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
		if o.Repeat > 0 {
			cells[i].Repetitions = o.Repeat
		}
	}
	return cells, nil
}

// RecordedCells are the cells as the run keeps them.
func RecordedCells(cells []suite.Cell) []lab.Cell {
	list := make([]lab.Cell, len(cells))
	for i, c := range cells {
		list[i] = lab.Cell{ID: c.ID, Arm: lab.OnlyArm, Job: c.Job, Engine: c.Engine, Command: c.Command,
			Metrics: c.Metrics,
			Params:  c.Params,
			Steps:   c.Steps, Repetitions: c.Repetitions}
	}
	return list
}

// warningsOfPlace warns if the disks of a place are busy before anything was started, and if the results, which are
// kept in a folder, are written to them.
func warningsOfPlace(ctx context.Context, t host.Target, place lab.Place, results string) ([]lab.Warning, error) {
	var all []lab.Warning
	if len(place.Disks) > 0 {
		activity, err := counters.InUse(ctx, t, place.Disks)
		if err != nil {
			return nil, err
		}
		if activity.Disturbing() {
			all = append(all, validity.BusyBefore(activity.String()))
		}
	}
	if !app.OnThisMachine(ctx, t) {
		return all, nil
	}
	same, err := storage.SameDevice(ctx, t, place, results)
	if same && err == nil {
		all = append(all, validity.StoreOnDevice(results, strings.Join(place.Disks, ", ")))
	}
	return all, err
}

// warnActiveRuns warns once of each run of the store that another process is measuring on the same disks of a target.
// Both runs continue: their warnings show afterwards how they disturbed each other.
func warnActiveRuns(p *app.App, s *store.Store, target string, disks []string) {
	if len(disks) == 0 || p.Traits(target).Made() {
		return
	}
	for _, b := range p.Others.In(s) {
		shared := disksShared(b.Run, target, disks)
		if len(shared) == 0 || !p.Others.FirstTold(b.Run.ID) {
			continue
		}
		id := s.ShortID(b.Run.ID)
		p.Print("! ", "run "+id+" is measuring "+strings.Join(shared, ", ")+" at the moment, and the two disturb "+
			"each other; headroom list --status running lists it until it has ended")
	}
}

// disksShared returns which of some disks of a target a run measures too.
func disksShared(run lab.Run, target string, disks []string) []string {
	var shared []string
	for _, t := range run.Targets {
		for _, disk := range t.Place.Disks {
			if t.Target == target && slices.Contains(disks, disk) && !slices.Contains(shared, disk) {
				shared = append(shared, disk)
			}
		}
	}
	return shared
}
