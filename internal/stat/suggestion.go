package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Suggestion is what values suggest where they prove nothing: the change by a model of their noise. It is as good as
// the model: logarithms follow Student's t with two degrees of freedom, so that one wild repetition of four says
// little, and what is not known of the noise is taken as usual.
type Suggestion struct {
	// Ratio is how many times the base the new side is, with the model's interval.
	Ratio, Lo, Hi, Confidence float64
	// Chance is the probability, by the model, that the change has the sign that was seen.
	Chance float64
}

const (
	// tails are the degrees of freedom of the noise. The more of them, the more a single wild repetition of four hides
	// that the speed has halved.
	tails = 2
	// usualSpread is how far repetitions usually differ, as the scale of Student's t, and counts as one value. With it
	// one value a side suggests something, and two that happen to agree do not suggest too much.
	usualSpread = 0.023
	// MinSuggestingSessions is how many other sessions must be known before two sessions suggest anything. A rate that
	// lasts for minutes makes the repetitions of a session alike where sessions differ most, so that two sessions say
	// nothing of others.
	MinSuggestingSessions = 4
	// ClearChance is from when on a change is called probable: an interval of 95% does not reach to "no change".
	ClearChance = 0.975
)

// Suggest is what two sets of repetitions suggest, one session each. sessions are the values of the same load in other
// sessions on the same machine: they tell how far repetitions differ, and how far sessions do. Where these are fewer
// than [MinSuggestingSessions], nothing is suggested: all fields are NaN.
func Suggest(base, next []float64, sessions [][]float64, confidence float64) Suggestion {
	var levels []float64
	others := logsOfAll(sessions)
	for _, l := range others {
		levels = append(levels, Median(l))
	}
	if len(levels) < MinSuggestingSessions {
		return noSuggestion(confidence)
	}
	m := noiseModel{others: others, between: stat.StdDev(levels, nil), freedom: float64(len(levels) - 1)}
	return m.suggest(confidence, LogsOf(base), LogsOf(next))
}

func noSuggestion(confidence float64) Suggestion {
	return Suggestion{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Confidence: confidence, Chance: math.NaN()}
}

// SuggestBoots returns the suggestion of values that were each measured in a separate session.
func SuggestBoots(base, next []float64, confidence float64) Suggestion {
	return noiseModel{freedom: math.Inf(1)}.suggest(confidence, LogsOf(base), LogsOf(next))
}

// SuggestPairs returns the suggestion of pairs, given as the logarithms of new/base.
func SuggestPairs(logs []float64, confidence float64) Suggestion {
	return noiseModel{freedom: math.Inf(1)}.suggest(confidence, Present(logs))
}

// noiseModel is how repetitions and sessions of a load differ.
type noiseModel struct {
	// others are logarithms of values of other sessions, which tell the scale of repetitions, too.
	others [][]float64
	// between is the standard deviation of the levels of sessions; 0 where the values are of no sessions. It is known
	// with so many degrees of freedom.
	between, freedom float64
}

// scales are those that repetitions may have, as logarithms evenly apart: from 0.3% to threefold.
func scales() []float64 {
	out := make([]float64, 30)
	for i := range out {
		out[i] = 0.003 * math.Pow(1000, float64(i)/float64(len(out)-1))
	}
	return out
}

// suggest weighs each scale of the noise by how well it explains all values, and mixes what the levels of the two sides
// differ by at each. One side alone is of ratios already.
func (m noiseModel) suggest(confidence float64, sides ...[]float64) Suggestion {
	s := noSuggestion(confidence)
	if slices.ContainsFunc(sides, func(values []float64) bool { return len(values) == 0 }) {
		return s
	}
	var changes mixture
	for _, scale := range scales() {
		// One value of the usual spread: the prior of the scale, a scaled inverse chi-squared distribution.
		evidence := -math.Log(scale) - usualSpread*usualSpread/(2*scale*scale)
		for _, values := range m.others {
			evidence += levelOf(values, scale).evidence
		}
		change, variance := 0.0, 0.0
		for _, values := range sides {
			l := levelOf(values, scale)
			change, variance, evidence = l.mean-change, variance+l.variance, evidence+l.evidence
		}
		variance += 2 * m.between * m.between
		changes.add(evidence, distuv.StudentsT{Mu: change, Sigma: math.Sqrt(variance), Nu: m.freedom})
	}
	below := changes.below(0)
	s.Ratio, s.Chance = math.Exp(changes.quantile(0.5)), max(below, 1-below)
	s.Lo, s.Hi = math.Exp(changes.quantile(0.5-confidence/2)), math.Exp(changes.quantile(0.5+confidence/2))
	return s
}

