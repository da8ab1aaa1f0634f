package experiment

import (
	"reflect"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
)

func TestRolesOfSeveralTargets(t *testing.T) {
	got, err := rolesOf([]string{"local", "db=ssh://db1", "ssh://db2"})
	want := []NamedTarget{{"target-1", "local", true}, {"db", "ssh://db1", false}, {"target-3", "ssh://db2", true}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, on := range [][]string{{"a=local", "a=ssh://b"}, {"all=local", "b=ssh://b"}, {"target-2=local", "ssh://b"},
		{"a1234567890123456789012345678901234567890=local", "b=local"}} {
		if _, err := rolesOf(on); lab.KindOf(err) != lab.Usage {
			t.Errorf("%v: %v", on, err)
		}
	}
}

func TestHeaderOfSeveralTargets(t *testing.T) {
	whole := &MultiTargetRun{}
	for _, role := range []string{"a", "b"} {
		m := &Measurement{Role: role,
			Run: lab.Run{ID: "R", Targets: []lab.RunTarget{{Role: app.StorageRole, Target: "ssh://" + role}},
				Cells: []lab.Cell{{ID: "read", Arm: lab.OnlyArm, Repetitions: 2},
					{ID: "write", Arm: lab.OnlyArm, Repetitions: 2}},
				Warnings: []lab.Warning{{Code: "read-otherwise", Text: "of the suite"}}}}
		m.PrefixRole()
		whole.Parts = append(whole.Parts, m)
	}
	whole.Parts[1].Run.Warnings = append(whole.Parts[1].Run.Warnings, lab.Warning{Code: "busy-before", Text: "busy"})
	whole.Join()
	var cells []string
	for _, c := range whole.Run.Cells {
		cells = append(cells, c.ID+" in "+c.Arm)
	}
	if want := []string{"read@a in a", "read@b in b", "read@all in all", "write@a in a", "write@b in b",
		"write@all in all"}; !reflect.DeepEqual(cells, want) {
		t.Errorf("%v", cells)
	}
	if n := len(whole.Run.Arms); n != 3 || whole.Run.Arms[2].Levels[lab.TargetLevel] != runner.AllTargets {
		t.Errorf("%+v", whole.Run.Arms)
	}
	if want := []lab.Warning{{Code: "read-otherwise", Text: "of the suite"},
		{Code: "busy-before", Text: "b: busy"}}; !reflect.DeepEqual(whole.Run.Warnings, want) {
		t.Errorf("%+v", whole.Run.Warnings)
	}
	for _, r := range whole.Workload().Order() {
		if r.Cell != "read" && r.Cell != "write" {
			t.Errorf("the plan knows %q", r.Cell)
		}
	}
	for _, m := range whole.Parts {
		part := partOf(whole.Run, m)
		if !reflect.DeepEqual(part.Cells, m.Run.Cells) || !reflect.DeepEqual(part.Targets, m.Run.Targets) ||
			len(part.Arms) != 1 {
			t.Errorf("%s: %+v", m.Role, part)
		}
	}
}
