package stat

import "math"

// ShiftChange estimates the ratio of two independent samples with a fixed number of values as UnpairedChange does, but
// its interval is that of the ranks alone: one wild run among twenty hardly moves it, where Welch's widens until it
// says nothing. It takes for granted that both sides are the same but for the ratio, as two segments of one machine's
// history mostly are. With fewer than four values on a side the interval is the whole range of ratios, and Confidence
// the lower one that it has: 90% for three and three.
func ShiftChange(base, next []float64, confidence float64) Change {
	a, b := LogsOf(base), LogsOf(next)
	c, differences := rankedChange(a, b)
	if c.N < 2 {
		return c
	}
	c.Confidence = confidence
	rank := criticalRank(len(a), len(b), confidence)
	if rank == 0 {
		rank, c.Confidence = 1, 1-2/choose(len(a)+len(b), len(a))
	}
	c.Lo, c.Hi = math.Exp(differences[rank-1]), math.Exp(differences[len(differences)-rank])
	return c
}
