package render

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// plotted is a plot under construction. Values are on the y axis, or on the x axis if the y axis has names, which are
// listed downwards.
type plotted struct {
	*drawing
	plot document.Plot
	// across is true if values are on the x axis.
	across bool
}

// Heights of a picture with rows.
const (
	forestRow  = 17
	forestEnds = 34 // the axis below and a margin above
)

// Picture draws a plot.
func Picture(p document.Plot) template.HTML {
	d := plotted{plot: p, across: p.Y.Scale == document.Names}
	values, places := p.Y, p.X
	if d.across {
		values, places = p.X, p.Y
	}
	value, place := valueScale(p, values), placeScale(p, places)
	if d.across {
		for i := range place.ticks {
			place.ticks[i].value = d.row(place.ticks[i].value)
		}
		d.drawing = newDrawing(value, place, plotHeight(p), pictureText-1)
		const arrow = 8 // room for an arrow where a value is beyond the picture
		d.left, d.gap, d.right = d.left+arrow, d.gap+arrow, d.right+arrow/2+d.widestText()
	} else {
		d.drawing = newDrawing(place, value, plotHeight(p), pictureText)
	}
	marks, rows := d.placedMarks()
	d.above += float64(rows) * titleHeight
	d.bands()
	d.axes()
	d.marks(marks)
	d.references()
	for _, s := range p.Series {
		d.series(s)
	}
	return d.svg(plotTitle(p))
}

// pointName returns a point's name as readers distinguish it: with its time if it has one.
func pointName(p document.Plot, at document.Point) string {
	if p.X.Scale != document.Time {
		return at.Name
	}
	return prose.Join(at.Name, "of", time.Unix(int64(at.At), 0).UTC().Format("2006-01-02 15:04 UTC"))
}

// plotTitle returns the picture's text for screen readers.
func plotTitle(p document.Plot) string {
	axis := p.Y.Title
	if p.Y.Scale == document.Names {
		axis = p.X.Title
	}
	return prose.Join(p.Title+":", axis)
}

func plotHeight(p document.Plot) float64 {
	if p.Y.Scale != document.Names {
		return pictureHeight
	}
	return forestEnds + titleHeight + forestRow*float64(len(p.Y.Names))
}

// widestText returns the room for the figures next to rows.
func (d plotted) widestText() float64 {
	widest := 0.0
	for _, s := range d.plot.Series {
		for _, p := range s.Points {
			widest = max(widest, TextWidth(d.beside(p))*(pictureText-1))
		}
	}
	return widest
}

// beside returns the figure next to the row of a point; empty if the row has several points.
func (d plotted) beside(p document.Point) string {
	same := 0
	for _, s := range d.plot.Series {
		for _, other := range s.Points {
			if other.At == p.At {
				same++
			}
		}
	}
	if same > 1 {
		return ""
	}
	return p.Text
}

// row returns the height of the row with a number; the first row is on top.
func (d plotted) row(place float64) float64 { return float64(len(d.plot.Y.Names)) - 1 - place }

// at returns the point of a value at a place.
func (d plotted) at(place, value float64) point {
	if d.across {
		return point{value, d.row(place)}
	}
	return point{place, value}
}

// values returns the scale of the values.
func (d plotted) values() scale {
	if d.across {
		return d.x
	}
	return d.y
}

// bands are drawn behind everything else.
func (d plotted) bands() {
	for _, b := range d.plot.Bands {
		from, to := d.ends(b.From, b.To)
		d.area([]point{d.at(from, b.Lo), d.at(to, b.Lo), d.at(to, b.Hi), d.at(from, b.Hi)}, wash)
	}
}

// ends returns two places, or the ends of the whole picture if they are equal.
func (d plotted) ends(from, to float64) (float64, float64) {
	switch {
	case from != to:
		return from, to
	case d.across:
		return d.row(d.y.max), d.row(d.y.min)
	}
	return d.x.min, d.x.max
}

