package render

import (
	"math"
	"strings"
	"testing"
)

// Values beyond an end of a scale are drawn at the end; and a name can't be markup.
func TestDrawingStaysWithinItsScales(t *testing.T) {
	x := scale{min: 0.1, max: 1000, logarithmic: true, ticks: []tick{{1, "<1 & 2>"}, {10, ""}}}
	d := newDrawing(x, scale{min: -1, max: 1, ticks: []tick{{0, "none"}}}, 100, pictureText)
	d.axes()
	for v, want := range map[float64]float64{0.1: 0, 10: 0.5, 1000: 1, -5: 0, 0: 0, 1e9: 1} {
		if got := d.x.share(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v of the logarithmic scale, want %v", v, got, want)
		}
	}
	if left, right := d.toX(0.1), d.toX(1000); left != d.left || right != PictureWidth-rightOfData {
		t.Errorf("the data reaches from %v to %v", left, right)
	}
	if low, high := d.toY(-1), d.toY(1); low != 100-belowData || high != aboveData {
		t.Errorf("the data reaches from %v up to %v", low, high)
	}
	d.line([]point{{-7, -9}, {1e12, 9}}, accent, 1)
	svg := string(d.svg(`a "title"`))
	for _, want := range []string{"&lt;1 &amp; 2&gt;", `aria-label="a &#34;title&#34;"`,
		`d="M` + coordinates(d.left, 100-belowData) + "L392,6"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Errorf("not everything is a number in\n%s", svg)
	}
}
