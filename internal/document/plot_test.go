package document

import (
	"math"
	"testing"
)

// A stall of one second in half an hour must be in the picture, however few points that has.
func TestThinnedSeriesKeepTheirStalls(t *testing.T) {
	p := Plot{Series: []Series{{}, {Points: []Point{{At: 1, Value: 2}}}}}
	for i := range 1800 {
		p.Series[0].Points = append(p.Series[0].Points, Point{At: float64(i), Value: 1000})
	}
	p.Series[0].Points[1234].Value, p.Series[0].Points[77].Value = 3, 5000
	const most = 240
	got := p.Thinned(most)
	low, high := math.Inf(1), 0.0
	for i, at := range got.Series[0].Points {
		low, high = math.Min(low, at.Value), math.Max(high, at.Value)
		if i > 0 && at.At <= got.Series[0].Points[i-1].At {
			t.Fatalf("point %d goes back in time", i)
		}
	}
	if n := len(got.Series[0].Points); n > most || low != 3 || high != 5000 {
		t.Errorf("%d points between %v and %v", n, low, high)
	}
	if len(p.Series[0].Points) != 1800 || len(got.Series[1].Points) != 1 {
		t.Error("the plot was changed, or a short series was")
	}
}
