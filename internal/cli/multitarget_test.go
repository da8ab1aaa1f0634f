package cli

import (
	"reflect"
	"testing"

	"headroom/internal/lab"
	"headroom/internal/runner"
)

func TestRolesOfSeveralTargets(t *testing.T) {
	got, err := rolesOf([]string{"local", "db=ssh://db1", "ssh://db2"})
	want := []namedTarget{{"target-1", "local", true}, {"db", "ssh://db1", false}, {"target-3", "ssh://db2", true}}
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
	whole := &multiTargetRun{}
	for _, role := range []string{"a", "b"} {
		m := &measurement{role: role,
			run: lab.Run{ID: "R", Targets: []lab.RunTarget{{Role: storageRole, Target: "ssh://" + role}},
				Cells: []lab.Cell{{ID: "read", Arm: onlyArm, Repetitions: 2},
					{ID: "write", Arm: onlyArm, Repetitions: 2}},
				Warnings: []lab.Warning{{Code: "read-otherwise", Text: "of the suite"}}}}
		m.prefixRole()
		whole.parts = append(whole.parts, m)
	}
	whole.parts[1].run.Warnings = append(whole.parts[1].run.Warnings, lab.Warning{Code: "busy-before", Text: "busy"})
	whole.join()
	var cells []string
	for _, c := range whole.run.Cells {
		cells = append(cells, c.ID+" in "+c.Arm)
	}
	if want := []string{"read@a in a", "read@b in b", "read@all in all", "write@a in a", "write@b in b",
		"write@all in all"}; !reflect.DeepEqual(cells, want) {
		t.Errorf("%v", cells)
	}
	if n := len(whole.run.Arms); n != 3 || whole.run.Arms[2].Levels[targetLevel] != runner.AllTargets {
		t.Errorf("%+v", whole.run.Arms)
	}
	if want := []lab.Warning{{Code: "read-otherwise", Text: "of the suite"},
		{Code: "busy-before", Text: "b: busy"}}; !reflect.DeepEqual(whole.run.Warnings, want) {
		t.Errorf("%+v", whole.run.Warnings)
	}
	for _, r := range whole.order() {
		if r.Cell != "read" && r.Cell != "write" {
			t.Errorf("the plan knows %q", r.Cell)
		}
	}
	for _, m := range whole.parts {
		part := partOf(whole.run, m)
		if !reflect.DeepEqual(part.Cells, m.run.Cells) || !reflect.DeepEqual(part.Targets, m.run.Targets) ||
			len(part.Arms) != 1 {
			t.Errorf("%s: %+v", m.role, part)
		}
	}
}
