package cli

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

	"headroom/internal/document"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/layers"
	"headroom/internal/load/fio"
	"headroom/internal/prose"
	"headroom/internal/report"
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
	fixedPasses
	options liveOptions
}

// compareLayers measures the layers in turns and says what each adds.
func compareLayers(ctx context.Context, p *program, o liveOptions, args []string) error {
	if _, _, err := o.result.formats(p.json); err != nil {
		return err // rather now than after the measuring
	}
	st, err := p.openStoreFor(o.resume)
	if err != nil {
		return err
	}
	s := &layerRun{fixedPasses: fixedPasses{turns: turns{program: p, store: st}, passes: o.pairs, level: layerLevel},
		options: o}
	defer s.release()
	if s.passes == 0 {
		s.passes = defaultRounds
	}
	if s.passes < 2 {
		return usage(fmt.Sprintf("--pairs %d is too few passes: one says nothing of the spread", o.pairs))
	}
	if o.resume != "" {
		if len(args) > 0 {
			return usage("--resume takes the layers from the runs", "headroom compare --layers --resume "+o.resume)
		}
		if !o.dryRun.asked() {
			if err := recoverLeftovers(ctx, p, st, s.targetsBefore(o.resume)...); err != nil {
				return err
			}
		}
		err = s.resumeRuns(ctx, o.resume, o.writes)
	} else {
		err = s.newRuns(ctx, args)
	}
	if err != nil {
		return err
	}
	s.setPlan(o.budget)
	if _, more := s.plan.Next(s.done); more {
		s.printSummary()
		if o.dryRun.asked() {
			return s.printPlan()
		}
		if err := s.execute(ctx, &passesProgress{fixedPasses: &s.fixedPasses, width: columns(s.Stderr)}); err != nil {
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
func layersOf(args []string, kinds targetKinds) []layerSide {
	var all []layerSide
	on, called := localTarget, ""
	for i, typed := range args {
		name, what := roleOf(typed)
		switch {
		case !kinds.has(what):
			all = append(all, layerSide{cmp.Or(name, called), on, what})
			called = ""
		case i+1 < len(args) && !namesTarget(args[i+1], kinds):
			on, called = what, name
		case !kinds.traits(what).Local:
			all = append(all, layerSide{name, what, ""})
		}
	}
	return all
}

func namesTarget(typed string, kinds targetKinds) bool {
	_, what := roleOf(typed)
	return kinds.has(what)
}

// newRuns makes a run for each layer out of the command line.
func (s *layerRun) newRuns(ctx context.Context, args []string) error {
	name := s.options.suite
	if name == "" && len(args) > 0 && isSuite(args[0]) {
		name, args = args[0], args[1:]
	}
	if name == "" {
		name = "layers"
	}
	sides := layersOf(args, s.allKinds())
	if len(sides) < 2 {
		return usage("--layers takes two places or more, from the bottom up",
			"for example: headroom compare --layers /dev/sdb /dev/vg/data /srv",
			"or, of a cluster: headroom compare --layers raw='kube:pod?class=fast&mode=block' pod='kube:pod?class=fast'")
	}
	if s.options.seed == 0 {
		s.options.seed = rand.Uint64()
	}
	var targets []string
	for _, side := range sides {
		targets = append(targets, side.target)
	}
	if !s.options.dryRun.asked() {
		if err := recoverLeftovers(ctx, s.fixedPasses.turns.program, s.store, targets...); err != nil {
			return err
		}
	}
	s.arms = map[string]*measurement{}
	var beside *measurement
	for i, side := range sides {
		arm := strconv.Itoa(i + 1)
		t, err := s.reach(ctx, side.target)
		if err != nil {
			return err
		}
		m := &measurement{program: s.program, options: s.options.runOptions(0, cmp.Or(side.name, arm), nil),
			store: s.store, target: t, concurrent: beside}
		m.options.destroy, m.options.sampled = "", "" // devices are only read
		m.options.label = cmp.Or(m.options.label, side.name)
		typed := []string{name, side.place}
		if side.place == "" {
			typed = typed[:1]
		}
		if err := m.newHeader(ctx, typed); err != nil {
			return err
		}
		s.names = append(s.names, arm)
		s.arms[arm], beside = m, m
	}
	if err := s.shareCells(); err != nil {
		return err
	}
	for _, arm := range s.names {
		if err := s.arms[arm].secureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	return s.checkOrder(ctx)
}

// layerName is what a layer is called: as it was named, or where it is.
func layerName(m *measurement) string {
	words := strings.Fields(m.run.Label)
	if len(words) > 0 && words[len(words)-1] != m.run.Arms[0].Levels[layerLevel] {
		return words[len(words)-1]
	}
	path := m.place().Path
	if on := m.run.Targets[0].Remote(); on != "" { // a survey that is shown again has its targets in the run alone
		return path + " of " + on
	}
	return path
}

// setPeerCells leaves the same cells to all layers: loads that only read, where some layer is a device, and of the same
// size everywhere.
func (s *layerRun) shareCells() error {
	devices, smallest := 0, int64(defaultScratch)
	if n, err := size(s.options.size); err == nil && n > 0 {
		smallest = n
	}
	for _, arm := range s.names {
		place := s.arms[arm].place()
		if place.Kind == lab.Device {
			devices++
			smallest = min(smallest, place.Size)
		}
	}
	for _, arm := range s.names {
		if place := s.arms[arm].place(); place.Kind == lab.Directory {
			smallest = min(smallest, place.Size)
		}
	}
	left := 0
	for _, arm := range s.names {
		run := &s.arms[arm].run
		before := len(run.Cells)
		if devices > 0 {
			run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
		}
		left = before - len(run.Cells)
		for i := range run.Cells {
			c := &run.Cells[i]
			c.Repetitions = s.passes
			if run.Targets[0].Place.Kind == lab.Device {
				c.Steps = []lab.Step{lab.Load} // nothing is prepared where something may be kept
				c.Params = maps.Clone(c.Params)
				if c.Params["size"] == "" {
					c.Params["size"] = strconv.FormatInt(smallest, 10)
				}
			}
		}
		run.Design = lab.DesignLayers
		run.Pair, run.Seed, run.Order, run.Repetitions = s.first().run.ID, s.first().run.Seed, "rounds", s.passes
		run.Arms = []lab.Arm{{ID: onlyArm, Role: storageRole, Levels: map[string]string{layerLevel: arm}}}
	}
	if len(s.first().run.Cells) == 0 {
		return usage("no job of the suite only reads, and devices are only read here",
			"take one that reads, or directories alone")
	}
	if left > 0 {
		were := "that write were"
		if left == 1 {
			were = "that writes was"
		}
		s.notes = append(s.notes, fmt.Sprintf("%s %s left out: what lies on a device is kept, so devices are only read",
			prose.Count(left, "cell"), were))
	}
	return nil
}

// checkOrder compares the order of the arguments with what the kernel knows of the stack.
func (s *layerRun) checkOrder(ctx context.Context) error {
	for i := 1; i < len(s.names); i++ {
		lower, upper := s.arms[s.names[i-1]], s.arms[s.names[i]]
		if lower.target != upper.target {
			s.notes = append(s.notes, fmt.Sprintf("nobody says whether %s lies on %s: they are on two targets",
				layerName(upper), layerName(lower)))
			continue
		}
		on, known, err := facts.Stacked(ctx, upper.target, lower.place(), upper.place())
		if err != nil {
			return err
		}
		switch {
		case !known:
			s.notes = append(s.notes, fmt.Sprintf("the kernel does not say whether %s lies on %s", upper.place().Path,
				lower.place().Path))
		case !on:
			upper.run.Warnings = append(upper.run.Warnings, layers.NotStacked(upper.place().Path, lower.place().Path))
		}
	}
	return nil
}

// printPlan is what --dry-run prints: the loads of each layer, and their order.
func (s *layerRun) printPlan() error {
	l := s.listing(s.options.dryRun)
	for _, arm := range s.names {
		l.line("layer %s  %s", arm, s.arms[arm].where())
		s.arms[arm].listLoads(l, func(c runner.Cell) string { return fmt.Sprintf("%s: %v", c.Title, c.Steps) })
	}
	s.listOrder(l, "layers")
	return l.end()
}

func (s *layerRun) printSummary() {
	for _, arm := range s.names {
		fmt.Fprintf(s.Stderr, "layer %s  %s\n", arm, s.arms[arm].where())
	}
	text := fmt.Sprintf("%s in %d passes over %s", prose.Count(len(s.first().run.Cells), "cell"), s.passes,
		prose.Count(len(s.names), "layer"))
	if e := suite.EstimateTime(s.first().suiteCells(), s.first().pause()); e > 0 {
		text += "; about " + unit.Duration(time.Duration(len(s.names))*e)
	}
	var writes suite.Writes
	for _, arm := range s.names {
		writes = writes.And(s.arms[arm].writes(s.arms[arm].suiteCells()))
	}
	fmt.Fprintln(s.Stderr, "  "+text+"; writes "+writtenText(writes))
}

// report compares what was saved.
func (s *layerRun) report() error {
	var list []layers.Layer
	var measured []layers.Measured
	var warnings []layers.Warning
	for i, arm := range s.names {
		run := s.arms[arm].run
		place := run.Targets[0].Place
		list = append(list, layers.Layer{Name: layerName(s.arms[arm]), Kind: place.Kind, Filesystem: place.Filesystem,
			Run: run.ID})
		b, err := s.store.Find(run.ID)
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
		found, err := warningsOf(b)
		if err != nil {
			return err
		}
		for _, w := range found {
			warnings = append(warnings, layers.Warning{Layer: i, Cell: w.cell, Warning: w.Warning,
				Repetitions: w.repetitions, N: w.n})
		}
	}
	var cells []layers.Cell
	for _, c := range s.first().run.Cells {
		cells = append(cells, layers.Cell{Cell: c, Title: titleOf(c)})
	}
	d := layers.Compare(list, cells, measured, warnings, s.notes)
	return showResult(s.fixedPasses.turns.program, s.store, resultDocument{d, func(o report.Options) document.Document {
		return report.LayersDocument(d, o)
	}, s.runs()}, s.options.result)
}
