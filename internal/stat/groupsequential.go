package stat

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

// GroupSequential is the plan of a comparison in turns that is looked at after every second pair and has its number of
// pairs given beforehand. Its intervals cover the true ratio at all looks together with probability 1-alpha, as the
// intervals of PairedChange do, and are narrower: by a quarter where 20 pairs are given. Of alpha, two thirds are spent
// on the pairs that are given. A fifth is for comparisons that continue after them: there the critical values belong to
// a sequence without an end. The rest is for noise that is not normal: where runs jump between two levels, large t are
// more frequent.
//
// Sources: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983),
// for spending alpha; C. Jennison and B. W. Turnbull, Group Sequential Methods with Applications to Clinical Trials
// (2000), chapters 9 (repeated intervals) and 19 (numerical integration). Their critical values for t are approximate;
// those here are exact for normal runs: see spreadOut.
type GroupSequential struct {
	alpha float64
	// critical |t| after one block, after two; infinite before anything may be claimed.
	critical []float64
}

const (
	// plannedAlphaShare and extraAlphaShare are the shares of alpha for the planned pairs and for the pairs after them.
	plannedAlphaShare = 2.0 / 3
	extraAlphaShare   = 0.2
	// maxBlocksPlanned bounds the table; more pairs have the sequence without an end after it.
	maxBlocksPlanned = 100
	// nodes of the numerical integration; four times as many change critical values by less than 0.3%.
	nodes = 48
)

// NewGroupSequential plans so many pairs. An odd number is rounded up to whole blocks.
func NewGroupSequential(alpha float64, pairs int) *GroupSequential {
	g := &GroupSequential{alpha: alpha, critical: make([]float64, min((pairs+1)/2, maxBlocksPlanned))}
	first := (FewestPairs(alpha) + 1) / 2
	for i := range g.critical {
		g.critical[i] = math.Inf(1)
	}
	if first > len(g.critical) {
		return g
	}
	spend := spending(alpha, len(g.critical)-first+1)
	t := StudentQuantile(1-spend[0]/2, freedomOf(first))
	g.critical[first-1] = t
	d := atFirst(first)
	for blocks := first + 1; blocks <= len(g.critical); blocks++ {
		d = d.within(directionOf(t, blocks-1)).spreadOut()
		t = statisticOf(d.beyond(spend[blocks-first]), blocks)
		g.critical[blocks-1] = t
	}
	return g
}

// spending returns how much of alpha each of so many looks can spend. At 5% it is the same at each. The smaller alpha
// is, the later it is spent: for few blocks the largest t of runs that jump between two levels are far from the largest
// t of normal runs.
func spending(alpha float64, looks int) []float64 {
	power := max(1, 1+math.Log10(0.05/alpha))
	spent := func(look int) float64 {
		return plannedAlphaShare * alpha * math.Pow(float64(look)/float64(looks), power)
	}
	list := make([]float64, looks)
	for i := range list {
		list[i] = spent(i+1) - spent(i)
	}
	return list
}

// after is the critical |t| after so many blocks.
func (g *GroupSequential) after(blocks int) float64 {
	switch {
	case blocks < 1:
		return math.Inf(1)
	case blocks <= len(g.critical):
		return g.critical[blocks-1]
	}
	return criticalMixture(freedomOf(blocks), 1+float64(2*blocks)*effectVariance, extraAlphaShare*g.alpha)
}

// freedomOf returns the degrees of freedom of the noise in so many blocks of two pairs. The level of each block takes
// one of its four runs, and the change and the position in a pair take one each.
func freedomOf(blocks int) float64 { return float64(3*blocks - 2) }

