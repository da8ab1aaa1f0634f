package suite

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

const commandSuite = `version: 1
name: mine
repetitions: 2
parameters:
  seconds: 10
  source: {about: a tree}
jobs:
  - name: load
    exec: [tool, --time, "{seconds}", "-c{clients}", --dir, "{dir}", "${HOME}", "{ x }"]
    matrix: {clients: [1, 8]}
    prepare: [[mkdir, a], [cp, -r, "{source}", a]]
    cleanup: [tool, stop]
    environment: {PORT: "", NAME: "{job}"}
    takes: "{seconds}s"
    timeout: 1m
    metrics:
      tps: {match: 'tps = ([0-9.]+)', unit: 1/s, better: higher, decides: true}
      delay: {match: '([0-9.]+) ms', unit: ms, better: lower}
  - {name: sync, fio: {rw: randwrite, size: 1m, fsync: 1}}
`

func TestCommandCells(t *testing.T) {
	s := decoded(t, commandSuite)
	cells, err := s.Cells(lab.Directory, false)
	if err != nil || len(cells) != 3 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	want := Cell{ID: "load-clients8", Job: "load", Engine: lab.EngineExec,
		Params: map[string]string{"seconds": "10", "clients": "8"},
		Steps:  []lab.Step{lab.Prepare, lab.Load, lab.CleanUp}, Repetitions: 2, Runtime: 10 * time.Second,
		Command: &lab.Command{
			Argv:    []string{"tool", "--time", "10", "-c8", "--dir", "{dir}", "${HOME}", "{ x }"},
			Prepare: [][]string{{"mkdir", "a"}, {"cp", "-r", "{source}", "a"}}, CleanUp: [][]string{{"tool", "stop"}},
			Environment: map[string]string{"PORT": "", "NAME": "{job}"}, Timeout: 60, ExpectedSeconds: 10,
			Match: map[string]lab.Match{"tps": {Expression: "tps = ([0-9.]+)", Scale: 1},
				"delay": {Expression: "([0-9.]+) ms", Scale: 1e-3}},
		},
		Metrics: map[string]lab.MetricInfo{"tps": {Unit: lab.PerSecond, Better: lab.Higher, Decides: true},
			"delay": {Unit: lab.Seconds, Better: lab.Lower}},
	}
	if got := cells[1]; !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v %+v\nwant\n%+v %+v", got, *got.Command, want, *want.Command)
	}
	if got := cells[1].Title(); got != "load clients=8" {
		t.Errorf("titled %q", got)
	}
	if cells[2].Engine != lab.EngineFio || cells[2].Command != nil {
		t.Errorf("the fio job became %+v", cells[2])
	}
	if got := s.ScratchSize(cells); got != 1<<20 {
		t.Errorf("the scratch file has %d bytes", got)
	}
	if w := EstimateWrites(cells[:2], 0, takes(Bandwidth{})); len(w.Unbounded) != 2 {
		t.Errorf("what commands write is said to be known: %+v", w)
	}
	if !s.TouchesStorage() {
		t.Error("a job that works in its folder needs no place")
	}
	if _, err := s.Cells(lab.Device, false); lab.KindOf(err) != lab.Usage {
		t.Errorf("on a device: %v", err)
	}
}

func TestParametersOfCommands(t *testing.T) {
	s := decoded(t, commandSuite)
	if err := s.CheckParameters(); lab.KindOf(err) != lab.Usage ||
		!strings.Contains(strings.Join(err.(*lab.Error).Hints, ""), "--set source=SOURCE: a tree") {
		t.Errorf("a parameter that is missing: %v", err)
	}
	// runtime is fio's alone, source the command's alone, clients was an axis.
	changed, err := s.With([]string{"source=/usr/src", "clients=4", "runtime=3s"})
	if err != nil || changed.CheckParameters() != nil {
		t.Fatal(err, changed.CheckParameters())
	}
	cells, err := changed.Cells(lab.Directory, false)
	if err != nil || len(cells) != 2 || cells[0].Command.Prepare[1][2] != "/usr/src" ||
		cells[0].Params["clients"] != "4" || cells[1].Params["runtime"] != "3s" ||
		cells[1].Params["clients"] != "" {
		t.Errorf("%v %+v", err, cells)
	}
	if again, _ := s.Cells(lab.Directory, false); len(again) != 3 || again[0].Params["source"] != "" {
		t.Error("setting parameters changed the suite")
	}
	onlyCommands := decoded(t, "version: 1\nparameters: {seconds: 1}\njobs:\n  - {name: a, exec: [sleep, "+
		"\"{seconds}\"]}\n")
	if _, err := onlyCommands.With([]string{"second=2"}); err == nil ||
		!strings.Contains(err.Error(), "did you mean seconds?") {
		t.Errorf("a parameter that is none: %v", err)
	}
	if onlyCommands.TouchesStorage() {
		t.Error("a command that works nowhere needs a place")
	}
}

// A value's content is never taken for a placeholder of the suite, or the order of parameters would matter.
func TestValuesAreNotFilledInAgain(t *testing.T) {
	s := decoded(t, "version: 1\nparameters: {a: \"{b}\", b: \"{cpus}\"}\njobs:\n  - {name: x, exec: [echo, \"{a} "+
		"{b}\"]}\n")
	cells, err := s.Cells(lab.Directory, false)
	if err != nil || !slices.Equal(cells[0].Command.Argv, []string{"echo", "{b} {cpus}"}) {
		t.Errorf("%v %+v", err, cells[0].Command)
	}
}
