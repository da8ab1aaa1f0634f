package ablation

import (
	"fmt"
	"strconv"
	"strings"
)

// The arms that are no single setting's. Settings are numbered from 1 in the order of the design.
const (
	// Baseline has none of the settings, Tuned all of them.
	Baseline = "baseline"
	Tuned    = "tuned"
)

// AloneArm is the arm with one setting added to the baseline: "+3".
func AloneArm(setting int) string { return "+" + strconv.Itoa(setting) }

// RemovedArm is the arm with all settings but one: "-3".
func RemovedArm(setting int) string { return "-" + strconv.Itoa(setting) }

// PairArm is the arm with two settings added to the baseline: "+1+3".
func PairArm(setting, other int) string {
	return AloneArm(min(setting, other)) + AloneArm(max(setting, other))
}

// VisitArm is another visit of an arm in the same block: "baseline-2" is the second one of the baseline.
func VisitArm(arm string, visit int) string {
	if visit < 2 {
		return arm
	}
	return fmt.Sprintf("%s-%d", arm, visit)
}

// visited is the arm that an ID is a visit of: "baseline" for "baseline-2". The ID of a setting removed has nothing
// before its dash.
func visited(id string) string {
	if arm, _, again := strings.Cut(id, "-"); again && arm != "" {
		return arm
	}
	return id
}

// settingsOf are the settings that an arm adds to the baseline, by number; none for the baseline, the tuned set and
// settings removed.
func settingsOf(arm string) []int {
	rest, adds := strings.CutPrefix(arm, "+")
	if !adds {
		return nil
	}
	var numbers []int
	for part := range strings.SplitSeq(rest, "+") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}