// level is what values say about where they lie, given the scale of their noise.
type level struct {
	mean, variance float64
	evidence       float64 // the logarithm of how likely the values are, whatever their level
}

// levelOf integrates over all levels by the trapezoidal rule. Its nodes lie densely around the values and their median,
// since noise of a small scale has a peak at each value.
func levelOf(values []float64, scale float64) level {
	nodes := nodesAround(values, scale)
	densities := make([]float64, len(nodes))
	for i, at := range nodes {
		densities[i] = -(tails + 1) / 2.0 * sumOfLogs(values, at, scale)
	}
	most := slices.Max(densities)
	var area, timestamp, square float64
	for i, d := range densities {
		width := nodes[min(i+1, len(nodes)-1)] - nodes[max(i-1, 0)]
		d = math.Exp(d-most) * width / 2
		at := nodes[i] - values[0] // so that the difference of large squares keeps its digits
		area, timestamp, square = area+d, timestamp+d*at, square+d*at*at
	}
	mean := timestamp / area
	return level{
		mean:     values[0] + mean,
		variance: max(square/area-mean*mean, 0),
		evidence: most + math.Log(area) - float64(len(values))*math.Log(scale),
	}
}

// sumOfLogs returns the sum of the logarithms of 1 + r²/tails over the distances r of the values from a level, in
// scales. Factors are multiplied as long as they fit into a number: a logarithm takes far longer.
func sumOfLogs(values []float64, at, scale float64) float64 {
	const large = 1e150
	sum, product := 0.0, 1.0
	for _, x := range values {
		r := (x - at) / scale
		if product *= 1 + r*r/tails; product > large {
			sum, product = sum+math.Log(product), 1
		}
	}
	return sum + math.Log(product)
}

// maxAnchors is up to how many values each get nodes around them; of more values, only quantiles do.
const maxAnchors = 12

// nodesAround are where the density of a level is looked at, from below.
func nodesAround(values []float64, scale float64) []float64 {
	offsets := []float64{0, 0.2, 0.4, 0.6, 0.9, 1.3, 1.8, 2.5, 3.5, 5, 8, 12}
	sorted := slices.Sorted(slices.Values(values))
	var nodes []float64
	around := func(at, scale float64) {
		for _, o := range offsets {
			nodes = append(nodes, at-o*scale, at+o*scale)
		}
	}
	anchors := min(len(sorted), maxAnchors)
	for i := range anchors {
		around(sorted[i*(len(sorted)-1)/max(anchors-1, 1)], scale)
	}
	around(Median(sorted), scale/math.Sqrt(float64(len(sorted))))
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// mixture is a distribution of several, each as probable as its evidence, a logarithm, says.
type mixture struct {
	parts    []distuv.StudentsT
	evidence []float64
}

func (m *mixture) add(evidence float64, part distuv.StudentsT) {
	m.parts, m.evidence = append(m.parts, part), append(m.evidence, evidence)
}

// below is the probability of less than x. Parts that are too improbable to change it take most of the time.
func (m mixture) below(x float64) float64 {
	const negligible = -32 // 1e-14
	most := slices.Max(m.evidence)
	var sum, all float64
	for i, p := range m.parts {
		if m.evidence[i]-most < negligible {
			continue
		}
		weight, z := math.Exp(m.evidence[i]-most), (x-p.Mu)/p.Sigma
		all += weight
		if math.IsInf(p.Nu, 1) {
			sum += weight * distuv.UnitNormal.CDF(z)
			continue
		}
		sum += weight * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: p.Nu}.CDF(z)
	}
	return sum / all
}

// quantile is found by halving what encloses it: a mixture has no closed form.
func (m mixture) quantile(p float64) float64 {
	lo, hi := -1.0, 1.0
	for m.below(lo) > p && lo > -1e3 {
		lo *= 2
	}
	for m.below(hi) < p && hi < 1e3 {
		hi *= 2
	}
	for range 40 {
		if mid := (lo + hi) / 2; m.below(mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

func logsOfAll(groups [][]float64) [][]float64 {
	var out [][]float64
	for _, g := range groups {
		if l := LogsOf(g); len(l) > 0 {
			out = append(out, l)
		}
	}
	return out
}
