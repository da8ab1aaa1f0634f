package engine

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestSeriesBySecond(t *testing.T) {
	long := bySecond(lab.Series{Metric: "x", Interval: 0.1, Values: slices.Repeat([]float64{2, 4}, 7)})
	if long.Interval != 1 || len(long.Values) != 1 || long.Values[0] != 3 {
		t.Errorf("%+v", long)
	}
}
