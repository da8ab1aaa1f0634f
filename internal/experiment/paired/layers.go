package paired

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/app"
	"headroom/internal/document"
	"headroom/internal/experiment"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/layers"
	"headroom/internal/load/fio"
	"headroom/internal/prose"
	"headroom/internal/recovery"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/runner"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// layerLevel is the level by which the runs of a survey say which layer they measured, from 1 at the bottom.
const layerLevel = "layer"

// defaultRounds is how often each layer is measured when nobody says otherwise: enough that the intervals of
// differences are half as wide as from five.
const defaultRounds = 10

// layerRun is the measurements of all layers of a host's storage, which take turns.
type layerRun struct {
	experiment.FixedPasses
	options LiveOptions
}

// CompareLayers measures the layers in turns and says what each adds.
func CompareLayers(ctx context.Context, p *app.App, o LiveOptions, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	st, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	s := &layerRun{FixedPasses: experiment.FixedPasses{Turns: experiment.Turns{App: p, Store: st}, Passes: o.Pairs,
		Level: layerLevel},
		options: o}
	defer s.Release()
	if s.Passes == 0 {
		s.Passes = defaultRounds
	}
	if s.Passes < 2 {
		return app.Usage(fmt.Sprintf("--pairs %d is too few passes: one says nothing of the spread", o.Pairs))
	}
	if o.Resume != "" {
		if len(args) > 0 {
			return app.Usage("--resume takes the layers from the runs", "headroom compare --layers --resume "+o.Resume)
		}
		if !o.DryRun.Asked() {
			if err := recovery.RecoverLeftovers(ctx, p, st, s.TargetsBefore(o.Resume)...); err != nil {
				return err
			}
		}
		err = s.ResumeRuns(ctx, o.Resume, o.Writes)
	} else {
		err = s.newRuns(ctx, args)
	}
	if err != nil {
		return err
	}
	s.SetPlan(o.Budget)
	if _, more := s.Plan.Next(s.Done); more {
		s.printSummary()
		if o.DryRun.Asked() {
			return s.printPlan()
		}
		if err := s.Execute(ctx, &experiment.PassesProgress{FixedPasses: &s.FixedPasses,
			Width: app.Columns(s.Stderr)}); err != nil {
			return err
		}
	}
	return s.report()
}

// layerSide is a layer as it was typed: a place on a target, or a target that was made with one. Name is empty where
// none was given.
type layerSide struct{ name, target, place string }

// layersOf reads the arguments. A place is on the target that was typed before it, from there on until another is; a
// target that no place follows is a layer by itself.
func layersOf(args []string, kinds app.TargetKinds) []layerSide {
	var all []layerSide
	on, called := app.LocalTarget, ""
	for i, typed := range args {
		name, what := app.RoleOf(typed)
		switch {
		case !kinds.Has(what):
			all = append(all, layerSide{cmp.Or(name, called), on, what})
			called = ""
		case i+1 < len(args) && !namesTarget(args[i+1], kinds):
			on, called = what, name
		case !kinds.Traits(what).Local:
			all = append(all, layerSide{name, what, ""})
		}
	}
	return all
}

func namesTarget(typed string, kinds app.TargetKinds) bool {
	_, what := app.RoleOf(typed)
	return kinds.Has(what)
}

