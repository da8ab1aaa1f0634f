package stat

import (
	"math"
	"testing"
)

func TestShiftChangeOfFew(t *testing.T) {
	c := ShiftChange([]float64{100, 101, 99}, []float64{90, 91, 89}, 0.95)
	if math.Abs(c.Confidence-0.9) > 1e-9 || math.Abs(c.Ratio-0.9) > 0.001 ||
		c.Lo != 89.0/101 && math.Abs(c.Lo-89.0/101) > 1e-9 {
		t.Errorf("%+v", c)
	}
	if c := ShiftChange(nil, []float64{1}, 0.95); c.Known() || !math.IsNaN(c.Ratio) {
		t.Errorf("%+v", c)
	}
}
