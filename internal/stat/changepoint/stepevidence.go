package changepoint

import (
	"math"

	"gonum.org/v1/gonum/floats"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/stat"
)

// stepEvidence is the logarithm of the Bayes factor of a step in a series against a level that only wanders or walks,
// or that rises or falls evenly: how many times likelier the values are if their level changed once, anywhere, than if
// each value merely resembles the one before, around a level or a slope, or if the level moves a little with each
// value.
//
// All hypotheses take the values as normal with an unknown mean, scale and lag-1 correlation, and average over all of
// them; the step's place and size, the size of the slope, and how far the level walks, are averaged over, too. With
// flat priors of mean and scale, and normal priors of the sizes, all but the sums over the grids below is in closed
// form.
//
// Source: the linear model with autocorrelated errors, A. Zellner, An Introduction to Bayesian Inference in
// Econometrics (1971), chapters 3 and 4; normal priors of the size in units of the noise, A. Zellner, "On assessing
// prior distributions and Bayesian regression analysis with g-prior distributions" (1986).
func stepEvidence(values []float64) float64 {
	e := evidenceOf(values, false)
	return e.change - e.none()
}

// changeEvidence is the same for any change: for a step, and with a share of the prior for a stretch that was put right
// again, which hardly shows in any single step.
func changeEvidence(values []float64) float64 {
	e := evidenceOf(values, true)
	return e.change - e.none()
}

// slopeEvidence returns the logarithm of the Bayes factor of an even slope over the whole series against the likelier
// of a change and a level that wanders. It returns -Inf if a level that walks explains the values better.
func slopeEvidence(values []float64) float64 {
	e := evidenceOf(values, true)
	if e.walk > e.slope {
		return math.Inf(-1)
	}
	return e.slope - max(e.change, e.wander)
}

// evidence has the logarithm of the likelihood of each hypothesis, all up to the same constant.
type evidence struct {
	change, wander, walk, slope, modes float64
	// runs is the number of values.
	runs float64
}

// none returns the logarithm of the likelihood of no change: of a level that wanders or walks, or of a slope. Two modes
// are looked for before steps are.
func (e evidence) none() float64 {
	var any logSum
	any.add(e.wander + math.Log(1-slopeShare-walkShare))
	any.add(e.walk + math.Log(walkShare*max(1, e.runs/runsOfWalks)))
	any.add(e.slope + math.Log(slopeShare))
	return any.log()
}

// nothing returns the evidence of values that say nothing.
func nothing() evidence {
	none := math.Inf(-1)
	return evidence{change: none, walk: none, slope: none, modes: none}
}

const (
	// clearEvidence is what proves a change in one series at a level of 5%, as a logarithm. With it and these priors,
	// series of 16 to 100 normal values without a step pass in at most some 5% at any correlation from 0 to 0.9
	// (TestChangePointsOfRunsThatAreAlike), and in fewer where more is asked: in some 1% at 2.3, 0.5% at 3.
	clearEvidence = 1
	// stretchShare of the prior of a change is for stretches.
	stretchShare = 0.25
	// Shares of the prior of no change. The rest is for a level that wanders.
	slopeShare = 0.2
	walkShare  = 0.2
	// runsOfWalks is up to how many values walkShare is enough. A longer walk strays further, and looks more like
	// steps.
	runsOfWalks = 30
	// maxStretchEnds is how many ends stretches are tried with in a long series: more of them cost time, and tell
	// little more.
	maxStretchEnds = 200
)

// correlationPrior is one correlation to average over, with its prior weights for a level that wanders and for a level
// that steps.
type correlationPrior struct{ correlation, wandering, stepping float64 }

// correlationPriors take runs around a step to be mostly little alike: independent runs with a step and runs that are
// alike can hardly be distinguished otherwise.
func correlationPriors() []correlationPrior {
	const each = 1. / 11
	return []correlationPrior{
		{0, each, 0.3203}, {0.1, each, 0.2402}, {0.2, each, 0.1601}, {0.3, each, 0.1201}, {0.4, each, 0.0801},
		{0.5, each, 0.048}, {0.6, each, 0.02}, {0.7, each, 0.008}, {0.8, each, 0.0024}, {0.9, each, 0.0008},
		{0.95, each, 0},
	}
}

// stepVariances are the variances of the priors of the step's size, and of the rise of a slope over the series, in
// units of the variance of the values around it, all equally likely.
func stepVariances() [variances]float64 { return [variances]float64{1, 4, 16, 64} }

