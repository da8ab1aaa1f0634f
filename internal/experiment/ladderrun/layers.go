package ladderrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// defaultLayerPasses is the default number of measurements of each layer: enough that the intervals of differences are
// half as wide as from five.
const defaultLayerPasses = 10

// LayerOptions are the flags of compare --layers.
type LayerOptions struct {
	Suite, Size, Label, MaxWrites string
	Set                           []string
	Seed                          uint64
	Passes                        int
	Budget                        time.Duration
	Resume                        string
	DryRun                        app.DryRun
	Result                        results.DocumentOutput
}

// layerRun measures the layers of a host's storage in turn.
type layerRun struct {
	passes
	options LayerOptions
	suite   string
	sides   []layerSide
}

// CompareLayers measures the layers in turn and reports what each adds, resumes such a run, or prints its steps.
func CompareLayers(ctx context.Context, p *app.App, o LayerOptions, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measurement
	}
	st, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	s := &layerRun{options: o, passes: passes{app: p, store: st, design: lab.DesignLayers, level: results.LayerLevel,
		result: o.Result,
		count:  cmp.Or(o.Passes, defaultLayerPasses), budget: o.Budget, title: (*experiment.Measurement).Where}}
	if s.count < 2 {
		return app.Usage(fmt.Sprintf("--pairs %d is too few passes: one says nothing of the spread", o.Passes))
	}
	s.readSides(args)
	return experiment.Carry(ctx, p, st, experiment.Request{Design: lab.DesignLayers, Resume: o.Resume, Args: args,
		DryRun: o.DryRun, Complete: true}, s)
}

// readSides reads the suite and the layers as typed.
func (s *layerRun) readSides(args []string) {
	s.suite = s.options.Suite
	if s.suite == "" && len(args) > 0 && experiment.IsSuite(args[0]) {
		s.suite, args = args[0], args[1:]
	}
	s.suite = cmp.Or(s.suite, "layers")
	s.sides = layersOf(args, s.app.AllKinds())
}

// Targets returns the targets of the layers.
func (s *layerRun) Targets(saved *store.Bundle) ([]string, error) {
	if saved != nil {
		return s.savedTargets(saved)
	}
	if len(s.sides) < 2 {
		return nil, app.Usage("--layers takes two places or more, from the bottom up",
			"for example: headroom compare --layers /dev/sdb /dev/vg/data /srv",
			"or, of a cluster: headroom compare --layers raw='kube:pod?class=fast&mode=block' pod='kube:pod?class=fast'")
	}
	var names []string
	for _, side := range s.sides {
		names = append(names, side.target)
	}
	return names, nil
}

// Draft makes an arm for each layer.
func (s *layerRun) Draft(ctx context.Context, p *experiment.Plan) error {
	s.plan = p
	if s.options.Seed == 0 {
		s.options.Seed = rand.Uint64()
	}
	for _, side := range s.sides {
		t, err := s.open(ctx, side.target)
		if err != nil {
			return err
		}
		o := experiment.RunOptions{Seed: s.options.Seed, Size: s.options.Size, MaxWrites: s.options.MaxWrites,
			Set: s.options.Set, DryRun: s.options.DryRun, Label: s.options.Label} // devices are only read
		m := &experiment.Measurement{App: s.app, Options: o, Store: s.store, Target: t}
		typed := []string{s.suite, side.place}
		if side.place == "" {
			typed = typed[:1]
		}
		if err := m.NewHeader(ctx, typed); err != nil {
			return err
		}
		s.add(m)
	}
	if err := s.shareCells(); err != nil {
		return err
	}
	if err := s.secure(ctx); err != nil {
		return err
	}
	if err := s.checkOrder(ctx); err != nil {
		return err
	}
	s.setPlan()
	return nil
}

// Rebuild reads the saved repetitions of the layers.
func (s *layerRun) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	s.plan = p
	return s.resume(ctx, saved, s.options.MaxWrites)
}

// layerSide is a layer as typed: a place on a target, or a target that was made with a place. Name is empty if none was
// given.
type layerSide struct{ name, target, place string }

// layersOf reads the arguments. A place is on the last target before it. A target that no place follows is a layer
// itself.
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

// shareCells gives all layers the same cells, of the same size. If some layer is a device, these are loads that only
// read.
func (s *layerRun) shareCells() error {
	devices, smallest := 0, int64(experiment.DefaultScratch)
	if n, err := experiment.Size(s.options.Size); err == nil && n > 0 {
		smallest = n
	}
	for _, arm := range s.plan.Names {
		place := s.plan.Parts[arm].Place()
		if place.Kind == lab.Device {
			devices++
			smallest = min(smallest, place.Size)
		}
	}
	for _, arm := range s.plan.Names {
		if place := s.plan.Parts[arm].Place(); place.Kind == lab.Directory {
			smallest = min(smallest, place.Size)
		}
	}
	left := 0
	for i, arm := range s.plan.Names {
		run := &s.plan.Parts[arm].Run
		if devices > 0 {
			left = onlyReads(run)
		}
		for i := range run.Cells {
			if c := &run.Cells[i]; run.Targets[0].Place.Kind == lab.Device {
				c.Steps = []lab.Step{lab.Load} // nothing is prepared on a device that may hold data
				c.Params = maps.Clone(c.Params)
				c.Params["size"] = cmp.Or(c.Params["size"], strconv.FormatInt(smallest, 10))
			}
		}
		levels := map[string]string{}
		if name := s.sides[i].name; name != "" {
			levels[results.NameLevel] = name
		}
		s.setHeader(arm, levels)
	}
	if len(s.plan.First().Run.Cells) == 0 {
		return app.Usage("no job of the suite only reads, and devices are only read here",
			"take one that reads, or directories alone")
	}
	if left > 0 {
		were := "that write were"
		if left == 1 {
			were = "that writes was"
		}
		s.notes = append(s.notes, fmt.Sprintf("%s %s left out: what a device stores is kept, so devices are only read",
			prose.Count(left, "cell"), were))
	}
	return nil
}

// checkOrder compares the order of the arguments with the kernel's knowledge of the stack.
func (s *layerRun) checkOrder(ctx context.Context) error {
	for i := 1; i < len(s.plan.Names); i++ {
		lower, upper := s.plan.Parts[s.plan.Names[i-1]], s.plan.Parts[s.plan.Names[i]]
		if lower.Target != upper.Target {
			s.notes = append(s.notes, fmt.Sprintf("it is unknown whether %s is stored on %s: they are on two targets",
				results.LayerName(upper.Run), results.LayerName(lower.Run)))
			continue
		}
		on, known, err := storage.Stacked(ctx, upper.Target, lower.Place(), upper.Place())
		if err != nil {
			return err
		}
		switch {
		case !known:
			s.notes = append(s.notes, fmt.Sprintf("the kernel does not report whether %s is stored on %s",
				upper.Place().Path, lower.Place().Path))
		case !on:
			upper.Run.Warnings = append(upper.Run.Warnings, layers.NotStacked(upper.Place().Path, lower.Place().Path))
		}
	}
	return nil
}
