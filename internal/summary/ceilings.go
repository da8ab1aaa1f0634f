package summary

import (
	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// bound gives each metric its tightest ceiling, and the headroom below it.
func bound(metrics map[string]Metric, ceilings []ceiling.Ceiling) {
	for name, m := range metrics {
		c, ok := ceiling.Tightest(ceilings, name)
		if !ok {
			continue
		}
		headroom := c.Headroom(m.Shown())
		m.Ceiling, m.Headroom = published(c), &headroom
		metrics[name] = m
	}
}

func published(c ceiling.Ceiling) *Ceiling {
	return &Ceiling{Value: c.Value, Limiter: c.Limiter, Derivation: c.Derivation}
}

// plateaus of the cells that go in one direction: in bytes, and in operations among those of one block size.
func plateaus(cells []Cell, gathered map[string]*gathering) []Plateau {
	points, order := map[string][]ceiling.Point{}, []string{}
	for _, c := range cells {
		directions := 0
		for _, d := range lab.Directions() {
			if c.Metric(lab.IOPS(d)) != nil || c.Metric(lab.Bandwidth(d)) != nil {
				directions++
			}
		}
		for _, metric := range ceiling.Metrics() {
			m := c.Metric(metric)
			if m == nil || directions != 1 {
				continue
			}
			group := metric
			if m.Unit == lab.PerSecond {
				group += " " + c.Params["bs"]
			}
			if points[group] == nil {
				order = append(order, group)
			}
			points[group] = append(points[group], ceiling.Point{
				Cell: c.ID, Value: m.Center, Varies: varies(c), Ceilings: gathered[c.ID].ceilings,
			})
		}
	}
	var all []Plateau
	reported := map[string]bool{}
	for _, metric := range ceiling.Metrics() {
		for _, group := range order {
			if group != metric && (len(group) <= len(metric) || group[:len(metric)+1] != metric+" ") {
				continue
			}
			p, ok := ceiling.FindPlateau(metric, points[group])
			if !ok || reported[p.Cells[0]] {
				continue // the same cells, in other units
			}
			for _, id := range p.Cells {
				reported[id] = true
			}
			out := Plateau{Metric: metric, Value: p.Value, Cells: p.Cells, Whatever: p.Whatever, Reached: p.Reached,
				Text: p.String()}
			if p.Known {
				out.Ceiling = published(p.Nearest)
			}
			all = append(all, out)
		}
	}
	return all
}

// varies is what may differ between cells that share a plateau.
func varies(c Cell) map[string]string {
	out := map[string]string{"target": c.Target, "numjobs": "1"}
	for _, key := range []string{"iodepth", "numjobs", "bs", "rw"} {
		if v := c.Params[key]; v != "" {
			out[key] = v
		}
	}
	for factor, v := range c.Levels {
		out[factor] = v
	}
	return out
}
