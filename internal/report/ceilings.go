package report

import (
	"fmt"
	"slices"

	"headroom/internal/ceiling"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/unit"
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
			if c.metric(lab.IOPS(d)) != nil || c.metric(lab.Bandwidth(d)) != nil {
				directions++
			}
		}
		for _, metric := range ceiling.Metrics() {
			m := c.metric(metric)
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

func plateauText(s *Summary) string {
	var texts []string
	for _, p := range s.Plateaus {
		texts = append(texts, p.Text)
	}
	return prose.Join(texts...)
}

// ceilingTexts say what the ceilings are and where they come from, each once.
func ceilingTexts(s *Summary) []string {
	type printed struct {
		text       string
		directions []string
		best       map[string]float64 // highest share reached, by direction
	}
	var all []printed
	for _, c := range s.Cells {
		for _, d := range []struct{ direction, name string }{{lab.Read, "reads"}, {lab.Write, "writes"}} {
			m := c.metric(lab.Bandwidth(d.direction))
			if m == nil || m.Ceiling == nil {
				continue
			}
			text := fmt.Sprintf("%s, %s: %s.", unit.Value(m.Unit, m.Ceiling.Value), m.Ceiling.Limiter,
				m.Ceiling.Derivation)
			i := slices.IndexFunc(all, func(have printed) bool { return have.text == text })
			if i < 0 {
				i, all = len(all), append(all, printed{text: text, best: map[string]float64{}})
			}
			if !slices.Contains(all[i].directions, d.name) {
				all[i].directions = append(all[i].directions, d.name)
			}
			all[i].best[d.name] = max(all[i].best[d.name], m.Shown()/m.Ceiling.Value)
		}
	}
	const most = 4
	var texts []string
	for i, one := range all {
		if i == most {
			return append(texts, fmt.Sprintf("%d more ceilings: --json has all of them.", len(all)-most))
		}
		var best []string
		for _, name := range one.directions {
			best = append(best, unit.Percent(one.best[name])+" of it by "+name)
		}
		texts = append(texts, "Ceiling of "+prose.List(one.directions)+": "+one.text+" Reached: "+prose.List(best)+".")
	}
	return texts
}
