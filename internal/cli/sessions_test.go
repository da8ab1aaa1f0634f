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
	values := map[string][]float64{"rate": {1, 1, 1, 1, 1}}
	for _, c := range []struct {
		name    string
		cell    history.Cell
		spoiled bool
	}{
		{"nothing befell it", history.Cell{}, false},
		{"one of five", history.Cell{OfRepetitions: []lab.Warning{cached}}, false},
		{"most", history.Cell{OfRepetitions: []lab.Warning{cached, slow, cached, cached}}, true},
		{"of another metric", history.Cell{OfRepetitions: []lab.Warning{slow, slow, slow, slow, slow}}, false},
		{"the whole cell", history.Cell{Warnings: []lab.Warning{cached}}, true},
		{"others at work, which sessions may differ by", history.Cell{Warnings: []lab.Warning{steal}}, false},
		{"a wide spread, which is what is asked for", history.Cell{Warnings: []lab.Warning{spread}}, false},
	} {
		c.cell.Values = values
		if got := results.Spoiled(validity.Weights(), c.cell, "rate"); got != c.spoiled {
			t.Errorf("%s: spoiled %v, want %v", c.name, got, c.spoiled)
		}
	}
}
