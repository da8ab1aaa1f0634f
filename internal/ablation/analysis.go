package ablation

import (
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// number is one metric of one cell.
type number struct{ cell, metric string }

// analysis is a design with what was measured so far.
type analysis struct {
	Design
	Terms
	// arms by the number under which stat knows them; further visits of the baseline are separate arms here.
	arms []string
	// visits of each number: a value a visit, which is the median of its repetitions.
	visits map[number][]stat.Visit
	fits   map[fitted]*stat.Blocks
	// suspected are the settings, by number, that may interact with others.
	suspected []int
}

// fitted names a fit: of the blocks up to the last, with the visits of an arm taken together or each by itself.
type fitted struct {
	number
	last  int
	apart bool
}

func newAnalysis(d Design, measured []Measured, t Terms) *analysis {
	e := &analysis{Design: d, Terms: t, visits: map[number][]stat.Visit{}, fits: map[fitted]*stat.Blocks{}}
	type visit struct {
		number
		arm   string
		block int
	}
	values := map[visit][]float64{}
	var order []visit
	for _, m := range measured {
		v := visit{number{m.Cell, m.Metric}, m.Arm, m.Block}
		if _, seen := values[v]; !seen {
			order = append(order, v)
		}
		values[v] = append(values[v], m.Value)
	}
	for _, v := range order {
		log := math.Log(stat.Median(values[v]))
		if math.IsNaN(log) || math.IsInf(log, 0) {
			continue
		}
		e.visits[v.number] = append(e.visits[v.number], stat.Visit{Block: v.block, Arm: e.index(v.arm), Log: log})
	}
	return e
}

// index of an arm, which is made at first sight.
func (a *analysis) index(arm string) int {
	i := slices.Index(a.arms, arm)
	if i < 0 {
		i = len(a.arms)
		a.arms = append(a.arms, arm)
	}
	return i
}

// fit returns the fit of the blocks up to the last one.
func (a *analysis) fit(of number, last int, apart bool) *stat.Blocks {
	key := fitted{of, last, apart}
	if b, known := a.fits[key]; known {
		return b
	}
	var visits []stat.Visit
	for _, v := range a.visits[of] {
		if v.Block > last {
			continue
		}
		if !apart {
			v.Arm = a.index(visited(a.arms[v.Arm]))
		}
		visits = append(visits, v)
	}
	b := stat.FitBlocks(visits)
	a.fits[key] = b
	return b
}

// last is the last block that visited an arm; 0 for none.
func (a *analysis) last(of number, arm string) int {
	last := 0
	for _, v := range a.visits[of] {
		if visited(a.arms[v.Arm]) == arm {
			last = max(last, v.Block)
		}
	}
	return last
}

// ratio of some arms, as exponents that sum to 0.
func (a *analysis) ratio(of number, about string, weights map[string]float64, alpha float64) stat.BlockedChange {
	return a.fit(of, a.upTo(of, about), false).Change(a.byIndex(weights), alpha)
}

// upTo returns the last block that counts for a statement about an arm. Blocks after the last visit of the arm don't:
// what was found when the arm was dropped stays found, however long the others continue. Nor do those that were added
// for the sake of pairs, but for pairs.
func (a *analysis) upTo(of number, about string) int {
	last := math.MaxInt
	if about != "" {
		last = a.last(of, about)
	}
	if a.PairsFrom > 0 && about != "" && len(settingsOf(about)) != 2 {
		last = min(last, a.PairsFrom-1)
	}
	return last
}

// interaction returns the ratio of what an arm does to what other arms predict. It is 1 if settings act alike alone and
// together. weights are exponents that sum to 0, with 1 for the arm. about is as in ratio.
func (a *analysis) interaction(of number, about, arm string, weights map[string]float64) stat.BlockedChange {
	return a.fit(of, a.upTo(of, about), false).Interaction(a.index(arm), a.byIndex(weights), a.perSum())
}

func (a *analysis) byIndex(weights map[string]float64) map[int]float64 {
	byIndex := map[int]float64{}
	for arm, w := range weights {
		byIndex[a.index(arm)] += w
	}
	return byIndex
}

// perClaim and perSum are the shares of the error.
func (a *analysis) perClaim() float64 { return a.Alpha / float64(max(a.Claims(), 1)) }
func (a *analysis) perSum() float64   { return a.Alpha / float64(max(a.sums(a.Terms.Pairs), 1)) }

// effects returns what a setting does to the baseline, and to the rest of the tuned set.
func (a *analysis) effects(of number, setting int) (alone, removed stat.BlockedChange) {
	alone = a.ratio(of, AloneArm(setting), map[string]float64{AloneArm(setting): 1, Baseline: -1}, a.perClaim())
	removed = a.ratio(of, RemovedArm(setting), map[string]float64{Tuned: 1, RemovedArm(setting): -1}, a.perClaim())
	return a.claim(of, AloneArm(setting), alone, removed),
		a.claim(of, RemovedArm(setting), removed, alone)
}

// disagreement is how many times as much a setting does in the tuned set as alone.
func (a *analysis) disagreement(of number, setting int) stat.BlockedChange {
	return a.interaction(of, "", Tuned,
		map[string]float64{Tuned: 1, RemovedArm(setting): -1, AloneArm(setting): -1, Baseline: 1})
}

// supporters returns the disagreements of the other settings. An interaction takes two settings, so an equal
// disagreement of another setting supports one. If all settings can have the same disagreement, a jump of the tuned set
// or of the baseline can be the reason, and supporters returns nil.
func (a *analysis) supporters(of number, setting int) (others []stat.BlockedChange) {
	c, differ := a.disagreement(of, setting), false
	for n := 1; n <= len(a.Settings); n++ {
		if n != setting {
			other := a.disagreement(of, n)
			differ = differ || c.Ratio < other.Lo || c.Ratio > other.Hi
			others = append(others, other)
		}
	}
	if !differ {
		return nil
	}
	return others
}

// odd returns the disagreement of a setting as it may be claimed, and whether it is reason enough to measure pairs: one
// that has support is, however few its visits are.
func (a *analysis) odd(of number, setting int) (claim stat.BlockedChange, suspect bool) {
	c, others := a.disagreement(of, setting), a.supporters(of, setting)
	claim = a.allowingForJump(of, math.MaxInt, c, interacting, others...)
	decision := c.Decide(a.Margin)
	suspect = decision == stat.Above || decision == stat.Below
	return claim, suspect && (claim.Decide(a.Margin) == decision ||
		slices.ContainsFunc(others, func(other stat.BlockedChange) bool { return other.Decide(a.Margin) == decision }))
}

// pair is how many times as much two settings do together as each of them alone. A disagreement of one of them supports
// it.
func (a *analysis) pair(of number, one, other int) stat.BlockedChange {
	pair := PairArm(one, other)
	c := a.interaction(of, pair, pair,
		map[string]float64{pair: 1, AloneArm(one): -1, AloneArm(other): -1, Baseline: 1})
	return a.allowingForJump(of, a.last(of, pair), c, interacting, a.disagreement(of, one), a.disagreement(of, other))
}

// interacting is the number of arms that an interaction of two settings is of.
const interacting = 4

// together is what all settings do. One that does the same alone supports it.
func (a *analysis) together(of number) stat.BlockedChange {
	c := a.ratio(of, "", map[string]float64{Tuned: 1, Baseline: -1}, a.perSum())
	var others []stat.BlockedChange
	for n := range a.Settings {
		alone, _ := a.effects(of, n+1)
		others = append(others, alone)
	}
	return a.allowingForJump(of, math.MaxInt, c, 2, others...)
}

// beyond is how many times as much all settings do together as some of them do alone. If a setting is claimed to do the
// same, no jump explains that.
func (a *analysis) beyond(of number, settings []int) stat.BlockedChange {
	weights := map[string]float64{Tuned: 1, Baseline: float64(len(settings)) - 1}
	for _, n := range settings {
		weights[AloneArm(n)]--
	}
	c := a.interaction(of, "", Tuned, weights)
	for n := range a.Settings {
		if claim, _ := a.odd(of, n+1); claim.Decide(a.Margin) == c.Decide(a.Margin) {
			return c
		}
	}
	return a.allowingForJump(of, math.MaxInt, c, len(weights))
}

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

// FewestBlocks returns how many blocks a difference of less than twofold takes: in one arm, and in both arms that a
// setting is measured in if both show it. One block more in both arms pays for the second way to agree by chance.
func FewestBlocks(alpha float64) (one, both int) {
	one = stat.FewestAgreeing(alpha)
	return one, one/2 + 1
}

// claim returns a change with an interval that allows for an unseen jump if the change would be a difference. other is
// what the setting does in its other arm, whose visits count if it shows the same. No difference is claimed sooner,
// since most settings make none and boots are expensive.
func (a *analysis) claim(of number, arm string, c, other stat.BlockedChange) stat.BlockedChange {
	return a.allowingForJump(of, a.last(of, arm), c, 2, other) // what was found when the arm was dropped stays found
}

// allowingForJump returns a change of so many arms, seen up to a last block, with an interval that allows for an unseen
// jump of one of them if the change would be a difference. One of the others that shows the same adds its visits, if
// there is any: the same arm is not in both.
func (a *analysis) allowingForJump(of number, last int, c stat.BlockedChange, arms int, others ...stat.BlockedChange,
) stat.BlockedChange {
	decision, n := c.Decide(a.Margin), c.N
	if decision != stat.Above && decision != stat.Below {
		return c
	}
	more := 0
	for _, other := range others {
		if other.Decide(a.Margin) == decision {
			more = max(more, other.N-1) // see FewestBlocks
		}
	}
	ofPair := c.Spread * math.Sqrt(2/float64(arms))
	c.Change = c.AllowingForJump(a.jumping(of, last).Unseen(n+more, ofPair))
	return c
}

// jumping returns the scatter of all arms with one setting added or removed, against the baseline, up to a last block.
func (a *analysis) jumping(of number, last int) stat.JumpingArms {
	arms := stat.JumpingArms{Alpha: a.Alpha, Margin: a.Margin}
	for n := range a.Settings {
		for _, arm := range []string{AloneArm(n + 1), RemovedArm(n + 1)} {
			arms.Scatters = append(arms.Scatters, stat.ScatterOf(a.logs(of, arm, Baseline, last)))
		}
	}
	return arms
}

// logs returns the logarithms of the ratios of two arms in the blocks that have both, up to a last block, in ascending
// order.
func (a *analysis) logs(of number, arm, base string, last int) []float64 {
	sums, counts := map[int][2]float64{}, map[int][2]float64{}
	for _, v := range a.visits[of] {
		at := slices.Index([]string{arm, base}, visited(a.arms[v.Arm]))
		if at < 0 || v.Block > last {
			continue
		}
		sum, count := sums[v.Block], counts[v.Block]
		sum[at], count[at] = sum[at]+v.Log, count[at]+1
		sums[v.Block], counts[v.Block] = sum, count
	}
	var logs []float64
	for block, n := range counts {
		if n[0] > 0 && n[1] > 0 {
			logs = append(logs, sums[block][0]/n[0]-sums[block][1]/n[1])
		}
	}
	slices.Sort(logs) // the order of a map would change the last digit of their sum
	return logs
}

// Settled reports for each arm of the design whether it needs no further blocks: its claims are decided in all cells,
// or will hardly be within the blocks that are left, or it had all its blocks. The baseline is needed as long as any
// setting alone is, the tuned set as long as any removed one. A run may look after each block: the intervals hold at
// all looks together.
func Settled(d Design, measured []Measured, t Terms) []bool {
	e := newAnalysis(d, measured, t)
	settled := make([]bool, len(d.Arms))
	for i, arm := range d.Arms {
		settled[i] = e.settled(arm)
	}
	for i, arm := range d.Arms {
		needs := map[string]string{Baseline: "+", Tuned: "-"}[visited(arm)]
		if needs == "" {
			continue
		}
		settled[i] = e.begun(arm) && !slices.ContainsFunc(d.Arms, func(other string) bool {
			return strings.HasPrefix(other, needs) && !settled[slices.Index(d.Arms, other)]
		})
	}
	return settled
}

// begun says that an arm has the fewest blocks in all cells.
func (a *analysis) begun(arm string) bool {
	return a.all(func(of number) bool { return a.blocks(of, arm) >= max(a.MinBlocks, 1) })
}

// settled says it of an arm with settings added or one removed.
func (a *analysis) settled(arm string) bool {
	return a.begun(arm) && a.all(func(of number) bool {
		if a.blocks(of, arm) >= a.Blocks {
			return true
		}
		c, ok := a.about(of, arm)
		return ok && c.Known() && (c.Decide(a.Margin) != stat.Undecided || c.Futile(a.Margin, a.Blocks))
	})
}

// about is the change that an arm was measured for.
func (a *analysis) about(of number, arm string) (stat.BlockedChange, bool) {
	for n := range a.Settings {
		if arm == RemovedArm(n+1) {
			_, removed := a.effects(of, n+1)
			return removed, true
		}
	}
	switch added := settingsOf(arm); len(added) {
	case 1:
		alone, _ := a.effects(of, added[0])
		return alone, true
	case 2:
		return a.pair(of, added[0], added[1]), true
	}
	return stat.BlockedChange{}, false
}

// all reports whether something holds for the deciding metrics of all cells; where they are not known yet it does not.
func (a *analysis) all(holds func(number) bool) bool {
	known := len(a.Cells) > 0
	for _, c := range a.Cells {
		known = known && len(c.Metrics) > 0
		for _, m := range c.Metrics {
			if known = known && holds(number{c.ID, m}); !known {
				return false
			}
		}
	}
	return known
}

// blocks is how many visited an arm.
func (a *analysis) blocks(of number, arm string) int {
	var seen []int
	for _, v := range a.visits[of] {
		if a.arms[v.Arm] == arm && !slices.Contains(seen, v.Block) {
			seen = append(seen, v.Block)
		}
	}
	return len(seen)
}
