package render

import (
	"slices"
	"testing"
)

func TestRoundSteps(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		most float64
		n    int
		base float64
		want []float64
	}{
		{15800, 4, 1, []float64{0, 5000, 10000, 15000}},
		{30, 6, 1, []float64{0, 5, 10, 15, 20, 25, 30}},
		{400 * mib, 4, mib, []float64{0, 100 * mib, 200 * mib, 300 * mib, 400 * mib}},
		{0.2, 3, 1, []float64{0, 0.1, 0.2}},
	} {
		if got := roundSteps(0, test.most, test.n, test.base); !slices.Equal(got, test.want) {
			t.Errorf("steps up to %v are %v, want %v", test.most, got, test.want)
		}
	}
}
