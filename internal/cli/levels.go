package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// levelFlags returns the flags that select the factor among the levels of a saved run; for a sweep the factor is fixed.
func levelFlags() []string { return []string{"factor", "baseline", "reference", "share"} }

// hasLevels reports whether a run that was not measured as an experiment has loads at several levels: another program's
// results, or stages.
func hasLevels(run results.StagedRun) bool {
	return run.Experiment == nil && len(sweep.Factors(run.Arms)) > 0
}

// showLevels prints the figures of merit of a run that has levels.
func (s *sweepCommand) showLevels(run results.StagedRun) error {
	o := &s.o
	by := sweep.By{Baseline: o.Baseline, Reference: o.Reference}
	switch len(o.Factors) {
	case 0:
	case 1:
		by.Factor = o.Factors[0]
	default:
		return app.Usage("a sweep has one factor", "--factor "+o.Factors[0])
	}
	if o.Share != "" {
		v, err := unit.ParseShare(o.Share)
		if err != nil {
			return app.Usage("--share: " + err.Error())
		}
		by.Share = v
	}
	scores, err := o.PublishedScores()
	if err != nil {
		return err
	}
	header, repetitions := summary.RedactRun(run.Run, run.Measured)
	d, err := sweep.OfLevels(header, repetitions, by)
	if err != nil {
		return err
	}
	saved, err := s.app.OpenStore()
	if err != nil {
		return err
	}
	return results.ShowResult(s.app, saved, results.SweepResult(d, report.Options{Scores: scores}), o.Result)
}

// refuseLevelFlags refuses flags that would change the factor of a sweep.
func refuseLevelFlags(c *cobra.Command, b *store.Bundle) error {
	for _, name := range levelFlags() {
		if c.Flags().Lookup(name).Changed {
			return app.Usage(fmt.Sprintf("--%s is settled in run %s, which is a %s", name, b.Run.ID,
				b.Run.Experiment.Noun()), "show it without --"+name)
		}
	}
	return nil
}
