package validity

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
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

// Weight is what a warning means for the numbers that it taints.
type Weight string

// The weights, the heaviest first.
const (
	// Spoils: the number does not have the meaning of its name, so that nothing can be compared with it.
	Spoils Weight = "spoils"
	// Slows: the number is what the load did, and could only have been better without what the warning tells of.
	Slows Weight = "slows"
	// Moves: the same, but it could have been better or worse.
	Moves Weight = "moves"
	// Widens: it is about the distance between repetitions, which their interval shows as well.
	Widens Weight = "widens"
	// Note: worth knowing; the number stands.
	Note Weight = "note"
)

// Weights returns the weights of all checks by their codes. A code that is not among them, of an earlier version or of
// another program, spoils what it taints.
func Weights() map[string]Weight {
	all := map[string]Weight{}
	for _, c := range Checks() {
		all[c.Code] = c.Weight
	}
	return all
}

// mostError is the answer of a check that knows how far what it warns of can have moved the metrics: by the share at
// most.
func mostError(share float64, warnings []lab.Warning) []lab.Warning {
	for i := range warnings {
		warnings[i].MostError = max(0, min(share, 1))
	}
	return warnings
}