// NewRuns makes a run for each layer out of the command line.
func (s *layerRun) newRuns(ctx context.Context, args []string) error {
	name := s.options.Suite
	if name == "" && len(args) > 0 && IsSuite(args[0]) {
		name, args = args[0], args[1:]
	}
	if name == "" {
		name = "layers"
	}
	sides := layersOf(args, s.AllKinds())
	if len(sides) < 2 {
		return app.Usage("--layers takes two places or more, from the bottom up",
			"for example: headroom compare --layers /dev/sdb /dev/vg/data /srv",
			"or, of a cluster: headroom compare --layers raw='kube:pod?class=fast&mode=block' pod='kube:pod?class=fast'")
	}
	if s.options.Seed == 0 {
		s.options.Seed = rand.Uint64()
	}
	var targets []string
	for _, side := range sides {
		targets = append(targets, side.target)
	}
	if !s.options.DryRun.Asked() {
		if err := recovery.RecoverLeftovers(ctx, s.FixedPasses.Turns.App, s.Store, targets...); err != nil {
			return err
		}
	}
	s.Arms = map[string]*experiment.Measurement{}
	var beside *experiment.Measurement
	for i, side := range sides {
		arm := strconv.Itoa(i + 1)
		t, err := s.Reach(ctx, side.target)
		if err != nil {
			return err
		}
		m := &experiment.Measurement{App: s.App, Options: s.options.runOptions(0, cmp.Or(side.name, arm), nil),
			Store: s.Store, Target: t, Concurrent: beside}
		m.Options.Destroy, m.Options.Sampled = "", "" // devices are only read
		m.Options.Label = cmp.Or(m.Options.Label, side.name)
		typed := []string{name, side.place}
		if side.place == "" {
			typed = typed[:1]
		}
		if err := m.NewHeader(ctx, typed); err != nil {
			return err
		}
		s.Names = append(s.Names, arm)
		s.Arms[arm], beside = m, m
	}
	if err := s.shareCells(); err != nil {
		return err
	}
	for _, arm := range s.Names {
		if err := s.Arms[arm].SecureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	return s.checkOrder(ctx)
}

// layerName is what a layer is called: as it was named, or where it is.
func layerName(m *experiment.Measurement) string {
	words := strings.Fields(m.Run.Label)
	if len(words) > 0 && words[len(words)-1] != m.Run.Arms[0].Levels[layerLevel] {
		return words[len(words)-1]
	}
	path := m.Place().Path
	if on := m.Run.Targets[0].Remote(); on != "" { // a survey that is shown again has its targets in the run alone
		return path + " of " + on
	}
	return path
}

// setPeerCells leaves the same cells to all layers: loads that only read, where some layer is a device, and of the same
// size everywhere.
func (s *layerRun) shareCells() error {
	devices, smallest := 0, int64(experiment.DefaultScratch)
	if n, err := experiment.Size(s.options.Size); err == nil && n > 0 {
		smallest = n
	}
	for _, arm := range s.Names {
		place := s.Arms[arm].Place()
		if place.Kind == lab.Device {
			devices++
			smallest = min(smallest, place.Size)
		}
	}
	for _, arm := range s.Names {
		if place := s.Arms[arm].Place(); place.Kind == lab.Directory {
			smallest = min(smallest, place.Size)
		}
	}
	left := 0
	for _, arm := range s.Names {
		run := &s.Arms[arm].Run
		before := len(run.Cells)
		if devices > 0 {
			run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
		}
		left = before - len(run.Cells)
		for i := range run.Cells {
			c := &run.Cells[i]
			c.Repetitions = s.Passes
			if run.Targets[0].Place.Kind == lab.Device {
				c.Steps = []lab.Step{lab.Load} // nothing is prepared where something may be kept
				c.Params = maps.Clone(c.Params)
				if c.Params["size"] == "" {
					c.Params["size"] = strconv.FormatInt(smallest, 10)
				}
			}
		}
		run.Design = lab.DesignLayers
		run.Pair, run.Seed, run.Order, run.Repetitions = s.First().Run.ID, s.First().Run.Seed, "rounds", s.Passes
		run.Arms = []lab.Arm{{ID: experiment.OnlyArm, Role: app.StorageRole,
			Levels: map[string]string{layerLevel: arm}}}
	}
	if len(s.First().Run.Cells) == 0 {
		return app.Usage("no job of the suite only reads, and devices are only read here",
			"take one that reads, or directories alone")
	}
	if left > 0 {
		were := "that write were"
		if left == 1 {
			were = "that writes was"
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%s %s left out: what lies on a device is kept, so devices are only read",
			prose.Count(left, "cell"), were))
	}
	return nil
}

