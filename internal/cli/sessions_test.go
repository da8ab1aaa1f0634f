package cli

import (
	"testing"

	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/validity"
)

func TestSessionsThatTellHowFarSessionsDiffer(t *testing.T) {
	cached, steal, slow, spread := lab.Warning{Code: "page-cache", Taints: []string{"*"}},
		lab.Warning{Code: "cpu-steal", Taints: []string{"*"}}, lab.Warning{Code: "page-cache",
			Taints: []string{"iops"}}, lab.Warning{Code: "wide-interval", Taints: []string{"*"}}
	of := func(repetitions ...[]lab.Warning) (cell history.Cell) {
		for _, warnings := range repetitions {
			cell.Warnings.AddRepetition(warnings)
		}
		return cell
	}
	whole := func(w lab.Warning) (cell history.Cell) {
		cell.Warnings.AddWhole([]lab.Warning{w})
		return cell
	}
	values := map[string][]float64{"rate": {1, 1, 1, 1, 1}}
	for _, c := range []struct {
		name    string
		cell    history.Cell
		spoiled bool
	}{
		{"nothing befell it", history.Cell{}, false},
		{"one of five", of([]lab.Warning{cached}), false},
		{"one of five, which has it three times", of([]lab.Warning{cached, cached, cached}), false},
		{"most", of([]lab.Warning{cached}, []lab.Warning{slow}, []lab.Warning{cached}, []lab.Warning{cached}), true},
		{"of another metric", of([]lab.Warning{slow}, []lab.Warning{slow}, []lab.Warning{slow}), false},
		{"the whole cell", whole(cached), true},
		{"others at work, which sessions may differ by", whole(steal), false},
		{"a wide spread, which is what is asked for", whole(spread), false},
	} {
		c.cell.Values = values
		if got := results.Spoiled(validity.Weights(), c.cell, "rate"); got != c.spoiled {
			t.Errorf("%s: spoiled %v, want %v", c.name, got, c.spoiled)
		}
	}
}
