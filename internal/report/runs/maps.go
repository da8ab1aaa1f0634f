package runs

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// maps shows the jobs with varied parameters: the main number of each, by two parameters. A terminal has the same
// numbers in its table.
func (r runText) maps() []document.Block {
	var blocks []document.Block
	for from := 0; from < len(r.Cells); {
		to := from
		var cells []*summary.Cell
		for to < len(r.Cells) && r.Cells[to].Job == r.Cells[from].Job {
			cells = append(cells, &r.Cells[to])
			to++
		}
		if tables := heatMaps(cells, r.marks); len(tables) > 0 {
			title := quantityTitle(row{own: shownOfCommand(cells[0])}, matrixMetric(cells[0], mainDirection(cells)))
			blocks = append(blocks, document.Folded{Title: cells[0].Job + ": " + title + " by parameter", Open: true,
				Blocks: tables})
		}
		from = to
	}
	return blocks
}

// heatMaps returns maps of a job: one for each combination of the parameters beyond two. It is nil for a job that
// varies nothing, and for one where a combination has more than one cell (in different arms), which a map could not
// show.
func heatMaps(cells []*summary.Cell, all []report.Mark) []document.Block {
	axes := axesOf(cells)
	if len(axes) == 0 {
		return nil
	}
	across := axes[0]
	down := axis{values: []string{""}}
	var rest []axis
	if len(axes) > 1 {
		down, rest = axes[1], axes[2:]
	}
	direction, most := mainDirection(cells), map[string]float64{}
	byPlace := map[string]*summary.Cell{}
	for _, c := range cells {
		key := placeKey(c, axes)
		if byPlace[key] != nil {
			return nil
		}
		byPlace[key] = c
		name := matrixMetric(c, direction)
		if m := c.Metric(name); m != nil {
			most[name] = max(most[name], m.Shown())
		}
	}
	var out []document.Block
	for _, fixed := range combinations(rest) {
		var at []string
		for _, key := range slices.Sorted(maps.Keys(fixed)) {
			at = append(at, key+"="+fixed[key])
		}
		m := document.Table{Map: true, Name: strings.Join(at, " ")}
		m.Columns = append(m.Columns, document.Column{Title: strings.Join(append(at, down.param), " "),
			Kind: document.Words})
		for _, w := range across.values {
			m.Columns = append(m.Columns, document.Column{Title: w, Kind: document.Number, Over: across.param})
		}
		found := false
		for _, v := range down.values {
			r := document.Row{Cells: []document.Cell{{Text: v}}}
			for _, w := range across.values {
				place := map[string]string{across.param: w, down.param: v}
				for key, value := range fixed {
					place[key] = value
				}
				c := byPlace[placeKey(&summary.Cell{Params: place}, axes)]
				r.Cells = append(r.Cells, heatCell(c, direction, most, all))
				found = found || c != nil
			}
			m.Rows = append(m.Rows, r)
		}
		if found {
			out = append(out, m)
		}
	}
	return out
}

// matrixMetric returns the metric that a cell of the map shows.
func matrixMetric(c *summary.Cell, direction string) string {
	if names := shownOfCommand(c); len(names) > 0 {
		return names[0]
	}
	if large(c) {
		return lab.Bandwidth(direction)
	}
	return lab.IOPS(direction)
}

// heatCell shows one combination, tinted by its share of the largest value of the job.
func heatCell(c *summary.Cell, direction string, most map[string]float64, all []report.Mark) document.Cell {
	if c == nil {
		return document.Cell{Text: document.Absent}
	}
	name, text := matrixMetric(c, direction), shown
	if c.NamesMetrics() {
		text = ownFigure
	}
	m := c.Metric(name)
	if m == nil {
		return document.Cell{Text: document.Absent}
	}
	cell := numberCell(m, text, signsFor(all, c, name))
	if most[name] > 0 {
		cell.Tint = m.Shown() / most[name]
	}
	return cell
}

// mainDirection returns the first direction in which a job's cells have rates.
func mainDirection(cells []*summary.Cell) string {
	for _, d := range lab.Directions() {
		for _, c := range cells {
			if c.Metric(lab.IOPS(d)) != nil {
				return d
			}
		}
	}
	return ""
}

// axis is a parameter that a job varies, with its values in their natural order.
type axis struct {
	param  string
	values []string
}

// axesOf finds the parameters that vary between the cells of a job: depth across and jobs down, as is usual, then the
// rest by name.
func axesOf(cells []*summary.Cell) []axis {
	found := map[string][]string{}
	for _, c := range cells {
		for key, v := range c.Params {
			if !slices.Contains(found[key], v) {
				found[key] = append(found[key], v)
			}
		}
	}
	rank := func(param string) int {
		if i := slices.Index([]string{"iodepth", "numjobs", "bs"}, param); i >= 0 {
			return i
		}
		return 3
	}
	var axes []axis
	for _, param := range slices.Sorted(maps.Keys(found)) {
		if values := found[param]; len(values) > 1 {
			slices.SortFunc(values, report.CompareAmounts)
			axes = append(axes, axis{param, values})
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(rank(a.param), rank(b.param)) })
	return axes
}

func placeKey(c *summary.Cell, axes []axis) string {
	var b strings.Builder
	for _, a := range axes {
		b.WriteString(strconv.Quote(c.Params[a.param]))
	}
	return b.String()
}

// combinations returns the combinations of the values of all axes; one empty combination for no axes.
func combinations(axes []axis) []map[string]string {
	out := []map[string]string{{}}
	for _, a := range axes {
		var next []map[string]string
		for _, have := range out {
			for _, v := range a.values {
				one := map[string]string{a.param: v}
				for key, value := range have {
					one[key] = value
				}
				next = append(next, one)
			}
		}
		out = next
	}
	return out
}
