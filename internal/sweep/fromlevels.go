package sweep

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// By selects the factor among the levels that the arms of a run name. Imported runs and stages name several.
type By struct {
	// Factor is one of Factors; empty to take the only one.
	Factor string
	// Baseline is a level of the factor; empty to take the first.
	Baseline string
	// Reference selects the arms that are not a level, like pods next to virtual machines: "kube:runtime_class=runc";
	// empty for none.
	Reference string
	// Share of the best level's result that is enough; 0 for 0.9.
	Share float64
}

// Factors returns the names of the levels that differ between arms, in alphabetical order.
func Factors(arms []lab.Arm) []string {
	seen := levelsByName(arms)
	maps.DeleteFunc(seen, func(_ string, levels map[string]bool) bool { return len(levels) < 2 })
	return slices.Sorted(maps.Keys(seen))
}

// levelsByName returns the set of levels of each name in the arms.
func levelsByName(arms []lab.Arm) map[string]map[string]bool {
	seen := map[string]map[string]bool{}
	for _, a := range arms {
		for name, level := range a.Levels {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][level] = true
		}
	}
	return seen
}

// FromLevels makes an input of a run that was not measured as a sweep: another program's results, or stages. Loads that
// differ in the factor alone are one cell. The levels were not visited in turn, so all repetitions of a load at a level
// count as one value: a change of the machine between two levels can't be distinguished from their difference, and no
// interval would cover it.
func FromLevels(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], by By,
	ceilings map[string][]ceiling.Ceiling) (Input, error) {
	factor, err := by.factor(run)
	if err != nil {
		return Input{}, err
	}
	in := Input{Run: run.ID, Factor: factor, Settings: Settings{Share: by.Share, MeansOnly: true}}
	l := levels{factor: factor, arms: map[string]lab.Arm{}, places: map[string]place{}}
	for _, a := range run.Arms {
		l.arms[a.ID] = a
	}
	if err := l.addReference(&in, run, by.Reference); err != nil {
		return Input{}, err
	}
	l.addLevels(&in, run)
	if by.Baseline != "" {
		if in.Baseline = slices.IndexFunc(in.Levels, func(a Arm) bool { return a.Name == by.Baseline }); in.Baseline <
			0 {
			return Input{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s has no %s=%s", run.ID,
				factor, by.Baseline),
				Hints: []string{"its levels are " + strings.Join(names(in.Levels), ", ")}}
		}
	}
	l.addCells(&in, run, ceilings)
	counts, failed := newWarningCounts(), 0
	err = run.Read(repetitions, func(c lab.Cell, r lab.Repetition) error {
		place, ok := l.places[c.ID]
		if !ok {
			return nil
		}
		counts.add(place, r.Warnings)
		m := Measured{Level: place.level, Cell: place.cell, Block: 1, Values: r.Values}
		if r.Failed() {
			failed++
			m.Values = nil
		}
		in.Measured = append(in.Measured, m)
		return nil
	})
	if err != nil {
		return Input{}, err
	}
	in.addWarnings(run, l.places, counts)
	if left := len(run.Cells) - len(l.places); left > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("loads that have no %s are left out: %d", factor, left))
	}
	if failed > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("repetitions that failed are left out: %d", failed))
	}
	if single := l.atOneLevel(); single > 0 {
		in.Notes = append(in.Notes,
			fmt.Sprintf("loads of one %s alone are left out: %d; loads are the same where the job and all parameters "+
				"are", factor, single))
	}
	return in, nil
}

// atOneLevel returns how many loads have only one level.
func (l *levels) atOneLevel() int {
	seen := map[string]map[int]bool{}
	for _, p := range l.places {
		if seen[p.cell] == nil {
			seen[p.cell] = map[int]bool{}
		}
		seen[p.cell][p.level] = true
	}
	n := 0
	for _, at := range seen {
		if len(at) == 1 {
			n++
		}
	}
	return n
}

// factor returns the requested factor, or the only one.
func (by By) factor(run lab.Run) (string, error) {
	all := Factors(run.Arms)
	switch {
	case len(all) == 0:
		return "", &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s has no factor with several levels", run.ID),
			Hints: []string{"headroom show " + run.ID + " shows it"}}
	case by.Factor == "" && len(all) == 1:
		return all[0], nil
	case !slices.Contains(all, by.Factor):
		what := fmt.Sprintf("the loads of run %s differ in several factors", run.ID)
		if by.Factor != "" {
			what = fmt.Sprintf("run %s has no factor %q with several levels", run.ID, by.Factor)
		}
		return "", &lab.Error{Kind: lab.Usage, What: what,
			Hints: []string{"--factor " + strings.Join(all, ", or --factor ")}}
	}
	return by.Factor, nil
}

func names(arms []Arm) []string {
	var out []string
	for _, a := range arms {
		out = append(out, a.Name)
	}
	return out
}

