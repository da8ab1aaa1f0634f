//go:build bench

package compare

import (
	"fmt"
	"testing"

	"headroom/internal/figure"
)

// What one side leaves to whatever follows it, in suites: how often the side that is slower by itself is called faster,
// or the same.
func TestSimulatedCarryOver(t *testing.T) {
	for _, loads := range []int{1, 8} {
		for _, noise := range []float64{0.01, 0.03} {
			for _, left := range []float64{0, 0.02, 0.05, 0.15, 0.3} {
				comparisons := 480 / loads
				wrong, right, withheld, before := carriedVerdicts(t, comparisons, loads, left, noise)
				all := comparisons * loads
				name := fmt.Sprintf("decisions/carry-over/%g-of-loads-%d-noise-%g", 100*left, loads, 100*noise)
				for _, f := range []struct {
					name, text string
					n          int
					better     string
				}{
					{"wrong", "verdicts that are wrong of what each side does by itself", wrong, figure.Lower},
					{"right", "verdicts that are right of what each side does by itself", right, figure.Higher},
					{"withheld", "verdicts withheld", withheld, ""},
					{"faster-in-turns", "intervals of a change in turns that say faster", before, ""},
				} {
					g := figure.Share(name+"/"+f.name, f.n, all, f.better)
					g.Text = f.text
					figure.Record(t, g)
				}
				if wrong > all*7/100 {
					t.Errorf("%s: %d of %d are wrong", name, wrong, all)
				}
			}
		}
	}
}
