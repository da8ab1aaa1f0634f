package stat

import "math"

// Bounds of an interval in a published document; both are absent where nothing is known of the spread.
type Bounds struct {
	Lo *float64 `json:"lo,omitempty"`
	Hi *float64 `json:"hi,omitempty"`
}

// BoundsOf returns the bounds of an interval. Those that are infinite, which JSON has no word for, are not known.
func BoundsOf(lo, hi float64) Bounds {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return Bounds{}
	}
	return Bounds{Lo: &lo, Hi: &hi}
}

// Known reports whether there is an interval.
func (b Bounds) Known() bool { return b.Lo != nil && b.Hi != nil }

// Informative reports whether there is an interval of a ratio that says anything. One that contains 1 and reaches from
// a tenth of its middle to ten times does not: two pairs can have one from a thousandth to a thousand times.
func (b Bounds) Informative() bool {
	const most = 100
	return b.Known() && (*b.Hi < 1 || *b.Lo > 1 || *b.Hi < most**b.Lo)
}

// Estimate is a value in a published document, with the bounds of its interval.
type Estimate struct {
	Value float64 `json:"value"`
	Bounds
}

// RatioEstimate is how many times a value is another, in a published document. The interval covers it with Confidence.
type RatioEstimate struct {
	Ratio float64 `json:"ratio"`
	Bounds
	Confidence float64 `json:"confidence,omitempty"`
}

// Estimate returns the change as documents publish it.
func (c Change) Estimate() RatioEstimate {
	e := RatioEstimate{Ratio: c.Ratio, Bounds: BoundsOf(c.Lo, c.Hi)}
	if e.Known() {
		e.Confidence = c.Confidence
	}
	return e
}

// Estimate returns the interval as documents publish it.
func (i Interval) Estimate() Estimate { return Estimate{Value: i.Center, Bounds: BoundsOf(i.Lo, i.Hi)} }
