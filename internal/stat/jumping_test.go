package stat

import (
	"math"
	"testing"
)

func TestScatterOf(t *testing.T) {
	s := ScatterOf([]float64{0.1, -0.1, 0.101, -0.1, 0.099, -0.1})
	if math.Abs(s.Spread-0.1095) > 1e-3 || s.Half != 0 {
		t.Errorf("%+v", s)
	}
	if s := ScatterOf([]float64{3, 1, 2}); s.Spread != 1 || s.Half != 1 {
		t.Errorf("%+v", s)
	}
	for _, few := range [][]float64{nil, {1}} {
		if s := ScatterOf(few); !math.IsNaN(s.Spread) || !math.IsNaN(s.Half) {
			t.Errorf("%v: %+v", few, s)
		}
	}
}

// A claim takes more values, the more arms jump that are as steady at each of their rates as its pair is.
func TestFewest(t *testing.T) {
	jumps, noisy, small := Scatter{0.1, 0.01}, Scatter{0.1, 0.07}, Scatter{0.015, 0.001}
	for _, c := range []struct {
		beside []Scatter
		want   int
	}{
		{nil, 6},
		{[]Scatter{jumps}, 7},
		{[]Scatter{jumps, jumps, jumps}, 8},
		{[]Scatter{noisy, noisy, noisy, small, small}, 6}, // noise, and jumps of less than the margin
		{[]Scatter{ScatterOf(nil)}, 6},
	} {
		a := JumpingArms{Alpha: 0.05, Margin: 0.03, Scatters: c.beside}
		if got := a.Fewest(0.005); got != c.want {
			t.Errorf("%v: %d values, want %d", c.beside, got, c.want)
		}
		if got := a.Unseen(c.want, 0.005); got != 1 {
			t.Errorf("%v: %d values may hide a jump of %g", c.beside, c.want, got)
		}
		if got := a.Unseen(5, 0.005); got != UnseenJump {
			t.Errorf("%v: 5 values may hide a jump of %g", c.beside, got)
		}
	}
	a := JumpingArms{Alpha: 0.05, Margin: 0.03, Scatters: []Scatter{jumps, jumps}}
	if got := a.Unseen(6, 0.005); math.Abs(got-math.Exp(0.15)) > 1e-9 {
		t.Errorf("6 values may hide a jump of %g", got)
	}
	if a.Fewest(0.06) != 6 {
		t.Error("a pair that scatters as much as the others is not steady")
	}
}
