package runs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// commandRun has a command with two cells and its own deciding metric, one that is decided by its time, and a fio job.
func commandRun(t *testing.T, withFio bool) summary.Run {
	t.Helper()
	own := map[string]lab.MetricInfo{"transactions": {Unit: lab.PerSecond, Better: lab.Higher, Decides: true},
		"used": {Unit: "joules", Better: lab.Lower}}
	run := lab.Run{ID: "COMMANDS", Suite: "mine", Status: lab.Complete, Source: lab.Measured,
		Arms: []lab.Arm{{ID: "1"}}}
	add := func(c lab.Cell) {
		c.Arm = "1"
		run.Cells = append(run.Cells, c)
	}
	for _, clients := range []string{"1", "8"} {
		add(lab.Cell{ID: "db-clients" + clients, Job: "db", Engine: lab.EngineExec, Metrics: own,
			Params:  map[string]string{"clients": clients},
			Command: &lab.Command{Argv: []string{"db", clients}}})
	}
	add(lab.Cell{ID: "build", Job: "build", Engine: lab.EngineExec, Params: map[string]string{},
		Command: &lab.Command{Argv: []string{"make"}}})
	var reps []lab.Repetition
	for i := range 6 {
		v := float64(i) / 100
		reps = append(reps,
			lab.Repetition{Cell: "db-clients1", Number: i + 1, Values: map[string]float64{"transactions": 800 + v,
				"used": 1234.56, "elapsed": 2, "cpu.user": 0.5}},
			lab.Repetition{Cell: "db-clients8", Number: i + 1, Values: map[string]float64{"transactions": 4200 + v,
				"used": 99, "elapsed": 2}},
			lab.Repetition{Cell: "build", Number: i + 1, Values: map[string]float64{"elapsed": 12 + v}})
		if withFio {
			reps = append(reps,
				lab.Repetition{Cell: "read", Number: i + 1, Values: map[string]float64{"read.iops": 50_000}})
		}
	}
	if withFio {
		add(lab.Cell{ID: "read", Job: "read", Engine: lab.EngineFio,
			Params: map[string]string{"rw": "randread", "bs": "4k"}})
	}
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

func TestCommandsInTables(t *testing.T) {
	s := commandRun(t, false)
	text := written(t, "table", []summary.Run{s}, report.Options{Options: render.Options{Width: 120}})
	for _, want := range []string{"db: transactions 4.20k/s at best (clients=8); build: elapsed 12.0 s.",
		"transactions", "1235 joules", "800/s", "12.0 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "IOPS") || strings.Contains(text, "p99") {
		t.Errorf("commands have no I/O to show:\n%s", text)
	}
	// The deciding metric is dropped last.
	for width := 40; width < 160; width++ {
		narrow := written(t, "table", []summary.Run{commandRun(t, true)},
			report.Options{Options: render.Options{Width: width}})
		if !strings.Contains(narrow, "4.20k/s") || !strings.Contains(narrow, "50.0k") {
			t.Fatalf("at %d columns:\n%s", width, narrow)
		}
		for line := range strings.Lines(narrow) {
			if n := prose.Columns(strings.TrimRight(line, "\n")); n > width {
				t.Fatalf("a line of %d columns at %d:\n%s", n, width, narrow)
			}
		}
	}
}

func TestCommandsInEveryFormat(t *testing.T) {
	s := commandRun(t, true)
	for format, wanted := range map[string][]string{
		"json":        {`"decides": true`, `"unit": "joules"`, `"better": "lower"`, `"runs"`, `"argv"`},
		"csv":         {",transactions,1/s,higher,", ",used,joules,lower,", ",elapsed,s,lower,"},
		"markdown":    {"| transactions |", "4.20k/s"},
		"html":        {"4.20k/s", "clients"},
		"sheet":       {"db clients=8 transactions (1/s)", "build elapsed (s)", "read randread"},
		"openmetrics": {"headroom_transactions_per_second{", "headroom_elapsed_seconds{", "headroom_used{"},
	} {
		text := written(t, format, []summary.Run{s}, report.Options{})
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
	}
}

// The best of commands for which lower is better is the fastest.
func TestBestOfCommands(t *testing.T) {
	low, high := &summary.Metric{Center: 1, Better: lab.Lower}, &summary.Metric{Center: 2, Better: lab.Lower}
	lines := []row{{name: "high", mean: high}, {name: "low", mean: low}}
	for range 2 {
		if best, m := highest(lines, "", func(r row) *summary.Metric { return r.mean }); best.name != "low" ||
			m != low {
			t.Errorf("the best is %s", best.name)
		}
		slices.Reverse(lines)
	}
	if got := fmt.Sprint(commandRun(t, false).Cells[0].Deciding()); got != "[transactions]" {
		t.Errorf("decided by %s", got)
	}
}
