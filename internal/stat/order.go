package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Marked is one value, with whether it was taken under the condition in question (right after a certain load, first
// in its block, on a fresh file).
type Marked struct {
	Value  float64
	Marked bool
}

// Effect is how many times larger values are under a condition.
type Effect struct {
	// Ratio of marked to unmarked values, with its 95% interval.
	Ratio, Lo, Hi float64
	// P is the probability of a ratio at least as far from 1 where the condition does nothing.
	P float64
	// Marked and Unmarked values that took part.
	Marked, Unmarked int
}

// OrderEffect estimates what a condition does to values of several groups (cells), each with its own level: only
// differences within a group count, so that a fast cell and a slow one can be pooled. Groups in which all values
// or none are marked say nothing and are left out, as are values that are not positive.
//
// It fits ln(value) = level of the group + effect of the mark + noise by least squares, and tests the effect by
// Student's t with n - groups - 1 degrees of freedom. Logarithms, because effects on speed multiply and because the
// skew of rates is mostly gone in them. With one marked value against two others it has one degree of freedom
// and finds only effects that dwarf the noise (a factor of three against 1%), which is what such a sample can show.
// NaN when nothing is left to estimate from. The test takes the noise of all groups as equal: a caller that asks
// many such questions should divide its limit for P by their number.
func OrderEffect(groups [][]Marked) Effect { return OrderEffectBeside(groups, nil) }

// OrderEffectBeside is OrderEffect with groups beside that tell nothing but how far values scatter within a group,
// which is taken as equal in all of them. A single value against two has some degrees of freedom then.
func OrderEffectBeside(groups, beside [][]Marked) Effect {
	out := Effect{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}
	var marks, logs []float64 // each centred on its group
	used := 0
	for _, group := range groups {
		var m, y []float64
		n := 0
		for _, v := range group {
			if !(v.Value > 0) || math.IsInf(v.Value, 1) {
				continue
			}
			mark := 0.0
			if v.Marked {
				mark, n = 1, n+1
			}
			m, y = append(m, mark), append(y, math.Log(v.Value))
		}
		if n == 0 || n == len(m) {
			continue
		}
		used++
		out.Marked += n
		out.Unmarked += len(m) - n
		meanMark, meanLog := stat.Mean(m, nil), stat.Mean(y, nil)
		for i := range m {
			marks = append(marks, m[i]-meanMark)
			logs = append(logs, y[i]-meanLog)
		}
	}
	left, freedom := 0.0, len(logs)-used-1
	for _, group := range beside {
		var y []float64
		for _, v := range group {
			if v.Value > 0 && !math.IsInf(v.Value, 1) {
				y = append(y, math.Log(v.Value))
			}
		}
		if len(y) > 1 {
			left += stat.Variance(y, nil) * float64(len(y)-1)
			freedom += len(y) - 1
		}
	}
	if used == 0 || freedom < 1 {
		return out
	}
	var product, square float64
	for i := range logs {
		product += marks[i] * logs[i]
		square += marks[i] * marks[i]
	}
	effect := product / square
	for i := range logs {
		r := logs[i] - effect*marks[i]
		left += r * r
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}
	spread := math.Sqrt(left / float64(freedom) / square)
	reach := t.Quantile(0.975) * spread
	out.Ratio, out.Lo, out.Hi = math.Exp(effect), math.Exp(effect-reach), math.Exp(effect+reach)
	switch {
	case spread > 0:
		out.P = 2 * t.Survival(math.Abs(effect)/spread)
	case effect == 0:
		out.P = 1
	default:
		out.P = 0
	}
	return out
}
