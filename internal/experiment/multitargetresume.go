package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// Resume reads what an interrupted run has measured so far.
func (t *MultiTargetRun) Resume(ctx context.Context, b *store.Bundle) error {
	if t.isFleet() {
		defer t.App.Footprint.WithLowMemory()()
	}
	t.Run, t.carried.saved = b.Run, b
	t.Run.RemoveWarnings(append(validity.OfRuns(), "settings-changed"))
	t.LeftOut = t.Run.Warnings
	kept := map[string][]lab.Repetition{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		rep.Latency, rep.Series = nil, nil
		role := rep.Cell[strings.LastIndex(rep.Cell, "@")+1:]
		kept[role] = append(kept[role], rep)
	}
	t.Saved, t.Design = kept[runner.AllTargets], t.Run.Concurrent
	for _, g := range t.groups() {
		t.Saved = append(t.Saved, kept[g.Name]...)
	}
	for _, m := range t.Parts {
		m.Run, m.Resumed, m.Saved = partOf(t.Run, m), b, kept[m.Role]
	}
	for _, r := range t.Workload().Saved {
		lacks := func(m *Measurement) bool {
			return !slices.ContainsFunc(m.Saved, func(o lab.Repetition) bool {
				return withoutRole(o.Cell, m.Role) == r.Cell && o.Number == r.Number
			})
		}
		if !t.sequential() || !slices.ContainsFunc(t.Parts, lacks) {
			t.carried.Done = append(t.carried.Done, runner.Done(lab.Cell{}, r))
		}
	}
	if err := t.CheckDistinct(ctx); err != nil {
		return err
	}
	err := t.forEachTarget(ctx, func(ctx context.Context, _ int, m *Measurement) error {
		if err := m.FindPlaceAgain(ctx); err != nil {
			return err
		}
		return m.CompareWithFirstPart(ctx)
	})
	if err != nil {
		return err
	}
	for _, m := range t.Parts {
		for i, target := range t.Run.Targets {
			if !m.SnapshotElsewhere && target.Role == m.TargetRole() {
				t.Run.Targets[i] = m.Run.Targets[0]
			}
		}
	}
	return nil
}

// partOf is what of a run one of its measurements is about: the cells of its arm, on its target.
func partOf(run lab.Run, m *Measurement) lab.Run {
	role := m.Role
	if m.Client != "" {
		role = m.Client
	}
	run.Targets = slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool { return t.Role != role })
	run.Arms = slices.DeleteFunc(slices.Clone(run.Arms), func(a lab.Arm) bool { return a.Role != m.Role })
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return c.Arm != m.Role })
	run.Warnings = nil
	return run
}

// CheckDistinct finds out where the places of all parts are, and refuses two names of one.
func (t *MultiTargetRun) CheckDistinct(ctx context.Context) error {
	err := t.forEachTarget(ctx, func(ctx context.Context, _ int, m *Measurement) (err error) {
		m.Location, err = Locate(ctx, m.Target, m.Place())
		return err
	})
	if err != nil {
		return err
	}
	return t.checkSamePlace()
}

// checkSamePlace refuses two names of one machine for one place, and has those of one machine know of each other.
func (t *MultiTargetRun) checkSamePlace() error {
	seen := map[Location]*Measurement{}
	last := map[string]*Measurement{}
	for _, m := range t.Parts {
		at := m.Location
		if at.Machine == "" {
			continue // it is unknown
		}
		m.Concurrent, last[at.Machine] = last[at.Machine], m
		if m.Place().Kind == lab.NoPlace {
			continue
		}
		if other := seen[at]; other != nil {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s (%s) and %s (%s) are one machine, and %s is one place", other.Role,
					other.Target.Name(), m.Role, m.Target.Name(), m.Place().Path),
				Hints: []string{"name a place for each: headroom run SUITE /a /b --on … --on …",
					"for more load on one place raise its numjobs: --set numjobs=2"}}
		}
		seen[at] = m
	}
	return nil
}
