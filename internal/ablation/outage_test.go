package ablation

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// A load that fails or measures 0 in an arm is compared with nothing there. It stops with a setting where it never has
// a figure with it and always has one without it.
func TestOutagesOfArms(t *testing.T) {
	has := func(setting int) func(arm string, block int) bool {
		return func(arm string, _ int) bool { return slices.Contains(in(arm, 2), setting) }
	}
	once := func(arm string, block int) bool { return arm == "+2" && block == 2 }
	failed := func(r *lab.Repetition) { r.Values, r.Warnings = nil, []lab.Warning{{Code: "command-failed"}} }
	zero := func(r *lab.Repetition) { r.Values["read.iops"] = 0; delete(r.Values, "read.latency.mean") }
	for name, c := range map[string]struct {
		when    func(arm string, block int) bool
		befalls func(*lab.Repetition)
		verdict Verdict // of the second setting for the first load
		arms    []string
		whole   bool
	}{
		"fails with the setting":      {has(2), failed, Stops, []string{"tuned", "+2", "-1"}, true},
		"measures 0 with the setting": {has(2), zero, Stops, []string{"tuned", "+2", "-1"}, true},
		"measures 0 with the other":   {has(1), zero, Same, []string{"tuned", "+1", "-2"}, true},
		"measures 0 without a setting": {func(arm string, _ int) bool { return visited(arm) == Baseline }, zero, Same,
			[]string{"baseline"}, true},
		"measures 0 everywhere": {func(string, int) bool { return true }, zero, Undecided,
			[]string{"baseline", "tuned", "+1", "+2", "-1", "-2"}, true},
		"measures 0 once with it":            {once, zero, Undecided, []string{"+2"}, false},
		"fails once with it, as others know": {once, failed, Same, nil, false},
		"none":                               {func(string, int) bool { return false }, zero, Same, nil, false},
	} {
		run, repetitions := savedRun()
		for i := range repetitions {
			r := &repetitions[i]
			if cell, arm, _ := strings.Cut(r.Cell, "@"); cell == "rr" && c.when(arm, r.Block) {
				c.befalls(r)
			}
		}
		doc, err := FromRun(run, lab.Repetitions(repetitions))
		if err != nil {
			t.Fatal(err)
		}
		var arms []string
		for _, o := range doc.Outages {
			arms = append(arms, o.Arm)
			if o.Cell != "rr" || o.Title != "randread 4k q32" || o.Whole() != c.whole {
				t.Errorf("%s: outage %+v", name, o)
			}
		}
		slices.Sort(arms)
		slices.Sort(c.arms)
		i := slices.IndexFunc(doc.Settings[1].Cells, func(e CellEffect) bool { return e.Cell == "rr" })
		if !slices.Equal(arms, c.arms) || i < 0 || doc.Settings[1].Cells[i].Verdict != c.verdict {
			t.Errorf("%s: outages in %v, want %v; %+v", name, arms, c.arms, doc.Settings[1].Cells)
		}
		if stops := c.verdict == Stops; stops != (doc.Settings[1].Verdict == Stops) {
			t.Errorf("%s: the setting is called %s", name, doc.Settings[1].Verdict)
		}
	}
}

// Where the set fails and its settings have not been removed yet, nothing tells which of them stops the load.
func TestArmsThatWereNotVisitedTellNothing(t *testing.T) {
	run, all := savedRun()
	var repetitions []lab.Repetition
	for _, r := range all {
		switch cell, arm, _ := strings.Cut(r.Cell, "@"); {
		case arm[0] == '-':
			continue
		case cell == "rr" && arm == Tuned:
			r.Values, r.Warnings = nil, []lab.Warning{{Code: "command-failed"}}
		}
		repetitions = append(repetitions, r)
	}
	doc, err := FromRun(run, lab.Repetitions(repetitions))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Settings {
		if s.Verdict == Stops {
			t.Errorf("%s is said to stop the load", s.Setting)
		}
	}
}
