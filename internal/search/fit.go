package search

import "math"

const (
	// freedom is the degrees of freedom of Student's t for the errors. Its tails are heavy enough for storage, whose
	// noise is often wilder than a Gaussian. Real tails may be heavier still; it matters that no single measurement can
	// exclude a hypothesis alone.
	freedom = 8
	// scale of that distribution, as a share of the standard deviation: where it resembles a Gaussian most.
	scale = 0.90
	// maxDeviation bounds the deviation of a measurement, in standard deviations, when their spread is estimated, as by
	// P. Huber (Robust Statistics, 1981, proposal 2). Of Gaussian noise one in 370 is farther off, so it costs nothing
	// there.
	maxDeviation = 3
	// priorEffectSpread is the expected spread of effects in units of the noise. An effect worth a search is visible
	// within some measurements, so it is neither far below the noise nor hundreds of times above it.
	priorEffectSpread = 4
	// maxColumns is the largest number of columns of a regression: the level, the background, and three culprits.
	maxColumns = 5
)

// data are the measurements so far.
type data struct {
	// logs are the logarithms of the measured values; higher is faster.
	logs []float64
	// background of each measurement, beside the candidates. Of settings it is the share of them that was applied,
	// which determines how much of the sum of small effects is in it; of steps it is the time, which determines how far
	// the machine has drifted.
	background []float64
	// noise is the expected noise, which counts as much as one measurement.
	noise float64
	// left is a buffer for the residuals of a fit: thousands of hypotheses are fitted after every measurement.
	left []float64
}

// fit is a regression of the measurements on some candidates.
type fit struct {
	// level of the fast state, slope of the background, and what each candidate adds.
	beta [maxColumns]float64
	// sloped says that the background has a slope: many small effects of settings, or a drift of the machine during a
	// series.
	sloped bool
	// spread of one measurement.
	spread float64
	// evidence is the logarithm of the probability of the data under the hypothesis, but for a constant that all share.
	evidence float64
	// weights of the measurements: below 1 for those that are far off.
	weights []float64
}

// columns counts the columns of a regression before the candidates' columns: the level, and the background.
func (f *fit) columns() int {
	if f.sloped {
		return 2
	}
	return 1
}

// row of the regression for one measurement.
func (d *data) row(f *fit, j int, applied [][]bool) (x [maxColumns]float64) {
	x[0] = 1
	if f.sloped {
		x[1] = d.background[j]
	}
	for i, column := range applied {
		if column[j] {
			x[f.columns()+i] = 1
		}
	}
	return x
}

// fit the measurements to candidates, given in which measurements each was applied; start is a fit to begin from.
//
// Errors are Student's t, fitted by weights (Lange, Little and Taylor 1989). Effects have the prior N(0,
// (usual*spread)^2), the level and the logarithm of the spread a flat one, but for one measurement's worth of the noise
// expected. The evidence is Laplace's approximation around the optimum; for Gaussian errors it has the same form as the
// exact one.
func (d *data) fit(applied [][]bool, sloped bool, start *fit, iterations int) fit {
	n := len(d.logs)
	f := fit{sloped: sloped, weights: make([]float64, n), spread: d.noise}
	columns := f.columns() + len(applied)
	for j := range f.weights {
		f.weights[j] = 1
	}
	if start != nil {
		f.beta, f.spread = start.beta, start.spread
		weigh(&f, d.residuals(&f, applied))
	}
	var root [maxColumns][maxColumns]float64
	var residuals []float64
	for range iterations {
		root = d.solve(&f, applied, columns)
		residuals = d.residuals(&f, applied)
		d.respread(&f, residuals, columns)
		weigh(&f, residuals)
	}
	f.evidence = d.evidence(&f, residuals, columns, root)
	return f
}

// residuals are what the fit leaves of each measurement. The next call overwrites them.
func (d *data) residuals(f *fit, applied [][]bool) []float64 {
	left := d.left[:0]
	for _, log := range d.logs {
		left = append(left, log-f.beta[0])
	}
	d.left = left
	if f.sloped {
		for j, share := range d.background {
			left[j] -= f.beta[1] * share
		}
	}
	for i, column := range applied {
		effect := f.beta[f.columns()+i]
		for j, in := range column {
			if in {
				left[j] -= effect
			}
		}
	}
	return left
}

