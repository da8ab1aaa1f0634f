package stages

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// group puts the rows of one load together: those that are alike in everything, then those that do the same work, where
// no stage has two of them, and then those of one kind where it is clear which belongs to which, because no stage has
// both and there is no third.
func (d *Document) group() {
	var groups [][]int
	for i := range d.Rows {
		r := &d.Rows[i]
		at := slices.IndexFunc(groups, func(g []int) bool {
			o := &d.Rows[g[0]]
			return o.Direction == r.Direction && len(unlike(o, r)) == 0
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	groups = d.joinWork(groups)
	for d.join(&groups) {
	}
	rank := func(g []int) int { return slices.Index(lab.Directions(), d.Rows[g[0]].Direction) }
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(rank(a), rank(b)) })
	var sorted []Row
	for n, g := range groups {
		slices.SortStableFunc(g, func(a, b int) int {
			return cmp.Compare(d.stage(d.Rows[a].Stage), d.stage(d.Rows[b].Stage))
		})
		for _, i := range g {
			r := d.Rows[i]
			r.Group = n
			sorted = append(sorted, r)
		}
	}
	d.Rows = append([]Row{}, sorted...)
}

// joinWork puts groups together that do the same work, unless a stage has rows of two of them.
func (d *Document) joinWork(groups [][]int) [][]int {
	var joined [][]int
	done := map[string]bool{}
	for _, g := range groups {
		work := d.Rows[g[0]].work()
		var same [][]int
		for _, o := range groups {
			if d.Rows[o[0]].work() == work {
				same = append(same, o)
			}
		}
		all := slices.Concat(same...)
		stages := map[string]bool{}
		for _, o := range same {
			for _, stage := range d.stagesOf(o) {
				if stages[stage] {
					all = nil // it is not clear which of them belongs to which
				}
				stages[stage] = true
			}
		}
		switch {
		case all == nil:
			joined = append(joined, g)
		case !done[work]:
			joined, done[work] = append(joined, all), true
		}
	}
	return joined
}

// stagesOf are the stages that have rows of a group, each once.
func (d *Document) stagesOf(group []int) []string {
	var names []string
	for _, i := range group {
		if !slices.Contains(names, d.Rows[i].Stage) {
			names = append(names, d.Rows[i].Stage)
		}
	}
	return names
}

// join puts two groups of a kind together, where each is the only one that the other can be put to, and reports whether
// it did.
func (d *Document) join(groups *[][]int) bool {
	all := *groups
	partner := func(i int) int {
		found := -1
		for j := range all {
			if j == i || d.Rows[all[i][0]].kind() != d.Rows[all[j][0]].kind() || d.share(all[i], all[j]) {
				continue
			}
			if found >= 0 {
				return -1
			}
			found = j
		}
		return found
	}
	for i := range all {
		if j := partner(i); j > i && partner(j) == i {
			all[i] = append(all[i], all[j]...)
			*groups = slices.Delete(all, j, j+1)
			return true
		}
	}
	return false
}

// share reports whether a stage has rows of both groups.
func (d *Document) share(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool {
		return slices.ContainsFunc(b, func(j int) bool { return d.Rows[i].Stage == d.Rows[j].Stage })
	})
}

func (d *Document) setEfficiencies() {
	for _, a := range d.Against {
		for i := range d.Rows {
			if r := &d.Rows[i]; r.Stage == a.Stage {
				if e, ok := d.efficiency(r, a.Of); ok {
					r.Efficiency = append(r.Efficiency, e)
				}
			}
		}
	}
}

// efficiency of a row against the only row of its load in another stage.
func (d *Document) efficiency(r *Row, of string) (Efficiency, bool) {
	at := -1
	for i, o := range d.Rows {
		if o.Group == r.Group && o.Stage == of {
			if at >= 0 {
				return Efficiency{}, false // two of them: on several targets, say
			}
			at = i
		}
	}
	if at < 0 {
		return Efficiency{}, false
	}
	base := &d.Rows[at]
	e := Efficiency{Of: of, Row: at, Metric: r.metric(), Unlike: unlike(r, base)}
	switch {
	case r.metric() == base.metric() && r.Bandwidth > 0:
		e.Ratio = r.Bandwidth / base.Bandwidth
	case r.IOPS > 0 && base.IOPS > 0:
		e.Metric, e.Ratio = lab.IOPS(r.Direction), r.IOPS/base.IOPS
	default:
		return Efficiency{}, false
	}
	var logs []float64
	for _, block := range slices.Sorted(maps.Keys(r.blocks)) {
		if v, ok := base.blocks[block]; ok && r.metric() == base.metric() {
			logs = append(logs, math.Log(r.blocks[block]/v))
		}
	}
	if c := stat.PairedOnce(logs, confidence).Agreeing(1, e.Ratio); len(logs) > 1 && c.Known() {
		e.Bounds, e.Pairs = stat.BoundsOf(c.Lo, c.Hi), c.N
	}
	return e, true
}