const variances = 4

func evidenceOf(values []float64, stretches bool) evidence {
	n := len(values)
	if n < 2*MinBesides {
		return nothing()
	}
	centre := floats.Sum(values) / float64(n)
	var wander, step, stretch, slope, modes logSum
	upper := upperMode(values)
	for _, prior := range correlationPriors() {
		m := newStepModel(values, centre, prior.correlation)
		if !(m.squares > 0) {
			return nothing() // they are all equal
		}
		wander.add(m.alone() + math.Log(prior.wandering))
		if prior.stepping == 0 {
			continue
		}
		for first := MinBesides; first <= n-MinBesides; first++ {
			m.add(&step, first, n, math.Log(prior.stepping))
		}
		m.addShape(&slope, evenly(n), math.Log(prior.stepping))
		m.addShape(&modes, upper, math.Log(prior.stepping))
		if !stretches {
			continue
		}
		stride := 1 + n/maxStretchEnds
		for first := MinBesides; first <= n-MinBesides; first += stride {
			for end := first + MinBesides; end <= n-MinBesides; end += stride {
				m.add(&stretch, first, end, math.Log(prior.stepping))
			}
		}
	}
	change := step.mean()
	if stretch.weight > 0 {
		var either logSum
		either.add(step.mean() + math.Log(1-stretchShare))
		either.add(stretch.mean() + math.Log(stretchShare))
		change = either.log()
	}
	return evidence{change: change, wander: wander.log(), walk: walkLikelihood(values), slope: slope.mean(),
		modes: modes.mean() + upper.prior(), runs: float64(n)}
}

// stepModel is a series with one correlation: its values less that share of the one before, and less their mean.
type stepModel struct {
	correlation float64
	rest, unit  []float64 // what is left of the values, and of a constant
	// Sums up to each index, so that a stretch's are a difference of two.
	restUpTo, unitUpTo []float64
	units              float64 // sum of squares of unit
	squares            float64 // sum of squares of rest
	scale, power       float64
}

func newStepModel(values []float64, centre, correlation float64) *stepModel {
	n := len(values)
	m := &stepModel{correlation: correlation, rest: make([]float64, n), unit: make([]float64, n)}
	m.restUpTo, m.unitUpTo = make([]float64, n+1), make([]float64, n+1)
	first := math.Sqrt(1 - correlation*correlation)
	m.rest[0], m.unit[0] = first*(values[0]-centre), first
	for i := 1; i < n; i++ {
		m.rest[i], m.unit[i] = values[i]-centre-correlation*(values[i-1]-centre), 1-correlation
	}
	m.units = floats.Dot(m.unit, m.unit)
	floats.AddScaled(m.rest, -floats.Dot(m.rest, m.unit)/m.units, m.unit)
	m.squares = floats.Dot(m.rest, m.rest)
	floats.CumSum(m.restUpTo[1:], m.rest)
	floats.CumSum(m.unitUpTo[1:], m.unit)
	m.scale, m.power = math.Log(first)-math.Log(m.units)/2, -float64(n-1)/2
	return m
}

// alone is the logarithm of the likelihood without a change, but for a factor that all models share.
func (m *stepModel) alone() float64 { return m.scale + m.power*math.Log(m.squares) }

// add adds the likelihoods with another level in [first, end), for each prior of its size, times a weight that is given
// as a logarithm.
func (m *stepModel) add(sum *logSum, first, end int, weight float64) {
	along, length := m.along(first, end)
	m.addAlong(sum, along, length, weight)
}

// addAlong does the same for any shape. along is the product of the shape and the values, and length the product of the
// shape and itself.
func (m *stepModel) addAlong(sum *logSum, along, length, weight float64) {
	for _, variance := range stepVariances() {
		variance /= 1 - m.correlation*m.correlation
		left := max(m.squares-along*along/(length+1/variance), 1e-12*m.squares) // where the step explains all
		sum.add(weight + m.scale - math.Log(1+variance*length)/2 + m.power*math.Log(left))
	}
	sum.weight += math.Exp(weight) * variances
}

