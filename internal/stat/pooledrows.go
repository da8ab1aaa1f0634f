package stat

import (
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
)

// logRows are the logarithms; NaN where there is none.
func logRows(values [][]float64) [][]float64 {
	rows := make([][]float64, len(values))
	for i, row := range values {
		rows[i] = make([]float64, len(row))
		for t, v := range row {
			rows[i][t] = math.NaN()
			if v > 0 && !math.IsInf(v, 1) {
				rows[i][t] = math.Log(v)
			}
		}
	}
	return rows
}

// removeCommon subtracts what rows share at a time: the median over the rows of what a value is above its row's median.
// Two passes, since rows that lack a time have another median before it is known. Source: J. W. Tukey, Exploratory Data
// Analysis (1977), median polish.
func removeCommon(rows [][]float64) {
	times := 0
	for _, row := range rows {
		times = max(times, len(row))
	}
	for range 2 {
		medians := make([]float64, len(rows))
		for i, row := range rows {
			medians[i] = Median(row)
		}
		for t := range times {
			var above []float64
			for i, row := range rows {
				if t < len(row) {
					above = append(above, row[t]-medians[i])
				}
			}
			if common := Median(above); !math.IsNaN(common) {
				for _, row := range rows {
					if t < len(row) {
						row[t] -= common
					}
				}
			}
		}
	}
}

// levelRow is a row with its level, and its residuals in the order of time.
type levelRow struct {
	level     float64
	residuals []float64
	// square and product are the sums of the squares of residuals, and of the products of neighbours.
	square, product float64
}

func (r levelRow) n() int { return len(r.residuals) }

// variance of the values of a row; 0 for one value.
func (r levelRow) variance() float64 { return r.square / float64(max(1, r.n()-1)) }

// pooledRows are rows that share a spread and a correlation.
type pooledRows struct {
	rows                  []levelRow
	variance, correlation float64
	freedom               float64
	assumed               bool
	// moves is how far rows move from one level to another while they are measured; 0 where no level lasts.
	moves float64
	// ranks by the numbers of values, which are the same for most rows and take long to count out.
	ranks map[[2]int]int
}

func poolRows(rows [][]float64) pooledRows {
	p := pooledRows{ranks: map[[2]int]int{}}
	square, n, most := 0.0, 0, 0
	for _, row := range rows {
		r := levelRow{residuals: Present(row), level: math.NaN()}
		if r.n() > 0 {
			r.level = gonum.Mean(r.residuals, nil)
			for t := range r.residuals {
				r.residuals[t] -= r.level
				r.square += r.residuals[t] * r.residuals[t]
				if t > 0 {
					r.product += r.residuals[t] * r.residuals[t-1]
				}
			}
			square += r.square
			n += r.n() - 1
			most = max(most, r.n())
		}
		p.rows = append(p.rows, r)
	}
	p.variance, p.freedom = square/float64(max(1, n)), float64(max(1, n))
	if most <= 2 {
		p.correlation, p.assumed = unseenCorrelation, true
		return p
	}
	likeliest := 0.0
	if likeliest, p.correlation = p.correlations(most); likeliest > lastingCorrelation {
		p.moves = p.usualRange()
	}
	rowsThatVary, each := p.effectiveRows()
	p.freedom = min(p.freedom, max(1, rowsThatVary*(each+2)))
	return p
}

// lastingCorrelation is what the correlation must exceed for levels to last.
const lastingCorrelation = 0.5

// usualRange is the range that nine of ten rows keep to: where levels last, a row can be for all of its length where
// others are for a part of it.
func (p pooledRows) usualRange() float64 {
	var ranges []float64
	for _, r := range p.rows {
		if r.n() > 1 {
			ranges = append(ranges, slices.Max(r.residuals)-slices.Min(r.residuals))
		}
	}
	return Quantile(ranges, 0.9)
}

// effectiveRows are how many rows share the spread, with the degrees of freedom of each on average: where one of twenty
// changed its level, it has nearly all of the spread, and alone shows how large it is and how alike neighbours are. Of
// n normal rows of k degrees it is n·k/(k+2).
func (p pooledRows) effectiveRows() (rows, each float64) {
	var square, ofSquares, freedom, count float64
	for _, r := range p.rows {
		square, ofSquares = square+r.square, ofSquares+r.square*r.square
		if r.n() > 1 {
			freedom, count = freedom+float64(r.n()-1), count+1
		}
	}
	if ofSquares == 0 {
		return count, freedom / max(1, count)
	}
	return square * square / ofSquares, freedom / count
}

// limitOfCorrelation is how many standard errors the upper limit of the correlation lies above its estimate: 5% lie
// beyond.
const limitOfCorrelation = 1.645

// correlations returns the correlation of an AR(1) which shows as much at lag 1 as these rows, and the largest one that
// agrees with them (one-sided 95%).
func (p pooledRows) correlations(most int) (likeliest, largest float64) {
	var product, square float64
	rows := 0.0
	for _, r := range p.rows {
		product, square = product+r.product, square+r.square
		if r.n() > 1 {
			rows++
		}
	}
	if square == 0 {
		return 0, 0
	}
	shown, scatter := product/square, 0.0
	for _, r := range p.rows {
		u := r.product - shown*r.square
		scatter += u * u
	}
	// Where few rows have nearly all of the spread, as where one of twenty changed its level, they alone show the
	// correlation.
	varying, each := p.effectiveRows()
	reach := limitOfCorrelation * max(math.Sqrt(scatter*rows/max(1, rows-1))/square, 1/math.Sqrt(varying*each))
	high := maxCorrelation
	if most <= 4 {
		high = unseenCorrelation // of rows so short, 0 and 1 differ by less than chance
	}
	return p.correlationThatShows(shown, high), p.correlationThatShows(shown+reach, high)
}

