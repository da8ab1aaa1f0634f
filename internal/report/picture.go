package report

import (
	"bytes"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Pictures are drawn by gonum/plot, which knows axes, scales and clipping; what it writes is then made fit to stand inside
// a page: without prologue, fixed size and fonts of its own, and with the colours of the page.

// picture is a drawing and the table of the numbers in it.
type picture struct {
	Title   string
	Caption string
	SVG     template.HTML
	Head    []string
	Rows    []pictureRow
}

// pictureRow is a line of the table. At is where its point lies in the drawing, as a share of the width from the left.
type pictureRow struct {
	At    float64
	Cells []string
}

// Size of a drawing in its own units. Text of 11 units is legible when a phone shows the width in 360 pixels, and not
// loud when a desk shows it in 600.
const (
	pictureWidth  = 400
	pictureHeight = 220
	pictureText   = 11
)

// The colours that drawings use stand for the page's own, which differ by day, by night and on paper: fit puts the
// CSS variables in their place. The values mean nothing but must differ from each other and from black, which
// vgsvg leaves out.
func inkColor() color.Color    { return color.NRGBA{R: 1, G: 1, B: 1, A: 255} }
func mutedColor() color.Color  { return color.NRGBA{R: 2, G: 2, B: 2, A: 255} }
func lineColor() color.Color   { return color.NRGBA{R: 3, G: 3, B: 3, A: 255} }
func accentColor() color.Color { return color.NRGBA{R: 4, G: 4, B: 4, A: 255} }
func washColor() color.Color   { return color.NRGBA{R: 5, G: 5, B: 5, A: 255} }

func pageColors() *strings.Replacer {
	return strings.NewReplacer("#010101", "var(--ink)", "#020202", "var(--muted)", "#030303", "var(--line)",
		"#040404", "var(--accent)", "#050505", "var(--wash)")
}

// newPlot is a plot in the house style: no frame, faint lines across, small text.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	text := font.Font{Typeface: "Liberation", Variant: "Sans", Size: pictureText}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = lineColor()
		axis.LineStyle.Color = lineColor()
		axis.Tick.Color = lineColor()
		axis.Tick.LineStyle.Color = lineColor()
		axis.Tick.Length = 3
		axis.Tick.Label.Font = text
		axis.Tick.Label.Color = mutedColor()
		axis.Label.TextStyle.Font = text
		axis.Label.TextStyle.Color = mutedColor()
		axis.Padding = 2
	}
	p.Y.LineStyle.Width = 0
	p.Y.Tick.Length = 0
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: lineColor(), Width: 0.5}
	p.Add(grid)
	return p
}

// render draws a plot and says where on the canvas, as a share of its width, an x of the data lies.
func render(p *plot.Plot, title string) (svg template.HTML, at func(x float64) float64, err error) {
	return renderTall(p, title, pictureHeight)
}

// renderTall is render for a picture of another height.
func renderTall(p *plot.Plot, title string, height int) (svg template.HTML, at func(x float64) float64, err error) {
	canvas := vgsvg.NewWith(vgsvg.UseWH(pictureWidth, vg.Length(height)))
	area := draw.Crop(draw.New(canvas), 2, -8, 2, -6) // the last label of the x axis reaches over the end of it
	p.Draw(area)
	data := p.DataCanvas(area)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", nil, err
	}
	toX, _ := p.Transforms(&data)
	at = func(x float64) float64 { return float64(toX(x) / vg.Length(pictureWidth)) }
	return fitSVG(b.String(), title, height), at, nil
}

// fitSVG makes the drawing part of a page. It has been written by vgsvg and holds no text from outside but what vgsvg
// has escaped.
func fitSVG(svg, title string, height int) template.HTML {
	if i := strings.Index(svg, "<svg"); i >= 0 {
		svg = svg[i:]
	}
	// The opening tag has the size in points and name spaces, which an <svg> within HTML needs not.
	if i := strings.IndexByte(svg, '>'); i >= 0 {
		svg = svg[i+1:]
	}
	svg = fontStyle.ReplaceAllString(svg, "")
	svg = pageColors().Replace(svg)
	size := strconv.Itoa(pictureWidth) + " " + strconv.Itoa(height)
	return template.HTML(`<svg viewBox="0 0 ` + size + `" role="img" aria-label="` + template.HTMLEscapeString(title) + `">` + svg)
}

// fontStyle matches what vgsvg says of a text's font, but for the size.
var fontStyle = regexp.MustCompile(`font-(family|variant|weight|style):[^;"]*;?`)

// fixedTicks is a scale whose ticks were chosen beforehand.
func fixedTicks(values []float64, text func(float64) string) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: text(v)})
	}
	return ticks
}

// evenSteps are about n round values from 0 up to most, in steps of 1, 2 or 5 times a power of ten times base. The
// base makes them round in the unit that is printed: 1024*1024 for bandwidths of some MiB/s.
func evenSteps(most float64, n int, base float64) []float64 {
	if !(most > 0) || math.IsInf(most, 0) {
		return []float64{0}
	}
	rough := most / base / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough {
			step = m * power
			break
		}
	}
	var out []float64
	for i := 0; float64(i)*step*base <= most*(1+1e-9); i++ {
		out = append(out, float64(i)*step*base)
	}
	return out
}
