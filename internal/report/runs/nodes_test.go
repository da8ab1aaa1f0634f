package runs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// nodesRun is a run on four nodes, of which the third reads slower. Their names are roles, levels, and parts of IDs and
// warnings.
func nodesRun(t *testing.T) summary.Run {
	t.Helper()
	run := lab.Run{ID: "RUN1", Suite: "nodes", Source: lab.Measured, Status: lab.Complete,
		Warnings: []lab.Warning{{Code: "emulated", Text: "worker-3: it is emulated"}}}
	var reps []lab.Repetition
	for i := range 4 {
		role := fmt.Sprintf("worker-%d", i+1)
		on := lab.RunTarget{Role: role, Target: "kube:nodes?node=" + role + ".lan",
			Facts: []lab.Fact{{Key: "host.name", Value: role + ".lan"}, {Key: "cluster.node", Value: role + ".lan"}}}
		if i > 0 {
			on.FactsAs = "worker-1"
		}
		run.Targets = append(run.Targets, on)
		run.Arms = append(run.Arms, lab.Arm{ID: role, Role: role, Levels: map[string]string{"target": role}})
		run.Cells = append(run.Cells, lab.Cell{ID: "read@" + role, Arm: role, Job: "read", Engine: lab.EngineFio,
			Params: map[string]string{"rw": "randread"}, Repetitions: 4})
		for n := range 4 {
			v := 1000.0 + float64(n)
			if i == 2 {
				v = 700
			}
			reps = append(reps, lab.Repetition{Cell: "read@" + role, Number: n + 1,
				Values: map[string]float64{"read.iops": v}})
		}
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
	if s.Outliers = outliers.Find(s.Samples()); len(s.Outliers.Found) != 1 || s.Outliers.Found[0].Role != "worker-3" {
		t.Fatalf("%+v", s.Outliers)
	}
	return s
}

// Names of nodes are in no document that leaves the machine, unless requested; the user who measured them sees them.
func TestNamesOfNodes(t *testing.T) {
	s := nodesRun(t)
	for _, f := range Formats() {
		for _, c := range []struct {
			options report.Options
			shown   bool
		}{{report.Options{}, false}, {report.Options{Names: true}, true}, {report.Options{Serials: true}, true}} {
			var b bytes.Buffer
			if err := f.Write(&b, []summary.Run{s}, c.options); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "worker-") != c.shown {
				t.Errorf("%s with %+v:\n%s", f.Name, c.options, &b)
			}
			if !c.shown && !strings.Contains(b.String(), "hidden-") {
				t.Errorf("%s tells no node from another", f.Name)
			}
		}
	}
	// A name is replaced by the same text everywhere.
	hidden := summary.Redact(s, false)
	o := hidden.Outliers.Found[0]
	if c := hidden.Cells[2]; o.Role != hidden.Targets[2].Role || c.Role != o.Role || c.ID != "read@"+o.Role ||
		c.Levels["target"] != o.Role || hidden.Targets[1].FactsAs != hidden.Targets[0].Role ||
		!strings.HasPrefix(o.Text, o.Role+": ") || !strings.HasPrefix(hidden.Warnings[0].Text, o.Role+": ") {
		t.Errorf("%+v\n%+v", o, hidden)
	}
	if s.Targets[2].Role != "worker-3" || s.Outliers.Found[0].Role != "worker-3" || s.Cells[2].ID != "read@worker-3" {
		t.Error("the run itself was changed")
	}
}
