package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Side says on which side of the middle between two levels some values lie.
type Side int

// The sides.
const (
	NeitherSide Side = iota // that can't be told yet, or the levels themselves can't be told apart
	FirstSide
	SecondSide
)

// SideOf values between two levels, each known by measurements of its own: on which side of the middle their mean lies,
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

// Differ says that two levels differ, by their measurements, with this risk that they don't.
func Differ(first, second []float64, alpha float64) bool {
	n, m := float64(len(first)), float64(len(second))
	if min(n, m) < 1 || n+m <= 2 {
		return false
	}
	a, b := stat.Mean(first, nil), stat.Mean(second, nil)
	spread := math.Sqrt((squaresAround(first, a) + squaresAround(second, b)) / (n + m - 2))
	return a != b && math.Abs(a-b) >= spread*math.Sqrt(1/n+1/m)*StudentQuantile(1-alpha/2, n+m-2)
}

func StudentQuantile(p, freedom float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(p)
}

func squaresAround(values []float64, center float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += (v - center) * (v - center)
	}
	return sum
}
