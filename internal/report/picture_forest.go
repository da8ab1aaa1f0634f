package report

import (
	"html/template"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"headroom/internal/compare"
)

// Heights in the units of a picture.
const (
	forestRow  = 17
	forestEnds = 34 // the axis below and a little air above
)

// mostForest is how many rows the picture has: more are read in the table.
const mostForest = 60

// forest draws the ratios of a comparison with their intervals, one row a number, on a logarithmic scale, with the margin as a
// band. What is decided is drawn in the accent colour. ok is false where there is no ratio to draw.
func forest(rows []*compare.Compared) (svg template.HTML, ok bool, err error) {
	var shown []*compare.Compared
	var names []string
	titles := rowTitles(rows)
	for i, c := range rows {
		if c.Change != nil && c.Change.Ratio > 0 && len(shown) < mostForest {
			shown, names = append(shown, c), append(names, shorten(joinNonEmpty(titles[i].name(), titles[i].metric), 24))
		}
	}
	if len(shown) == 0 {
		return "", false, nil
	}
	reach := newRatioScale(shown).reach * 1.05
	p := newPlot()
	p.X.Scale = plot.LogScale{}
	p.X.Min, p.X.Max = math.Exp(-reach), math.Exp(reach)
	steps := ratioSteps(reach)
	p.X.Tick.Marker = fixedTicks(steps, func(ratio float64) string { return changeTick(ratio, steps[len(steps)-1]) })
	p.Y.Min, p.Y.Max = -0.5, float64(len(shown))-0.5
	labels := make(plot.ConstantTicks, len(shown))
	for i, name := range names {
		labels[i] = plot.Tick{Value: float64(len(shown) - 1 - i), Label: name}
	}
	p.Y.Tick.Marker = labels
	p.Y.Padding = 8 // the reader's font is wider than the one that is measured here
	p.Y.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: pictureText - 1}
	for i, c := range shown {
		if err := addForestRow(p, c, float64(len(shown)-1-i)); err != nil {
			return "", false, err
		}
	}
	none, err := plotter.NewLine(plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}})
	if err != nil {
		return "", false, err
	}
	none.LineStyle = draw.LineStyle{Color: mutedColor(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}
	p.Add(none)
	svg, _, err = renderTall(p, "changes with their intervals", forestEnds+forestRow*len(shown))
	return svg, err == nil, err
}

// addForestRow draws the margin, the interval and the estimate of one number at a height.
func addForestRow(p *plot.Plot, c *compare.Compared, y float64) error {
	inside := func(ratio float64) float64 { return min(max(ratio, p.X.Min), p.X.Max) }
	lo, hi := inside(1/(1+c.Margin)), inside(1+c.Margin)
	band, err := plotter.NewPolygon(plotter.XYs{{X: lo, Y: y - 0.5}, {X: hi, Y: y - 0.5}, {X: hi, Y: y + 0.5}, {X: lo, Y: y + 0.5}})
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = washColor(), 0
	p.Add(band)
	colour := mutedColor()
	if c.Verdict != compare.Undecided {
		colour = accentColor()
	}
	if c.Change.Known() {
		line, err := plotter.NewLine(plotter.XYs{{X: inside(*c.Change.Lo), Y: y}, {X: inside(*c.Change.Hi), Y: y}})
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: colour, Width: vg.Points(1.6)}
		p.Add(line)
	}
	if c.Change.Ratio < p.X.Min || c.Change.Ratio > p.X.Max {
		return nil
	}
	point, err := plotter.NewScatter(plotter.XYs{{X: c.Change.Ratio, Y: y}})
	if err != nil {
		return err
	}
	point.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
	p.Add(point)
	return nil
}

// ratioSteps are no change and a round one to each side, the largest that fits on a scale that reaches so far.
func ratioSteps(reach float64) []float64 {
	step := 0.01
	for _, s := range []float64{0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 9} {
		if math.Log1p(s) <= 0.95*reach {
			step = s
		}
	}
	return []float64{1 / (1 + step), 1, 1 + step}
}

// changeTick is a ratio as it stands at an axis that goes up to another: "−20%", "0", "+25%"; factors where it goes to two and on.
func changeTick(ratio, most float64) string {
	switch factors := most >= 1.995; {
	case math.Abs(ratio-1) < 1e-9 && factors:
		return "1x"
	case math.Abs(ratio-1) < 1e-9:
		return "0"
	case factors:
		return strings.TrimRight(strings.TrimRight(factor(ratio), "0"), ".") + "x"
	}
	return changeText(ratio)
}