// along is what the values have in common with another level in [first, end), and its square with itself.
func (m *stepModel) along(first, end int) (common, square float64) {
	// what is left of a level behind its first value; of the one after it minus the correlation
	inside := 1 - m.correlation
	common = m.rest[first] + inside*(m.restUpTo[end]-m.restUpTo[first+1])
	onto := m.unit[first] + inside*(m.unitUpTo[end]-m.unitUpTo[first+1])
	square = 1 + inside*inside*float64(end-first-1)
	if end < len(m.rest) {
		common -= m.correlation * m.rest[end]
		onto -= m.correlation * m.unit[end]
		square += m.correlation * m.correlation
	}
	return common, square - onto*onto/m.units
}

// addShape does the same for a shape of which the value of each is given.
func (m *stepModel) addShape(sum *logSum, shape []float64, weight float64) {
	var common, square, onto, before float64
	for i, v := range shape {
		left := v - m.correlation*before
		if i == 0 {
			left = v * m.unit[0]
		}
		common, square, onto = common+m.rest[i]*left, square+left*left, onto+m.unit[i]*left
		before = v
	}
	m.addAlong(sum, common, square-onto*onto/m.units, weight)
}

// evenly returns n numbers that rise by one in all.
func evenly(n int) []float64 { return floats.Span(make([]float64, n), -0.5, 0.5) }

// logSum adds numbers that are given as logarithms and that may be too small for a float64.
type logSum struct {
	most, sum float64
	// weight is the sum of the weights of all numbers, for their mean.
	weight float64
}

func (s *logSum) add(log float64) {
	switch {
	case s.sum == 0:
		s.most, s.sum = log, 1
	case log > s.most:
		s.most, s.sum = log, 1+s.sum*math.Exp(s.most-log)
	default:
		s.sum += math.Exp(log - s.most)
	}
}

func (s *logSum) log() float64 { return s.most + math.Log(s.sum) }

func (s *logSum) mean() float64 { return s.log() - math.Log(s.weight) }

// walkVariances are the variances of the steps of a level that walks, in those of the values around it, all equally
// likely. Where it walks further, the values resemble those of a level that wanders.
func walkVariances() [5]float64 { return [5]float64{0.01, 0.03, 0.1, 0.3, 1} }

// walkLikelihood is the logarithm of the likelihood of values around a level that moves by a normal step before each:
// the local level model, by the Kalman filter. With a flat prior of the level the first value only places it.
//
// Source: J. Durbin and S. J. Koopman, Time Series Analysis by State Space Methods (2012), sections 2.2 and 2.9.
func walkLikelihood(values []float64) float64 {
	var sum logSum
	for _, step := range walkVariances() {
		level, variance := values[0], 1. // of the level, in the variance of the values around it
		var squares, determinant float64
		for _, v := range values[1:] {
			variance += step
			surprise := v - level
			squares += surprise * surprise / (variance + 1)
			determinant += math.Log(variance + 1)
			level += surprise * variance / (variance + 1)
			variance /= variance + 1
		}
		sum.add(-determinant/2 - float64(len(values)-1)/2*math.Log(squares))
		sum.weight++
	}
	return sum.mean()
}

// slope fits a straight line to the logarithms of a series and returns the ratio of the line's end to its start. It
// returns false if a change is proved, or if the line does not explain the values clearly better than a change or a
// wandering level. points are the result of ChangePoints. The interval comes from least squares, widened where
// neighbouring values are alike (stat.Dependence).
func (s *ChangeSearch) slope(values []float64, points []ChangePoint) (stat.Change, bool) {
	for _, p := range points {
		if !p.Likely {
			return stat.Change{}, false
		}
	}
	logs := stat.LogsOf(values)
	n := float64(len(logs))
	if len(logs) != len(values) || len(logs) < minForPattern ||
		!(slopeEvidence(logs) > clearPattern+math.Log(provedLevel/s.level)) {
		return stat.Change{}, false
	}
	at, rest := make([]float64, len(logs)), make([]float64, len(logs))
	for i := range at {
		at[i] = float64(i) / (n - 1)
	}
	first, rise := gonum.LinearRegression(at, logs, nil, false)
	for i, v := range logs {
		rest[i] = v - first - rise*at[i]
	}
	spread := math.Sqrt(floats.Dot(rest, rest) / (n - 2))
	reach := stat.StudentQuantile(0.5+confidenceOfChange/2, n-2) * stat.Dependence(rest) * spread /
		math.Sqrt(gonum.Variance(at, nil)*(n-1))
	return stat.Change{Ratio: math.Exp(rise), Lo: math.Exp(rise - reach), Hi: math.Exp(rise + reach),
		Confidence: confidenceOfChange, Estimator: "least squares of logarithms", N: len(logs), Spread: spread}, true
}
