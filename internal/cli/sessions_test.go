package cli

import (
	"testing"

	"headroom/internal/history"
	"headroom/internal/lab"
)

func TestSessionsThatTellHowFarSessionsDiffer(t *testing.T) {
	steal, slow, spread := lab.Warning{Code: "cpu-steal", Taints: []string{"*"}}, lab.Warning{Code: "cpu-frequency", Taints: []string{"iops"}}, lab.Warning{Code: "wide-interval", Taints: []string{"*"}}
	values := map[string][]float64{"rate": {1, 1, 1, 1, 1}}
	for _, c := range []struct {
		name    string
		cell    history.Cell
		doubted bool
	}{
		{"nothing befell it", history.Cell{}, false},
		{"one of five", history.Cell{OfRepetitions: []lab.Warning{steal}}, false},
		{"most", history.Cell{OfRepetitions: []lab.Warning{steal, slow, steal, steal}}, true},
		{"of another metric", history.Cell{OfRepetitions: []lab.Warning{slow, slow, slow, slow, slow}}, false},
		{"the whole cell", history.Cell{Warnings: []lab.Warning{steal}}, true},
		{"a wide spread, which is what is asked for", history.Cell{Warnings: []lab.Warning{spread}}, false},
	} {
		c.cell.Values = values
		if got := doubted(c.cell, "rate"); got != c.doubted {
			t.Errorf("%s: doubted %v, want %v", c.name, got, c.doubted)
		}
	}
}