// weigh the measurements by how far off they are.
func weigh(f *fit, residuals []float64) {
	for j, r := range residuals {
		z := r / f.spread
		f.weights[j] = (freedom + 1) / (freedom + z*z)
	}
}

// solve the weighted regression, and give the root (Cholesky's) of its matrix.
func (d *data) solve(f *fit, applied [][]bool, columns int) (root [maxColumns][maxColumns]float64) {
	var matrix [maxColumns][maxColumns]float64
	var right [maxColumns]float64
	// Most hypotheses have one culprit and are fitted after every measurement, so that the columns, of zeros and ones
	// but for the background, are not spelt out here.
	first := f.columns()
	for j, w := range f.weights {
		wy, wb := w*d.logs[j], 0.0
		right[0] += wy
		matrix[0][0] += w
		if f.sloped {
			wb = w * d.background[j]
			right[1] += wb * d.logs[j]
			matrix[1][0] += wb
			matrix[1][1] += wb * d.background[j]
		}
		for i, column := range applied {
			if !column[j] {
				continue
			}
			a := first + i
			right[a] += wy
			matrix[a][0] += w
			if f.sloped {
				matrix[a][1] += wb
			}
			for k, other := range applied[:i+1] {
				if other[j] {
					matrix[a][first+k] += w
				}
			}
		}
	}
	for a := 1; a < columns; a++ {
		matrix[a][a] += 1. / (priorEffectSpread * priorEffectSpread)
	}
	for a := range columns {
		for b := range a + 1 {
			sum := matrix[a][b]
			for c := range b {
				sum -= root[a][c] * root[b][c]
			}
			if a == b {
				root[a][a] = math.Sqrt(math.Max(sum, 1e-12))
			} else {
				root[a][b] = sum / root[b][b]
			}
		}
	}
	for a := range columns {
		for c := range a {
			right[a] -= root[a][c] * right[c]
		}
		right[a] /= root[a][a]
	}
	for a := columns - 1; a >= 0; a-- {
		for c := a + 1; c < columns; c++ {
			right[a] -= root[c][a] * right[c]
		}
		right[a] /= root[a][a]
	}
	f.beta = right
	return root
}

// penalty is what the priors add to the sum of squares.
func (d *data) penalty(f *fit, columns int) float64 {
	sum := d.noise * d.noise
	for a := 1; a < columns; a++ {
		sum += f.beta[a] * f.beta[a] / (priorEffectSpread * priorEffectSpread)
	}
	return sum
}

// respread by the residuals, each of which counts as at most so many times the spread before: squares of a few
// measurements that are far off would else be most of the sum, and hide a culprit in a spread that the others don't
// have.
func (d *data) respread(f *fit, residuals []float64, columns int) {
	sum := d.penalty(f, columns)
	limit := math.Pow(maxDeviation*f.spread/scale, 2)
	for _, r := range residuals {
		sum += min(r*r, limit)
	}
	f.spread = scale * math.Sqrt(sum/float64(len(residuals)+columns))
}

func (d *data) evidence(f *fit, residuals []float64, columns int, root [maxColumns][maxColumns]float64) float64 {
	// Of the powers of the spread, the powers in the effects' priors and in Laplace's approximation cancel, except the
	// level's.
	e := -float64(len(d.logs)) * math.Log(f.spread)
	e -= d.penalty(f, columns) / (2 * f.spread * f.spread)
	e -= float64(columns-1) * math.Log(priorEffectSpread)
	for a := range columns {
		e -= math.Log(root[a][a])
	}
	return e - misfit(f, residuals)
}

// misfit is the part of the likelihood that comes from how far off the measurements are.
func misfit(f *fit, residuals []float64) float64 {
	sum, product := 0.0, 1.0
	for _, r := range residuals {
		z := r / f.spread
		product *= 1 + z*z/freedom
		if product > 1e100 {
			sum, product = sum+math.Log(product), 1
		}
	}
	return (freedom + 1) / 2. * (sum + math.Log(product))
}
