package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is a picture in the making: two scales and what lies between them, in the colours of the page (its CSS
// variables), for an <svg> within HTML. What is drawn is in units of the data; nothing reaches over the ends of a
// scale. Lines that are drawn later lie above.
type drawing struct {
	x, y   scale
	height float64
	// textSize is that of the names at the y axis.
	textSize float64
	left     float64
	shapes   strings.Builder
}

// scale is an axis: where it begins and ends, and what is written at it.
type scale struct {
	min, max    float64
	logarithmic bool
	ticks       []tick
}

// tick is a place on a scale; one without a name is drawn smaller.
type tick struct {
	value float64
	name  string
}

// point is a place in a drawing, in units of the data.
type point struct{ x, y float64 }

// The colours of a drawing, which differ by day, by night and on paper.
const (
	ink    = "var(--ink)"
	muted  = "var(--muted)"
	frame  = "var(--line)"
	accent = "var(--accent)"
	wash   = "var(--wash)"
)

// Size of a drawing in its own units, and what is left free around its data: at the right for the last name of the x
// axis, which reaches over the end of it. Text of 11 units is legible when a phone shows the width in 360 pixels, and
// not loud when a desk shows it in 600.
const (
	pictureWidth  = 400.0
	pictureHeight = 220.0
	pictureText   = 11.0
	aboveData     = 6.0
	belowData     = 19.0
	rightOfData   = 8.0
	tickLength    = 3.0
)

// newDrawing is one of a height whose names at the y axis have a size.
func newDrawing(x, y scale, height, textSize float64) *drawing {
	d := &drawing{x: x, y: y, height: height, textSize: textSize}
	widest := 0.0
	for _, t := range y.ticks {
		widest = max(widest, textWidth(t.name))
	}
	d.left = 2 + widest*textSize + 6
	d.axes()
	return d
}

// textWidth is about how wide a text is, in its size: the reader's font is not known, and may be a wide one.
func textWidth(text string) float64 {
	width := 0.0
	for _, r := range text {
		if strings.ContainsRune("%mMW", r) {
			width += 0.95
		} else {
			width += 0.6
		}
	}
	return width
}

// share says where on a scale a value is, from 0 to 1; what is beyond an end is at it.
func (s scale) share(v float64) float64 {
	v = min(max(v, s.min), s.max)
	if s.logarithmic {
		return math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return (v - s.min) / (s.max - s.min)
}

func (d *drawing) toX(v float64) float64 {
	return d.left + d.x.share(v)*(pictureWidth-d.left-rightOfData)
}

func (d *drawing) toY(v float64) float64 {
	return d.height - belowData - d.y.share(v)*(d.height-belowData-aboveData)
}

// at says where an x lies, as a share of the width of the drawing.
func (d *drawing) at(x float64) float64 { return d.toX(x) / pictureWidth }

// axes draws a faint line across for each name of the y axis, and the x axis with its ticks.
func (d *drawing) axes() {
	bottom := d.height - belowData
	for _, t := range d.y.ticks {
		if y := d.toY(t.value); t.name != "" {
			d.path("M"+coordinates(d.left, y)+"H"+coordinates(pictureWidth-rightOfData), frame, 0.5, "")
			d.text(d.left-6, y+0.35*d.textSize, "end", muted, d.textSize, t.name)
		}
	}
	d.path("M"+coordinates(d.left, bottom)+"H"+coordinates(pictureWidth-rightOfData), frame, 0.5, "")
	for _, t := range d.x.ticks {
		length := tickLength
		if t.name == "" {
			length /= 2
		}
		x := d.toX(t.value)
		d.path("M"+coordinates(x, bottom)+"v"+coordinates(length), frame, 0.5, "")
		if t.name != "" {
			d.text(x, d.height-5, "middle", muted, pictureText, t.name)
		}
	}
}

// line connects points.
func (d *drawing) line(points []point, colour string, width float64) {
	d.path(d.through(points), colour, width, "")
}

// dashed is a thin line of dashes.
func (d *drawing) dashed(points []point, colour string) {
	d.path(d.through(points), colour, 0.8, ` stroke-dasharray="2 2"`)
}

// area fills what lies within points.
func (d *drawing) area(points []point, colour string) {
	fmt.Fprintf(&d.shapes, `<path d="%sZ" fill="%s"/>`+"\n", d.through(points), colour)
}

// dot is a filled circle.
func (d *drawing) dot(p point, colour string) {
	fmt.Fprintf(&d.shapes, `<circle cx="%s" cy="%s" r="3" fill="%s"/>`+"\n", coordinates(d.toX(p.x)),
		coordinates(d.toY(p.y)), colour)
}

// label writes text beside a point and below its height: right of it, or left where there is no room.
func (d *drawing) label(p point, colour, text string) {
	x, anchor := d.toX(p.x)+3, "start"
	if d.x.share(p.x) > 0.7 {
		x, anchor = d.toX(p.x)-3, "end"
	}
	d.text(x, d.toY(p.y)+pictureText-2, anchor, colour, pictureText, text)
}

func (d *drawing) through(points []point) string {
	var b strings.Builder
	for i, p := range points {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(coordinates(d.toX(p.x), d.toY(p.y)))
	}
	return b.String()
}

func (d *drawing) path(commands, colour string, width float64, more string) {
	fmt.Fprintf(&d.shapes, `<path d="%s" fill="none" stroke="%s" stroke-width="%s"%s/>`+"\n", commands, colour,
		coordinates(width), more)
}

func (d *drawing) text(x, y float64, anchor, colour string, size float64, text string) {
	fmt.Fprintf(&d.shapes, `<text x="%s" y="%s" text-anchor="%s" font-size="%s" fill="%s">%s</text>`+"\n",
		coordinates(x), coordinates(y), anchor, coordinates(size), colour, template.HTMLEscapeString(text))
}

// svg is the drawing; title is what those hear who don't see it.
func (d *drawing) svg(title string) template.HTML {
	return template.HTML(`<svg viewBox="0 0 ` + coordinates(pictureWidth) + " " + coordinates(d.height) +
		`" role="img" aria-label="` +
		template.HTMLEscapeString(title) + `">` + "\n" + d.shapes.String() + "</svg>")
}

// coordinates are numbers as the drawing has them, to a hundredth of a unit.
func coordinates(values ...float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64))
	}
	return strings.Join(texts, ",")
}
