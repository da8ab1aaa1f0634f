package report

import (
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"headroom/internal/document"
	"headroom/internal/lab"
)

// plotted is a plot in the making. Values are upwards, or across where the y axis has names, in the order of these
// downwards.
type plotted struct {
	*drawing
	plot document.Plot
	// across says that values are.
	across bool
}

// mostTitle is how many characters of an axis's title have room.
const mostTitle = 56

// drawPlot draws a plot.
func drawPlot(p document.Plot) template.HTML {
	d := plotted{plot: p, across: p.Y.Scale == document.Names}
	values, places := p.Y, p.X
	if d.across {
		values, places = p.X, p.Y
	}
	values.Title = shorten(values.Title, mostTitle)
	value, place := valueScale(p, values), placeScale(p, places)
	if d.across {
		for i := range place.ticks {
			place.ticks[i].value = d.row(place.ticks[i].value)
		}
		d.drawing = newFrame(value, place, plotHeight(p), pictureText-1)
		d.right += d.widestText()
	} else {
		d.drawing = newFrame(place, value, plotHeight(p), pictureText)
	}
	if len(p.Marks) > 0 {
		d.above += titleHeight
	}
	d.axes()
	d.marks()
	d.references()
	for _, s := range p.Series {
		d.series(s)
	}
	return d.svg(plotTitle(p))
}

// pointName is a point as people tell it from others: with its time where it has one.
func pointName(p document.Plot, at document.Point) string {
	if p.X.Scale != document.Time {
		return at.Name
	}
	return joinNonEmpty(at.Name, "of", time.Unix(int64(at.At), 0).UTC().Format("2006-01-02 15:04 UTC"))
}

// plotTitle is what those hear who don't see the picture.
func plotTitle(p document.Plot) string {
	axis := p.Y.Title
	if p.Y.Scale == document.Names {
		axis = p.X.Title
	}
	return joinNonEmpty(p.Title+":", axis)
}

func plotHeight(p document.Plot) float64 {
	if p.Y.Scale != document.Names {
		return pictureHeight
	}
	return forestEnds + titleHeight + forestRow*float64(len(p.Y.Names))
}

// widestText is the room for the figures beside rows.
func (d plotted) widestText() float64 {
	widest := 0.0
	for _, s := range d.plot.Series {
		for _, p := range s.Points {
			widest = max(widest, textWidth(p.Text)*(pictureText-1))
		}
	}
	return widest
}

// row is the height of the row with a number, of which the first is on top.
func (d plotted) row(place float64) float64 { return float64(len(d.plot.Y.Names)) - 1 - place }

// at is a value at a place.
func (d plotted) at(place, value float64) point {
	if d.across {
		return point{value, d.row(place)}
	}
	return point{place, value}
}

// values is the scale of the values.
func (d plotted) values() scale {
	if d.across {
		return d.x
	}
	return d.y
}

// marks are lines across with what changed there.
func (d plotted) marks() {
	for _, m := range d.plot.Marks {
		d.titled(m.Text, func() {
			d.dashed([]point{{m.At, d.y.min}, {m.At, d.y.max}}, ink)
			half := textWidth(m.Text) * pictureText / 2
			x := min(max(d.toX(m.At), d.left+half), pictureWidth-half)
			if d.free(box{x - half, d.above - titleHeight, x + half, d.above}) {
				d.text(x, d.above-4, "middle", ink, pictureText, m.Text)
			}
		})
	}
}

// references are lines through the picture, or a part of it.
func (d plotted) references() {
	for _, r := range d.plot.References {
		places := d.x
		if d.across {
			places = d.y
		}
		ends := []point{d.at(r.From, r.Value), d.at(r.To, r.Value)}
		if r.From == r.To {
			ends = []point{d.at(places.min, r.Value), d.at(places.max, r.Value)}
		}
		d.titled(joinNonEmpty(r.Name, roundFigure(d.unit(), r.Value)), func() {
			if r.Dashed {
				d.dashed(ends, ink)
			} else {
				d.line(ends, ink, 1.5)
			}
			d.named(r, ends[1])
		})
	}
}

// named writes the name of a reference above the end of its line, where nothing is written yet.
func (d plotted) named(r document.Reference, end point) {
	width := textWidth(r.Name) * (pictureText - 1)
	x, y := d.toX(end.x), d.toY(end.y)-3
	if r.Name == "" || d.across || !d.free(box{x - width, y - pictureText, x, y}) {
		return
	}
	d.text(x, y, "end", muted, pictureText-1, r.Name)
}

func (d plotted) unit() lab.Unit {
	if d.across {
		return lab.Unit(d.plot.X.Unit)
	}
	return lab.Unit(d.plot.Y.Unit)
}

// series draws levels below, and points above their intervals and lines.
func (d plotted) series(s document.Series) {
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
		d.titled(joinNonEmpty(pointName(d.plot, p)+":", p.Text, strings.Join(p.Codes, " ")), func() {
			if s.Bars {
				d.bar(d.at(p.At-0.3, 0), d.at(p.At+0.3, p.Value), colour)
				d.interval(p, ink)
			} else {
				d.interval(p, colour)
				d.marker(s.Direction, d.at(p.At, p.Value), len(p.Codes) > 0)
			}
			if d.across {
				d.text(pictureWidth-2, d.toY(d.row(p.At))+0.35*d.textSize, "end", ink, d.textSize, p.Text)
			}
		})
	}
	for _, l := range s.Levels {
		d.path(d.through([]point{d.at(l.From, l.Value), d.at(l.To, l.Value)}), colour, 2, dashes)
	}
}

// interval is a line between its ends; one that goes on beyond the picture ends in an arrow.
func (d plotted) interval(p document.Point, colour string) {
	if p.Lo == nil || p.Hi == nil || math.IsNaN(*p.Lo+*p.Hi) {
		return
	}
	lo, hi := d.at(p.At, *p.Lo), d.at(p.At, *p.Hi)
	d.line([]point{lo, hi}, colour, 1.2)
	x, y := 0.0, 1.0
	if d.across {
		x, y = 1, 0
	}
	if *p.Lo < d.values().min {
		d.arrow(lo, -x, -y, colour)
	}
	if *p.Hi > d.values().max {
		d.arrow(hi, x, y, colour)
	}
}

// marker is the sign of a point, hollow where it is tainted: a dot, for writes a diamond.
func (d plotted) marker(direction string, p point, tainted bool) {
	colour, _ := directionColour(direction)
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

// directionColour is that of a direction, and the dashes of its lines. Reads are dark where writes are light, by day
// and on grey paper, and their signs and lines differ too.
func directionColour(direction string) (colour, dashes string) {
	switch direction {
	case lab.Read:
		return "var(--read)", ""
	case lab.Write:
		return "var(--write)", ` stroke-dasharray="6 3"`
	}
	return accent, ""
}
