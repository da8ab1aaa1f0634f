package stat

import "testing"

func TestFamilyWise(t *testing.T) {
	for m, want := range map[int]float64{0: 0.95, 1: 0.95, 8: 0.99375, 144: 1 - 0.05/144} {
		near(t, "confidence", FamilyWise(0.05, m), want, 1e-12)
	}
}
