package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Side is the side of the middle between two levels.
type Side int

// The sides.
const (
	NeitherSide Side = iota // that can't be told yet, or the levels themselves can't be told apart
	FirstSide
	SecondSide
)

// SideOf values between two levels, each known by separate measurements: on which side of the middle their mean lies,
// with this risk of the wrong side over all looks together. All three are taken to spread alike, in a normal
// distribution, and how much they spread is learnt from all of them; what is not known of the levels is allowed for.
// Values at neither level are on a side too: the nearer one.
func SideOf(first, second, values []float64, looks int, alpha float64) Side {
	n, m, k := float64(len(first)), float64(len(second)), float64(len(values))
	if min(n, m, k) == 0 || n+m+k <= 3 {
		return NeitherSide
	}
	a, b, at := stat.Mean(first, nil), stat.Mean(second, nil), stat.Mean(values, nil)
	spread := math.Sqrt((squaresAround(first, a) + squaresAround(second, b) + squaresAround(values, at)) /
		(n + m + k - 3))
	distance := at - (a+b)/2
	errors := spread * math.Sqrt(1/k+1/(4*n)+1/(4*m))
	if math.Abs(distance) < errors*StudentQuantile(1-alpha/float64(max(looks, 1)), n+m+k-3) || distance == 0 || a == b {
		return NeitherSide
	}
	if (distance > 0) == (a > b) {
		return FirstSide
	}
	return SecondSide
}

// Differ reports whether two levels differ, by their measurements, with this risk that they don't.
func Differ(first, second []float64, alpha float64) bool {
	n, m := float64(len(first)), float64(len(second))
	if min(n, m) < 1 || n+m <= 2 {
		return false
	}
	a, b := stat.Mean(first, nil), stat.Mean(second, nil)
	spread := math.Sqrt((squaresAround(first, a) + squaresAround(second, b)) / (n + m - 2))
	return a != b && math.Abs(a-b) >= spread*math.Sqrt(1/n+1/m)*StudentQuantile(1-alpha/2, n+m-2)
}

func squaresAround(values []float64, center float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += (v - center) * (v - center)
	}
	return sum
}

// StudentQuantile is below what Student's t with these degrees of freedom lies with probability p. gonum inverts the
// incomplete beta function by bisection, which takes most of the time of comparisons of few values; from a value that
// is right to three digits, two steps of Newton's method are enough.
//
// Source: G. W. Hill, "Algorithm 396: Student's t-quantiles", Communications of the ACM 13 (1970).
func StudentQuantile(p, freedom float64) float64 {
	tail := min(p, 1-p)
	if !(freedom >= 1 && freedom < 1e6 && tail > 1e-12 && tail < 0.49) {
		return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(p)
	}
	t := hill(2*tail, freedom)
	a, _ := math.Lgamma((freedom + 1) / 2)
	b, _ := math.Lgamma(freedom / 2)
	norm := math.Exp(a-b) / math.Sqrt(freedom*math.Pi)
	for range 20 {
		density := norm * math.Pow(1+t*t/freedom, -(freedom+1)/2)
		step := (mathext.RegIncBeta(freedom/2, 0.5, freedom/(freedom+t*t))/2 - tail) / density
		// The second term of Taylor's series, for tails that fall off steeply.
		step *= 1 + step*t*(freedom+1)/(2*(freedom+t*t))
		if t += step; math.Abs(step) < 1e-9*t {
			break // the next one would be below the last digit
		}
	}
	return math.Copysign(t, p-0.5)
}

// hill is about what |t| exceeds with this probability.
func hill(p, n float64) float64 {
	a := 1 / (n - 0.5)
	b := 48 / (a * a)
	c := ((20700*a/b-98)*a-16)*a + 96.36
	d := ((94.5/(b+c)-3)/b + 1) * math.Sqrt(a*math.Pi/2) * n
	y := math.Pow(d*p, 2/n)
	if y <= 0.05+a {
		return math.Sqrt(n * (((1/(((n+6)/(n*y)-0.089*d-0.822)*(n+2)*3)+0.5/(n+4))*y-1)*(n+1)/(n+2) + 1/y))
	}
	x := distuv.UnitNormal.Quantile(p / 2)
	y = x * x
	if n < 5 {
		c += 0.3 * (n - 4.5) * (x + 0.6)
	}
	c = (((0.05*d*x-5)*x-7)*x-2)*x + b + c
	y = (((((0.4*y+6.3)*y+36)*y+94.5)/c-y-3)/b + 1) * x
	return math.Sqrt(n * math.Expm1(a*y*y))
}

// beyond is the probability of a |t| beyond this one with so many degrees of freedom.
func beyond(t, freedom float64) float64 {
	if math.IsInf(t, 1) {
		return 0
	}
	return mathext.RegIncBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}
