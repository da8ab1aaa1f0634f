//go:build bench

package compare

import (
	"fmt"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// What one side leaves to whatever follows it, in suites: how often the side that is slower by itself is called faster,
// or the same.
func TestSimulatedCarryOver(t *testing.T) {
	for _, loads := range []int{1, 8} {
		for _, noise := range []float64{0.01, 0.03} {
			for _, left := range []float64{0, 0.02, 0.05, 0.15, 0.3} {
				name := fmt.Sprintf("%g-of-loads-%d-noise-%g", 100*left, loads, 100*noise)
				recordCarried(t, name, loads, leaving{left: left, noise: noise})
			}
		}
		for _, runs := range []int{2, 3} { // each run is within three runs after the new side
			recordCarried(t, fmt.Sprintf("15-for-%d-runs-of-loads-%d", runs, loads), loads,
				leaving{left: 0.15, noise: 0.01, runs: runs})
		}
		recordCarried(t, fmt.Sprintf("15-once-in-3-of-loads-%d", loads), loads,
			leaving{left: 0.15, noise: 0.01, sometimes: 2.0 / 3})
	}
}

func recordCarried(t *testing.T, name string, loads int, of leaving) {
	t.Helper()
	comparisons := 480 / loads
	wrong, right, withheld, before := carriedVerdicts(t, comparisons, loads, of)
	all := comparisons * loads
	name = "decisions/carry-over/" + name
	for _, f := range []struct {
		name, text string
		n          int
		better     string
	}{
		{"wrong", "verdicts that are wrong about the sides measured alone", wrong, figure.Lower},
		{"right", "verdicts that are right about the sides measured alone", right, figure.Higher},
		{"withheld", "verdicts withheld", withheld, ""},
		{"faster-in-turns", "intervals of a change in turns that say faster", before, ""},
	} {
		g := figure.Share(name+"/"+f.name, f.n, all, f.better)
		g.Text = f.text
		figure.Record(t, g)
	}
	if wrong > all*7/100 && of.runs <= stat.MostCarried {
		t.Errorf("%s: %d of %d are wrong", name, wrong, all)
	}
}
