package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// match is two cells that count as one load. Notes name the properties that differ between them.
type match struct {
	base, next Cell
	notes      []string
}

// pairing is one way to recognise a cell on the other side. A cell is paired by the first way that finds exactly one
// partner.
type pairing struct {
	by   func(Cell) string
	note func(base, next Cell) string
}

// pairings go from exact to merely similar: two cells of the same kind that turn out to be incomparable are better
// shown side by side, with the reason, than unpaired.
func pairings() []pairing {
	levels := func(c Cell) string {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(c.Levels)) {
			parts = append(parts, k+"="+c.Levels[k])
		}
		return strings.Join(append(parts, c.Role), "\x00")
	}
	join := func(parts ...string) string { return strings.Join(parts, "\x01") }
	whole := func(first, second string) string { // empty if the first part is empty
		if first == "" {
			return ""
		}
		return join(first, second)
	}
	return []pairing{
		{func(c Cell) string { return join(c.Job, key(c), levels(c)) }, nil},
		{func(c Cell) string { return join(key(c), levels(c)) }, renamed},
		{func(c Cell) string { return join(c.Job, key(c)) }, otherLevels},
		{func(c Cell) string { return join(c.Job, c.Engine, levels(c)) }, nil},
		{func(c Cell) string { return key(c) }, both(renamed, otherLevels)},
		{func(c Cell) string { return whole(work(c), levels(c)) }, renamed},
		{func(c Cell) string { return work(c) }, both(renamed, otherLevels)},
		{func(c Cell) string { return join(c.Job, c.Engine) }, otherLevels},
		{func(c Cell) string { return kind(c) }, both(renamed, otherLevels)},
	}
}

// kind is the operation of a load and its block size.
func kind(c Cell) string {
	p := load(c)
	if p["rw"] == "" || p["bs"] == "" {
		return ""
	}
	return normal(p["rw"]) + "\x00" + normal(p["bs"])
}

// work is the kind of a load and how many operations it keeps in flight. That is what engineers call one load,
// whichever tool generates it and however it reaches the storage. The defaults are a depth of one and one process.
func work(c Cell) string {
	does := kind(c)
	if does == "" {
		return ""
	}
	parts, p := []string{does}, load(c)
	for _, name := range []string{"iodepth", "numjobs"} {
		parts = append(parts, normal(cmp.Or(p[name], "1")))
	}
	if strings.HasSuffix(normal(p["rw"]), "rw") { // reads and writes
		parts = append(parts, normal(cmp.Or(p["rwmixread"], "50")))
	}
	return strings.Join(parts, "\x00")
}

func renamed(base, next Cell) string {
	if base.Job == next.Job {
		return ""
	}
	return "paired by parameters: it is " + next.Job + " in the other run"
}

func otherLevels(base, next Cell) string {
	if maps.Equal(base.Levels, next.Levels) {
		return ""
	}
	return "levels: " + levelText(base.Levels) + " against " + levelText(next.Levels)
}

func levelText(levels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(levels)) {
		parts = append(parts, k+"="+levels[k])
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}

func both(notes ...func(Cell, Cell) string) func(Cell, Cell) string {
	return func(a, b Cell) string {
		var printed []string
		for _, n := range notes {
			if text := n(a, b); text != "" {
				printed = append(printed, text)
			}
		}
		return strings.Join(printed, "; ")
	}
}

// matchCells pairs the cells of two sides, in the order of the base, and returns the unpaired cells of each. Cells that
// measured nothing stay unpaired.
func matchCells(base, next []Cell) (pairs []match, onlyBase, onlyNext []Cell) {
	partner := make([]int, len(base))
	notes := make([]string, len(base))
	taken := make([]bool, len(next))
	for i := range partner {
		partner[i] = -1
	}
	free := func(cells []Cell, used func(int) bool, by func(Cell) string) map[string][]int {
		found := map[string][]int{}
		for i, c := range cells {
			if k := by(c); k != "" && c.N > 0 && !used(i) {
				found[k] = append(found[k], i)
			}
		}
		return found
	}
	for _, p := range pairings() {
		a := free(base, func(i int) bool { return partner[i] >= 0 }, p.by)
		b := free(next, func(i int) bool { return taken[i] }, p.by)
		for k, i := range a {
			if j := b[k]; len(i) == 1 && len(j) == 1 {
				partner[i[0]], taken[j[0]] = j[0], true
				if p.note != nil {
					notes[i[0]] = p.note(base[i[0]], next[j[0]])
				}
			}
		}
	}
	for i, c := range base {
		if partner[i] < 0 {
			onlyBase = append(onlyBase, c)
			continue
		}
		m := match{base: c, next: next[partner[i]]}
		if notes[i] != "" {
			m.notes = strings.Split(notes[i], "; ")
		}
		pairs = append(pairs, m)
	}
	for j, c := range next {
		if !taken[j] {
			onlyNext = append(onlyNext, c)
		}
	}
	// A pair without a common metric can't be compared, so its cells count as unpaired.
	pairs = slices.DeleteFunc(pairs, func(m match) bool {
		if len(m.common()) > 0 {
			return false
		}
		onlyBase, onlyNext = append(onlyBase, m.base), append(onlyNext, m.next)
		return true
	})
	return pairs, onlyBase, onlyNext
}

// common returns the metrics that both cells have.
func (m match) common() map[string]bool {
	common := map[string]bool{}
	for name, values := range m.base.Values {
		if len(values) > 0 && len(m.next.Values[name]) > 0 {
			common[name] = true
		}
	}
	return common
}
