package changepoint

import (
	"math"

	"gonum.org/v1/gonum/floats"
	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/stat"
)

// Rhythm is what repeats after so many values.
type Rhythm struct {
	Period int
	// Change is the lowest ratio of one of the Period levels over the highest one, without an interval.
	Change stat.Change
	// levels are the logarithms of the levels over their mean, by index modulo Period.
	levels []float64
}

const (
	// minPeriod is the shortest period: two values have nothing but a slope.
	minPeriod = 3
	// maxPeriod is the longest one, two weeks of days.
	maxPeriod = 14
	// minPeriods is how often a rhythm is seen at least.
	minPeriods = 3
	// rhythmLevel is how often any rhythm is found by chance in independent values. It is small since values whose
	// neighbours are alike pass more often.
	rhythmLevel = 0.001
)

// rhythmOf returns the rhythm of a series of logarithms, and false if it has none. Of two periods it has the one that
// is less likely by chance.
//
// Each period is a row, in the analysis of variance of two factors: rows may have any level, so that steps are no
// rhythm, and neither is a slope, since what rises evenly along the rows is not counted.
//
// Source: G. W. Snedecor and W. G. Cochran, Statistical Methods (1989), chapter 14.
func rhythmOf(logs []float64) (Rhythm, bool) {
	longest := min(maxPeriod, len(logs)/minPeriods)
	best, likely := Rhythm{}, rhythmLevel/float64(max(1, longest-minPeriod+1))
	for period := minPeriod; period <= longest; period++ {
		rows := len(logs) / period
		levels, rest := make([]float64, period), 0.
		for row := range rows {
			of := logs[row*period : (row+1)*period]
			floats.Add(levels, of)
			floats.AddConst(-gonum.Mean(of, nil), levels)
		}
		floats.Scale(1/float64(rows), levels)
		for row := range rows {
			of := logs[row*period : (row+1)*period]
			mean := gonum.Mean(of, nil)
			for i, v := range of {
				rest += (v - mean - levels[i]) * (v - mean - levels[i])
			}
		}
		along := floats.Span(make([]float64, period), -1, 1)
		slope := floats.Dot(levels, along)
		of := float64(rows) * (floats.Dot(levels, levels) - slope*slope/floats.Dot(along, along))
		free := float64(period - 2)
		left := float64((period - 1) * (rows - 1))
		p := distuv.F{D1: free, D2: left}.Survival(of / free / (rest / left))
		again := best.Period > 0 && period%best.Period == 0 // twice the period repeats, too
		if p <= likely && !again {
			best, likely = Rhythm{Period: period, levels: levels}, p
			best.Change = stat.Change{Ratio: math.Exp(floats.Min(levels) - floats.Max(levels)), Lo: math.NaN(),
				Hi: math.NaN(), N: rows}
		}
	}
	return best, best.Period > 0
}

// without returns values without the rhythm.
func (r Rhythm) without(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v / math.Exp(r.levels[i%r.Period])
	}
	return out
}
