package runs

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// mostOverviewRows is how many loads a picture of the overview has.
const mostOverviewRows = 24

// overviewNumber is a number that the overview shows.
type overviewNumber struct {
	row  row
	name string
	*summary.Metric
}

// overview has a picture for each quantity, with a row for each load that has it. If there are many loads the first are
// open.
func (r runText) overview() document.Plots {
	var titles []string
	of := map[string][]overviewNumber{}
	add := func(title string, n overviewNumber) {
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		of[title] = append(of[title], n)
	}
	for _, row := range r.rows {
		name, m := row.headline()
		if m != nil && (len(row.own) > 0 || m.Unit != lab.Seconds) {
			add(quantityTitle(row, name), overviewNumber{row, name, m})
		}
	}
	for _, row := range r.rows {
		for _, part := range []string{"p99", "mean"} {
			name := lab.Latency(row.direction, part)
			if m := row.cell.Metric(name); m != nil && len(row.own) == 0 {
				add(part+" latency", overviewNumber{row, name, m})
				break
			}
		}
	}
	var first, more []document.Plot
	for _, title := range titles {
		for from := 0; from < len(of[title]); from += mostOverviewRows {
			numbers := of[title][from:min(from+mostOverviewRows, len(of[title]))]
			if plot := r.overviewPlot(title, numbers); from == 0 {
				first = append(first, plot)
			} else {
				plot.Title += ", " + prose.Count(len(numbers), "more load")
				more = append(more, plot)
			}
		}
	}
	p := document.Plots{List: append(first, more...), Open: len(first), Reading: "A line is the interval of its " +
		"number, an arrow marks one beyond the picture. Reads are dots, writes diamonds; hollow ones carry warnings."}
	if slices.ContainsFunc(p.List, func(p document.Plot) bool { return len(p.References) > 0 }) {
		p.Reading += " A dashed line is the ceiling of its load."
	}
	return p
}

// quantityTitle returns the name of a number's quantity, without its direction.
func quantityTitle(r row, name string) string {
	if len(r.own) > 0 {
		return report.OwnTitle(name)
	}
	return report.MetricTitle(name, false)
}

func (r runText) overviewPlot(title string, numbers []overviewNumber) document.Plot {
	better := "higher is better"
	if numbers[0].Better == lab.Lower {
		better = "lower is better"
	}
	p := document.Plot{Title: title, Note: better, Tabled: true, X: document.Axis{Title: title,
		Unit: string(numbers[0].Unit), Scale: document.Linear}, Y: document.Axis{Scale: document.Names}}
	text := shown
	if len(numbers[0].row.own) > 0 {
		if text = ownFigure; numbers[0].Unit == lab.PerSecond {
			p.X.Title += "/s"
		}
	}
	least, most := math.Inf(1), 0.0
	for i, n := range numbers {
		name, direction := n.row.name, n.row.direction
		if n.row.several {
			name += " " + direction
		}
		p.Y.Names = append(p.Y.Names, name)
		v := n.Shown()
		if most = max(most, v); v > 0 {
			least = min(least, v)
		}
		point := document.Point{At: float64(i), Value: v, Name: name,
			Text:  prose.Join(text(n.Metric), report.SpreadText(n.Metric)),
			Codes: codesFor(n.row.cell.Warnings, n.name)}
		if i := n.ShownInterval(); i != nil {
			point.Lo, point.Hi = &i.Lo, &i.Hi
		}
		at := slices.IndexFunc(p.Series, func(s document.Series) bool { return s.Direction == direction })
		if at < 0 {
			at, p.Series = len(p.Series), append(p.Series, document.Series{Direction: direction})
		}
		p.Series[at].Points = append(p.Series[at].Points, point)
	}
	if most > report.LogarithmicFrom*least {
		p.X.Scale = document.Logarithmic
	} else {
		p.X.From = new(float64)
	}
	for i, n := range numbers {
		if c := n.Ceiling; c != nil && c.Value < 3*most { // with a distant ceiling all values would be drawn short
			p.References = append(p.References, document.Reference{Name: "ceiling, " + c.Limiter + ":", Dashed: true,
				Level: document.Level{From: float64(i) - 0.45, To: float64(i) + 0.45, Value: c.Value}})
		}
	}
	return p
}

// reachedText returns the share of its ceiling that the number of a row reaches: "62%"; empty without a ceiling.
func reachedText(r row) string {
	_, m := r.headline()
	if m == nil || m.Ceiling == nil || !(m.Ceiling.Value > 0) {
		return ""
	}
	return unit.Percent(m.Shown() / m.Ceiling.Value)
}
