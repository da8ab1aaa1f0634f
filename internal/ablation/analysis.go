package ablation

import (
	"math"
	"slices"

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
