package render

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/headroom/headroom/internal/prose"
)

// drawing is a picture under construction: two scales and the shapes between them, in the colours of the page (its CSS
// variables), for an <svg> within HTML. Shapes are given in units of the data; nothing extends beyond the ends of a
// scale. Later lines are drawn on top.
type drawing struct {
	x, y   scale
	height float64
	// textSize is the size of the names at the y axis.
	textSize float64
	// Margins around the data, and gap, the part of the left margin between the data and the names at the y axis.
	left, right, above, below, gap float64

	shapes strings.Builder
	// written are the places of labels.
	written []box
}

// box is a place in a drawing, in its own units.
type box struct{ left, top, right, bottom float64 }

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

// Size of a drawing in its own units, and the margins around its data: the right one is for the last name of the x
// axis, which extends beyond its end. Text of 11 units is legible if a phone shows the width in 360 pixels, and not too
// large if a desktop shows it in 600.
const (
	PictureWidth  = 400.0
	pictureHeight = 220.0
	pictureText   = 11.0
	aboveData     = 6.0
	belowData     = 19.0
	rightOfData   = 8.0
	titleHeight   = 14.0
	tickLength    = 3.0
)

// newDrawing returns a drawing without its axes. height is its height, textSize the size of the names at the y axis.
func newDrawing(x, y scale, height, textSize float64) *drawing {
	d := &drawing{x: x, y: y, height: height, textSize: textSize, right: rightOfData, above: aboveData,
		below: belowData}
	if y.title != "" {
		d.above += titleHeight
	}
	if x.title != "" {
		d.below += titleHeight
	}
	widest := 0.0
	for _, t := range y.ticks {
		widest = max(widest, TextWidth(t.name))
	}
	d.gap = 6
	d.left = 2 + float64(widest*textSize) + d.gap
	return d
}

// TextWidth estimates the width of a text, as a multiple of its size: the reader's font is unknown, and may be wide.
func TextWidth(text string) float64 {
	width := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("%mwMW", r):
			width += 0.95
		case unicode.IsUpper(r):
			width += 0.75
		default:
			width += 0.64
		}
	}
	return width
}

// toX and toY convert products explicitly, so that arm64 does not fuse them with the sum and draws as other machines
// do.
func (d *drawing) toX(v float64) float64 {
	return d.left + float64(d.x.share(v)*(PictureWidth-d.left-d.right))
}

func (d *drawing) toY(v float64) float64 {
	return d.height - d.below - float64(d.y.share(v)*(d.height-d.below-d.above))
}

// axes draws a faint line across for each name of the y axis, and the x axis with its ticks.
func (d *drawing) axes() {
	bottom, end := d.height-d.below, coordinates(PictureWidth-d.right)
	ticks := legible(d.y.ticks, func(t tick) (from, to float64) {
		y := -d.toY(t.value) // upwards
		return y - 0.6*d.textSize, y + 0.6*d.textSize
	})
	for _, t := range ticks {
		if y := d.toY(t.value); t.name != "" {
			d.path("M"+coordinates(d.left, y)+"H"+end, frame, 0.5, "")
			d.text(d.left-d.gap, y+float64(0.35*d.textSize), "end", muted, d.textSize, t.name)
		}
	}
	d.path("M"+coordinates(d.left, bottom)+"H"+end, frame, 0.5, "")
	const gap = 3
	ticks = legible(d.x.ticks, func(t tick) (from, to float64) {
		x, half := d.nameAt(t)
		return x - half - gap, x + half + gap
	})
	for _, t := range ticks {
		length := tickLength
		if t.name == "" {
			length /= 2
		}
		d.path("M"+coordinates(d.toX(t.value), bottom)+"v"+coordinates(length), frame, 0.5, "")
		if t.name != "" {
			x, _ := d.nameAt(t)
			d.text(x, bottom+belowData-4, "middle", muted, pictureText, t.name)
		}
	}
	d.text(2, pictureText, "start", muted, pictureText, fitted(d.y.title))
	title := fitted(d.x.title)
	half := TextWidth(title) * pictureText / 2
	middle := d.left + (PictureWidth-d.left-d.right)/2
	d.text(min(max(middle, half), PictureWidth-half), d.height-4, "middle", muted, pictureText, title)
}

