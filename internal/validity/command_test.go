package validity

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// All that is compared with fio's jobs says nothing of a command, whatever its parameters are called; what the machine
// did to it counts.
func TestCommandsAreCheckedForWhatTheMachineDid(t *testing.T) {
	var machine []string
	for _, c := range Checks() {
		if c.AnyLoad {
			machine = append(machine, c.Code)
		}
	}
	for code, list := range cases() {
		fired := false
		for _, c := range list {
			e := c.e
			e.Cell.Engine = lab.EngineExec
			found := codes(Repetition(e))
			fired = fired || slices.Contains(found, code)
			for _, f := range found {
				if !slices.Contains(machine, f) {
					t.Errorf("%s, %s: %s is said of a command", code, c.name, f)
				}
			}
		}
		if fired != slices.Contains(machine, code) {
			t.Errorf("%s: fires for commands: %v", code, fired)
		}
	}
	if len(machine) == 0 {
		t.Error("no check looks at the machine alone")
	}
}

func TestCommandsThatSpread(t *testing.T) {
	run := lab.Run{Cells: []lab.Cell{{ID: "build", Engine: lab.EngineExec, Params: map[string]string{}}}}
	var reps []lab.Repetition
	for i, seconds := range []float64{10, 30, 20, 15} {
		reps = append(reps,
			lab.Repetition{Cell: "build", Number: i + 1, Values: map[string]float64{"elapsed": seconds}})
	}
	found := Run(run, slices.Values(reps))["build"]
	if len(found) != 1 || found[0].Code != "wide-interval" || !found[0].Tainted("elapsed") {
		t.Errorf("%+v", found)
	}
}
