package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// openTargets opens all targets, those for which one name stands among them, and makes each a part of the run.
func (t *MultiTargetRun) openTargets(ctx context.Context, p *Plan, named []NamedTarget) error {
	alone := func(name string) bool {
		traits := t.App.Traits(name)
		return traits.Set == "" && !traits.Several
	}
	var names []string
	for _, n := range named {
		if alone(n.Name) {
			names = append(names, n.Name)
		}
	}
	opened, err := t.App.OpenConcurrently(ctx, names)
	if err != nil {
		return err
	}
	p.AtClose(func() { t.App.CloseConcurrently(opened) })
	for next := 0; len(named) > 0; {
		first := named[0]
		if alone(first.Name) {
			t.add(first.Role, opened[next])
			next++
			named = named[1:]
			continue
		}
		set := t.App.Traits(first.Name).Set
		// A run that is resumed names each of a set.
		var members, roles []string
		name := first.Name
		for n := 0; set != "" && n < len(named); n++ {
			of := t.App.Traits(named[n].Name)
			if of.Set != set {
				break
			}
			name, members, roles = set, append(members, of.Member), append(roles, named[n].Role)
		}
		if err := t.addSet(ctx, p, name, members, roles, first); err != nil {
			return err
		}
		named = named[max(1, len(members)):]
	}
	return nil
}

// PrefixOfMembers begins the roles of the targets that a name stands for: nodes are known by their own names, unless a
// role was typed.
func PrefixOfMembers(p *app.App, typed NamedTarget) string {
	if !typed.Numbered {
		return typed.Role + "-"
	}
	return p.Traits(typed.Name).MemberPrefix
}

// addSet opens the targets that a name stands for. Roles are those that they have had, if any.
func (t *MultiTargetRun) addSet(ctx context.Context, p *Plan, name string, members, roles []string,
	typed NamedTarget) error {
	set, err := t.App.OpenSet(ctx, name, members)
	if err != nil {
		return err
	}
	p.AtClose(func() {
		if err := set.Close(); err != nil {
			t.App.PrintError(err)
		}
	})
	for _, text := range set.LeftOut {
		t.LeftOut = append(t.LeftOut, lab.Warning{Code: "target-left-out", Text: text})
	}
	had := map[string]string{}
	for i, member := range members {
		had[member] = roles[i]
	}
	typed.Numbered = typed.Numbered || len(members) > 0
	for i, role := range RolesOfMembers(PrefixOfMembers(t.App, typed), set.Members) {
		if was := had[set.Members[i]]; was != "" {
			role = was
		}
		t.add(role, set.Targets[i])
	}
	return nil
}

// RolesOfMembers are short names for nodes or numbers, each its own: without the domain that they have in common, and
// numbered where they are too long.
func RolesOfMembers(prefix string, members []string) []string {
	short := make([]string, len(members))
	seen := map[string]bool{}
	alone := true
	for i, m := range members {
		head, _, _ := strings.Cut(m, ".")
		short[i] = prefix + head // of small letters, digits and dashes, as node names are
		alone = alone && !seen[short[i]] && len(short[i]) <= MaxRoleLength && short[i] != runner.AllTargets
		seen[short[i]] = true
	}
	if alone {
		return short
	}
	for i := range members {
		short[i] = fmt.Sprintf("%snode-%d", prefix, i+1)
	}
	return short
}

// add makes a target a part of the run.
func (t *MultiTargetRun) add(role string, tg host.Target) {
	t.Parts = append(t.Parts, &Measurement{App: t.App, Options: optionsOf(t.Options, tg), Store: t.Store,
		Target: tg, Role: role, Observer: len(t.Parts) > 0})
}

// isFleet reports whether there are so many targets that they are visited one after another.
func (t *MultiTargetRun) isFleet() bool { return len(t.Parts) >= runner.MinFleet }

// forEachTarget does something on each target, and where they are a fleet on some at the same time. What a visit to one
// of a fleet takes is given back.
func (t *MultiTargetRun) forEachTarget(ctx context.Context,
	do func(ctx context.Context, i int, m *Measurement) error) error {
	if !t.isFleet() {
		for i, m := range t.Parts {
			if err := do(ctx, i, m); err != nil {
				return err
			}
		}
		return nil
	}
	return runner.Visits(ctx, len(t.Parts), func(ctx context.Context, i int) error {
		err := do(ctx, i, t.Parts[i])
		if c, ok := t.Parts[i].Target.(host.FleetMember); ok {
			err = errors.Join(err, c.Disconnect())
		}
		return err
	})
}

// saveSnapshotEarly saves the first snapshot of a target of a fleet. The header of the run keeps only the facts that
// differ from the fleet's first target, since a reader needs no thousand equal lists.
func (t *MultiTargetRun) saveSnapshotEarly(m *Measurement) error {
	if w := t.carried.writer; w != nil {
		if err := w.Facts(m.TargetRole(), store.Before, m.Before); err != nil {
			return err
		}
	}
	m.Before.Facts = nil
	own := &m.Run.Targets[0]
	machine := facts.Machine(own.Facts)
	m.Machine = &machine
	if first := t.Parts[0]; m != first {
		own.FactsAs, own.Facts = first.Role, facts.Differing(first.Run.Targets[0].Facts, own.Facts)
	}
	return nil
}

// compareFleet takes the second snapshots of a fleet.
func (t *MultiTargetRun) compareFleet(ctx context.Context, w *store.Writer) error {
	b, err := t.Store.Find(t.Run.ID)
	if err != nil {
		return err
	}
	return t.forEachTarget(ctx, func(ctx context.Context, _ int, m *Measurement) error {
		return m.CompareWithBefore(ctx, b, w)
	})
}

// Summarize prints what is about to happen: on each of a few targets, and on the first of many.
func (t *MultiTargetRun) Summarize(ctx context.Context) {
	const few = 4
	if len(t.Parts) <= few {
		for _, m := range t.Parts {
			m.PrintSummary(ctx)
		}
		return
	}
	t.Parts[0].PrintSummary(ctx)
	how := "all at once"
	if t.sequential() {
		how = prose.Count(t.Run.AtOnce, "target") + " at a time"
	}
	t.App.Print("", fmt.Sprintf("and the same on %d more, %s", len(t.Parts)-1, how))
}

// fleetClock counts what each target did by itself.
func (t *MultiTargetRun) fleetClock() *progress.OrderClock {
	var cells []runner.Cell
	var left []plan.Repetition
	for _, m := range t.Parts {
		e := m.RunnerMeasurement()
		cells = append(cells, e.Cells...)
		left = append(left, NotSaved(m.Workload().Order(), m.Saved)...)
	}
	c := progress.NewOrderClock(cells, left, t.Parts[0].Workload().Pause())
	c.LaterTime /= time.Duration(t.Run.AtOnce)
	return c
}
