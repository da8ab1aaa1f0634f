package app

import (
	"fmt"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// The kinds of experiments. Sweeps and ablations visit the same arms again and again; the arms of a search are chosen
// one by one.
const (
	SweepKind  = string(lab.DesignSweep)
	AblateKind = string(lab.DesignAblation)
	BisectKind = string(lab.DesignBisection)
)

// RunsDocument is the published JSON document of list and import.
type RunsDocument struct {
	Schema string      `json:"schema"`
	Runs   []store.Row `json:"runs"`
}

// RunsSchema names the document of runs. Fields are added to it, never renamed and never removed.
const RunsSchema = "headroom/runs/v1"

// StorageRole is the role of the one target of a run of storage jobs.
const StorageRole = lab.StorageRole

// IsMultiTarget reports whether the loads of a run are started together on several targets.
func IsMultiTarget(run lab.Run) bool {
	return run.Source == lab.Measured && run.MadeBy() == lab.DesignRun && len(run.Targets) > 1
}

// MaxNamed is how many pairs the summary of a run names.
const MaxNamed = 4

// InsideGuest ends the names of stages that were measured in a virtual machine.
const InsideGuest = ", in a guest"

// PartCell is the name of a cell or an arm of the i-th run among those of all.
func PartCell(i int, name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%d/%s", i+1, name)
}
