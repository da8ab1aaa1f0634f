package staged

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/unit"
)

// stagesPlots returns one picture for each load, with a bar for each stage.
func stagesPlots(d *stages.Document) document.Plots {
	var plots document.Plots
	for from := 0; from < len(d.Rows); {
		to := from
		for to < len(d.Rows) && d.Rows[to].Group == d.Rows[from].Group {
			to++
		}
		plot := stagesPlot(d, d.Rows[from:to])
		if len(plot.References) > 0 {
			plots.Reading = "A line across a row is what the links of that stage carry together, where that is near."
		}
		plots.List = append(plots.List, plot)
		from = to
	}
	return plots
}

// stagesPlot shows one load in its stages, in bits a second, or in operations if bytes are not known for all stages.
func stagesPlot(d *stages.Document, rows []stages.Row) document.Plot {
	u, quantity := lab.BitsPerSecond, "bandwidth"
	value := func(r stages.Row) float64 { return 8 * r.Bandwidth }
	if slices.ContainsFunc(rows, func(r stages.Row) bool { return !(r.Bandwidth > 0) && r.IOPS > 0 }) {
		u, quantity = lab.PerSecond, "IOPS"
		value = func(r stages.Row) float64 { return r.IOPS }
	}
	direction := rows[0].Direction
	p := document.Plot{Tabled: true, X: document.Axis{Title: prose.Join(direction, quantity), Unit: string(u)},
		Y: document.Axis{Scale: document.Names}}
	s := document.Series{Direction: direction, Bars: true}
	var loads []string
	most := 0.0
	for i, r := range rows {
		if load := stagesLoad(r); !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
		p.Y.Names = append(p.Y.Names, r.Stage)
		s.Points = append(s.Points, document.Point{At: float64(i), Value: value(r), Name: "in " + r.Stage,
			Text: unit.Value(u, value(r)), Codes: r.Warnings})
		most = max(most, value(r))
	}
	if len(loads) > 1 {
		for i, r := range rows {
			s.Points[i].Name = stagesLoad(r) + " in " + r.Stage
		}
	}
	p.Title, p.Series = strings.Join(loads, "; "), []document.Series{s}
	for i, r := range rows {
		at := slices.IndexFunc(d.Stages, func(s stages.Stage) bool { return s.Name == r.Stage })
		const near = 3 // times the fastest; with a more distant ceiling all bars would be short
		if u != lab.BitsPerSecond || at < 0 || !(d.Stages[at].Rate > 0) || 8*d.Stages[at].Rate > near*most {
			continue
		}
		p.References = append(p.References, document.Reference{Name: "links of " + r.Stage,
			Level: document.Level{From: float64(i) - 0.45, To: float64(i) + 0.45, Value: 8 * d.Stages[at].Rate}})
	}
	return p
}
