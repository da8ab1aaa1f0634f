package sweep

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/unit"
)

// title names each cell by the parameters that differ, in the usual notation: "randread 4k q32 x4". The factor's own
// parameter is not among a cell's parameters, so its default is not printed either.
func title(cells []CellInput) {
	differ := map[string][]string{}
	for _, c := range cells {
		for name := range c.Params {
			differs := slices.ContainsFunc(cells, func(o CellInput) bool {
				return o.Job == c.Job && o.Params[name] != c.Params[name]
			})
			if differs && !slices.Contains(differ[c.Job], name) {
				differ[c.Job] = append(differ[c.Job], name)
			}
		}
	}
	short := make([]string, len(cells))
	for i, c := range cells {
		words := []string{c.Job}
		if rw := c.Params["rw"]; rw != "" && !strings.Contains(c.Job, rw) {
			words = append(words, rw)
		}
		for _, p := range []struct {
			name, prefix, plain string
		}{{"bs", "", ""}, {"iodepth", "q", ""}, {"numjobs", "x", "1"}} {
			if v := c.Params[p.name]; v != "" && v != p.plain {
				words = append(words, p.prefix+unit.BlockSize(v))
			}
		}
		short[i] = strings.Join(words, " ")
	}
	for i, c := range cells {
		cells[i].Title = short[i]
		if first := slices.Index(short, short[i]); first == i && !slices.Contains(short[i+1:], short[i]) {
			continue // the title is unique already
		}
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			if slices.Contains(differ[c.Job], name) && !slices.Contains([]string{"rw", "bs", "iodepth", "numjobs"},
				name) {
				cells[i].Title += " " + name + "=" + c.Params[name]
			}
		}
	}
}
