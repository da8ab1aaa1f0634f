package report

import (
	"fmt"

	"headroom/internal/document"
	"headroom/internal/lab"
)

// plottedChange is a ratio with its interval, as a row of a picture.
type plottedChange struct {
	// name stands beside the row, and of is what else tells it from others.
	name, of string
	ratio    float64
	lo, hi   *float64
	// margin is the largest change that counts as none.
	margin float64
	// decided says that there is a verdict.
	decided bool
	text    string
	codes   []string
}

// maxPlottedChanges is how many rows a picture of changes has: more are read in the table.
const maxPlottedChanges = 60

// changesPlot has a row for each change of a metric, before what counts as none.
func changesPlot(title, metric string, better lab.Better, rows []plottedChange) document.Plot {
	p := document.Plot{Title: title, Tabled: true,
		X:          document.Axis{Title: "change of " + metric, Scale: document.Ratio},
		Y:          document.Axis{Scale: document.Names},
		References: []document.Reference{{Name: "no change", Level: document.Level{Value: 1}, Dashed: true}}}
	if better == lab.Lower {
		p.X.Title += ", less is better"
	}
	if n := len(rows); n > maxPlottedChanges {
		p.Note = fmt.Sprintf("the first %d of %d rows; the table has all", maxPlottedChanges, n)
		rows = rows[:maxPlottedChanges]
	}
	var series document.Series
	for i, r := range rows {
		at := float64(i)
		p.Y.Names = append(p.Y.Names, r.name)
		p.Bands = append(p.Bands, document.Band{From: at - 0.5, To: at + 0.5, Lo: 1 / (1 + r.margin), Hi: 1 + r.margin})
		series.Points = append(series.Points, document.Point{At: at, Value: r.ratio, Lo: r.lo, Hi: r.hi,
			Name: joinNonEmpty(r.of, r.name), Text: r.text, Codes: r.codes, Faint: !r.decided})
	}
	p.Series = []document.Series{series}
	return p
}
