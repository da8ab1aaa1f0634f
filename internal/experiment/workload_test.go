package experiment

import (
	"reflect"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
)

// A cell is copied from the suite to the header of the run, and from there to what estimates its cost.
func TestCellsKeepTheirFields(t *testing.T) {
	cell := suite.Cell{ID: "reads", Job: "reads", Engine: "exec", Command: &lab.Command{Argv: []string{"true"}},
		Metrics: map[string]lab.MetricInfo{"elapsed": {Unit: "s"}}, Params: map[string]string{"bs": "4k"},
		Steps: []lab.Step{lab.Load}, Repetitions: 3}
	v := reflect.ValueOf(cell)
	// The run time follows from the other fields, and only listings of suites show the title of a job.
	left := []string{"Runtime", "JobTitle"}
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && !slices.Contains(left, name) {
			t.Errorf("the field %s is not set in this test", name)
		}
	}
	if back := suiteCell(RecordedCells([]suite.Cell{cell})[0]); !reflect.DeepEqual(back, cell) {
		t.Errorf("%+v\nis copied as\n%+v", cell, back)
	}
}
