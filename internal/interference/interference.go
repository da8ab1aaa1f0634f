package interference

import (
	"fmt"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

const (
	// DefaultMargin and DefaultAlpha are the terms unless others are given.
	DefaultMargin = 0.05
	DefaultAlpha  = 0.05
	// confidence of the interval of a single rate.
	confidence = 0.95
)

// Measured is one repetition of a combination: the rate of each group that was loaded in it, in bit/s.
type Measured struct {
	Block int
	// Rates by the group's place, from 0. A combination is known by whose rates there are, and doesn't count where one
	// of them is NaN, since its load failed.
	Rates map[int]float64
}

// Terms are settled before anything is measured.
type Terms struct {
	Margin, Alpha float64
	Passes        int
}

// Combinations of so many groups that are measured: each alone, every two, and all.
func Combinations(groups int) [][]int {
	var list [][]int
	for i := range groups {
		list = append(list, []int{i})
	}
	for i := range groups {
		for j := i + 1; j < groups; j++ {
			list = append(list, []int{i, j})
		}
	}
	if groups > 2 {
		all := make([]int, groups)
		for i := range all {
			all[i] = i
		}
		list = append(list, all)
	}
	return list
}

// record is what was measured, by combination and block.
type record map[string]map[int]map[int]float64

func keyOf(groups []int) string { return fmt.Sprint(groups) }

func recordOf(measured []Measured) record {
	r := record{}
	for _, m := range measured {
		var groups []int
		for g, rate := range m.Rates {
			if !(rate >= 0) {
				groups = nil
				break
			}
			groups = append(groups, g)
		}
		if len(groups) == 0 {
			continue
		}
		slices.Sort(groups)
		if r[keyOf(groups)] == nil {
			r[keyOf(groups)] = map[int]map[int]float64{}
		}
		r[keyOf(groups)][m.Block] = m.Rates
	}
	return r
}

// rates of some of the groups of a combination, added up, by block.
func (r record) rates(combination, of []int) map[int]float64 {
	sums := map[int]float64{}
	for block, rates := range r[keyOf(combination)] {
		for _, g := range of {
			sums[block] += rates[g]
		}
	}
	return sums
}

// alone is the sum of what groups do each alone, in the blocks that have all of them.
func (r record) alone(groups []int) map[int]float64 {
	sums, counts := map[int]float64{}, map[int]int{}
	for _, g := range groups {
		for block, rates := range r[keyOf([]int{g})] {
			sums[block] += rates[g]
			counts[block]++
		}
	}
	for block, n := range counts {
		if n < len(groups) {
			delete(sums, block)
		}
	}
	return sums
}

// Analyse makes the document.
func Analyse(groups []Group, measured []Measured, warnings []GroupWarning, notes []string, terms Terms) Document {
	r := recordOf(measured)
	d := Document{Schema: Schema, Groups: slices.Clone(groups), Combinations: []CombinationResult{},
		Shared: []SharedCeiling{},
		Margin: terms.Margin, Alpha: terms.Alpha, Passes: terms.Passes,
		Warnings: append([]GroupWarning{}, warnings...), Notes: append([]string{}, notes...)}
	combinations := Combinations(len(groups))
	for _, c := range combinations {
		if len(c) > 1 {
			d.Claims += len(c) + 1
		}
	}
	surely := stat.FamilyWise(terms.Alpha, d.Claims)
	for i := range d.Groups {
		d.Groups[i].Alone = rateOf(r.rates([]int{i}, []int{i}))
	}
	for _, c := range combinations {
		if len(c) < 2 {
			continue
		}
		t := CombinationResult{Groups: c, Kept: []Kept{}, Sum: rateOf(r.rates(c, c)), Alone: rateOf(r.alone(c))}
		for _, g := range c {
			t.Kept = append(t.Kept, kept(r.rates(c, []int{g}), r.alone([]int{g}), terms.Margin, surely))
		}
		t.Whole = kept(r.rates(c, c), r.alone(c), terms.Margin, surely)
		d.Combinations = append(d.Combinations, t)
	}
	d.Shared = append(d.Shared, r.shared(&d, surely)...)
	d.Answer = answer(&d)
	return d
}

// meanOf is the geometric mean of rates with its interval.
func meanOf(rates map[int]float64) stat.Change {
	var logs []float64
	for _, b := range blocks(rates) {
		logs = append(logs, math.Log(rates[b]))
	}
	return stat.PairedOnce(logs, confidence)
}

func rateOf(rates map[int]float64) Rate {
	mean := meanOf(rates)
	r := Rate{N: mean.N, Bounds: stat.BoundsOf(mean.Lo, mean.Hi)}
	if mean.N > 0 {
		r.Value = &mean.Ratio
	}
	return r
}

// ratios are the logarithms of one rate as a share of another, for each block that has both.
func ratios(of, to map[int]float64) []float64 {
	var logs []float64
	for _, b := range blocks(of) {
		if base := to[b]; base > 0 && of[b] > 0 {
			logs = append(logs, math.Log(of[b]/base))
		}
	}
	return logs
}

func kept(of, to map[int]float64, margin, surely float64) Kept {
	if k, starved := starved(of, to); starved {
		return k
	}
	change := stat.PairedOnce(ratios(of, to), surely).Agreeing(meanOf(to).Ratio, meanOf(of).Ratio)
	k := Kept{Verdict: Undecided, Bounds: stat.BoundsOf(change.Lo, change.Hi)}
	if change.N > 0 {
		k.Value = &change.Ratio
	}
	if !change.Known() {
		return k
	}
	switch {
	case change.Hi < 1-margin:
		k.Verdict = Loses
	case change.Lo >= 1-margin:
		k.Verdict = Keeps
	}
	return k
}

// starved returns what a group keeps that stood still beside others in some passes and never alone: nothing, if it did
// in all of at least two. A zero has no logarithm, and without it the group would look as if it never stood still.
func starved(of, to map[int]float64) (k Kept, yes bool) {
	n, zeros, sum, base := 0, 0, 0.0, 0.0
	for block, rate := range of {
		if to[block] > 0 {
			n, sum, base = n+1, sum+rate, base+to[block]
			if rate == 0 {
				zeros++
			}
		}
	}
	if zeros == 0 {
		return k, false
	}
	share := sum / base
	k = Kept{Value: &share, Verdict: Undecided}
	if zeros == n && n > 1 {
		k.Bounds, k.Verdict = stat.BoundsOf(share, share), Loses
	}
	return k, true
}

// shared are the ceilings that groups have in common: those that lose together by two are one; where only all of them
// do, all are.
func (r record) shared(d *Document, surely float64) []SharedCeiling {
	sets := contendingSets(d)
	var list []SharedCeiling
	for _, set := range sets {
		largest := set
		if len(set) > 2 { // of several only all groups together were measured
			largest = d.Combinations[len(d.Combinations)-1].Groups
		}
		s := SharedCeiling{Groups: set, Rate: rateOf(r.rates(largest, set)), One: Agrees}
		if s.Rate.Value == nil {
			continue
		}
		for _, t := range d.Combinations {
			inside := !slices.ContainsFunc(t.Groups, func(g int) bool { return !slices.Contains(set, g) })
			if inside && !slices.Equal(t.Groups, largest) {
				s.One = worse(s.One, r.agrees(t, largest, set, *s.Rate.Value, d.Margin, surely))
			}
		}
		list = append(list, s)
	}
	return list
}

// agrees reports whether a combination does what one ceiling that was measured with the largest allows it: as much as
// that where it is short of each alone, and else no more than that.
func (r record) agrees(t CombinationResult, largest, set []int, ceiling, margin, surely float64) Agreement {
	switch t.Whole.Verdict {
	case Keeps:
		if t.Alone.Value != nil && *t.Alone.Value <= ceiling*(1+margin) {
			return Agrees
		}
		return Disagrees
	case Undecided:
		return CannotTell
	}
	c := stat.PairedOnce(ratios(r.rates(t.Groups, t.Groups), r.rates(largest, set)), surely)
	switch {
	case !c.Known():
		return CannotTell
	case c.Lo >= 1-margin && c.Hi <= 1+margin:
		return Agrees
	case c.Hi < 1-margin || c.Lo > 1+margin:
		return Disagrees
	}
	return CannotTell
}

func worse(a, b Agreement) Agreement {
	order := []Agreement{Agrees, CannotTell, Disagrees}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// contendingSets are the sets of groups that take from each other, by pairs that lose together; all of them where no
// pair does and all together do.
func contendingSets(d *Document) [][]int {
	set := make([]int, len(d.Groups)) // which set a group is in, by its lowest member
	for i := range set {
		set[i] = i
	}
	any := false
	for _, t := range d.Combinations {
		if len(t.Groups) != 2 || t.Whole.Verdict != Loses {
			continue
		}
		any = true
		low, high := min(set[t.Groups[0]], set[t.Groups[1]]), max(set[t.Groups[0]], set[t.Groups[1]])
		for i := range set {
			if set[i] == high {
				set[i] = low
			}
		}
	}
	if n := len(d.Combinations); !any && n > 0 && d.Combinations[n-1].Whole.Verdict == Loses {
		return [][]int{d.Combinations[n-1].Groups}
	}
	var sets [][]int
	for low := range set {
		var members []int
		for i := range set {
			if set[i] == low {
				members = append(members, i)
			}
		}
		if len(members) > 1 {
			sets = append(sets, members)
		}
	}
	return sets
}

func blocks(of map[int]float64) []int {
	var list []int
	for b := range of {
		list = append(list, b)
	}
	slices.Sort(list)
	return list
}
