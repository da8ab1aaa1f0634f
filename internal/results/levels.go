package results

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/sweep"
)

// LevelsHint returns the command that shows the figures of merit of an imported run; empty if it has no levels. Stages
// have a separate table.
func LevelsHint(run lab.Run, id string) string {
	factors := slices.DeleteFunc(sweep.Factors(run.Arms), func(name string) bool { return name == lab.StageLevel })
	switch len(factors) {
	case 0:
		return ""
	case 1:
		return "headroom sweep --show " + id
	}
	// The factor with the most levels is the most informative.
	most := slices.MaxFunc(factors, func(a, b string) int { return len(levelsOf(run, a)) - len(levelsOf(run, b)) })
	return "headroom sweep --show " + id + " --factor " + most
}

// levelsOf returns the levels of a factor in a run's arms.
func levelsOf(run lab.Run, factor string) []string {
	var levels []string
	for _, a := range run.Arms {
		if v := a.Levels[factor]; v != "" && !slices.Contains(levels, v) {
			levels = append(levels, v)
		}
	}
	return levels
}
