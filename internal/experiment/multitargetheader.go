package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
)

// newHeader makes the header of a new run and makes sure that it can be carried out. Args are the suite and the places.
func (t *MultiTargetRun) newHeader(ctx context.Context, args []string) error {
	if t.isFleet() {
		defer t.App.Footprint.WithLowMemory()()
	}
	if len(args) == 0 {
		return app.Usage("run what?", "headroom suites lists the suites", "for example: headroom run quick .")
	}
	su, err := LoadSuite(args[0])
	if err != nil {
		return err
	}
	if n := len(args) - 1; n > 1 && n != len(t.Parts) {
		return app.Usage(fmt.Sprintf("%d places are named for %d targets", n, len(t.Parts)),
			"name one for all, or one for each in the order of --on")
	}
	places := make([]lab.Place, len(t.Parts))
	err = t.forEachTarget(ctx, func(ctx context.Context, i int, m *Measurement) (err error) {
		at := args[1:]
		if len(at) > 1 {
			at = at[i : i+1]
		}
		if places[i], err = ResolvePlace(ctx, m.Target, su, at); err == nil {
			m.Location, err = Locate(ctx, m.Target, places[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	first := t.Parts[0]
	for i, m := range t.Parts {
		place := places[i]
		if err := m.NewHeaderOn(su, place); err != nil {
			return err
		}
		if place.Kind != first.Place().Kind {
			return app.Usage(fmt.Sprintf("%s is a %s and %s a %s", first.Place().Path, first.Place().Kind, place.Path,
				place.Kind), "take places of one kind: the loads must be the same")
		}
		m.Run.ID, m.Run.Seed = first.Run.ID, first.Run.Seed
		m.PrefixRole()
	}
	if err := t.planEvents(); err != nil {
		return err
	}
	if err := t.checkSamePlace(); err != nil {
		return err
	}
	if t.isFleet() && !t.Options.DryRun.Asked() {
		t.Join()
		if t.carried.writer, err = t.Store.Create(t.Run); err != nil {
			return err
		}
		// Nothing is left anywhere yet. Without this record, recovery would look at all targets.
		if err := t.carried.writer.AnnounceLeftovers(lab.Leftovers{Target: first.Target.Name(),
			Jobs: first.Owner()}); err != nil {
			return err
		}
	}
	if err := t.secureAndSnapshot(ctx); err != nil {
		return err
	}
	t.Join()
	return nil
}

// planEvents reads the events, which happen during the loads of all targets.
func (t *MultiTargetRun) planEvents() error {
	var ends []lab.RunTarget
	for _, m := range t.Parts {
		ends = append(ends, lab.RunTarget{Role: m.Role, Target: m.Target.Name()})
	}
	return PlanEventsOfAll(t.Parts, func(on string) (string, error) {
		return EventTarget(t.App.AllKinds(), on, "", ends...)
	})
}

// secureAndSnapshot secures the places, and takes down the machines as they are. The first of a fleet is the one that
// the others are compared with.
func (t *MultiTargetRun) secureAndSnapshot(ctx context.Context) error {
	ready := func(ctx context.Context, i int, m *Measurement) error {
		if i == 0 && m.Machine != nil { // it was the first
			return nil
		}
		if err := m.SecureAndSnapshot(ctx); err != nil || !t.isFleet() {
			return err
		}
		return t.saveSnapshotEarly(m)
	}
	if t.isFleet() {
		if err := ready(ctx, 0, t.Parts[0]); err != nil {
			return err
		}
	}
	return t.forEachTarget(ctx, ready)
}

// Join makes the header of the whole out of those of its parts.
func (t *MultiTargetRun) Join() {
	t.Run = t.Parts[0].Run
	t.Run.Targets, t.Run.Arms, t.Run.Cells = nil, nil, nil
	for _, m := range t.Parts {
		for _, target := range m.Run.Targets { // two pairs may have one server
			if !slices.ContainsFunc(t.Run.Targets, func(o lab.RunTarget) bool { return o.Role == target.Role }) {
				t.Run.Targets = append(t.Run.Targets, target)
			}
		}
		t.Run.Arms = append(t.Run.Arms, m.Run.Arms...)
	}
	t.Run.Concurrent = t.Design
	t.Run.AtOnce = t.Options.AtOnce
	for _, g := range t.groups() {
		t.Run.Arms = append(t.Run.Arms,
			lab.Arm{ID: g.Name, Role: g.Name, Levels: map[string]string{lab.TargetLevel: g.Name}})
	}
	if !t.sequential() {
		t.Run.Arms = append(t.Run.Arms, lab.Arm{ID: runner.AllTargets, Role: runner.AllTargets,
			Levels: map[string]string{lab.TargetLevel: runner.AllTargets}})
	}
	for _, id := range t.cellNames() {
		t.Run.Cells = append(t.Run.Cells, t.cellsOf(id)...)
	}
	t.Run.Warnings = t.warnings()
}

// sequential reports whether the targets are loaded in turns, not all at once. There are no sums then.
func (t *MultiTargetRun) sequential() bool { return t.Run.AtOnce > 0 && t.Run.AtOnce < len(t.Parts) }

// groups returns the groups of parts that have a sum each.
func (t *MultiTargetRun) groups() []lab.DesignGroup {
	if t.Design == nil {
		return nil
	}
	return t.Design.Groups
}

// cellNames returns the names of the cells of all parts, without their roles, each once.
func (t *MultiTargetRun) cellNames() []string {
	var names []string
	for _, m := range t.Parts {
		for _, c := range m.Run.Cells {
			if id := withoutRole(c.ID, m.Role); !slices.Contains(names, id) {
				names = append(names, id)
			}
		}
	}
	return names
}

// cellsOf are the cells of all who carry out one of this name: of the parts, of their groups, and of everybody.
func (t *MultiTargetRun) cellsOf(id string) []lab.Cell {
	var cells []lab.Cell
	for _, m := range t.Parts {
		if i := slices.IndexFunc(m.Run.Cells, func(c lab.Cell) bool { return c.ID == lab.CellIn(id, m.Role) }); i >=
			0 {
			cells = append(cells, m.Run.Cells[i])
		}
	}
	of := func(arm string, like lab.Cell) lab.Cell {
		like.ID, like.Arm = lab.CellIn(id, arm), arm
		return like
	}
	allTargets := of(runner.AllTargets, cells[0])
	for _, g := range t.groups() {
		if i := slices.IndexFunc(cells, func(c lab.Cell) bool { return slices.Contains(g.Arms, c.Arm) }); i >= 0 {
			cells = append(cells, of(g.Name, cells[i]))
		}
	}
	if t.sequential() {
		return cells
	}
	return append(cells, allTargets)
}

// withoutRole is the name that plans know a cell by.
func withoutRole(cell, role string) string { return strings.TrimSuffix(cell, lab.CellIn("", role)) }

// warnings of the run: those of the whole, then those of the parts.
func (t *MultiTargetRun) warnings() []lab.Warning {
	var parts []lab.Run
	var roles []string
	for _, m := range t.Parts {
		parts, roles = append(parts, m.Run), append(roles, m.Role)
	}
	return lab.JoinWarnings(t.LeftOut, parts, roles)
}
