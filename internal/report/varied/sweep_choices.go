package varied

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// groupTable has the best single choice for each value of each parameter.
func groupTable(d *sweep.Document) []document.Block {
	const title = "Best single choice for a part of the loads"
	t := document.Table{Name: "parts", Columns: []document.Column{
		{Title: "loads", Kind: document.Words},
		{Title: "level", Kind: document.Verdict},
		{Title: "tied with", Kind: document.Verdict, Drop: 3, Optional: true},
		{Title: "at worst", Kind: document.Number, DropInterval: 2},
		{Title: "over " + d.Baseline, Kind: document.Number, Drop: 1, DropInterval: 4, Optional: true},
	}}
	for _, g := range d.Groups {
		var name []string
		for _, key := range slices.Sorted(maps.Keys(g.Params)) {
			name = append(name, key+" "+sweepValue(key, g.Params[key]))
		}
		row := []document.Cell{{Text: strings.Join(name, ", ")}, {Text: document.Absent}, {}, {}, {}}
		if r := g.Recommended; r != nil {
			row[1].Text, row[3] = choiceLevel(d, r), document.Cell{Text: lossText(r.Loss), Interval: lossBounds(r.Loss)}
			if r.Distinguishable {
				row[2].Text = strings.Join(without(r.Set, r.Level), ", ")
			}
			if r.Level != d.Baseline {
				row[4] = ratioCell(r.Gain)
			}
		}
		t.Rows = append(t.Rows, document.Row{Cells: row})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []document.Block{document.Heading{Text: title}, t}
}

// sweepValue returns a parameter in the usual notation: a block size of 4096 is 4k.
func sweepValue(param, value string) string {
	if param == "bs" {
		return unit.BlockSize(value)
	}
	return value
}

// choiceLevel returns the best single choice, or the sign for an undetermined one.
func choiceLevel(d *sweep.Document, r *sweep.Recommended) string {
	switch {
	case d.MeansOnly:
		return meanSign + r.Level
	case !r.Distinguishable:
		return "·"
	}
	return r.Level
}

func lossText(l sweep.Loss) string {
	if l.Loss <= 0 {
		return "0"
	}
	return "-" + unit.Percent(l.Loss)
}

func lossBounds(l sweep.Loss) string {
	if !l.Known() || bare(*l.Hi) == "0" {
		return ""
	}
	lo := "-" + bare(*l.Lo)
	if *l.Lo <= 0 {
		lo = "0"
	}
	return "[-" + bare(*l.Hi) + ", " + lo + "]"
}

// maxHarm is how many pairs of levels a terminal shows.
const maxHarm = 5

// harmList lists levels that are worse than a lower one or the baseline, with the loads.
func harmList(d *sweep.Document) []document.Block {
	type pair struct{ level, than string }
	type printed struct {
		pair
		loads []string
		worst sweep.Ratio
		title string
	}
	var all []printed
	for _, c := range d.Cells {
		for _, h := range c.Harm {
			of := pair{h.Level, h.Than}
			i := slices.IndexFunc(all, func(s printed) bool { return s.pair == of })
			if i < 0 {
				i = len(all)
				all = append(all, printed{pair: of})
			}
			all[i].loads = append(all[i].loads, c.Title)
			if all[i].title == "" || math.Abs(math.Log(h.Ratio.Ratio)) > math.Abs(math.Log(all[i].worst.Ratio)) {
				all[i].worst, all[i].title = h.Ratio, c.Title
			}
		}
	}
	if len(all) == 0 || d.Chain != nil { // the chain shows where it was lost
		return nil
	}
	list := document.List{Brief: maxHarm}
	for _, s := range all {
		where, at := s.title, ""
		if len(s.loads) > 1 {
			where, at = prose.Count(len(s.loads), "load"), " in "+s.title+" at most"
		}
		list.Items = append(list.Items, document.Item{Text: fmt.Sprintf("%s is worse than %s in %s: %s%s", s.level,
			s.than, where, gainOf(&s.worst), at)})
	}
	return []document.Block{document.Heading{Text: "Levels that do harm"}, list}
}
