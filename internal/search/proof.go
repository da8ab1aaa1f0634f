package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// verdict on a proof.
type verdict int

const (
	open verdict = iota
	proved
	refuted
	// impossible: what it would take can't be measured.
	impossible
)

// proof of an answer. The culprits are switched while everything else stays as it is: in the slow state ("reverted on
// top"), and in the fast one ("applied below"). Of several culprits each must do something by itself, too. Only what
// was measured for the proof counts, and the ends, which are measured whatever was found: what led to the answer
// favours it.
//
// Of steps not even the ends count, but only measurements in turns of the states before and after the step. The ends of
// a series are states of its first and its last step: where the machine drifts, all their measurements since the
// beginning differ from those of the proof by the drift. Settings are proved in two ways of which a drift contradicts
// one.
type proof struct {
	ordered  bool
	culprits []int
	// joint trials of all culprits together: both must succeed. None where candidates are steps, which can't be
	// combined.
	joint []trial
	// each culprit by itself: without it, the others being applied; and with it alone.
	without, with []trial
	// redundant culprits do little where the others are applied, as far as is known before the proof. What each of
	// them does alone is tried first.
	redundant []bool
	// shown has the effect of each of several culprits if mixtures have shown it. They need no separate trials.
	shown []estimate
	// begun after so many measurements of the search.
	begun int
}

// trial compares two bundles.
type trial struct {
	fewer, more Subset
	effect      float64
	// least that it must be, by so many standard errors above it: what is worth a search, or a separate culprit
	// beside larger ones.
	least, above        float64
	logsFewer, logsMore []float64
	// moreFirst says of each pair of measurements whether it began with more.
	moreFirst []bool
	// impossible where one of the two can't be measured.
	impossible bool
}

const (
	// errorsToProve are the standard errors that a difference must be away from none. By chance it is once in 700
	// times, and some more often since it is looked at after every measurement.
	errorsToProve = 3
	// errorsAbove are the standard errors that a culprit beside others must be away from the least.
	errorsAbove = 2
	// errorsAboveWorth are those that all culprits together must be away from what is worth a search: of two states
	// that differ by 3% where 5% are worth it, the first few measurements say otherwise one time in seven.
	errorsAboveWorth = 1
	// errorsToRefute are the standard errors that it must be below half of what the answer says.
	errorsToRefute = 2.5
	// minPairs and maxPairs of a trial.
	minPairs = 3
	maxPairs = 60
	// pairsToBalance are the pairs of which half begin with either bundle.
	pairsToBalance = 4
	// refutalPause are the measurements before an answer is tried again.
	refutalPause = 4
)

// newProof of an answer, whose culprits must do together what is worth a search.
func newProof(space Space, culprits []int, known *posterior, worth float64, begun int) *proof {
	p := &proof{ordered: space.Ordered, culprits: culprits, begun: begun}
	alone, last := known.effects(culprits)
	effects := shapley(alone, last)
	sum, least := 0.0, 0.0
	for _, e := range effects {
		least = max(least, smallEffectShare*math.Abs(e))
	}
	if len(culprits) > 1 {
		p.shown = known.shown(culprits)
	}
	for i, c := range culprits {
		sum += effects[i]
		if space.Ordered {
			p.without = append(p.without, trial{fewer: space.First(c), more: space.First(c + 1), effect: effects[i]})
		} else if len(culprits) > 1 {
			p.without = append(p.without, trial{fewer: space.Without(c), more: space.All(),
				effect: math.Copysign(last[i], effects[i]), least: least, above: errorsAbove})
			p.with = append(p.with, trial{fewer: space.None(), more: space.Only(c),
				effect: math.Copysign(alone[i], effects[i]), least: least, above: errorsAbove})
			p.redundant = append(p.redundant, 2*math.Abs(last[i]) < math.Abs(alone[i]))
		}
	}
	if !space.Ordered {
		p.joint = []trial{
			{fewer: space.Without(culprits...), more: space.All(), effect: sum, least: math.Log1p(worth),
				above: errorsAboveWorth},
			{fewer: space.None(), more: space.Only(culprits...), effect: sum, least: math.Log1p(worth),
				above: errorsAboveWorth},
		}
	}
	return p
}

