package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// PlottedChange is a ratio with its interval, as a row of a picture.
type PlottedChange struct {
	// Name is next to the row, and Of is what else distinguishes it.
	Name, Of string
	// Direction has a separate colour and sign.
	Direction string
	Ratio     float64
	Lo, Hi    *float64
	// Margin is the largest change that counts as none.
	Margin float64
	// Decided is true if there is a verdict.
	Decided bool
	Text    string
	Codes   []string
}

// maxPlottedChanges is how many rows a picture of changes has; further rows are in the next picture.
const maxPlottedChanges = 30

// ChangesPlots has a row for each change of a metric, in front of a band of changes that count as none.
func ChangesPlots(title, metric string, better lab.Better, rows []PlottedChange) []document.Plot {
	var plots []document.Plot
	for from := 0; from < len(rows); from += maxPlottedChanges {
		to, part := min(from+maxPlottedChanges, len(rows)), title
		if len(rows) > maxPlottedChanges {
			part += fmt.Sprintf(", %d to %d of %d", from+1, to, len(rows))
		}
		plots = append(plots, changesPlot(part, metric, better, rows[from:to]))
	}
	return plots
}

func changesPlot(title, metric string, better lab.Better, rows []PlottedChange) document.Plot {
	p := document.Plot{Title: title, Tabled: true,
		X:          document.Axis{Title: "change of " + metric, Scale: document.Ratio},
		Y:          document.Axis{Scale: document.Names},
		References: []document.Reference{{Name: "no change", Level: document.Level{Value: 1}, Dashed: true}}}
	if better == lab.Lower {
		p.X.Title += ", less is better"
	}
	series := map[string]document.Series{}
	for i, r := range rows {
		at := float64(i)
		p.Y.Names = append(p.Y.Names, r.Name)
		p.Bands = append(p.Bands, document.Band{From: at - 0.5, To: at + 0.5, Lo: 1 / (1 + r.Margin), Hi: 1 + r.Margin})
		s := series[r.Direction]
		s.Direction, s.Points = r.Direction, append(s.Points, document.Point{At: at, Value: r.Ratio, Lo: r.Lo, Hi: r.Hi,
			Name: prose.Join(r.Of, r.Name), Text: r.Text, Codes: r.Codes, Faint: !r.Decided})
		series[r.Direction] = s
	}
	p.X.From, p.X.To, p.X.Clipped = changesShown(rows)
	for _, direction := range slices.Sorted(maps.Keys(series)) {
		p.Series = append(p.Series, series[direction])
	}
	return p
}

// changesShown returns where a picture of changes ends if extreme ones would leave little room for most: at four times,
// or at four times the reach of half of them. A picture that shows all changes ends at the largest.
func changesShown(rows []PlottedChange) (from, to *float64, clipped bool) {
	const far = 4
	var logs []float64
	for _, r := range rows {
		logs = append(logs, math.Abs(math.Log(r.Ratio)))
	}
	slices.Sort(logs)
	limit := max(math.Log(far), far*logs[(len(logs)-1)/2])
	if logs[len(logs)-1] <= limit || math.IsInf(limit, 0) {
		return nil, nil, false
	}
	lo, hi := 1.0, 1.0
	for _, r := range rows {
		lo, hi = min(lo, r.Ratio, 1/(1+2*r.Margin)), max(hi, r.Ratio, 1+2*r.Margin)
	}
	lo, hi = max(lo, math.Exp(-limit)), min(hi, math.Exp(limit))
	return &lo, &hi, true
}
