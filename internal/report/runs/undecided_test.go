package runs

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// steered is a run by precision with one job, whose repetitions had these values and took ten seconds each.
func steered(t *testing.T, precision float64, params map[string]string, metric string, values ...float64) summary.Run {
	t.Helper()
	run := lab.Run{
		ID: "7KQ4M2X9TD", Status: lab.Complete, Source: lab.Measured, Suite: "s", Precision: precision,
		Budget: 600, Anytime: true,
		Arms: []lab.Arm{{ID: "1"}}, Cells: []lab.Cell{{ID: "c", Arm: "1", Job: "randwrite", Params: params}},
	}
	s, err := summary.Of(run, func(yield func(lab.Repetition, error) bool) {
		for i, v := range values {
			rep := lab.Repetition{Cell: "c", Number: i + 1, Took: 10,
				Values: map[string]float64{metric: v, "write.latency.p99": 1 / v}}
			if !yield(rep, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatTheBudgetLeftUndecided(t *testing.T) {
	limited := map[string]string{"rw": "randwrite", "bs": "4k", "iodepth": "1", "rate_iops": "500"}
	free := map[string]string{"rw": "randwrite", "bs": "4k", "iodepth": "1"}
	eight := []float64{98, 101, 94, 103, 100, 100, 102, 99}
	for name, c := range map[string]struct {
		summary summary.Run
		want    string
		more    time.Duration
	}{
		"wide": {steered(t, 0.03, free, "write.iops", eight...),
			"randwrite: write IOPS ±6.0% after 8 repetitions; 45 more (7m 30s) reach ±3% in four of five cases",
			8 * time.Minute},
		"a rate of its own": {steered(t, 0.03, limited, "write.latency.mean", eight...),
			"randwrite: mean write latency ±6.0%", 8 * time.Minute},
		"few": {steered(t, 0.03, free, "write.iops", 99, 100, 101),
			"has no interval after 3 repetitions; 5 more (50s) would give one", time.Minute},
		"hopeless": {steered(t, 0.0001, free, "write.iops", eight...), "a day of repeating would not reach ±0.01%", 0},
		"precise": {steered(t, 0.10, free, "write.iops", eight...),
			"What each job is decided by is known to ±10% or better.", 0},
	} {
		text := strings.Join(precisionTexts(&c.summary), "\n")
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %q", name, text)
		}
		if got := moreTime(&c.summary); got != c.more {
			t.Errorf("%s: %v more, want %v", name, got, c.more)
		}
	}
}

// The table must not contradict the decision: its ± is the one that the plan used.
func TestTheTableShowsTheIntervalThatDecided(t *testing.T) {
	s := steered(t, 0.03, map[string]string{"rw": "randwrite", "bs": "4k"}, "write.iops", 98, 101, 94,
		103, 100, 100, 102, 99)
	m := s.Cells[0].Metrics["write.iops"]
	if m.Estimator != "median, anytime" || m.Interval == nil || m.Lo != 94 || m.Hi != 103 ||
		report.SpreadText(&m) != "±6.0%" {
		t.Errorf("%+v, %s", m, report.SpreadText(&m))
	}
	if len(s.Undecided) != 1 || s.Undecided[0].Metric != "write.iops" || *s.Undecided[0].Width != 0.06 {
		t.Errorf("%+v", s.Undecided)
	}
	fixed := steered(t, 0, nil, "write.iops", 99, 100, 101)
	if fixed.Undecided != nil || len(precisionTexts(&fixed)) != 0 {
		t.Errorf("nothing was asked for: %+v", fixed.Undecided)
	}
	if few := strings.Join(readingOfSpread(&fixed), " "); !strings.Contains(few, "an interval (±) takes 8") {
		t.Errorf("%q", few)
	}
}

func TestBriefly(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Minute: "1m", 22 * time.Minute: "22m", 30 * time.Second: "30s",
		time.Hour:        "1h",
		90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 10 * time.Second: "10s"} {
		if got := briefly(d); got != want {
			t.Errorf("%v is said as %s", d, got)
		}
	}
}
