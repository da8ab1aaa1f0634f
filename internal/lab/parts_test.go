package lab

import (
	"reflect"
	"slices"
	"testing"
)

// twoSides are the headers of two arms: on two places, of two suites, with a warning each and one that both have.
func twoSides() []Run {
	side := func(path, suite string, warnings ...Warning) Run {
		return Run{ID: "A", Label: "tuned", Design: DesignLive, Suite: suite, Order: "pairs", Pause: 2,
			Targets: []RunTarget{{Role: StorageRole, Target: LocalTarget, Place: Place{Path: path},
				Facts: []Fact{{Key: "disk.model", Value: path}}}},
			Arms:     []Arm{{ID: OnlyArm, Role: StorageRole, Levels: map[string]string{"rung": path}}},
			Cells:    []Cell{{ID: "reads", Arm: OnlyArm, Job: "reads"}, {ID: "writes", Arm: OnlyArm, Job: "writes"}},
			Warnings: warnings}
	}
	both := Warning{Code: "both", Text: "busy"}
	return []Run{side("/a", "one", Warning{Code: "x", Text: "of the first"}, both), side("/b", "two", both)}
}

func TestPartsAreWhatWasJoined(t *testing.T) {
	sides := twoSides()
	whole := Join(sides, []string{"base", "new"})
	if got := whole.PartNames(); !slices.Equal(got, []string{"base", "new"}) {
		t.Fatalf("the arms are %q", got)
	}
	if c := whole.Cells[2]; c.ID != "reads@new" || c.Arm != "new" {
		t.Errorf("a cell is %s of arm %s", c.ID, c.Arm)
	}
	if len(whole.Warnings) != 2 || whole.Warnings[0].Text != "base: of the first" {
		t.Errorf("the warnings are %v", whole.Warnings)
	}
	for i, arm := range whole.PartNames() {
		want := sides[i]
		want.ID, want.Label, want.Pair = "A:"+arm, "tuned "+arm, "A"
		if got := whole.Part(arm); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%+v, and was\n%+v", arm, got, want)
		}
	}
}

// Arms of one target are levels of what is varied, and no runs by themselves.
func TestArmsOfOneTargetAreNoParts(t *testing.T) {
	run := twoSides()[0]
	run.Arms = []Arm{{ID: "1", Role: StorageRole}, {ID: "2", Role: StorageRole}}
	run.Targets = append(run.Targets, RunTarget{Role: "reference"})
	if got := run.PartNames(); got != nil {
		t.Errorf("%q are said to be", got)
	}
}

// A target of a fleet keeps what differs from the first alone.
func TestPartsHaveAllFacts(t *testing.T) {
	sides := twoSides()
	sides[0].Targets[0].Facts = []Fact{{Key: "a", Value: "1"}, {Key: "b", Value: "1"}}
	sides[1].Targets[0].Facts = []Fact{{Key: "b", Value: "2"}}
	sides[1].Targets[0].FactsAs = "base"
	want := []Fact{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}
	if got := Join(sides, []string{"base", "new"}).Part("new").Targets[0]; !slices.Equal(got.Facts, want) ||
		got.FactsAs != "" {
		t.Errorf("the facts are %v, as %q", got.Facts, got.FactsAs)
	}
}
