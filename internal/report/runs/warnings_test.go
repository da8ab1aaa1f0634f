package runs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// warned is a run of small reads and writes, with warnings of the run and, by job, of its cells.
func warned(ofRun []string, ofCells map[string][]lab.Warning) summary.Run {
	s := summary.Run{ID: "7KQ4M2ZD9A", Suite: "quick", Status: lab.Complete}
	for _, code := range ofRun {
		s.Warnings = append(s.Warnings, lab.RepeatedWarning{Warning: warning(code)})
	}
	for i, job := range []string{"slow", "middle", "fast", "failed"} {
		c := summary.Cell{ID: fmt.Sprint("c", i), Job: job, N: 3, Metrics: map[string]summary.Metric{},
			Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "8"}}
		for metric, value := range map[string]float64{"read.iops": float64(1000 * (i + 1)), "read.latency.p50": 0.001,
			"read.latency.p99": 0.002, "read.latency.p99.99": 0.003} {
			if job != "failed" {
				c.Metrics[metric] = summary.Metric{Center: value, Unit: lab.Metric(metric).Unit,
					Better: lab.Metric(metric).Better}
			}
		}
		for _, w := range ofCells[job] {
			c.Warnings = append(c.Warnings, lab.RepeatedWarning{Warning: w, Repetitions: 3})
		}
		s.Cells = append(s.Cells, c)
	}
	return s
}

func warning(code string, taints ...string) lab.Warning {
	return lab.Warning{Code: code, Text: "what " + code + " saw", Taints: append([]string{}, taints...)}
}

func TestTheMostImportantWarningsComeFirst(t *testing.T) {
	steal, drift, core := warning("cpu-steal", "*"), warning("drifting", "read.*"), warning("core-full")
	stall, short := warning("stalls", "read.*"), warning("short-run", "*")
	for name, test := range map[string]struct {
		ofRun   []string
		ofCells map[string][]lab.Warning
		want    string
	}{
		"nothing": {want: ""},
		"what taints the answer, then the table, then nothing": {
			ofCells: map[string][]lab.Warning{"slow": {core, drift}, "fast": {core, steal}},
			want:    "cpu-steal drifting core-full"},
		"the run before a cell": {
			ofRun: []string{"settings-changed"}, ofCells: map[string][]lab.Warning{"slow": {core}},
			want: "settings-changed core-full"},
		"what spoils before what spreads": {
			ofCells: map[string][]lab.Warning{"slow": {warning("wide-interval", "*"), short}},
			want:    "short-run wide-interval"},
		"many cells before one": {
			ofCells: map[string][]lab.Warning{"slow": {drift, stall}, "middle": {stall}}, want: "stalls drifting"},
		"why a row is empty": {
			ofCells: map[string][]lab.Warning{"slow": {drift}, "failed": {warning("no-result", "*")}},
			want:    "no-result drifting"},
		"in the order in which they were found": {
			ofCells: map[string][]lab.Warning{"slow": {short, drift}}, want: "short-run drifting"},
	} {
		s := warned(test.ofRun, test.ofCells)
		var got []string
		all := newRunText(&s, report.Options{}).marks
		for _, m := range all[:min(report.MaxMarks, len(all))] {
			got = append(got, m.Code)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), test.want)
		}
	}
}

// The effect of an event is shown below the table.
func TestWarningsOfEventsTaintWhatIsShown(t *testing.T) {
	ofCells := map[string][]lab.Warning{"slow": {warning("core-full"), warning("event-failed", "event.*")}}
	s := warned(nil, ofCells)
	if first := firstMark(&s); first != "core-full" {
		t.Errorf("without events %s comes first", first)
	}
	s.Events = &summary.Events{}
	if first := firstMark(&s); first != "event-failed" {
		t.Errorf("with events %s comes first", first)
	}
}

func firstMark(s *summary.Run) string {
	return newRunText(s, report.Options{}).marks[0].Code
}

// Warnings that a machine with one disk can't avoid, and those about percentiles that are not shown, are counted and
// mark no row.
func TestNotesAreNoWarnings(t *testing.T) {
	unseen := warning("few-operations", "read.latency.p99.99")
	s := warned([]string{"store-on-device"}, map[string][]lab.Warning{"fast": {unseen}})
	text := written(t, "table", []summary.Run{s}, report.Options{Options: render.Options{Width: 100}})
	if !strings.Contains(text, "No warnings.") || strings.Contains(text, "!1") ||
		!strings.Contains(text, "2 notes (store-on-device and few-operations): headroom show 7KQ4M2ZD9A --warnings\n") {
		t.Error(text)
	}
	for _, format := range []string{"html", "markdown"} {
		if text := written(t, format, []summary.Run{s}, report.Options{}); !strings.Contains(text,
			"what store-on-device saw") {
			t.Errorf("%s lacks it", format)
		}
	}
	text = written(t, "table", []summary.Run{s}, report.Options{Options: render.Options{Width: 100, Warnings: true}})
	if !strings.Contains(text, "!1 few-operations: ") || !strings.Contains(text, "!2 store-on-device: ") {
		t.Errorf("with all warnings it is\n%s", text)
	}

	seen := warning("few-operations", "read.latency.p99", "read.latency.p99.99")
	s = warned(nil, map[string][]lab.Warning{"slow": {unseen}, "fast": {seen}})
	text = written(t, "table", []summary.Run{s}, report.Options{Options: render.Options{Width: 100}})
	if !strings.Contains(text, "\n!1 few-operations: what few-operations saw [fast]\n") ||
		strings.Contains(text, "note") {
		t.Error(text)
	}
}

// One line for each code, three at most, the others by their signs; a row has all of its signs.
func TestWarningsAreFewAndMarksAreConsistent(t *testing.T) {
	codes := []string{"cpu-steal", "drifting", "stalls", "short-run", "warming-up"}
	var all []lab.Warning
	for _, code := range codes {
		all = append(all, warning(code, "*"))
	}
	s := warned([]string{"emulated-guest"}, map[string][]lab.Warning{"slow": all[3:], "middle": all[:2], "fast": all,
		"failed": {all[0], all[3]}})
	for _, width := range []int{60, 80, 120, 200} {
		text := written(t, "table", []summary.Run{s}, report.Options{Options: render.Options{Width: width}})
		printed := regexp.MustCompile(`(?m)^!(\d) ([a-z-]+): .*$`).FindAllStringSubmatch(text, -1)
		if len(printed) != report.MaxMarks {
			t.Fatalf("%d warnings are printed at width %d:\n%s", len(printed), width, text)
		}
		for _, m := range regexp.MustCompile(`(?m)^(slow|middle|fast) .*$`).FindAllStringSubmatch(text, -1) {
			got := regexp.MustCompile(`!\d`).FindAllString(m[0], -1)
			want := map[string][]string{"slow": {"!1", "!3"}, "middle": {"!2", "!4"},
				"fast": {"!1", "!2", "!3", "!4", "!5"}}[m[1]]
			if !slices.Equal(got, want) {
				t.Errorf("at width %d %s has %v, want %v:\n%s", width, m[1], got, want, text)
			}
		}
		if !strings.Contains(text, "3 more warnings (!4 ") ||
			!strings.Contains(text, "headroom explain "+printed[0][2]) {
			t.Errorf("at width %d:\n%s", width, text)
		}
	}
}