// checkOrder compares the order of the arguments with what the kernel knows of the stack.
func (s *layerRun) checkOrder(ctx context.Context) error {
	for i := 1; i < len(s.Names); i++ {
		lower, upper := s.Arms[s.Names[i-1]], s.Arms[s.Names[i]]
		if lower.Target != upper.Target {
			s.Notes = append(s.Notes, fmt.Sprintf("nobody says whether %s lies on %s: they are on two targets",
				layerName(upper), layerName(lower)))
			continue
		}
		on, known, err := facts.Stacked(ctx, upper.Target, lower.Place(), upper.Place())
		if err != nil {
			return err
		}
		switch {
		case !known:
			s.Notes = append(s.Notes, fmt.Sprintf("the kernel does not say whether %s lies on %s", upper.Place().Path,
				lower.Place().Path))
		case !on:
			upper.Run.Warnings = append(upper.Run.Warnings, layers.NotStacked(upper.Place().Path, lower.Place().Path))
		}
	}
	return nil
}

// PrintPlan is what --dry-run prints: the loads of each layer, and their order.
func (s *layerRun) printPlan() error {
	l := s.Listing(s.options.DryRun)
	for _, arm := range s.Names {
		l.Line("layer %s  %s", arm, s.Arms[arm].Where())
		s.Arms[arm].ListLoads(l, func(c runner.Cell) string { return fmt.Sprintf("%s: %v", c.Title, c.Steps) })
	}
	s.ListOrder(l, "layers")
	return l.End()
}

func (s *layerRun) printSummary() {
	for _, arm := range s.Names {
		fmt.Fprintf(s.Stderr, "layer %s  %s\n", arm, s.Arms[arm].Where())
	}
	text := fmt.Sprintf("%s in %d passes over %s", prose.Count(len(s.First().Run.Cells), "cell"), s.Passes,
		prose.Count(len(s.Names), "layer"))
	if e := suite.EstimateTime(s.First().SuiteCells(), s.First().Pause()); e > 0 {
		text += "; about " + unit.Duration(time.Duration(len(s.Names))*e)
	}
	var writes suite.Writes
	for _, arm := range s.Names {
		writes = writes.And(s.Arms[arm].Writes(s.Arms[arm].SuiteCells()))
	}
	fmt.Fprintln(s.Stderr, "  "+text+"; writes "+experiment.WrittenText(writes))
}

// report compares what was saved.
func (s *layerRun) report() error {
	var list []layers.Layer
	var measured []layers.Measured
	var warnings []layers.Warning
	for i, arm := range s.Names {
		run := s.Arms[arm].Run
		place := run.Targets[0].Place
		list = append(list, layers.Layer{Name: layerName(s.Arms[arm]), Kind: place.Kind, Filesystem: place.Filesystem,
			Run: run.ID})
		b, err := s.Store.Find(run.ID)
		if err != nil {
			return err
		}
		for r, err := range b.Repetitions() {
			if err != nil {
				return err
			}
			if !r.Failed() {
				measured = append(measured, layers.Measured{Layer: i, Cell: r.Cell, Block: r.Block, Values: r.Values})
			}
		}
		found, err := app.WarningsOf(b)
		if err != nil {
			return err
		}
		for _, w := range found {
			warnings = append(warnings, layers.Warning{Layer: i, Cell: w.Cell, Warning: w.Warning,
				Repetitions: w.Repetitions, N: w.N})
		}
	}
	var cells []layers.Cell
	for _, c := range s.First().Run.Cells {
		cells = append(cells, layers.Cell{Cell: c, Title: experiment.TitleOf(c)})
	}
	d := layers.Compare(list, cells, measured, warnings, s.Notes)
	return results.ShowResult(s.FixedPasses.Turns.App, s.Store,
		results.ResultDocument{Published: d, Document: func(o report.Options) document.Document {
			return report.LayersDocument(d, o)
		}, Runs: s.Runs()}, s.options.Result)
}
