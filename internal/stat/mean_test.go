package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMeanInterval(t *testing.T) {
	// Student's own example: ten differences of hours of sleep, mean 1.58, t of 9 degrees of freedom 2.262.
	sleep := []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, 0.8, 4.6, 1.4}
	i := MeanInterval(sleep, 0.95)
	if math.Abs(i.Center-1.58) > 1e-9 || math.Abs(i.Lo-0.7001) > 1e-3 || math.Abs(i.Hi-2.4599) > 1e-3 ||
		i.Confidence != 0.95 {
		t.Errorf("%+v", i)
	}
	if one := MeanInterval([]float64{3}, 0.95); one.Center != 3 || one.Known() {
		t.Errorf("of one value: %+v", one)
	}
	if none := MeanInterval(nil, 0.95); !math.IsNaN(none.Center) || none.Known() {
		t.Errorf("of none: %+v", none)
	}
}

func TestMeanIntervalCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const trials = 4000
	covered := 0
	for range trials {
		values := make([]float64, 6)
		for i := range values {
			values[i] = 5 + r.NormFloat64()
		}
		if i := MeanInterval(values, 0.95); i.Lo <= 5 && 5 <= i.Hi {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.94 || share > 0.96 {
		t.Errorf("%.3f of the intervals cover the mean", share)
	}
}
