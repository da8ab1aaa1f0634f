package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Histories of a disk on which nothing was changed: each run is five repetitions out of its trace. Runs at any time of
// it, as runs of other days are, are hardly ever called changed. Runs without a pause between them have what neighbours
// did in the hour of the trace: that level is another one then, which is proved and is no fault; how often is recorded,
// and nothing is promised of it.
func TestChangePointsOfRecordedRuns(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	const repetitions = 5
	trials := figure.Times(20, 500)
	for _, n := range []int{24, 50} {
		search := NewChangeSearch(0.05, 1)
		for _, m := range models {
			r := rand.New(rand.NewPCG(29, uint64(n)))
			apart, inARow := 0, 0
			for range trials {
				whole := m.Runs(r, repetitions*n)
				row, spread := make([]float64, n), make([]float64, n)
				for i := range n {
					row[i], spread[i] = centerOf(whole[repetitions*i:repetitions*(i+1)]),
						centerOf(m.Runs(r, repetitions))
				}
				apart, inARow = apart+provedOnce(search, spread), inARow+provedOnce(search, row)
			}
			what := fmt.Sprintf("%d runs, %s", n, m.Name)
			figure.Record(t, figure.Share(figure.Name("decisions/history/recorded-apart", what), apart, trials,
				figure.Lower).Saying("a change is proved where nothing was changed: %s, at any time", what))
			figure.Record(t, figure.Share(figure.Name("decisions/history/recorded-in-a-row", what), inARow, trials,
				"").Saying("a change is proved where nothing was changed but by neighbours: %s, without a pause", what))
			if apart > trials*5/100 {
				t.Errorf("%s: a change is proved in %d of %d", what, apart, trials)
			}
		}
	}
}

// centerOf is what a history has of a run: the median of its repetitions, whose logarithms these are.
func centerOf(logs []float64) float64 {
	values := make([]float64, len(logs))
	for i, l := range logs {
		values[i] = 1000 * math.Exp(l)
	}
	return stat.MedianInterval(values, 0.95).Center
}

// provedOnce is 1 where any change is proved.
func provedOnce(search *ChangeSearch, values []float64) int {
	for _, p := range search.ChangePoints(values) {
		if !p.Likely {
			return 1
		}
	}
	return 0
}
