package stat

import "math"

// Change is how many times a new level is the base, with an interval. It is estimated on logarithms, because effects on
// speed multiply: half and twice are equally far from none. Lo and Hi are NaN where so few values say nothing.
type Change struct {
	Ratio, Lo, Hi float64
	// Confidence that [Lo, Hi] covers the true ratio.
	Confidence float64
	// Estimator names how it was estimated.
	Estimator string
	// N pairs, or values on the side that has fewer.
	N int
	// Spread is the standard deviation of the logarithm of one value, or of one pair where values are paired.
	Spread float64
}

// Decision is the conclusion that an interval allows.
type Decision int

// The decisions. Undecided is the zero value: nothing is claimed without proof.
const (
	Undecided Decision = iota
	Same
	Above // the new level is higher
	Below // the new level is lower
)

func (d Decision) String() string { return [...]string{"undecided", "same", "above", "below"}[d] }

// Decide returns Same if the interval lies wholly within the margin (0.03: from 1/1.03 to 1.03), Above or Below if it
// excludes "no change" and does not lie within, and Undecided otherwise.
func (c Change) Decide(margin float64) Decision {
	switch {
	case !c.Known():
		return Undecided
	case c.Lo >= 1/(1+margin) && c.Hi <= 1+margin:
		return Same
	case c.Lo > 1:
		return Above
	case c.Hi < 1:
		return Below
	}
	return Undecided
}

// Known reports whether there is an interval at all.
func (c Change) Known() bool { return !math.IsNaN(c.Lo) && !math.IsNaN(c.Hi) }

// Agreeing returns the change with the ratio of two figures, one of each side, that are printed next to it. The
// estimate may differ from that: the median of all ratios is not the ratio of the medians, and pairs leave out values
// without a partner. The interval covers both, so that no claim contradicts the printed figures. If the two differ only
// by rounding, or a figure has no ratio, Agreeing returns the change unmodified.
func (c Change) Agreeing(base, next float64) Change {
	const rounding = 1e-9
	if !(base > 0) || !(next > 0) || math.Abs(math.Log(next/base)-math.Log(c.Ratio)) < rounding {
		return c
	}
	c.Ratio = next / base
	if c.Known() {
		c.Lo, c.Hi = min(c.Lo, c.Ratio), max(c.Hi, c.Ratio)
	}
	return c
}

// UnseenJump is how far, as a ratio, a result that jumps between two levels may be from its mean where nothing is known
// of the jump. With too few values it may not be seen: all of them happened at one level.
const UnseenJump = 2.0

// AllowingForJump returns the change with an interval that allows for a jump by a ratio that was not seen, so that only
// larger differences can be claimed.
func (c Change) AllowingForJump(ratio float64) Change {
	c.Lo, c.Hi = c.Lo/ratio, c.Hi*ratio
	return c
}

// FamilyWise is the confidence that each of m intervals needs for all of them together to hold with probability
// 1-alpha, however they depend on each other: 1 - alpha/m (Bonferroni). A suite that asks eight questions at 95% each
// answers one of them wrongly in a third of all suites.
//
// Holm's steps decide a little more at the same alpha, but with intervals that end at "no change" wherever they do: a
// verdict beside which no size can be printed. Sidak's power, exact for independent cells, would narrow the intervals
// by a quarter of a per cent.
func FamilyWise(alpha float64, m int) float64 { return 1 - alpha/float64(max(m, 1)) }
