package validity

import (
	"slices"

	"github.com/headroom/headroom/internal/unit"
)

// Checks is the one list of warnings, in the order in which docs and reports show them: first whether there is a
// result, then what answered, then the load, the device and the machine, then the run as a whole. A family of checks
// stands beside what looks for them; those of otherpackages.go are given elsewhere.
func Checks() []Check {
	return slices.Concat(
		outcomeChecks(),
		cacheChecks(),
		ceilingChecks(),
		generatorChecks(),
		contradictionChecks(),
		writeChecks(),
		steadinessChecks(),
		disturbanceChecks(),
		targetChecks(),
		networkChecks(),
		machineChecks(),
		acrossChecks(),
		experimentChecks(),
		stageChecks(),
		comparisonChecks(),
		importChecks(),
	)
}

// below writes a share that is a lower bound.
func below(share float64) string { return "less than " + unit.Percent(share) }
