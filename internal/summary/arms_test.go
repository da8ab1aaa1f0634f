package summary

import (
	"maps"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// ablated is a run with a baseline that is visited twice and two settings; a serial number is in a warning, a level and
// what is kept.
func ablated() (lab.Run, []lab.Repetition) {
	const serial = "S4EWNX0R123456"
	run := lab.Run{ID: "7KQ4M2X9TD", Suite: "quick", Status: lab.Interrupted,
		Warnings: []lab.Warning{{Code: "busy-before", Text: "disk " + serial + " was busy"}},
		Experiment: &lab.Experiment{Kind: "ablate", Baseline: "baseline", Keep: []string{"sysfs:/" + serial},
			Factors: []lab.VariedFactor{{Factor: "job:iodepth", Levels: []string{"4"}},
				{Factor: "exec:tuned", Levels: []string{serial}}}},
		Targets: []lab.RunTarget{
			{Role: "storage", Target: "local", Facts: []lab.Fact{{Key: "disk.under-test.serial", Value: serial}}}}}
	var repetitions []lab.Repetition
	for _, a := range []struct {
		id     string
		depth  string
		levels map[string]string
	}{{"baseline", "1", map[string]string{}}, {"baseline-2", "1", map[string]string{}},
		{"+1", "4", map[string]string{"job:iodepth": "4"}}, {"+2", "1", map[string]string{"exec:tuned": serial}}} {
		run.Arms = append(run.Arms, lab.Arm{ID: a.id, Role: "storage", Levels: a.levels})
		cell := lab.Cell{ID: "randread@" + a.id, Arm: a.id, Job: "randread", Engine: lab.EngineFio,
			Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": a.depth}}
		run.Cells = append(run.Cells, cell)
		repetitions = append(repetitions, lab.Repetition{Cell: cell.ID, Number: 1, Block: 1,
			Values: map[string]float64{"read.iops": 1000}})
	}
	return run, repetitions
}

func summaryOf(t *testing.T, run lab.Run, repetitions []lab.Repetition) Run {
	t.Helper()
	s, err := Of(run, func(yield func(lab.Repetition, error) bool) {
		for _, r := range repetitions {
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

// Rows of an experiment are told apart by levels, and a level that the parameters say is not said twice.
func TestTitlesOfArms(t *testing.T) {
	run, repetitions := ablated()
	s := summaryOf(t, run, repetitions)
	names := CellNames(&s)
	for cell, want := range map[string]string{"randread@baseline": "randread 4k q1 baseline",
		"randread@baseline-2": "randread 4k q1 baseline-2", "randread@+1": "randread 4k q4",
		"randread@+2": "randread 4k q1 exec:tuned=S4EWNX0R123456"} {
		if names[cell] != want {
			t.Errorf("%s is %q, want %q", cell, names[cell], want)
		}
	}
}

// The two visits of a baseline are one side of a comparison, and a level of the load is the load's parameter.
func TestComparableArms(t *testing.T) {
	run, repetitions := ablated()
	c := Comparable(summaryOf(t, run, repetitions), run, "x", nil, false)
	if len(c.Cells) != 3 {
		t.Fatalf("%+v", c.Cells)
	}
	if base := c.Cells[0]; base.N != 2 || len(base.Values["read.iops"]) != 2 || len(base.Levels) != 0 {
		t.Errorf("baseline %+v", base)
	}
	if deep := c.Cells[1]; len(deep.Levels) != 0 || deep.Params["iodepth"] != "4" {
		t.Errorf("at depth 4 %+v", deep)
	}
	if !maps.Equal(c.Cells[2].Levels, map[string]string{"exec:tuned": "S4EWNX0R123456"}) {
		t.Errorf("%+v", c.Cells[2])
	}
}

// Of mounts that are levels every address is hidden, also those that no fact names.
func TestRedactedMounts(t *testing.T) {
	const level = "10.0.1.1,10.0.2.1:/srv vers=4.2,proto=rdma,max_connect=2"
	run := lab.Run{Experiment: &lab.Experiment{
		Factors: []lab.VariedFactor{{Factor: "mount:nfs", Levels: []string{level}}}},
		Arms: []lab.Arm{{Levels: map[string]string{"mount:nfs": level}}}}
	clean, _ := RedactRun(run, nil)
	got := clean.Arms[0].Levels["mount:nfs"]
	if strings.Contains(got, "10.0.") || !strings.HasSuffix(got, ":/srv vers=4.2,proto=rdma,max_connect=2") ||
		got != clean.Experiment.Factors[0].Levels[0] {
		t.Errorf("%q", got)
	}
}

func TestRedactedExperiment(t *testing.T) {
	run, _ := ablated()
	clean, _ := RedactRun(run, nil)
	for where, text := range map[string]string{"warning": clean.Warnings[0].Text,
		"level": clean.Experiment.Factors[1].Levels[0],
		"kept":  clean.Experiment.Keep[0], "arm": clean.Arms[3].Levels["exec:tuned"]} {
		if text == "" || strings.Contains(text, "S4EWNX0R123456") {
			t.Errorf("%s: %q", where, text)
		}
	}
	if clean.Arms[3].Levels["exec:tuned"] != clean.Experiment.Factors[1].Levels[0] {
		t.Error("a level is no longer that of its arm")
	}
	if run.Experiment.Factors[1].Levels[0] != "S4EWNX0R123456" || run.Arms[3].Levels["exec:tuned"] != "S4EWNX0R123456" {
		t.Error("the run itself was changed")
	}
}
