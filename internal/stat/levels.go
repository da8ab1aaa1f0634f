package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Levels says where the variance of a measurement arises: between boots (page placement, interrupts, address randomisation are
// drawn anew), or between repetitions within one. The variances have the unit of the values squared; of logarithms they are
// relative.
type Levels struct {
	// Between boots, beyond what repetitions within a boot explain; Within a boot. NaN where nothing tells.
	Between, Within float64
	// Boots, and Values in all of them.
	Boots, Values int
}

// VarianceByLevel estimates both variances from the repetitions of several boots, which may differ in number. NaN values and
// boots without values are left out. Between takes two boots, Within a boot with two repetitions, and Between takes both. The
// estimates are unbiased, but for Between being cut off at 0 where boots differ by less than their repetitions let expect.
//
// Source: the nested analysis of variance of random effects (S. R. Searle, Linear Models, chapter 9), as T. Kalibera and R. Jones
// use it in "Rigorous benchmarking in reasonable time", ISMM 2013.
func VarianceByLevel(boots [][]float64) Levels {
	var means, sizes []float64
	var inside, total, squares float64
	out := Levels{Between: math.NaN(), Within: math.NaN()}
	for _, boot := range boots {
		values := present(boot)
		if len(values) == 0 {
			continue
		}
		n, mean := float64(len(values)), stat.Mean(values, nil)
		for _, v := range values {
			inside += (v - mean) * (v - mean)
		}
		means, sizes = append(means, mean), append(sizes, n)
		total, squares = total+n, squares+n*n
	}
	out.Boots, out.Values = len(means), int(total)
	if out.Values == out.Boots {
		return out
	}
	out.Within = inside / float64(out.Values-out.Boots)
	if out.Boots < 2 {
		return out
	}
	// Weighted by the number of repetitions; the mean square expects within + typical*between.
	square := stat.Variance(means, sizes) * (total - 1) / float64(out.Boots-1)
	typical := (total - squares/total) / float64(out.Boots-1)
	out.Between = max(0, (square-out.Within)/typical)
	return out
}

// RepetitionsPerBoot is the number of repetitions within each boot that gives the narrowest interval for a given time, when a boot
// and a repetition cost so much (in the same unit): what remains is to be spent on more boots. 0 where boots make no difference,
// so that rebooting gains nothing; -1 where the variances are not known.
//
// Source: Kalibera and Jones, ISMM 2013: the square root of the ratio of costs times the inverse ratio of variances, rounded up.
func (l Levels) RepetitionsPerBoot(bootCost, repetitionCost float64) int {
	switch {
	case math.IsNaN(l.Between) || math.IsNaN(l.Within):
		return -1
	case l.Between == 0:
		return 0
	}
	return max(1, int(math.Ceil(math.Sqrt(bootCost/repetitionCost*l.Within/l.Between))))
}
