package stat

import "testing"

func TestIntervalsThatSayNothing(t *testing.T) {
	for _, test := range []struct {
		lo, hi float64
		want   bool
	}{
		{0.97, 1.02, true},
		{0.2, 15, true},
		{8.6e-5, 8750, false}, // of two repetitions against two
		{0.02, 3, false},
		{0.001, 0.9, true}, // it is less, if not known by how much
		{1.1, 900, true},
		{18, 22, true},
		{0, 0, true},
		{0, 1.2, false},
	} {
		if got := BoundsOf(test.lo, test.hi).Informative(); got != test.want {
			t.Errorf("[%g, %g]: %v, want %v", test.lo, test.hi, got, test.want)
		}
	}
	if (Bounds{}).Informative() {
		t.Error("no interval says something")
	}
}
