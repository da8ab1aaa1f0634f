package search

import "math"

const (
	// freedom of Student's t for the errors: heavy enough tails for storage, whose noise is often wilder than a Gaussian. Real tails may
	// be heavier still; what matters is that no single measurement can rule a hypothesis out by itself.
	freedom = 8
	// scale of that distribution, as a share of the standard deviation: where it resembles a Gaussian most.
	scale = 0.90
	// usual is the spread of effects in units of the noise that are expected: what is searched is seen within some measurements, so that
	// it is neither far below the noise nor hundreds of times above it.
	usual = 4
	// most is the largest number of columns of a regression: the level, the background, and three culprits.
	most = 5
)

// known are levels and spread that were measured before, so that they need not be learnt.
type known struct{ fast, effect, spread float64 }

// data are the measurements so far.
type data struct {
	// logs of what was measured, higher is faster.
	logs []float64
	// background of each measurement: the share of the candidates that was applied, which says how much of the sum of small effects is
	// in it. Nil where there is none.
	background []float64
	// noise that is expected, which counts as much as one measurement.
	noise float64
	known *known
}

// fit is a regression of the measurements on some candidates.
type fit struct {
	// level of the fast state, slope of the background, and what each candidate adds.
	beta [most]float64
	// small says that many small effects are thought of, so that the background has a slope.
	small bool
	// spread of one measurement.
	spread float64
	// evidence is the logarithm of the probability of the data under the hypothesis, but for a constant that all share.
	evidence float64
	// weights of the measurements: below 1 for those that are far off.
	weights []float64
}

// columns of a regression before those of candidates: the level, and the background.
func (f *fit) columns() int {
	if f.small {
		return 2
	}
	return 1
}

// row of the regression for one measurement.
func (d *data) row(f *fit, j int, applied [][]bool) (x [most]float64) {
	x[0] = 1
	if f.small {
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
// Errors are Student's t, fitted by weights (Lange, Little and Taylor 1989). Effects have the prior N(0, (usual*spread)^2), the level and
// the logarithm of the spread a flat one, but for one measurement's worth of the noise expected. The evidence is Laplace's approximation
// around the optimum; for Gaussian errors it has the same form as the exact one.
func (d *data) fit(applied [][]bool, small bool, start *fit, iterations int) fit {
	if d.known != nil {
		return d.fitKnown(applied)
	}
	n := len(d.logs)
	f := fit{small: small, weights: make([]float64, n), spread: d.noise}
	columns := f.columns() + len(applied)
	for j := range f.weights {
		f.weights[j] = 1
	}
	if start != nil {
		f.beta, f.spread = start.beta, start.spread
		d.weigh(&f, applied)
	}
	var root [most][most]float64
	for range iterations {
		root = d.solve(&f, applied, columns)
		d.respread(&f, applied, columns)
		d.weigh(&f, applied)
	}
	f.evidence = d.evidence(&f, applied, columns, root)
	return f
}

func (d *data) residual(f *fit, j int, applied [][]bool) float64 {
	r := d.logs[j] - f.beta[0]
	if f.small {
		r -= f.beta[1] * d.background[j]
	}
	for i, column := range applied {
		if column[j] {
			r -= f.beta[f.columns()+i]
		}
	}
	return r
}

// weigh the measurements by how far off they are.
func (d *data) weigh(f *fit, applied [][]bool) {
	for j := range f.weights {
		z := d.residual(f, j, applied) / f.spread
		f.weights[j] = (freedom + 1) / (freedom + z*z)
	}
}

// solve the weighted regression, and give the root (Cholesky's) of its matrix.
func (d *data) solve(f *fit, applied [][]bool, columns int) (root [most][most]float64) {
	var matrix [most][most]float64
	var right [most]float64
	for j, w := range f.weights {
		x := d.row(f, j, applied)
		for a := range columns {
			if x[a] == 0 {
				continue
			}
			wx := w * x[a]
			right[a] += wx * d.logs[j]
			for b := range a + 1 {
				matrix[a][b] += wx * x[b]
			}
		}
	}
	for a := 1; a < columns; a++ {
		matrix[a][a] += 1. / (usual * usual)
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
		sum += f.beta[a] * f.beta[a] / (usual * usual)
	}
	return sum
}

func (d *data) respread(f *fit, applied [][]bool, columns int) {
	sum := d.penalty(f, columns)
	for j := range d.logs {
		r := d.residual(f, j, applied)
		sum += r * r
	}
	f.spread = scale * math.Sqrt(sum/float64(len(d.logs)+columns))
}

func (d *data) evidence(f *fit, applied [][]bool, columns int, root [most][most]float64) float64 {
	// Of the powers of the spread, those of the effects' priors and of Laplace's approximation cancel but for the level's.
	e := -float64(len(d.logs)) * math.Log(f.spread)
	e -= d.penalty(f, columns) / (2 * f.spread * f.spread)
	e -= float64(columns-1) * math.Log(usual)
	for a := range columns {
		e -= math.Log(root[a][a])
	}
	return e - d.misfit(f, applied)
}

// misfit is the part of the likelihood that comes from how far off the measurements are.
func (d *data) misfit(f *fit, applied [][]bool) float64 {
	sum, product := 0.0, 1.0
	for j := range d.logs {
		z := d.residual(f, j, applied) / f.spread
		product *= 1 + z*z/freedom
		if product > 1e100 {
			sum, product = sum+math.Log(product), 1
		}
	}
	return (freedom + 1) / 2. * (sum + math.Log(product))
}

// fitKnown is the fit where nothing is to be learnt: each hypothesis of one culprit has the same effect.
func (d *data) fitKnown(applied [][]bool) fit {
	f := fit{spread: scale * d.known.spread}
	f.beta[0] = d.known.fast
	if len(applied) == 1 {
		f.beta[1] = d.known.effect
	}
	f.evidence = -d.misfit(&f, applied)
	return f
}
