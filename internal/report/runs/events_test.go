package runs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// eventRun is a run whose load has a rate of 1000 for 20 s, none for 2 s, half until 30 s, and the full rate again, in
// each of its repetitions, and a last repetition that does not recover.
func eventRun(t *testing.T) summary.Run {
	t.Helper()
	run := lab.Run{ID: "RUN1", Suite: "s", Source: lab.Measured, Status: lab.Complete,
		Arms: []lab.Arm{{ID: "1", Role: "storage"}}, Targets: []lab.RunTarget{{Role: "storage", Target: "ssh://db1"}},
		Cells: []lab.Cell{{ID: "c", Arm: "1", Job: "reads", Engine: lab.EngineFio}},
		Events: []lab.Event{{At: 20, For: 10, Target: "ssh://switch", Command: []string{"sh", "cut.sh"},
			Undo: []string{"sh", "put.sh"}, ExpectedShare: 0.5}}}
	var reps []lab.Repetition
	for n := range 2 {
		rate := lab.Series{Metric: "iops", Interval: 0.1}
		for i := range 400 {
			v := 1000.0
			switch {
			case i >= 200 && i < 220:
				v = 0
			case i >= 220 && (i < 300 || n == 1):
				v = 500
			}
			rate.Values = append(rate.Values, v)
		}
		reps = append(reps, lab.Repetition{Cell: "c", Number: n + 1,
			Values: map[string]float64{"read.iops": 800, "read.latency.max": []float64{2.1, 12.4}[n]},
			Events: &lab.EventResult{Rate: rate,
				Each: []lab.Occurrence{{At: 20, Took: 0.1, Undone: 30, UndoTook: 0.1, Uncertainty: 0.01}}}})
	}
	reps = append(reps, lab.Repetition{Cell: "c", Number: 3, Values: map[string]float64{},
		Events: &lab.EventResult{Each: []lab.Occurrence{{Failed: "no such link"}}}})
	s, err := summary.Of(run, func(yield func(lab.Repetition, error) bool) {
		for _, r := range reps {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEventsInWords(t *testing.T) {
	s := eventRun(t)
	text := strings.Join(eventTexts(&s), "\n")
	for _, words := range []string{
		"Event: sh cut.sh (reads, repetition 1, 20 s into it): after it the rate fell within 0.1 s to 0% of 1.00k, " +
			"and nothing came through for 2 s; meanwhile the rate settled at 50% (50% to 50%), where 50% should be " +
			"left; 0.1 s after it was undone the rate was back; back to 95% of its former level 10 s after the event.",
		"repetition 2, 20 s into it): after it the rate fell", "after it was undone the rate stayed low; the rate " +
			"was not back to 95% of its former level when the load ended; the slowest I/O of the load took 12.4 s, while " +
			"others continued.",
		"repetition 3, 20 s into it): it was not carried out as intended: no such link.",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("no %q in\n%s", words, text)
		}
	}
	if text := written(t, "table", []summary.Run{s}, report.Options{}); !strings.Contains(text, "Event: sh cut.sh") {
		t.Error(text)
	}
	plots := eventPlots(&s, &s.Cells[0], "reads")
	if len(plots) != 1 || len(plots[0].Series) != 2 || len(plots[0].Marks) != 2 {
		t.Errorf("%+v", plots)
	}
}

// The published document is complete, and unknown values are null.
func TestEventsPublished(t *testing.T) {
	s := eventRun(t)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{`"events":{"schema":"headroom/event/v1"`, `"recovery":null`, `"stall":2`,
		`"rate":{"metric":"iops","interval":0.1`, `"left":0.5`, `"slowest":12.4`} {
		if !strings.Contains(string(text), words) {
			t.Errorf("no %s in %.2000s", words, text)
		}
	}
	clean := summary.Redact(s, false)
	if clean.Events == s.Events || &clean.Events.Loads[0] == &s.Events.Loads[0] ||
		clean.Events.Loads[2].Happened[0].Failed != "no such link" {
		t.Errorf("%+v", clean.Events)
	}
	if none := (&summary.Run{}); eventTexts(none) != nil {
		t.Error("events of a run without any")
	}
}
