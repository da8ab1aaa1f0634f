package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"headroom/internal/lab"
	"headroom/internal/report"
	"headroom/internal/store"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

// levelFlags say of a saved run that is no sweep which of its levels is the factor; for a sweep they are settled.
func levelFlags() []string { return []string{"factor", "baseline", "reference", "share"} }

// hasLevels says whether a run that was not measured as an experiment has loads at several levels: another program's
// results, or stages.
func hasLevels(run stagedRun) bool { return run.Experiment == nil && len(sweep.Factors(run.Arms)) > 0 }

// showLevels writes the figures of merit of a run that has levels.
func showLevels(p *program, run stagedRun, format string, o experimentOptions) error {
	by := sweep.By{Baseline: o.baseline, Reference: o.reference}
	switch len(o.factors) {
	case 0:
	case 1:
		by.Factor = o.factors[0]
	default:
		return usage("a sweep has one factor", "--factor "+o.factors[0])
	}
	if o.share != "" {
		v, err := unit.ParseShare(o.share)
		if err != nil {
			return usage("--share: " + err.Error())
		}
		by.Share = v
	}
	return writeExperimentTo(p, o, func(w io.Writer, options report.Options) error {
		header, repetitions := run.Run, run.measured
		if !options.Serials {
			header, repetitions = report.Redacted(header, repetitions)
		}
		d, err := report.LevelsOf(header, repetitions, by)
		if err != nil {
			return err
		}
		return writeSweepDocument(d, format, w, options)
	})
}

// refuseLevelFlags says that what a sweep varies is settled.
func refuseLevelFlags(c *cobra.Command, b *store.Bundle) error {
	for _, name := range levelFlags() {
		if c.Flags().Lookup(name).Changed {
			return usage(fmt.Sprintf("--%s is settled in run %s, which is a %s", name, b.Run.ID,
				b.Run.Experiment.Noun()), "show it without --"+name)
		}
	}
	return nil
}

// levelsHint is how the figures of merit of an imported run are shown; empty where it has no levels. Stages have a
// table of their own.
func levelsHint(run lab.Run, id string) string {
	factors := slices.DeleteFunc(sweep.Factors(run.Arms), func(name string) bool { return name == lab.StageLevel })
	switch len(factors) {
	case 0:
		return ""
	case 1:
		return "headroom sweep --show " + id
	}
	// What tells most is the one with the most levels.
	most := slices.MaxFunc(factors, func(a, b string) int { return len(levelsOf(run, a)) - len(levelsOf(run, b)) })
	return "headroom sweep --show " + id + " --factor " + most
}

// levelsOf are the levels of a factor in a run's arms.
func levelsOf(run lab.Run, factor string) []string {
	var levels []string
	for _, a := range run.Arms {
		if v := a.Levels[factor]; v != "" && !slices.Contains(levels, v) {
			levels = append(levels, v)
		}
	}
	return levels
}