// fitted returns the title of an axis, cut to the width of the picture.
func fitted(title string) string {
	for n := len(title); TextWidth(title)*pictureText > PictureWidth-4; n-- {
		title = Shorten(title, n)
	}
	return title
}

// nameAt returns the middle of a name at the x axis, such that the name stays within the drawing, and half of its
// width.
func (d *drawing) nameAt(t tick) (x, half float64) {
	half = TextWidth(t.name) * pictureText / 2
	return min(max(d.toX(t.value), half), PictureWidth-half), half
}

// line connects points.
func (d *drawing) line(points []point, colour string, width float64) {
	d.path(d.through(points), colour, width, "")
}

// dashed draws a thin dashed line.
func (d *drawing) dashed(points []point, colour string) {
	d.path(d.through(points), colour, 0.8, ` stroke-dasharray="2 2"`)
}

// area fills a polygon.
func (d *drawing) area(points []point, colour string) {
	fmt.Fprintf(&d.shapes, `<path d="%sZ" fill="%s"/>`+"\n", d.through(points), colour)
}

func (d *drawing) circle(p point, colour, more string) {
	fmt.Fprintf(&d.shapes, `<circle cx="%s" cy="%s" r="3" fill="%s"%s/>`+"\n", coordinates(d.toX(p.x)),
		coordinates(d.toY(p.y)), colour, more)
}

// diamond draws a diamond as large as a circle.
func (d *drawing) diamond(p point, colour, more string) {
	fmt.Fprintf(&d.shapes, `<path d="M%sl3.8,3.8l-3.8,3.8l-3.8,-3.8Z" fill="%s"%s/>`+"\n",
		coordinates(d.toX(p.x), d.toY(p.y)-3.8), colour, more)
}

// arrow draws an arrow head at a place in the drawing, for something that continues: vertically by y, or horizontally
// by x.
func (d *drawing) arrow(atX, atY, x, y float64, colour string) {
	const size = 4.5
	d.path("M"+coordinates(atX-size*(x+0.7*y), atY+size*(y+0.7*x))+"L"+coordinates(atX, atY)+"L"+
		coordinates(atX-size*(x-0.7*y), atY+size*(y-0.7*x)), colour, 1.2, "")
}

// bar draws a rectangle between two corners, with a visible minimum width.
func (d *drawing) bar(a, b point, colour string) {
	x, y := min(d.toX(a.x), d.toX(b.x)), min(d.toY(a.y), d.toY(b.y))
	fmt.Fprintf(&d.shapes, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", coordinates(x),
		coordinates(y), coordinates(max(1, math.Abs(d.toX(a.x)-d.toX(b.x)))),
		coordinates(max(1, math.Abs(d.toY(a.y)-d.toY(b.y)))), colour)
}

// titled draws shapes with a title, which a browser shows when the pointer is on them.
func (d *drawing) titled(title string, draw func()) {
	d.shapes.WriteString("<g><title>" + template.HTMLEscapeString(prose.Inline(title)) + "</title>")
	draw()
	d.shapes.WriteString("</g>\n")
}

// free reports whether there is room for a label: of two labels in one place the first is written. Labels without room
// are shown by the pointer.
func (d *drawing) free(b box) bool {
	for _, w := range d.written {
		if b.left < w.right && w.left < b.right && b.top < w.bottom && w.top < b.bottom {
			return false
		}
	}
	d.written = append(d.written, b)
	return true
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
	if text == "" {
		return
	}
	fmt.Fprintf(&d.shapes, `<text x="%s" y="%s" text-anchor="%s" font-size="%s" fill="%s">%s</text>`+"\n",
		coordinates(x), coordinates(y), anchor, coordinates(size), colour, template.HTMLEscapeString(text))
}

// svg returns the drawing; title is its text for screen readers.
func (d *drawing) svg(title string) template.HTML {
	return template.HTML(`<svg viewBox="0 0 ` + coordinates(PictureWidth) + " " + coordinates(d.height) +
		`" role="img" aria-label="` +
		template.HTMLEscapeString(title) + `">` + "\n" + d.shapes.String() + "</svg>")
}

// coordinates formats numbers for the drawing, to a hundredth of a unit.
func coordinates(values ...float64) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64))
	}
	return strings.Join(texts, ",")
}
