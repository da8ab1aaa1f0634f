package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// heatMap is a metric of one job by two of its parameters. It is a table whose cells are tinted, not a picture: its
// numbers can be read and copied, it reflows on a phone, and it says the same without colour.
type heatMap struct {
	Title string
	// Across is the parameter of the columns, Down of the rows; Down is empty when the job varies one parameter only.
	Across, Down string
	Columns      []string
	Rows         []heatRow
}

type heatRow struct {
	Name  string
	Cells []heatCell
}

// heatCell is one combination. Heat is its value as a share of the largest of the job, 0 to 1, in percent.
type heatCell struct {
	Text, Spread, Signs string
	Heat                int
}

// heatMaps of a job: one for each combination of the parameters beyond two. Nil for a job that varies nothing, and for
// one where a combination has more than one cell (in different arms), which a map could not show.
func heatMaps(cells []*Cell, all []mark) []heatMap {
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
	direction, most := mainDirection(cells), 0.0
	byPlace := map[string]*Cell{}
	for _, c := range cells {
		key := placeKey(c, axes)
		if byPlace[key] != nil {
			return nil
		}
		byPlace[key] = c
		if m := c.metric(matrixMetric(c, direction)); m != nil {
			most = max(most, m.Shown())
		}
	}
	var maps []heatMap
	for _, fixed := range combinations(rest) {
		m := heatMap{Across: across.param, Down: down.param, Columns: across.values}
		var at []string
		for _, key := range sortedKeys(fixed) {
			at = append(at, key+"="+fixed[key])
		}
		m.Title = strings.Join(at, " ")
		found := false
		for _, v := range down.values {
			r := heatRow{Name: v}
			for _, w := range across.values {
				place := map[string]string{across.param: w, down.param: v}
				for key, value := range fixed {
					place[key] = value
				}
				c := byPlace[placeKey(&Cell{Params: place}, axes)]
				r.Cells = append(r.Cells, heatCellOf(c, direction, most, all))
				found = found || c != nil
			}
			m.Rows = append(m.Rows, r)
		}
		if found {
			maps = append(maps, m)
		}
	}
	return maps
}

// matrixMetric is what a cell of the map shows.
func matrixMetric(c *Cell, direction string) string {
	if names := c.shownOfCommand(); len(names) > 0 {
		return names[0]
	}
	if large(c) {
		return lab.Bandwidth(direction)
	}
	return lab.IOPS(direction)
}

func heatCellOf(c *Cell, direction string, most float64, all []mark) heatCell {
	if c == nil {
		return heatCell{Text: absent}
	}
	name := matrixMetric(c, direction)
	m := c.metric(name)
	text := shown(m)
	if c.namesMetrics() {
		text = ownFigure(m)
	}
	cell := heatCell{Text: text, Spread: spreadText(m), Signs: signsFor(all, c, name)}
	if m != nil && most > 0 {
		cell.Heat = int(100 * m.Shown() / most)
	}
	return cell
}

// mainDirection of a job is the first in which its cells have rates.
func mainDirection(cells []*Cell) string {
	for _, d := range lab.Directions() {
		for _, c := range cells {
			if c.metric(lab.IOPS(d)) != nil {
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

// axesOf finds what varies between the cells of a job: depth across and jobs down, as everybody draws it, then the rest
// by name.
func axesOf(cells []*Cell) []axis {
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
	for _, param := range sortedKeys(found) {
		if values := found[param]; len(values) > 1 {
			slices.SortFunc(values, compareValues)
			axes = append(axes, axis{param, values})
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(rank(a.param), rank(b.param)) })
	return axes
}

// compareValues puts amounts in their order (4k before 1M) and everything else in that of the alphabet.
func compareValues(a, b string) int {
	x, errX := unit.ParseBytes(a)
	y, errY := unit.ParseBytes(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

func placeKey(c *Cell, axes []axis) string {
	var b strings.Builder
	for _, a := range axes {
		b.WriteString(strconv.Quote(c.Params[a.param]))
	}
	return b.String()
}

// combinations of the values of all axes; one empty combination for no axes.
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
