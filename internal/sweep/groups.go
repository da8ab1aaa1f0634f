package sweep

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// operation is the parameter that totals sum over, as in the IOThreads report.
const operation = "rw"

// groups returns the cells with the same value of a parameter, for each parameter that has several values.
func (in *Input) groups(rows []*row, cells []Cell) []Group {
	out := []Group{}
	rows, cells = ofLoads(rows, cells)
	for _, param := range varying(cells) {
		var values []string
		for _, c := range cells {
			if v := c.Params[param]; !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		slices.SortStableFunc(values, byAmount)
		for _, v := range values {
			var these []*row
			var figures []Cell
			for i, c := range cells {
				if c.Params[param] == v {
					these, figures = append(these, rows[i]), append(figures, c)
				}
			}
			g := total(numbers(in.levels()), figures)
			g.Params, g.Recommended = map[string]string{param: v}, in.recommend(these)
			out = append(out, g)
		}
	}
	return out
}

// ofLoads leaves out commands: loads are not grouped by a command's parameters.
func ofLoads(rows []*row, cells []Cell) ([]*row, []Cell) {
	var keptRows []*row
	var kept []Cell
	for i, r := range rows {
		if r.cell.Command == nil {
			keptRows, kept = append(keptRows, r), append(kept, cells[i])
		}
	}
	return keptRows, kept
}

func (in *Input) levels() []Level {
	var out []Level
	for _, l := range in.Levels {
		out = append(out, Level{Name: l.Name, Number: numberOf(l.Name)})
	}
	return out
}

// groupable returns the common parameters of loads, and the levels of other factors. Other parameters that differ
// depend on these (a file name, a runtime), or belong to one suite.
func groupable(cells []Cell) []string {
	list := []string{operation, "bs", "numjobs", "iodepth", "rwmixread"}
	for _, c := range cells {
		for _, name := range sortedKeys(c.Params) {
			if strings.Contains(name, ":") && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// varying returns the parameters that differ between cells.
func varying(cells []Cell) []string {
	return slices.DeleteFunc(groupable(cells), func(param string) bool {
		return !slices.ContainsFunc(cells, func(c Cell) bool { return c.Params[param] != cells[0].Params[param] })
	})
}

// totals sums up over one parameter, for each combination of the others that differ, in the order of the cells.
func totals(levels []Level, cells []Cell, over string) []Group {
	out := []Group{}
	if !slices.Contains(varying(cells), over) {
		return out
	}
	by := slices.DeleteFunc(varying(cells), func(p string) bool { return p == over })
	members := map[string][]Cell{}
	var order []string
	for _, c := range cells {
		key := keyOf(c, by)
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], c)
	}
	number := numbers(levels)
	for _, key := range order {
		g := total(number, members[key])
		g.Params = map[string]string{}
		for _, p := range by {
			g.Params[p] = members[key][0].Params[p]
		}
		out = append(out, g)
	}
	return out
}

// total returns the arithmetic means of the cells' figures.
func total(number map[string]*float64, cells []Cell) Group {
	g := Group{Cells: len(cells)}
	smallest, gain, counted, gained := 0.0, 0.0, 0, 0
	for _, c := range cells {
		if c.Verdict == Better {
			g.Better++
		}
		if n := number[c.SmallestForShare]; n != nil {
			smallest += *n
			counted++
		}
		if c.Gain != nil {
			gain += c.gain()
			gained++
		}
	}
	if counted == len(cells) {
		average := smallest / float64(counted)
		rounded := halfUp(average)
		g.SmallestMean, g.SmallestForShare = &average, &rounded
	}
	if gained == len(cells) {
		average := gain / float64(gained)
		g.Gain = &average
	}
	return g
}

// gain returns the gain of the top level over the baseline as a share of the baseline, in goodness: half the latency is
// a gain of 1.
func (c Cell) gain() float64 {
	if c.Better == lab.Lower {
		return 1/c.Gain.Ratio - 1
	}
	return c.Gain.Ratio - 1
}

func numbers(levels []Level) map[string]*float64 {
	out := map[string]*float64{}
	for _, l := range levels {
		out[l.Name] = l.Number
	}
	return out
}

func keyOf(c Cell, params []string) string {
	var b strings.Builder
	for _, p := range params {
		b.WriteString(p + "=" + c.Params[p] + "\x00")
	}
	return b.String()
}

// byAmount compares sizes, so 4k sorts before 1M, and other words alphabetically.
func byAmount(a, b string) int {
	x, errX := unit.ParseBytes(a)
	y, errY := unit.ParseBytes(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
