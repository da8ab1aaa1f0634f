package runner

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// What is undone is so when the load ends at the latest, and in the order of time.
func TestAgenda(t *testing.T) {
	cut := lab.Event{At: 10, For: 20, Command: []string{"cut"}, Undo: []string{"put"}}
	late := lab.Event{At: 25, For: 20, Command: []string{"cut2"}, Undo: []string{"put2"}}
	restart := lab.Event{At: 15, Command: []string{"restart"}}
	v := &events{all: []ScheduledEvent{{Event: cut}, {Event: late}, {Event: restart}}}
	want := []scheduledStep{{12 * time.Second, 0, false}, {17 * time.Second, 2, false}, {27 * time.Second, 1, false},
		{32 * time.Second, 0, true}, {42 * time.Second, 1, true}}
	if got := v.schedule(2*time.Second, 42*time.Second); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	// nobody knows when the load ends
	if got := v.schedule(0, 0); got[len(got)-1] != (scheduledStep{45 * time.Second, 1, true}) {
		t.Errorf("%v", got)
	}
}

// Repetitions get what the events did as values; what is not known, or not back, is said and is no number.
func TestAnalyzeEvents(t *testing.T) {
	judged := func(seconds int, factor func(i int) float64, values map[string]float64) lab.Repetition {
		rate := lab.Series{Metric: "iops", Interval: 0.1}
		for i := range 10 * seconds {
			rate.Values = append(rate.Values, 1000*factor(i))
		}
		v := &events{all: []ScheduledEvent{{Event: lab.Event{At: 10, Command: []string{"cut"}}}}}
		a := &attempt{rep: lab.Repetition{Values: values,
			Events: &lab.EventResult{Rate: rate, Each: []lab.Occurrence{{At: 10}}}}}
		v.analyze(a)
		return a.rep
	}
	gap := func(from, to int) func(int) float64 {
		return func(i int) float64 { return map[bool]float64{true: 0, false: 1}[i >= from && i < to] }
	}
	back := judged(30, gap(100, 120), map[string]float64{})
	if math.Abs(back.Values[lab.EventStall]-2) > 0.01 || math.Abs(back.Values[lab.EventRecovery]-2) > 0.11 ||
		back.Values[lab.EventDip] != 1 || len(back.Warnings) != 0 {
		t.Errorf("%+v", back)
	}
	never := judged(30, gap(100, 300), map[string]float64{})
	if _, known := never.Values[lab.EventRecovery]; known || len(never.Warnings) != 1 ||
		never.Warnings[0].Code != "not-recovered" || !never.Warnings[0].Tainted(lab.EventRecovery) {
		t.Errorf("%+v", never)
	}
	short := judged(10, gap(0, 0), map[string]float64{})
	if len(short.Values) != 0 || len(short.Warnings) != 1 || short.Warnings[0].Code != "event-unknown" ||
		!strings.Contains(short.Warnings[0].Text, "the load ended") {
		t.Errorf("%+v", short)
	}
	if none := judged(30, gap(100, 120), nil); none.Values != nil {
		t.Errorf("%+v", none)
	}
}

// Checks of steadiness see the load up to its first event.
func TestBeforeFirstEvent(t *testing.T) {
	v := &events{all: []ScheduledEvent{{Event: lab.Event{At: 3.5}}, {Event: lab.Event{At: 2}}}}
	all := []lab.Series{{Interval: 1, Values: []float64{1, 2, 3, 4}}, {Interval: 1, Values: []float64{1}}}
	if got := v.beforeFirst(all); len(got[0].Values) != 2 || len(got[1].Values) != 1 || len(all[0].Values) != 4 {
		t.Errorf("%+v", got)
	}
}