// marks draws lines that show what changed at a place.
func (d plotted) marks(all []placedMark) {
	for _, m := range all {
		d.titled(m.Text, func() {
			if d.across {
				y := d.row(m.At)
				d.dashed([]point{{d.x.min, y}, {d.x.max, y}}, ink)
				end := d.toX(d.x.max)
				if d.onTheRight(math.Floor(m.At)) {
					end = d.left + TextWidth(m.Text)*(pictureText-1)
				}
				d.named(m.Text, end, y, ink)
				return
			}
			d.dashed([]point{{m.At, d.y.min}, {m.At, d.y.max}}, ink)
			if m.row >= 0 {
				d.text(m.middle, d.above-4-float64(m.row)*titleHeight, "middle", ink, pictureText, m.name)
			}
		})
	}
}

// onTheRight reports whether a row has a point on the right of the picture.
func (d plotted) onTheRight(row float64) bool {
	return slices.ContainsFunc(d.plot.Series, func(s document.Series) bool {
		return slices.ContainsFunc(s.Points, func(p document.Point) bool {
			return p.At == row && d.x.share(p.Value) > 0.5
		})
	})
}

// references draws lines through the picture, or through a part of it.
func (d plotted) references() {
	for _, r := range d.plot.References {
		from, to := d.ends(r.From, r.To)
		ends := []point{d.at(from, r.Value), d.at(to, r.Value)}
		d.titled(prose.Join(r.Name, unit.Round(d.unit(), r.Value)), func() {
			if r.Dashed {
				d.dashed(ends, ink)
			} else {
				d.line(ends, ink, 1.5)
			}
			if !d.across {
				d.named(r.Name, d.toX(ends[1].x), ends[1].y, muted)
			}
		})
	}
}

// named writes a name above the end of a line, if the place is free.
func (d plotted) named(name string, end, height float64, colour string) {
	const most = 24 // characters that leave room for the picture
	name = Shorten(name, most)
	width := TextWidth(name) * (pictureText - 1)
	y := d.toY(height) - 3
	if name != "" && d.free(box{end - width, y - pictureText, end, y}) {
		d.text(end, y, "end", colour, pictureText-1, name)
	}
}

func (d plotted) unit() lab.Unit {
	if d.across {
		return lab.Unit(d.plot.X.Unit)
	}
	return lab.Unit(d.plot.Y.Unit)
}

// series draws levels below, and points above their intervals and lines.
func (d plotted) series(s document.Series) {
	if s.Line {
		d.curve(s)
		return
	}
	colour, dashes := directionColour(s.Direction)
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p document.Point) bool {
		return math.IsNaN(p.At) || math.IsNaN(p.Value)
	})
	if s.Joined {
		var line []point
		for _, p := range points {
			line = append(line, d.at(p.At, p.Value))
		}
		d.path(d.through(line), colour, 1.8, dashes)
	}
	for _, p := range points {
		colour := colour
		if p.Faint {
			colour = muted
		}
		d.titled(prose.Join(pointName(d.plot, p)+":", p.Text, strings.Join(p.Codes, " ")), func() {
			if s.Bars {
				d.bar(d.at(p.At-0.3, 0), d.at(p.At+0.3, p.Value), colour)
				d.interval(p, ink)
			} else {
				d.interval(p, colour)
				d.marker(s.Direction, colour, d.at(p.At, p.Value), len(p.Codes) > 0)
			}
			if d.across {
				d.text(PictureWidth-2, d.toY(d.row(p.At))+0.35*d.textSize, "end", ink, d.textSize, d.beside(p))
			}
		})
	}
	for _, l := range s.Levels {
		d.path(d.through([]point{d.at(l.From, l.Value), d.at(l.To, l.Value)}), colour, 2, dashes)
	}
}

// interval draws a line between its ends. If it, or the value, extends beyond the picture there is an arrow.
func (d plotted) interval(p document.Point, colour string) {
	lo, hi := p.Value, p.Value
	if p.Lo != nil && p.Hi != nil && !math.IsNaN(*p.Lo+*p.Hi) {
		lo, hi = min(lo, *p.Lo), max(hi, *p.Hi)
		d.line([]point{d.at(p.At, lo), d.at(p.At, hi)}, colour, 1.2)
	}
	if least := d.values().min; lo < least {
		d.beyond(d.at(p.At, lo), -1, p.Value < least, colour)
	}
	if most := d.values().max; hi > most {
		d.beyond(d.at(p.At, hi), 1, p.Value > most, colour)
	}
}

