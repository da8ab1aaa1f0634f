package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/results"
)

func newHistoryCommand(a *app.App) *cobra.Command {
	var o results.HistoryOptions
	c := &cobra.Command{
		Use: "history SUITE",
		Long: `Sorts the runs of a suite by time, for each machine and place, and finds where the level of a cell changed: over
all cells of a machine, at most one history in 20 shows a change where there was none. At each change it
compares the facts of the machine before and after. The newest run is compared with those before it.

A cell is the same job with the same parameters; if a parameter changes, a new history begins. Imported runs
have no suite: those with the same label form a history.

--fail-on regression makes it a gate. It exits with
  3  if the newest run is worse than those before it, if one of its loads
     failed or measured 0, or if the last change of a cell was for the worse
     (--since RUN, the first one at the new level, accepts it)
  5  if that is undecided: too few runs, too much noise for the margin, a run
     that was cut off, a load of which some repetitions failed
  0  otherwise: a loss of more than the margin is excluded, with 95%
     confidence for each cell. A load that was left out of the newest run is
     not judged.`,
		Example: `  headroom history nvme
  headroom history nvme --since 90d --cell randread
  headroom history nvme --metric read.latency.p99
  headroom history nvme --margin 5% --fail-on regression
  headroom history nvme -o history.html
  headroom history nvme --format markdown`,
		Args: argumentCount(1, 1,
			"the name of a suite, or the label of imports, as headroom list shows it"),
		ValidArgsFunction: completion{a}.measuredSuites,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			if _, _, err := o.Result.Formats(a.JSON); err != nil {
				return err
			}
			return results.ShowHistory(a, args[0], o)
		},
	}
	f := flagsOf(a, c)
	f.StringVar(&o.Cell, "cell", "", "only cells with this text in their name, as the table shows it")
	f.StringVar(&o.Metric, "metric", "", "metric, named as in JSON (default: IOPS; for loads at a fixed rate, the "+
		"mean latency)")
	f.StringVar(&o.SinceText, "since", "",
		"leave out older runs: 90d, 12w, a date such as 2026-10-03, or the first run to include")
	f.StringVar(&o.MarginText, "margin", "3%", "largest loss that counts as none")
	f.Float64Var(&o.Alpha, "alpha", history.DefaultAlpha,
		"probability of a false alarm each time; 0.01 for a gate that runs every week")
	f.StringVar(&o.FailOn, "fail-on", "", "regression: exit with 3 if there is one, with 5 if that is undecided")
	f.document(&o.Result)
	f.json()
	f.values("fail-on", func() []string { return []string{results.FailOnRegression} })
	return c
}

// measuredSuites offers the suites of the runs in the store.
func (o completion) measuredSuites(_ *cobra.Command, args []string, _ string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := o.app.OpenStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return results.SuitesIn(s), cobra.ShellCompDirectiveNoFileComp
}