// correlationThatShows returns the correlation of an AR(1) which shows so much at lag 1 in rows of these lengths, at
// most high.
func (p pooledRows) correlationThatShows(shown, high float64) float64 {
	low := 0.0
	for range 40 {
		middle := (low + high) / 2
		expected, of := 0.0, 0.0
		for _, r := range p.rows {
			if r.n() > 1 {
				m := shortAR(middle, r.n())
				expected, of = expected+m.product, of+m.square
			}
		}
		if expected/of < shown {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// maxCorrelation is the largest that a short row can show.
const maxCorrelation = 0.9

// arMoments are what n values of an AR(1) of variance 1 have on average around their own mean: the sum of squares, the
// sum of the products of neighbours, and the variance of the mean.
type arMoments struct{ square, product, ofMean float64 }

// shortAR sums the autocovariances phi^k. Source: G. E. P. Box, G. M. Jenkins, G. C. Reinsel, Time Series Analysis,
// section 2.1.
func shortAR(phi float64, n int) arMoments {
	size := float64(n)
	ofMean, first, power := 0.0, 0.0, 1.0
	for k := range n {
		weight := 2 * (size - float64(k))
		if k == 0 {
			weight = size
		}
		ofMean += weight * power / (size * size)
		first += power / size // the covariance of the mean with the first value
		power *= phi
	}
	return arMoments{square: size * (1 - ofMean), product: (size-1)*phi - (size+1)*ofMean + 2*first, ofMean: ofMean}
}

// widening is how many times wider an interval for the mean of n values is than their spread says.
func (p pooledRows) widening(n int) float64 {
	if n < 2 {
		return 1
	}
	m := shortAR(p.correlation, n)
	return math.Sqrt(m.ofMean * float64(n) * float64(n-1) / m.square)
}

// mediansOfOthers returns for each row the median of the levels of the others; NaN for a row without any.
func (p pooledRows) mediansOfOthers() []float64 {
	var levels []float64
	for _, r := range p.rows {
		if r.n() > 0 {
			levels = append(levels, r.level)
		}
	}
	known := MediansOfOthers(levels)
	if len(levels) <= MaxAgainstAll {
		known = slices.Repeat([]float64{Median(levels)}, len(levels))
	}
	middles := make([]float64, len(p.rows))
	for i, r := range p.rows {
		middles[i] = math.NaN()
		if r.n() > 0 {
			middles[i], known = known[0], known[1:]
		}
	}
	return middles
}

// change compares row i with the median of the others.
func (p pooledRows) change(i int, middle, confidence float64) Change {
	own := p.rows[i]
	c := Change{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(),
		Estimator: "mean of logarithms against the median of the others", N: own.n(), Spread: math.NaN()}
	if own.n() == 0 || math.IsNaN(middle) {
		return c
	}
	difference := own.level - middle
	c.Ratio = math.Exp(difference)
	if own.n() < MinFromOthers {
		return c
	}
	c.Spread = math.Sqrt(own.variance())
	// The variance of a median is pi/2 times the variance of a mean of as many values.
	ofMiddle, others := 0.0, 0.0
	for j, r := range p.rows {
		if j != i && r.n() > 0 {
			ofMiddle += p.variance / float64(r.n()) * square(p.widening(r.n()))
			others++
		}
	}
	widened := p.widening(own.n())
	error := math.Sqrt(max(p.variance, own.variance())/float64(own.n())*widened*widened +
		math.Pi/2*ofMiddle/(others*others))
	reach := error * StudentQuantile(0.5+confidence/2, p.freedom)
	reach = max(reach, p.moves)
	lo, hi := difference-reach, difference+reach
	if below, above, known := p.byRanks(i, confidence); known {
		lo, hi = min(lo, difference-below*widened), max(hi, difference+above*widened)
	}
	c.Lo, c.Hi, c.Confidence = math.Exp(lo), math.Exp(hi), confidence
	return c
}

// byRanks is how far the interval of the shift of row i against the residuals of the others reaches below and above, by
// Mann and Whitney's test inverted. Residuals around the mean of n values are smaller than the values' distances to the
// level by the root of (n-1)/n.
func (p pooledRows) byRanks(i int, confidence float64) (below, above float64, known bool) {
	var rest []float64
	for j, r := range p.rows {
		if j != i && r.n() > 1 {
			scale := math.Sqrt(float64(r.n()) / float64(r.n()-1))
			for _, v := range r.residuals {
				rest = append(rest, v*scale)
			}
		}
	}
	own := p.rows[i].residuals
	if len(rest) == 0 {
		return 0, 0, false
	}
	size := [2]int{len(own), len(rest)}
	rank, counted := p.ranks[size]
	if !counted {
		rank = LopsidedRank(len(own), len(rest), confidence)
		p.ranks[size] = rank
	}
	if rank == 0 {
		return 0, 0, false
	}
	shifts := Pairwise(rest, own)
	return max(0, -shifts[rank-1]), max(0, shifts[len(shifts)-rank]), true
}
