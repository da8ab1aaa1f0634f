package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestVarianceByLevelKnown(t *testing.T) {
	// By hand: means 2, 6, 10 of pairs 2 apart: within 2, mean square of boots 2*16 = 32, between (32-2)/2 = 15.
	got := VarianceByLevel([][]float64{{1, 3}, {5, math.NaN(), 7}, {9, 11}, {}})
	near(t, "within", got.Within, 2, 1e-12)
	near(t, "between", got.Between, 15, 1e-12)
	if got.Boots != 3 || got.Values != 6 {
		t.Errorf("%+v", got)
	}
	// Unequal numbers: boots {1,3}, {5,7,9}, {20}. Within (2+8+0)/(6-3) = 10/3; mean 7.5; between boots (2*5.5² + 3*0.5² + 12.5²)/2
	// = 108.75; typical (6-14/6)/2 = 11/6.
	got = VarianceByLevel([][]float64{{1, 3}, {5, 7, 9}, {20}})
	near(t, "within", got.Within, 10.0/3, 1e-12)
	near(t, "between", got.Between, (108.75-10.0/3)/(11.0/6), 1e-9)
	if alike := VarianceByLevel([][]float64{{1, 9}, {2, 8}}); alike.Between != 0 {
		t.Errorf("boots that do not differ: %+v", alike)
	}
	for name, boots := range map[string][][]float64{"none": nil, "one boot": {{1, 2}}, "one repetition a boot": {{1}, {2}, {3}}} {
		if got := VarianceByLevel(boots); !math.IsNaN(got.Between) || got.RepetitionsPerBoot(1, 1) != -1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestVarianceByLevelUnbiased(t *testing.T) {
	const trials = 4000
	r := rand.New(rand.NewPCG(5, 1))
	var between, within float64
	for range trials {
		boots := make([][]float64, 6)
		for i := range boots {
			level := 1.5 * r.NormFloat64()
			for range 2 + i%3 {
				boots[i] = append(boots[i], level+0.5*r.NormFloat64())
			}
		}
		l := VarianceByLevel(boots)
		between, within = between+l.Between/trials, within+l.Within/trials
	}
	near(t, "between", between, 1.5*1.5, 0.05*1.5*1.5)
	near(t, "within", within, 0.5*0.5, 0.05*0.5*0.5)
}

// With a spread of 1.5% between boots and 0.5% within, more runs in a boot buy nothing.
func TestRepetitionsPerBoot(t *testing.T) {
	for _, c := range []struct {
		between, within, boot, run float64
		want                       int
	}{
		{1.5, 0.5, 120, 60, 1}, {0.5, 1.5, 120, 60, 5}, {0.5, 0.5, 240, 60, 2}, {0, 0.5, 120, 60, 0}, {1, 0, 120, 60, 1},
	} {
		l := Levels{Between: c.between * c.between, Within: c.within * c.within}
		if got := l.RepetitionsPerBoot(c.boot, c.run); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
