package cli

import (
	"github.com/spf13/cobra"

	"headroom/internal/history"
	"headroom/internal/results"
)

func (p *program) historyCommand() *cobra.Command {
	var o results.HistoryOptions
	c := &cobra.Command{
		Use:   "history SUITE",
		Short: "Follow a suite over its runs: when did its numbers change, and what changed with them",
		Long: `Puts the runs of a suite in the order of time, machine by machine and place by
place, and finds where the level of a cell changed: at most one history in 20
shows a change where there was none, over all cells of a machine. At each
change it compares the machine before and after. The newest run, which nothing
has followed yet, is compared with those before it.

Only the same job with the same parameters is one cell; when a parameter
changes, another history begins. Imported runs have no suite: those with one
label are a history.

--fail-on regression makes it a gate. It exits with
  3  when the newest run is worse than those before it, or the last change of
     a cell was for the worse (--since RUN, the first one at the new level,
     accepts it)
  5  when that can't be told: too few runs, or they scatter too much for the
     margin
  0  otherwise: a loss of more than the margin is excluded, with 95% a cell`,
		Example: `  headroom history nvme
  headroom history nvme --since 90d --cell randread
  headroom history nvme --metric read.latency.p99
  headroom history nvme --margin 5% --fail-on regression
  headroom history nvme -o history.html
  headroom history nvme --format markdown`,
		Args: argumentCount(1, 1,
			"the name of a suite, or the label of imports, as headroom list shows it"),
		ValidArgsFunction: p.completeMeasuredSuites,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			if _, _, err := o.Result.Formats(p.JSON); err != nil {
				return err
			}
			return results.ShowHistory(p.App, args[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Cell, "cell", "", "follow only cells with this in their name, as the table shows it")
	f.StringVar(&o.Metric, "metric", "", "follow this metric, as in JSON (default: IOPS; where the load is paced, "+
		"the mean latency)")
	f.StringVar(&o.SinceText, "since", "",
		"leave out what is older: 90d, 12w, a date such as 2026-10-03, or the first "+
			"run to take")
	f.StringVar(&o.MarginText, "margin", "3%", "largest loss that counts as none")
	f.Float64Var(&o.Alpha, "alpha", history.DefaultAlpha,
		"probability of a false alarm at one look; 0.01 for a gate that looks every week")
	f.StringVar(&o.FailOn, "fail-on", "", "regression: exit with 3 when there is one, 5 when it can't be told")
	documentFlags(&o.Result, c)
	p.jsonFlag(c)
	completeFlag(c, "fail-on", func() []string { return []string{results.FailOnRegression} })
	return c
}

func (p *program) completeMeasuredSuites(_ *cobra.Command, args []string, _ string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := p.OpenStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return results.SuitesIn(s), cobra.ShellCompDirectiveNoFileComp
}
