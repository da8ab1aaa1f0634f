package inturns

import (
	"math"
	"slices"

	"headroom/internal/stat"

	"gonum.org/v1/gonum/floats"
)

// Turn is a value of one load in a comparison in turns. At is the number of its run among all runs of the comparison,
// whatever their loads. Second is set if the other side came before it in its pair.
type Turn struct {
	Value       float64
	At          int
	New, Second bool
}

// Rhythm is a wave in the speed of a machine. A timer, garbage collection or a neighbour can cause it. If the order of
// the pairs resembles the wave, one side is measured in its valleys.
type Rhythm struct {
	// Period is the number of runs from valley to valley; of shorter periods that look the same the longest.
	Period float64
	// P is the probability that independent runs show so regular a wave.
	P float64
	// Ratio is new/base without the wave. reach is the standard error of its logarithm.
	Ratio, reach float64
}

const (
	// shortestRhythm and longestRhythm are the periods that are looked for, in runs. A wave of two runs is the same as
	// an effect of coming second, and one of more than twelve slows both runs of a pair alike.
	shortestRhythm, longestRhythm = 2.2, 12.0
	// rhythmOversampling is how many frequencies are tried for each that is independent of the others.
	rhythmOversampling = 4
	// rhythmAlpha is the probability at which a rhythm counts as found. A finding makes no claim, it withholds some.
	rhythmAlpha = 0.01
)

// Found reports whether the speed rises and falls too regularly for chance.
func (r Rhythm) Found() bool { return r.P < rhythmAlpha }

// FindRhythm returns the wave that explains most of what a level, a steady drift, the side and the position in the pair
// leave of the logarithms of the values.
//
// Source: the generalised periodogram of M. Zechmeister and M. Kürster, "The generalised Lomb-Scargle periodogram",
// Astronomy & Astrophysics 496 (2009), with its probability of a false alarm.
func FindRhythm(turns []Turn) Rhythm {
	var logs, level, at, second, side []float64
	for _, t := range turns {
		if v := math.Log(t.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
			logs, level, at = append(logs, v), append(level, 1), append(at, float64(t.At))
			second, side = append(second, indicator(t.Second)), append(side, indicator(t.New))
		}
	}
	found := Rhythm{Period: math.NaN(), P: 1, Ratio: math.NaN(), reach: math.NaN()}
	beside := orthogonal(level, at, second)
	known := slices.Concat(beside, orthogonalTo(beside, side))
	freedom := len(logs) - len(known) - 2
	if freedom < 1 {
		return found
	}
	y := without(logs, known)
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
	cos, sin := wave(at, 1/found.Period)
	side = without(side, slices.Concat(beside, orthogonalTo(beside, cos, sin)))
	weight := floats.Dot(side, side)
	if !(weight > 0) { // the sides are the wave
		found.Ratio, found.reach = 1, math.Inf(1)
		return found
	}
	found.Ratio = math.Exp(floats.Dot(side, logs) / weight)
	found.reach = math.Sqrt(left / float64(freedom) / weight)
	return found
}

// Widen returns a change in turns with an interval that holds, where a rhythm was found, the change beside it too: a
// decision on it stands for both.
func (r Rhythm) Widen(c stat.Change) stat.Change {
	if !r.Found() || !c.Known() || !(c.Spread > 0) {
		return c
	}
	errors := math.Log(c.Hi/c.Lo) / 2 / (c.Spread / math.Sqrt(float64(c.N)))
	c.Lo, c.Hi = min(c.Lo, r.Ratio*math.Exp(-errors*r.reach)), max(c.Hi, r.Ratio*math.Exp(errors*r.reach))
	return c
}

// Remaining returns the change without the rhythm, whatever it is with it.
func (r Rhythm) Remaining(float64) float64 { return r.Ratio }

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
