package render

import (
	"fmt"

	"github.com/headroom/headroom/internal/document"
)

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
