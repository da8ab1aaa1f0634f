package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
)

// oddRun has names of 200 characters, rates of nothing and of a million times another, an interval that extends beyond
// all values, one repetition, a ceiling nearby, events with long names, and a cell without measurements.
func oddRun(t *testing.T) summary.Run {
	t.Helper()
	s := eventRun(t)
	s.ID, s.Suite, s.Events.Events[0].Command = "0DD0DD0DD0", strings.Repeat("suite ", 40), []string{
		strings.Repeat("cut-the-link ", 20)}
	add := func(job, metric string, center float64, i *stat.Interval) *summary.Cell {
		s.Cells = append(s.Cells, summary.Cell{ID: fmt.Sprint("odd", len(s.Cells)), Job: job, N: 1,
			Engine: lab.EngineFio,
			Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "1"},
			Metrics: map[string]summary.Metric{metric: {Center: center, Interval: i, Unit: lab.Metric(metric).Unit,
				Better: lab.Metric(metric).Better, Values: []summary.Value{{Value: center, Repetition: 1}}}}})
		return &s.Cells[len(s.Cells)-1]
	}
	add(strings.Repeat("long-name-", 20), "read.iops", 800, &stat.Interval{Lo: 16, Hi: 41600, Confidence: 0.5})
	add("zero", "write.iops", 0, &stat.Interval{Lo: 0, Hi: 0, Confidence: 0.95})
	add("huge", "write.iops", 8e8, nil)
	add("nothing", "cpu.user", 0, nil)
	near := add("near", "read.bandwidth", 1<<30, &stat.Interval{Lo: 1 << 29, Hi: 3 << 29, Confidence: 0.75})
	m := near.Metrics["read.bandwidth"]
	m.Ceiling = &summary.Ceiling{Value: 5 << 28, Limiter: strings.Repeat("a link ", 30)}
	near.Metrics["read.bandwidth"] = m
	near.Params["bs"] = "1m"
	near.Latency = map[string]lab.Histogram{lab.Read: {Nanoseconds: []int64{100_000}, Counts: []uint64{7}}}
	near.Series = []summary.Series{{Repetition: 1, Series: lab.Series{Metric: "read.bandwidth", Interval: 1,
		Values: []float64{0, 1 << 40, 1}}}}
	near.Warnings = []lab.RepeatedWarning{{Warning: warning("stalls", "*"), Repetitions: 1}}
	return s
}

// manyLoads is a run of a job with a number of cells.
func manyLoads(t *testing.T, cells int) summary.Run {
	t.Helper()
	s := summarized(t, "measured")
	c := s.Cells[3]
	s.Cells = nil
	for i := range cells {
		c.ID, c.Job = fmt.Sprint("c", i), fmt.Sprintf("job-%03d", i)
		s.Cells = append(s.Cells, c)
	}
	return s
}

// runPages are documents of runs, by what is unusual about them.
func runPages(t *testing.T) map[string]document.Document {
	t.Helper()
	pages := map[string]document.Document{"runs": Document(fixtures(t), report.Options{})}
	for name, s := range map[string]summary.Run{"odd run": oddRun(t), "run of 200 cells": manyLoads(t, 200),
		"run with events": eventRun(t)} {
		pages[name] = Document([]summary.Run{s}, report.Options{})
	}
	return pages
}

// A page begins with a picture of all loads, and opens no more than one of each quantity; further loads are below.
func TestOverviewHasAllLoads(t *testing.T) {
	s := manyLoads(t, 200)
	r := newRunText(&s, report.Options{})
	p, points := r.overview(), 0
	for _, plot := range p.List {
		if len(plot.Y.Names) > mostOverviewRows {
			t.Errorf("%s has %d rows", plot.Title, len(plot.Y.Names))
		}
		points += plot.Points()
	}
	if points != 2*200 || p.Open != 2 { // IOPS and p99
		t.Errorf("%d points, %d pictures are open", points, p.Open)
	}
}

// The signs of warnings about the answer are at its end, and never inside.
func TestSignsStandBehindTheAnswer(t *testing.T) {
	s := summarized(t, "measured")
	for _, b := range runDocument(&s, report.Options{}).Blocks {
		if a, ok := b.(document.Sentence); ok && a.Role == document.Answer {
			if text := strings.TrimSuffix(a.Text, ". !1 !2 !3 !4 !5"); text == a.Text || strings.Contains(text, "!") {
				t.Error(a.Text)
			}
		}
	}
}

// A distribution has a name at each percentile, and names do not overlap.
func TestPercentilesHaveRoomForTheirNames(t *testing.T) {
	s := summarized(t, "measured")
	checked := 0
	for i := range s.Cells {
		c := &s.Cells[i]
		for d, h := range c.Latency {
			p, ok := distribution(c, d, c.Job)
			if !ok || len(p.Marks) != 3 {
				t.Fatalf("%s %s: %+v", c.Job, d, p.Marks)
			}
			svg := string(render.Picture(p))
			for _, m := range p.Marks {
				if !strings.Contains(svg, ">"+m.Text+"</text>") {
					t.Errorf("%s %s: no name %s", c.Job, d, m.Text)
				}
			}
			if got := p.Marks[0].At; got != stat.BinQuantile(h.Nanoseconds, h.Counts, 0.5)/1e9 {
				t.Errorf("%s %s: p50 is at %v", c.Job, d, got)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no bins")
	}
}

// An interrupted run is resumed with the command that made it.
func TestGoOnWithTheCommandThatMeasured(t *testing.T) {
	for _, design := range []lab.Design{lab.DesignRun, lab.DesignNet, lab.DesignNFS, lab.DesignLive} {
		s := fixtures(t)[0]
		s.Status, s.Design = lab.Interrupted, design
		text := strings.Join(strings.Fields(written(t, "table", []summary.Run{s}, report.Options{})), " ")
		if want := "continue: " + design.Resume(s.ID); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", design, want, text)
		}
	}
}