func (p *proof) trials() []*trial {
	var all []*trial
	for _, list := range [][]trial{p.joint, p.without, p.with} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// exclude the trials of which a bundle can't be measured.
func (p *proof) exclude(broken func(Subset) bool) {
	for _, t := range p.trials() {
		t.impossible = broken(t.fewer) || broken(t.more)
	}
}

// reuse what was measured before and counts: the ends, and what was measured for another proof, but for trials that
// failed there. If all else has led to the same answer again, chance may have failed them.
func (p *proof) reuse(before *proof, measured record, spread float64) {
	for _, t := range p.trials() {
		failed := before != nil && slices.ContainsFunc(before.trials(), func(old *trial) bool {
			return slices.Equal(t.more, old.more) && slices.Equal(t.fewer, old.fewer) && old.verdict(spread) == refuted
		})
		if p.ordered {
			if !failed {
				t.reuseStepTrials(measured)
			}
			continue
		}
		for _, m := range measured {
			if m.Purpose == Anchor || m.Purpose == Proof && !failed {
				t.add(m.Subset, m.log)
			}
		}
	}
}

// reuseStepTrials takes up what was measured for a proof of the same step: both its states, one right after the other.
func (t *trial) reuseStepTrials(measured record) {
	for j := 1; j < len(measured); j++ {
		a, b := measured[j-1], measured[j]
		if a.Purpose == Proof && b.Purpose == Proof && t.holds(a.Subset) && t.holds(b.Subset) &&
			!slices.Equal(a.Subset, b.Subset) {
			t.add(a.Subset, a.log)
			t.add(b.Subset, b.log)
			j++
		}
	}
}

func (t *trial) holds(b Subset) bool { return slices.Equal(b, t.fewer) || slices.Equal(b, t.more) }

// verdict of a trial, with the spread of one measurement.
func (t *trial) verdict(spread float64) verdict {
	if t.impossible {
		return impossible
	}
	n := min(len(t.logsFewer), len(t.logsMore))
	if n < minPairs {
		return open
	}
	difference := center(t.logsMore, spread) - center(t.logsFewer, spread)
	plain := mean(t.logsMore) - mean(t.logsFewer)
	if t.effect < 0 {
		difference, plain = -difference, -plain
	}
	wanted := max(math.Abs(t.effect)/2, t.least)
	errors := spread * math.Sqrt(1/float64(len(t.logsMore))+1/float64(len(t.logsFewer)))
	own, df := t.standardError()
	switch {
	case difference >= errorsToProve*errors && difference-t.least >= t.above*errors,
		plain >= own*quantile(errorsToProve, df) && plain-t.least >= own*quantile(t.above, df):
		return proved
	case wanted-difference >= errorsToRefute*errors, wanted-plain >= own*quantile(errorsToRefute, df), n >= maxPairs:
		return refuted
	}
	return open
}

// center of measurements alike with this spread: their mean, in which one that is far off counts little, as in a
// regression. It begins at the median, which such a one does not move.
func center(logs []float64, spread float64) float64 {
	sorted := slices.Sorted(slices.Values(logs))
	last := len(sorted) - 1
	at := (sorted[last/2] + sorted[(last+1)/2]) / 2
	for range 5 {
		sum, weights := 0.0, 0.0
		for _, x := range logs {
			z := (x - at) / (scale * spread)
			w := (freedom + 1) / (freedom + z*z)
			sum, weights = sum+w*x, weights+w
		}
		at = sum / weights
	}
	return at
}

// standardError of the difference by what the trial alone shows. The spread of the whole search can be much larger,
// where it met a disturbance.
func (t *trial) standardError() (errors, freedom float64) {
	squares := 0.0
	for _, side := range [][]float64{t.logsFewer, t.logsMore} {
		middle := mean(side)
		for _, x := range side {
			squares += (x - middle) * (x - middle)
		}
	}
	n, m := float64(len(t.logsFewer)), float64(len(t.logsMore))
	freedom = n + m - 2
	return math.Sqrt(squares / freedom * (1/n + 1/m)), freedom
}

// quantile of Student's t that is as rare as so many standard errors of a Gaussian.
func quantile(errors, freedom float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(distuv.UnitNormal.CDF(errors))
}

// wanted is the first trial that is still to be made, and the verdict where there is none. Of the joint trials one is
// enough where the other is impossible: either shows what the culprits do, beside everything else or beside nothing
// else.
func (p *proof) wanted(spread float64) (*trial, verdict) {
	made := 0
	for i := range p.joint {
		switch t := &p.joint[i]; t.verdict(spread) {
		case open:
			return t, open
		case refuted:
			return nil, refuted
		case proved:
			made++
		}
	}
	if made == 0 && len(p.joint) > 0 {
		return nil, impossible
	}
	if p.shown != nil {
		return nil, proved
	}
	for i := range p.without {
		trials := []*trial{&p.without[i]}
		if p.with != nil { // without it, another one may do the same, so that this one alone is not missed
			trials = append(trials, &p.with[i])
			if p.redundant[i] {
				slices.Reverse(trials)
			}
		}
		last := impossible
		for _, t := range trials {
			v := t.verdict(spread)
			if v == open {
				return t, open
			}
			if v != impossible {
				last = v
			}
			if v == proved {
				break
			}
		}
		if last != proved {
			return nil, last
		}
	}
	return nil, proved
}

func (p *proof) verdict(spread float64) verdict {
	_, v := p.wanted(spread)
	return v
}

// roles of the culprits in a proof that succeeded.
func (p *proof) roles(spread float64) []Role {
	roles := make([]Role, len(p.culprits))
	for i := range roles {
		if p.without == nil {
			roles[i] = Role{Faster: p.joint[0].effect > 0, Needed: p.joint[0].verdict(spread) == proved,
				Enough: p.joint[1].verdict(spread) == proved}
			continue
		}
		roles[i].Faster = p.without[i].effect > 0
		switch {
		case p.ordered && roles[i].Faster:
		case p.shown != nil:
			roles[i].Needed = true
		case p.without[i].verdict(spread) == proved:
			roles[i].Needed = true
		default:
			roles[i].Enough = true
		}
	}
	return roles
}

// next returns the bundle to measure: the side of the wanted trial with fewer measurements. If both have as many, two
// of four pairs begin with either, in random order, so that neither drift nor a rhythm of the machine favours a side.
func (p *proof) next(spread float64, drawn *rand.Rand) Subset {
	t, _ := p.wanted(spread)
	fewer, more := len(t.logsFewer), len(t.logsMore)
	if more < fewer || more == fewer && t.beginsWithMore(drawn) {
		return t.more
	}
	return t.fewer
}

// beginsWithMore draws whether the next pair begins with more.
func (t *trial) beginsWithMore(drawn *rand.Rand) bool {
	begun := len(t.moreFirst) % pairsToBalance
	left := pairsToBalance / 2
	for _, first := range t.moreFirst[len(t.moreFirst)-begun:] {
		if first {
			left--
		}
	}
	return drawn.IntN(pairsToBalance-begun) < left
}

// add a measurement to the trials that it belongs to: ends are part of several. Of steps it belongs to the one for
// which it was made.
func (p *proof) add(q Question, log, spread float64) {
	switch {
	case q.Purpose == Distinguish:
	case !p.ordered:
		for _, t := range p.trials() {
			t.add(q.Subset, log)
		}
	case q.Purpose == Proof:
		if t, v := p.wanted(spread); v == open {
			t.add(q.Subset, log)
		}
	}
}

func (t *trial) add(b Subset, log float64) {
	if t.holds(b) && len(t.logsFewer) == len(t.logsMore) {
		t.moreFirst = append(t.moreFirst, slices.Equal(b, t.more))
	}
	switch {
	case slices.Equal(b, t.more):
		t.logsMore = append(t.logsMore, log)
	case slices.Equal(b, t.fewer):
		t.logsFewer = append(t.logsFewer, log)
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