// The contrasts of n blocks (3n-1 of them: the position's mean is not known, so that it takes one away) are a vector
// that under "no change" points anywhere in its space with the same probability, whatever the size of the noise. t
// depends only on where it points: with w the sum of the blocks' changes over the vector's length, t = sqrt(3n-2) ·
// c/sqrt(1-c²), c = w/sqrt(n). The next block adds three dimensions, and where the longer vector points depends on the
// shorter one through w alone. So the distribution of w among the comparisons that continue is followed from block to
// block by one integral each.
func statisticOf(w float64, blocks int) float64 {
	c := w / math.Sqrt(float64(blocks))
	return c * math.Sqrt(freedomOf(blocks)/(1-c*c))
}

// directionOf is the w of a t.
func directionOf(t float64, blocks int) float64 {
	return t * math.Sqrt(float64(blocks)/(freedomOf(blocks)+t*t))
}

// density of |w| after so many blocks, up to an edge; of those comparisons that have not ended.
type density struct {
	blocks int
	edge   float64
	at     func(w float64) float64
}

// atFirst is the density before anything could end.
func atFirst(blocks int) density {
	dimensions, edge := float64(3*blocks-1), math.Sqrt(float64(blocks))
	norm := 2 / (mathext.Beta(0.5, (dimensions-1)/2) * edge)
	return density{blocks, edge, func(w float64) float64 {
		return norm * math.Pow(1-w*w/(edge*edge), (dimensions-3)/2)
	}}
}

// within keeps the comparisons that continue: |w| up to an edge.
func (d density) within(edge float64) density {
	d.edge = edge
	return d
}

// spreadOut is the density after one more block. In the longer vector the old one has the share ρ of the length, with a
// density that goes with ρ^(m-1)·sqrt(1-ρ²) in m old dimensions, and the three new dimensions point anywhere, so that
// one of them alone is uniform (Archimedes):
//
//	w' = ρ·w + sqrt(1-ρ²)·uniform(-1, 1)
//
// Given w, the density of w' is then the integral of ρ^(m-1) over those ρ that can lead there.
func (d density) spreadOut() density {
	dimensions := 3*d.blocks - 1
	m := float64(dimensions)
	from, weight := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(from, weight, 0, d.edge)
	scale := 1 / (m * mathext.Beta(m/2, 1.5))
	for i, w := range from {
		weight[i] *= scale * d.at(w)
	}
	return density{d.blocks + 1, math.Sqrt(1 + d.edge*d.edge), func(to float64) float64 {
		sum := 0.0
		for i, w := range from {
			sum += weight[i] * (leading(w, to, dimensions) + leading(w, -to, dimensions))
		}
		return sum
	}}
}

// leading is m times the integral of ρ^(m-1) over those ρ from 0 to 1 that can lead from w to to.
func leading(w, to float64, m int) float64 {
	square := 1 + w*w - to*to
	if square <= 0 {
		return 0
	}
	root := math.Sqrt(square)
	lo, hi := (w*to-root)/(1+w*w), (w*to+root)/(1+w*w)
	return toThe(m, max(hi, 0)) - toThe(m, max(lo, 0))
}

// toThe is x to the power of n, by squares: math.Pow takes most of a plan's time.
func toThe(n int, x float64) float64 {
	product := 1.0
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			product *= x
		}
		x *= x
	}
	return product
}

// beyond is the |w| beyond which this probability lies.
func (d density) beyond(probability float64) float64 {
	at, weight := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	tail := func(from float64) float64 {
		sum := 0.0
		for i, s := range at { // w = edge - (edge-from)·s², because the density falls off like a root at the edge
			sum += weight[i] * 2 * s * d.at(d.edge-(d.edge-from)*s*s)
		}
		return sum * (d.edge - from)
	}
	// Newton's method on the tail's logarithm, halving where a step leaves the bracket.
	lo, hi, w := 0.0, d.edge, d.edge/2
	for hi-lo > 1e-9*d.edge {
		p := tail(w)
		if p > probability {
			lo = w
		} else {
			hi = w
		}
		step := p / d.at(w) * math.Log(p/probability)
		if math.Abs(step) < 1e-9*d.edge {
			return w + step
		}
		if w += step; !(w > lo && w < hi) {
			w = (lo + hi) / 2
		}
	}
	return hi
}
