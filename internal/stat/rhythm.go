package stat

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Turn is a value of one load that several arms measured in turns: the two sides of a comparison, or the levels of a
// sweep. At is the number of its run among all runs, or of its visit among all visits. Second is set in a comparison if
// the other side came before it in its pair.
type Turn struct {
	Value   float64
	At, Arm int
	Second  bool
}

// Rhythm is a wave in the speed of a machine. A timer, garbage collection or a neighbour can cause it. If the order of
// the arms resembles the wave, one of them is measured in its valleys.
type Rhythm struct {
	// Period is the number of runs from valley to valley; of shorter periods that look the same the longest.
	Period float64
	// P is the probability that independent runs show so regular a wave.
	P float64
	// logs are the logarithms of the values. beside are columns for what else may explain them, the wave among them,
	// and arms for what the arms do: 1 in the turns of the arm, 0 in the others.
	logs   []float64
	beside [][]float64
	arms   map[int][]float64
	// left is the variance of a value that nothing of it explains.
	left float64
}

const (
	// shortestRhythm and longestRhythm are the periods that are looked for, in runs. A shorter one looks like a longer
	// one, and one of more than twelve slows both runs of a pair alike.
	shortestRhythm, longestRhythm = 2.0, 12.0
	// rhythmOversampling is how many frequencies are tried for each that is independent of the others.
	rhythmOversampling = 4
	// rhythmAlpha is the probability at which a rhythm counts as found. A finding makes no claim, it withholds some.
	rhythmAlpha = 0.01
)

// Found reports whether the speed rises and falls too regularly for chance.
func (r Rhythm) Found() bool { return r.P < rhythmAlpha }

// FindRhythm returns the wave that explains most of what a level, a steady drift, the arm and the position in the pair
// leave of the logarithms of the values.
//
// Source: the generalised periodogram of M. Zechmeister and M. Kürster, "The generalised Lomb-Scargle periodogram",
// Astronomy & Astrophysics 496 (2009), with its probability of a false alarm.
func FindRhythm(turns []Turn) Rhythm {
	found := Rhythm{Period: math.NaN(), P: 1, arms: map[int][]float64{}}
	var level, at, second []float64
	var arms []int
	for _, t := range turns {
		if v := math.Log(t.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
			found.logs, level, at = append(found.logs, v), append(level, 1), append(at, float64(t.At))
			second, arms = append(second, indicator(t.Second)), append(arms, t.Arm)
		}
	}
	known := orthogonal(level, at, second)
	for _, arm := range slices.Compact(slices.Sorted(slices.Values(arms))) {
		for _, of := range arms {
			found.arms[arm] = append(found.arms[arm], indicator(of == arm))
		}
		known = append(known, orthogonalTo(known, found.arms[arm])...)
	}
	freedom := len(found.logs) - len(known) - 2
	if freedom < 1 {
		return found
	}
	y := without(found.logs, known)
	all := floats.Dot(y, y)
	left, tried := all, 0
	span := floats.Max(at) - floats.Min(at) + 1
	for f := 1.0 / longestRhythm; f < 1.0/shortestRhythm; f += 1 / (rhythmOversampling * span) {
		tried++
		cos, sin := wave(at, f)
		rest := without(y, orthogonalTo(known, cos, sin))
		if sum := floats.Dot(rest, rest); sum < left {
			left, found.Period = sum, 1/f
		}
	}
	if !(left < all) {
		return found
	}
	independent := float64(tried) / rhythmOversampling * 2
	found.P = min(1, independent*math.Pow(left/all, float64(freedom)/2))
	found.left = left / float64(freedom)
	cos, sin := wave(at, 1/found.Period)
	found.beside = [][]float64{level, at, second, cos, sin}
	return found
}

// Ratio returns how many times as fast an arm is as another, without the wave, and the standard error of its logarithm.
// It is 1, with no end to the error, if the arms are the wave.
func (r Rhythm) Ratio(next, base int) (ratio, reach float64) {
	beside := orthogonal(r.beside...)
	for _, arm := range slices.Sorted(maps.Keys(r.arms)) { // else the last digit would be by chance
		if arm != next && arm != base {
			beside = append(beside, orthogonalTo(beside, r.arms[arm])...)
		}
	}
	arm := without(r.arms[next], beside)
	weight := floats.Dot(arm, arm)
	if !(weight > 0) {
		return 1, math.Inf(1)
	}
	return math.Exp(floats.Dot(arm, r.logs) / weight), math.Sqrt(r.left / weight)
}

// Widen returns the change from one arm to another, measured in turns, with an interval that holds the change without
// the rhythm too, if one was found: a decision on it stands for both.
func (r Rhythm) Widen(c Change, next, base int) Change {
	if !r.Found() || !c.Known() || !(c.Spread > 0) {
		return c
	}
	ratio, reach := r.Ratio(next, base)
	errors := math.Log(c.Hi/c.Lo) / 2 / (c.Spread / math.Sqrt(float64(c.N)))
	c.Lo, c.Hi = min(c.Lo, ratio*math.Exp(-errors*reach)), max(c.Hi, ratio*math.Exp(errors*reach))
	return c
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// wave returns the cosine and the sine of a frequency at places.
func wave(at []float64, frequency float64) (cos, sin []float64) {
	cos, sin = make([]float64, len(at)), make([]float64, len(at))
	for i, x := range at {
		sin[i], cos[i] = math.Sincos(2 * math.Pi * frequency * x)
	}
	return cos, sin
}

// orthogonal returns vectors at right angles to each other that span what the columns do (Gram and Schmidt).
func orthogonal(columns ...[]float64) [][]float64 { return orthogonalTo(nil, columns...) }

// orthogonalTo returns vectors at right angles to each other and to axes, which span what the columns add to the axes.
func orthogonalTo(axes [][]float64, columns ...[]float64) (added [][]float64) {
	for _, c := range columns {
		rest := without(without(c, axes), added)
		if floats.Dot(rest, rest) > 1e-9*floats.Dot(c, c) {
			added = append(added, rest)
		}
	}
	return added
}

// without returns y without what axes at right angles to each other explain of it.
func without(y []float64, axes [][]float64) []float64 {
	rest := append([]float64(nil), y...)
	for _, axis := range axes {
		floats.AddScaled(rest, -floats.Dot(rest, axis)/floats.Dot(axis, axis), axis)
	}
	return rest
}
