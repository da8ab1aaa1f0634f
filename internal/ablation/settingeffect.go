package ablation

import (
	"iter"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/rule"
)

// FromRun makes the document of a saved run.
func FromRun(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (Document, error) {
	visits := plan.RecordVisits(run)
	design, measured, warnings, err := Read(run, func(yield func(lab.Repetition, error) bool) {
		for r, err := range repetitions {
			visits.Add(r, r.Failed())
			if !yield(r, err) {
				return
			}
		}
	})
	if err != nil {
		return Document{}, err
	}
	set, err := rule.BuiltInSet()
	if err != nil {
		return Document{}, err
	}
	d := Compute(design, measured, TermsOf(run), set.CostOf)
	d.Run, d.PerVisit, d.Warnings = run.ID, visits.PerVisit(func(cell string) []string {
		return design.cell(cell).Metrics
	}), append(d.Warnings, warnings...)
	return d, nil
}

// Compute makes the document. cost looks up what a setting costs apart from speed; nil for not at all.
func Compute(d Design, measured []Measured, t Terms, cost func(setting string) rule.Cost) Document {
	e := newAnalysis(d, measured, t)
	out := Document{Schema: Schema, Margin: t.Margin, Alpha: t.Alpha, Claims: d.Claims(), Confidence: 1 - e.perClaim(),
		Cells: d.Cells, Outages: d.Outages,
		Settings: []SettingEffect{}, Interactions: []Interaction{}, Unexplained: []Unexplained{}, Controls: []Control{},
		Suspects: [][2]int{},
		Warnings: []ArmWarning{}}
	visits := map[Measured]bool{}
	for _, m := range measured {
		out.Blocks = max(out.Blocks, m.Block)
		visits[Measured{Arm: m.Arm, Block: m.Block}] = true
	}
	out.Visits = len(visits)
	for i, s := range d.Settings {
		p := e.settingEffect(i+1, s)
		if cost != nil {
			p.Price = cost(s.String()).Price()
		}
		out.Settings = append(out.Settings, p)
	}
	e.each(func(of number, m lab.MetricInfo) { e.sumUp(&out, of, m.Better) })
	out.Suspects = suspects(out, e.suspected)
	for i := range out.Settings {
		out.Settings[i].withhold(d.NotVerified)
	}
	return out
}

// SuspectsOf are the pairs of settings of a run, by number from 1, whose interaction is worth measuring; the likeliest
// come first.
func SuspectsOf(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) ([][2]int, error) {
	design, measured, _, err := Read(run, repetitions)
	if err != nil {
		return nil, err
	}
	return Compute(design, measured, TermsOf(run), nil).Suspects, nil
}

// settingEffect is one setting in all cells.
func (a *analysis) settingEffect(n int, s Setting) SettingEffect {
	p := SettingEffect{Setting: s, Number: n, Cells: []CellEffect{}}
	var verdicts []Verdict
	a.each(func(of number, m lab.MetricInfo) {
		alone, removed := a.effects(of, n)
		c := CellEffect{Cell: of.cell, Metric: of.metric, Unit: m.Unit, Better: m.Better,
			Alone:   a.estimate(alone, m.Better),
			Removed: a.estimate(removed, m.Better)}
		var both []Verdict
		for _, x := range []*Effect{c.Alone, c.Removed} {
			if x != nil {
				both = append(both, x.Verdict)
			}
		}
		c.Verdict = together(both)
		if a.stops(of, n) {
			c.Verdict = Stops
		} else if c.Verdict == Same && a.stoodOnlyBy(of, n) {
			c.Verdict = Undecided // the other arm does not show it
		}
		verdicts = append(verdicts, c.Verdict)
		p.Cells = append(p.Cells, c)
	})
	p.Verdict = together(verdicts)
	if len(p.Cells) > 0 {
		p.Alone, p.Removed = p.Cells[0].Alone, p.Cells[0].Removed
	}
	return p
}

// withhold takes back that a setting makes no difference where nothing shows that it was in effect. A difference that
// was measured does.
func (p *SettingEffect) withhold(all []lab.Unverified) {
	level := p.Level
	if level == absent {
		level = found // what is taken away is what the machine has by itself
	}
	why := lab.WhyUnverified(all, p.Factor, level)
	if why == "" || p.Verdict != Same && p.Verdict != Undecided {
		return
	}
	p.NotVerified = why
	verdicts := []*Verdict{&p.Verdict}
	for i := range p.Cells {
		c := &p.Cells[i]
		verdicts = append(verdicts, &c.Verdict)
		for _, e := range []*Effect{c.Alone, c.Removed} {
			if e != nil {
				verdicts = append(verdicts, &e.Verdict)
			}
		}
	}
	for _, v := range verdicts {
		if *v == Same {
			*v = NotVerified
		}
	}
}

// each goes over the deciding metrics of all cells.
func (a *analysis) each(do func(of number, m lab.MetricInfo)) {
	for _, c := range a.Cells {
		for _, m := range c.Metrics {
			do(number{c.ID, m}, lab.MetricOf(c.Own, m))
		}
	}
}

// MaxPairs is how many pairs are suspected at most: a pair takes as many blocks as all that came before.
const MaxPairs = 3

// suspects are the pairs of which one is likely to be why effects do not add up: of the settings that do something else
// in the set than alone, or that one and those that do something at all. Pairs that were measured are none.
func suspects(d Document, odd []int) [][2]int {
	const most = MaxPairs
	var active []int
	measured := func(p [2]int) bool {
		return slices.ContainsFunc(d.Interactions, func(i Interaction) bool { return slices.Equal(i.Settings, p[:]) })
	}
	for _, s := range d.Settings {
		if s.Verdict != Undecided && s.Verdict != Same {
			active = append(active, s.Number)
		}
	}
	others := odd
	if len(odd) == 1 {
		others = active
	}
	pairs := [][2]int{}
	for _, a := range odd {
		for _, b := range others {
			p := [2]int{min(a, b), max(a, b)}
			if a != b && !slices.Contains(pairs, p) && !measured(p) && len(pairs) < most {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}
