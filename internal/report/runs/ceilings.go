package runs

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

func plateauText(s *summary.Run) string {
	var texts []string
	for _, p := range s.Plateaus {
		texts = append(texts, p.Text)
	}
	return prose.Join(texts...)
}

// ceilingTexts describes the ceilings and their sources, each once.
func ceilingTexts(s *summary.Run) []string {
	type printed struct {
		text       string
		directions []string
		best       map[string]float64 // highest share reached, by direction
	}
	var all []printed
	for _, c := range s.Cells {
		for _, d := range []struct{ direction, name string }{{lab.Read, "reads"}, {lab.Write, "writes"}} {
			m := c.Metric(lab.Bandwidth(d.direction))
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
