package experiment

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestAdaptiveRunMaximumCost(t *testing.T) {
	w := Workload{Run: lab.Run{Precision: 0.03, Anytime: true,
		Targets: []lab.RunTarget{{Place: lab.Place{Size: 1 << 30}}}, Cells: []lab.Cell{
			{ID: "a", Job: "a", Repetitions: 1, Params: map[string]string{"rw": "randread", "runtime": "10s",
				"time_based": "1"}},
			{ID: "b", Job: "b", Repetitions: 1, Params: map[string]string{"rw": "randwrite", "bs": "4k",
				"rate_iops": "1000", "runtime": "10s", "time_based": "1"}},
		}}}
	each := 4096.0 * 1000 * 10
	if got := w.writesAtMost(w.SuiteCells()).Load; got != 100*each {
		t.Errorf("without a budget %v bytes, want those of 100 repetitions", got/each)
	}
	if got := strings.Join(w.adaptiveEstimate(), "; "); got != "2 cells, about 21s a pass, 8 passes (2m 46s) for an "+
		"interval; until ±3%, at most 200 loads, 34m 40s" {
		t.Errorf("%q", got)
	}
	w.Run.Budget = 104
	w.Saved = []lab.Repetition{{Cell: "a", Took: 52}}
	if got := w.writesAtMost(w.SuiteCells()).Load / each; got != 1+5 {
		t.Errorf("with 52 s left %v times the bytes of a repetition, want 1 and what 52 s can write", got)
	}
	if got := strings.Join(w.adaptiveEstimate(), "; "); !strings.HasSuffix(got, "until ±3%, at most 52s") {
		t.Errorf("%q", got)
	}
}