// levels are a run's arms as levels of a factor.
type levels struct {
	factor string
	// reference is the name and level of the reference arms; the name is empty if there are none.
	reference struct{ name, level string }
	arms      map[string]lab.Arm
	places    map[string]place
}

// isReference reports whether levels are compared with this arm.
func (l *levels) isReference(a lab.Arm) bool {
	return l.reference.name != "" && a.Levels[l.reference.name] == l.reference.level && a.Levels[l.factor] == ""
}

func (l *levels) addReference(in *Input, run lab.Run, text string) error {
	if text == "" {
		return nil
	}
	var ok bool
	l.reference.name, l.reference.level, ok = strings.Cut(text, "=")
	if !ok || !slices.ContainsFunc(run.Arms, l.isReference) {
		return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s has no loads at %s without a %s",
			run.ID, text, l.factor),
			Hints: []string{"for example --reference kube:runtime_class=runc, for pods beside virtual machines"}}
	}
	in.Reference = &Arm{Name: l.reference.level}
	return nil
}

// addLevels sorts levels that are numbers, and keeps others in the order of their arms.
func (l *levels) addLevels(in *Input, run lab.Run) {
	for _, a := range run.Arms {
		name := a.Levels[l.factor]
		if name != "" && !slices.Contains(names(in.Levels), name) {
			in.Levels = append(in.Levels, Arm{Name: name, NotVerified: notVerified(run.NotVerified, a)})
		}
	}
	number := func(a Arm) *float64 { return numberOf(a.Name) }
	if !slices.ContainsFunc(in.Levels, func(a Arm) bool { return number(a) == nil }) {
		slices.SortStableFunc(in.Levels, func(a, b Arm) int { return cmp.Compare(*number(a), *number(b)) })
	}
}

// coupledFactors returns the other factors that change together with the factor: they have one level at each of its
// levels, and several in total. Their effect can't be separated, which a note reports.
func (l *levels) coupledFactors(in *Input, run lab.Run) []string {
	var along []string
	for _, other := range slices.Sorted(maps.Keys(levelsByName(run.Arms))) {
		at := map[string]string{}
		same := true
		for _, a := range run.Arms {
			level := a.Levels[l.factor]
			if level == "" {
				continue
			}
			v, seen := at[level]
			same = same && (!seen || v == a.Levels[other])
			at[level] = a.Levels[other]
		}
		distinct := slices.Compact(slices.Sorted(maps.Values(at)))
		if other == l.factor || !same || len(distinct) < 2 {
			continue
		}
		along = append(along, other)
		var with []string
		for _, arm := range in.Levels {
			with = append(with, fmt.Sprintf("%s at %s", cmp.Or(at[arm.Name], "none"), arm.Name))
		}
		in.Notes = append(in.Notes, fmt.Sprintf("the effect of %s can't be separated from %s, which differs with it: %s", l.factor, other,
			strings.Join(with, ", ")))
	}
	return along
}

// severalRoles reports whether one level was measured on several targets, whose loads differ. If each level has its own
// target, the target is part of the level.
func (l *levels) severalRoles(run lab.Run) bool {
	roles := map[string]string{}
	for _, a := range run.Arms {
		level := a.Levels[l.factor]
		if role, ok := roles[level]; ok && role != a.Role {
			return true
		}
		roles[level] = a.Role
	}
	return false
}

// addCells joins the loads that differ in the factor alone.
func (l *levels) addCells(in *Input, run lab.Run, ceilings map[string][]ceiling.Ceiling) {
	index := map[string]int{}
	along, several := l.coupledFactors(in, run), l.severalRoles(run)
	for _, c := range run.Cells {
		arm, ok := l.arms[c.Arm]
		level := slices.Index(names(in.Levels), arm.Levels[l.factor])
		if l.isReference(arm) {
			level = len(in.Levels)
		}
		if !ok || level < 0 {
			continue
		}
		shared := c
		shared.Arm, shared.Warnings, shared.Params = "", nil, maps.Clone(c.Params)
		if shared.Params == nil {
			shared.Params = map[string]string{}
		}
		for name, v := range arm.Levels {
			if name != l.factor && name != l.reference.name && !slices.Contains(along, name) {
				shared.Params[name] = v
			}
		}
		if own, ok := strings.CutPrefix(l.factor, "job:"); ok {
			delete(shared.Params, own)
		}
		role := ""
		if several {
			role = arm.Role
		}
		key := role + "\x00" + c.Engine + "\x00" + c.Job + "\x00" +
			keyOf(Cell{Params: shared.Params}, slices.Sorted(maps.Keys(shared.Params)))
		i, seen := index[key]
		if !seen {
			i = len(in.Cells)
			index[key] = i
			in.Cells = append(in.Cells, CellInput{Cell: shared, Ceilings: map[string]Ceiling{}})
		}
		l.places[c.ID] = place{level, in.Cells[i].ID}
		in.Cells[i].lower(ceilings[c.ID])
	}
	title(in.Cells)
}
