package runs

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// A p99.9 that is determined by one repetition has no ±, and the report names the repetition and the reason.
func TestAPercentileThatRestsOnOneRepetitionHasNoInterval(t *testing.T) {
	run := lab.Run{ID: "7KQ4M2X9TD", Status: lab.Complete, Source: lab.Measured, Suite: "s",
		Arms: []lab.Arm{{ID: "1"}}, Cells: []lab.Cell{{ID: "c", Arm: "1", Job: "randwrite",
			Params: map[string]string{"rw": "randwrite", "bs": "4k", "iodepth": "1"}}}}
	measured := func(own ...float64) summary.Run {
		s, err := summary.Of(run, func(yield func(lab.Repetition, error) bool) {
			for i, v := range own {
				h := lab.Histogram{Nanoseconds: []int64{100e3, int64(1e9 * v)}, Counts: []uint64{9900, 100}}
				if !yield(lab.Repetition{Cell: "c", Number: i + 1, Values: map[string]float64{"write.iops": 1000,
					"write.latency.p99.9": v}, Latency: map[string]lab.Histogram{lab.Write: h}}, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	stalled := measured(0.001, 0.0011, 0.05, 0.0012, 0.001)
	const resting = "p99.9 of randwrite 4k q1 rests on repetition 3 alone (50.0 ms by itself, at most 1.20 ms in others), " +
		"and has no ±: how often such a repetition comes is not known."
	if lines := readingOfSpread(&stalled); !slices.Contains(lines, resting) {
		t.Errorf("%q", lines)
	}
	if m := stalled.Cells[0].Metric("write.latency.p99.9"); report.SpreadText(m) != "" {
		t.Errorf("±: %s", report.SpreadText(m))
	}
	for line := range strings.Lines(written(t, "openmetrics", []summary.Run{stalled}, report.Options{})) {
		if strings.HasPrefix(line, "headroom_low_") && strings.Contains(line, `part="p99.9"`) {
			t.Errorf("an interval: %s", line)
		}
	}
	alike := measured(0.001, 0.0011, 0.0013, 0.0012, 0.001)
	const about = "p50, p99 and p99.9 cover the operations of all repetitions together; their ± covers repetitions " +
		"like these: 5 may lack stalls that up to 45% of all runs have."
	if lines := readingOfSpread(&alike); !slices.Contains(lines, about) || strings.Contains(strings.Join(lines, ""),
		"rests on") {
		t.Errorf("%q", lines)
	}
	if m := alike.Cells[0].Metric("write.latency.p99.9"); report.SpreadText(m) == "" {
		t.Error("no ± although the repetitions are alike")
	}
}
