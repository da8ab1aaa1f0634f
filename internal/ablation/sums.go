package ablation

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// sumUp says of one number whether effects add up and whether the baseline equals itself.
func (a *analysis) sumUp(d *Document, of number, better lab.Better) {
	for n := 1; n <= len(a.Settings); n++ {
		claim, suspect := a.odd(of, n)
		if x := a.estimate(claim, better); x != nil && x.Verdict != Undecided && x.Verdict != Same {
			d.Interactions = append(d.Interactions, Interaction{[]int{n}, of.cell, of.metric, *x})
		}
		if suspect && !slices.Contains(a.suspected, n) {
			a.suspected = append(a.suspected, n)
		}
	}
	for _, arm := range a.Arms {
		if p := settingsOf(arm); len(p) == 2 {
			if x := a.estimate(a.pair(of, p[0], p[1]), better); x != nil {
				d.Interactions = append(d.Interactions, Interaction{p, of.cell, of.metric, *x})
			}
		}
	}
	if u, ok := a.unexplained(d, of, better); ok {
		d.Unexplained = append(d.Unexplained, u)
	}
	if c, ok := a.control(of, better); ok {
		d.Controls = append(d.Controls, c)
	}
}

func (a *analysis) unexplained(d *Document, of number, better lab.Better) (Unexplained, bool) {
	u := Unexplained{Cell: of.cell, Metric: of.metric, Settings: []int{}}
	var all []int
	for _, s := range d.Settings {
		all = append(all, s.Number)
		i := slices.IndexFunc(s.Cells, func(p CellEffect) bool { return p.Cell == of.cell && p.Metric == of.metric })
		if x := s.Cells[i].Alone; x != nil && (x.Verdict == Faster || x.Verdict == Slower) {
			u.Settings = append(u.Settings, s.Number)
		}
	}
	whole := a.estimate(a.together(of), better)
	beyondAll := a.estimate(a.beyond(of, all), better)
	beyondSeen := a.estimate(a.beyond(of, u.Settings), better)
	if whole == nil || beyondAll == nil || beyondSeen == nil {
		return u, false
	}
	u.Together, u.All, u.Seen = *whole, *beyondAll, *beyondSeen
	return u, true
}

// control compares the second visit of the baseline with the first. It has a separate error, shared over the cells: 5%
// of the runs distrust themselves for nothing.
func (a *analysis) control(of number, better lab.Better) (Control, bool) {
	second := VisitArm(Baseline, 2)
	if !a.has(second) {
		return Control{}, false
	}
	numbers := 0
	a.each(func(number, lab.MetricInfo) { numbers++ })
	last := a.last(of, Baseline)
	c := a.fit(of, last, true).Change(a.byIndex(map[string]float64{second: 1, Baseline: -1}),
		a.Alpha/float64(numbers))
	x := a.estimate(c, better)
	if x == nil {
		return Control{}, false
	}
	return Control{of.cell, of.metric, *x}, true
}
