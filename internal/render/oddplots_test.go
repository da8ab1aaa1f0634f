package render_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// Values and times that are impossible or extreme stay inside their pictures.
func TestOddPlotsStayInTheirFrames(t *testing.T) {
	for _, p := range oddPlots() {
		rendertest.CheckPicture(t, p)
	}
}

// oddPlots are plots in both directions on every scale, with impossible or extreme values and times.
func oddPlots() []document.Plot {
	var plots []document.Plot
	nothing, all := math.NaN(), math.Inf(1)
	for _, values := range [][]float64{{0, 0}, {1, 1}, {1, 51}, {-5, 5}, {1e-9, 1e12}, {nothing, 1}, {all, 1, 2}, {},
		{100.01, 100.02}, {1 << 20, 1 << 40}, {0, 1e6}} {
		for _, u := range []lab.Unit{lab.PerSecond, lab.BytesPerSecond, lab.Seconds, lab.Share, "widgets"} {
			for _, y := range []document.Scale{document.Linear, document.Logarithmic, document.Ratio} {
				for _, x := range []document.Scale{document.Linear, document.Logarithmic, document.Time,
					document.Names} {
					p := document.Plot{Title: fmt.Sprint(values, u, y, x), X: document.Axis{Scale: x, Title: "places"},
						Y: document.Axis{Scale: y, Unit: string(u), Title: "values"}}
					s := document.Series{Direction: lab.Write, Joined: true}
					for i, v := range values {
						p.X.Names = append(p.X.Names, "a level with a long name "+strconv.Itoa(i))
						s.Points = append(s.Points, document.Point{At: float64(i), Value: v, Lo: &nothing, Hi: &all})
					}
					p.Series = []document.Series{s}
					plots = append(plots, p)
				}
			}
		}
	}
	return plots
}
