package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/headroom/headroom/internal/stat"
)

// Modes are two levels between which a series switches again and again.
type Modes struct {
	// Upper is how many of the values are at the upper one, and Switches how often neighbours are at different ones.
	Upper, Switches int
	// Change is the ratio of the lower one over the upper one.
	Change stat.Change
}

// clearPattern is the evidence that a slope or two modes need, as a logarithm. It is more than the evidence for a step
// (clearEvidence), with which a quarter of all random walks of 100 runs would be called slopes.
const clearPattern = 3

// modesOf returns the modes of a series, and the series at the level of its upper mode alone. It returns false if two
// modes do not explain the values clearly better than anything else.
func (s *ChangeSearch) modesOf(values []float64) (m Modes, levelled []float64, upper mode, ok bool) {
	logs := stat.LogsOf(values)
	if len(logs) != len(values) || len(logs) < minForPattern {
		return m, nil, nil, false
	}
	e := evidenceOf(logs, true)
	if !(e.modes > max(e.change, e.wander, e.walk, e.slope)+clearPattern+math.Log(provedLevel/s.level)) {
		return m, nil, nil, false
	}
	upper = upperMode(logs)
	if upper.changed() > clearEvidence {
		return m, nil, nil, false
	}
	var above, below []float64
	for i, v := range values {
		if upper[i] == 1 {
			above = append(above, v)
		} else {
			below = append(below, v)
		}
	}
	m = Modes{Upper: len(above), Switches: upper.switches(),
		Change: stat.ShiftChange(above, below, confidenceOfChange)}
	levelled = slices.Clone(values)
	for i := range levelled {
		if upper[i] == 0 {
			levelled[i] /= m.Change.Ratio
		}
	}
	return m, levelled, upper, true
}

// mode says of each value of a series whether it is at the upper of two modes: 1, or 0.
type mode []float64

// upperMode divides values between two modes where their squares around the means of both are least, with MinBesides
// values in each.
//
// Source: N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
// Cybernetics 9 (1979).
func upperMode(values []float64) mode {
	sorted := slices.Sorted(slices.Values(values))
	var all, below float64
	for _, v := range values {
		all += v
	}
	n, best, threshold := float64(len(values)), math.Inf(-1), math.Inf(1)
	for i, v := range sorted {
		lower, upper := float64(i), n-float64(i)
		if lower >= MinBesides && upper >= MinBesides && v > sorted[i-1] {
			apart := below/lower - (all-below)/upper
			if between := lower * upper * apart * apart; between > best {
				best, threshold = between, v
			}
		}
		below += v
	}
	out := make(mode, len(values))
	for i, v := range values {
		if v >= threshold {
			out[i] = 1
		}
	}
	return out
}

// switches returns how often neighbours are at different modes.
func (m mode) switches() int {
	n := 0
	for i := 1; i < len(m); i++ {
		if m[i] != m[i-1] {
			n++
		}
	}
	return n
}

// minSwitches is the least number of changes of the mode. One is a step, and two a stretch that was fixed later.
const minSwitches = 3

// prior is the logarithm of the probability of these modes if each value has another one than the value before with an
// unknown probability, all of which are equally likely.
func (m mode) prior() float64 {
	switches, all := m.switches(), len(m)-1
	if switches < minSwitches {
		return math.Inf(-1)
	}
	return mathext.Lbeta(float64(switches+1), float64(all-switches+1)) - math.Ln2
}

// switchesBesides returns how often the mode changes at places that are not change points.
func (m mode) switchesBesides(points []ChangePoint) int {
	n := m.switches()
	for _, p := range points {
		if slices.ContainsFunc([]int{-1, 0, 1}, func(by int) bool {
			at := p.Index + by
			return 0 < at && at < len(m) && m[at] != m[at-1]
		}) {
			n--
		}
	}
	return n
}

// changed returns the logarithm of the Bayes factor of modes whose probabilities to last changed once, anywhere,
// against probabilities that stay the same: a level that fell for good resembles the lower mode of runs that were slow
// before. All probabilities are equally likely.
func (m mode) changed() float64 {
	// follow[i][k][j] is how many of the values before index i have mode k, and are followed by mode j.
	follow := make([][2][2]int, len(m))
	for i := 1; i < len(m); i++ {
		follow[i] = follow[i-1]
		follow[i][int(m[i-1])][int(m[i])]++
	}
	last := len(m) - 1
	var changed logSum
	for at := MinBesides; at <= last-MinBesides; at++ {
		after := follow[last]
		for k := range 2 {
			for j := range 2 {
				after[k][j] -= follow[at][k][j]
			}
		}
		changed.add(pathLikelihood(follow[at]) + pathLikelihood(after))
		changed.weight++
	}
	return changed.mean() - pathLikelihood(follow[last])
}

// pathLikelihood returns the logarithm of the likelihood of modes of which so many are followed by each.
func pathLikelihood(follow [2][2]int) float64 {
	return mathext.Lbeta(float64(follow[0][0]+1), float64(follow[0][1]+1)) +
		mathext.Lbeta(float64(follow[1][0]+1), float64(follow[1][1]+1))
}