// beyond draws an arrow at an end of the values, outside of the marker if there is one.
func (d plotted) beyond(p point, way float64, marked bool, colour string) {
	const outside = 7
	x, y, gap := 0.0, way, 0.0
	if d.across {
		x, y = way, 0
	}
	if marked {
		gap = outside
	}
	d.arrow(d.toX(p.x)+gap*x, d.toY(p.y)-gap*y, x, y, colour)
}

// marker draws the sign of a point, hollow if it is tainted: a dot, or a diamond for writes.
func (d plotted) marker(direction, colour string, p point, tainted bool) {
	more := ""
	if tainted {
		colour, more = "var(--paper)", ` stroke="`+colour+`" stroke-width="1.2"`
	}
	if direction == lab.Write {
		d.diamond(p, colour, more)
	} else {
		d.circle(p, colour, more)
	}
}

// directionColour returns the colour of a direction, and the dashes of its lines. Reads are dark where writes are
// light, on screen and on grey paper, and their signs and lines differ too.
func directionColour(direction string) (colour, dashes string) {
	switch direction {
	case lab.Read:
		return "var(--read)", ""
	case lab.Write:
		return "var(--write)", ` stroke-dasharray="6 3"`
	}
	return accent, ""
}

// curve draws a line through points that have no markers.
func (d plotted) curve(s document.Series) {
	colour, _ := directionColour(s.Direction)
	var line []point
	for _, p := range s.Points {
		line = append(line, d.at(p.At, p.Value))
	}
	through := d.through(line)
	d.titled(s.Name, func() {
		if s.Filled {
			fmt.Fprintf(&d.shapes, `<path d="%s" fill="%s" fill-opacity="0.15"/>`+"\n", through, colour)
		}
		d.path(through, colour, 1.2, "")
	})
}

// placedMark is a mark with its name in a row above the data, around a place; row is -1 if none is free.
type placedMark struct {
	document.Mark
	name   string
	middle float64
	row    int
}

// placedMarks returns marks with names that do not overlap, and the number of rows that they need. Marks across a
// picture of rows have no names.
func (d plotted) placedMarks() (all []placedMark, rows int) {
	const most, longest, gap = 3, 30, 4
	var ends [most]float64
	for _, m := range d.plot.Marks {
		p := placedMark{Mark: m, name: Shorten(m.Text, longest), row: -1}
		if d.across {
			all = append(all, p)
			continue
		}
		half := TextWidth(p.name) * pictureText / 2
		p.middle = min(max(d.toX(m.At), d.left+half), PictureWidth-half)
		for row, end := range ends {
			if p.middle-half > end {
				p.row, ends[row], rows = row, p.middle+half+gap, max(rows, row+1)
				break
			}
		}
		all = append(all, p)
	}
	return all, rows
}

// mostOpenPlots is how many pictures a page opens with; the others are folded.
const mostOpenPlots = 12

// pagePlots are pictures next to each other.
type pagePlots struct {
	Open, Folded   []pagePlot
	Title, Reading string
	// Class is "rows" if the pictures have named rows, and so differ in height.
	Class string
}

// pagePlot is a picture, or a line of text if there is only one point.
type pagePlot struct {
	Title, Note, Address string
	SVG                  template.HTML
	Alone                string
}

func newPagePlots(b document.Plots) *pagePlots {
	plots, open := &pagePlots{Title: prose.Inline(b.Title)}, cmp.Or(b.Open, mostOpenPlots)
	for _, p := range b.List {
		if p.Y.Scale == document.Names {
			plots.Class = " rows"
		}
		shown := pagePlot{Title: prose.Inline(p.Title), Note: prose.Inline(p.Note), Address: p.Address}
		if n := p.Points(); n > 1 || n == 1 && p.Y.Scale == document.Names {
			shown.SVG, plots.Reading = Picture(p), b.Reading
		} else {
			shown.Alone = onlyPoint(p)
		}
		if len(plots.Open) < open {
			plots.Open = append(plots.Open, shown)
		} else {
			plots.Folded = append(plots.Folded, shown)
		}
	}
	return plots
}

// onlyPoint describes the only point of a picture; empty if there are more.
func onlyPoint(p document.Plot) string {
	for _, s := range p.Series {
		for _, at := range s.Points {
			return prose.Inline(prose.Join(at.Text, pointName(p, at)))
		}
	}
	return document.Absent
}
