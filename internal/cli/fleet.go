package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
)

// openTargets opens all targets, those for which one name stands among them, and makes each a part of the run.
func (t *multiTargetRun) openTargets(ctx context.Context, named []namedTarget) error {
	alone := func(name string) bool {
		traits := t.traits(name)
		return traits.Set == "" && !traits.Several
	}
	var names []string
	for _, n := range named {
		if alone(n.name) {
			names = append(names, n.name)
		}
	}
	opened, err := t.openConcurrently(ctx, names)
	if err != nil {
		return err
	}
	t.close = append(t.close, func() { t.closeConcurrently(opened) })
	for next := 0; len(named) > 0; {
		first := named[0]
		if alone(first.name) {
			t.add(first.role, opened[next])
			next++
			named = named[1:]
			continue
		}
		set := t.traits(first.name).Set
		// A run that is resumed names each of a set.
		var members, roles []string
		name := first.name
		for n := 0; set != "" && n < len(named); n++ {
			of := t.traits(named[n].name)
			if of.Set != set {
				break
			}
			name, members, roles = set, append(members, of.Member), append(roles, named[n].role)
		}
		if err := t.addSet(ctx, name, members, roles, first); err != nil {
			return err
		}
		named = named[max(1, len(members)):]
	}
	return nil
}

// prefixOfMembers begins the roles of the targets that a name stands for: nodes are known by their own names, unless a
// role was typed.
func prefixOfMembers(p *program, typed namedTarget) string {
	if !typed.numbered {
		return typed.role + "-"
	}
	return p.traits(typed.name).MemberPrefix
}

// addSet opens the targets that a name stands for. Roles are those that they have had, if any.
func (t *multiTargetRun) addSet(ctx context.Context, name string, members, roles []string, typed namedTarget) error {
	set, err := t.openSet(ctx, name, members)
	if err != nil {
		return err
	}
	t.close = append(t.close, func() {
		if err := set.close(); err != nil {
			t.printError(err)
		}
	})
	for _, text := range set.leftOut {
		t.leftOut = append(t.leftOut, lab.Warning{Code: "target-left-out", Text: text})
	}
	had := map[string]string{}
	for i, member := range members {
		had[member] = roles[i]
	}
	typed.numbered = typed.numbered || len(members) > 0
	for i, role := range rolesOfMembers(prefixOfMembers(t.program, typed), set.members) {
		if was := had[set.members[i]]; was != "" {
			role = was
		}
		t.add(role, set.targets[i])
	}
	return nil
}

// rolesOfMembers are short names for nodes or numbers, each its own: without the domain that they have in common, and
// numbered where they are too long.
func rolesOfMembers(prefix string, members []string) []string {
	short := make([]string, len(members))
	seen := map[string]bool{}
	alone := true
	for i, m := range members {
		head, _, _ := strings.Cut(m, ".")
		short[i] = prefix + head // of small letters, digits and dashes, as node names are
		alone = alone && !seen[short[i]] && len(short[i]) <= maxRoleLength && short[i] != runner.AllTargets
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
func (t *multiTargetRun) add(role string, tg target.Target) {
	t.parts = append(t.parts, &measurement{program: t.program, options: optionsOf(t.options, tg), store: t.store,
		target: tg, role: role, observer: len(t.parts) > 0})
}

// closeTargets gives all targets back. A bundle that nothing was measured for is removed.
func (t *multiTargetRun) closeTargets() {
	if t.earlyWriter != nil {
		if err := t.earlyWriter.Discard(); err != nil {
			t.printError(err)
		}
	}
	for _, c := range t.close {
		c()
	}
}

// isFleet says whether there are so many targets that each is visited in its turn.
func (t *multiTargetRun) isFleet() bool { return len(t.parts) >= runner.MinFleet }

// forEachTarget does something on each target, and where they are a fleet on some at the same time. What a visit to one
// of a fleet takes is given back.
func (t *multiTargetRun) forEachTarget(ctx context.Context,
	do func(ctx context.Context, i int, m *measurement) error) error {
	if !t.isFleet() {
		for i, m := range t.parts {
			if err := do(ctx, i, m); err != nil {
				return err
			}
		}
		return nil
	}
	return runner.Visits(ctx, len(t.parts), func(ctx context.Context, i int) error {
		err := do(ctx, i, t.parts[i])
		if c, ok := t.parts[i].target.(target.FleetMember); ok {
			err = errors.Join(err, c.Disconnect())
		}
		return err
	})
}

// saveSnapshotEarly saves the first snapshot of one of a fleet. Here only those of its facts are kept that the first of
// the fleet has otherwise: the header of a run has room for what a reader looks at, and nobody looks at a thousand
// lists that are the same.
func (t *multiTargetRun) saveSnapshotEarly(m *measurement) error {
	if t.earlyWriter != nil {
		if err := t.earlyWriter.Facts(m.targetRole(), store.Before, m.before); err != nil {
			return err
		}
	}
	m.before.Facts = nil
	own := &m.run.Targets[0]
	machine := facts.Machine(own.Facts)
	m.machine = &machine
	if first := t.parts[0]; m != first {
		own.FactsAs, own.Facts = first.role, facts.Differing(first.run.Targets[0].Facts, own.Facts)
	}
	return nil
}

// compareAfterwards takes the second snapshot of each target.
func (t *multiTargetRun) compareAfterwards(ctx context.Context, w *store.Writer) error {
	if !t.isFleet() {
		for _, m := range t.parts {
			if err := m.compareAfterwards(ctx, w); err != nil {
				return err
			}
		}
		return nil
	}
	b, err := t.store.Find(t.run.ID)
	if err != nil {
		return err
	}
	return t.forEachTarget(ctx, func(ctx context.Context, _ int, m *measurement) error {
		return m.compareWithBefore(ctx, b, w)
	})
}

// printSummary says what is about to happen: on each of a few targets, and on the first of many.
func (t *multiTargetRun) printSummary(ctx context.Context) {
	const few = 4
	if len(t.parts) <= few {
		for _, m := range t.parts {
			m.printSummary(ctx)
		}
		return
	}
	t.parts[0].printSummary(ctx)
	how := "all at once"
	if t.sequential() {
		how = prose.Count(t.run.AtOnce, "target") + " at a time"
	}
	t.print("", fmt.Sprintf("and the same on %d more, %s", len(t.parts)-1, how))
}

// fleetClock counts what each target did by itself.
func (t *multiTargetRun) fleetClock(j runner.JointMeasurement) *orderClock {
	var cells []runner.Cell
	var left []plan.Repetition
	for _, m := range t.parts {
		e := m.runnerMeasurement()
		cells = append(cells, e.Cells...)
		left = append(left, notSaved(m.order(), m.saved)...)
	}
	c := newOrderClock(cells, left, t.parts[0].pause())
	c.laterTime /= time.Duration(j.AtOnce)
	return c
}
