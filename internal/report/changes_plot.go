package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/prose"
)

// plottedChange is a ratio with its interval, as a row of a picture.
type plottedChange struct {
	// name stands beside the row, and of is what else tells it from others.
	name, of string
	// direction has a colour and a sign of its own.
	direction string
	ratio     float64
	lo, hi    *float64
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
	series := map[string]document.Series{}
	for i, r := range rows {
		at := float64(i)
		p.Y.Names = append(p.Y.Names, r.name)
		p.Bands = append(p.Bands, document.Band{From: at - 0.5, To: at + 0.5, Lo: 1 / (1 + r.margin), Hi: 1 + r.margin})
		s := series[r.direction]
		s.Direction, s.Points = r.direction, append(s.Points, document.Point{At: at, Value: r.ratio, Lo: r.lo, Hi: r.hi,
			Name: prose.Join(r.of, r.name), Text: r.text, Codes: r.codes, Faint: !r.decided})
		series[r.direction] = s
	}
	p.X.From, p.X.To, p.X.Clipped = changesShown(rows)
	for _, direction := range slices.Sorted(maps.Keys(series)) {
		p.Series = append(p.Series, series[direction])
	}
	return p
}

// changesShown is where a picture of changes ends that would show little of most of them otherwise: at four times, or
// four times as far as half of them reach. One that shows all ends where they do.
func changesShown(rows []plottedChange) (from, to *float64, clipped bool) {
	const far = 4
	var logs []float64
	for _, r := range rows {
		logs = append(logs, math.Abs(math.Log(r.ratio)))
	}
	slices.Sort(logs)
	limit := max(math.Log(far), far*logs[(len(logs)-1)/2])
	if logs[len(logs)-1] <= limit || math.IsInf(limit, 0) {
		return nil, nil, false
	}
	lo, hi := 1.0, 1.0
	for _, r := range rows {
		lo, hi = min(lo, r.ratio, 1/(1+2*r.margin)), max(hi, r.ratio, 1+2*r.margin)
	}
	lo, hi = max(lo, math.Exp(-limit)), min(hi, math.Exp(limit))
	return &lo, &hi, true
}
