package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/results"
)

func newProfileDiffCommand(a *app.App) *cobra.Command {
	o := results.ProfileDiffOptions{Alpha: results.ProfileAlpha}
	o.Functions = profiled.ShownFunctions
	c := &cobra.Command{
		Use: "diff A B",
		Long: `Compares the profiled loads of two runs, or of two arms of a run (RUN:ARM): calls of kernel functions and CPU
time per I/O. Where an I/O clearly takes longer on one side, an account of that time comes first: how much everything
takes longer, what each layer that differs takes, what is waiting, and what no layer explains. Then come the layers that
differ, with the functions of them that appeared, vanished or changed. All changes told by intervals are right together
with 95% confidence (--alpha).

Calls per I/O are the same on a slow machine as on a fast one, and beside other loads: they name a mechanism where
rates say nothing. With one argument, the first and the last arm of a run are compared.`,
		Example: `  headroom profile diff fast slow
  headroom profile diff 7KQ4:base 7KQ4:new
  headroom profile diff last --cell randread
  headroom profile diff fast slow -o difference.html
  headroom profile diff fast slow --json`,
		Args:              argumentCount(1, 2, "two runs, or arms of them; or one run with arms"),
		ValidArgsFunction: completion{a}.runs,
		RunE: func(c *cobra.Command, args []string) error {
			return interruptible(c.Context(), &a.UnfinishedWork, func() error {
				return results.CompareProfiles(a, args, o)
			})
		},
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.Cells, "cell", nil, "only loads whose name has this in it, like randread; may be repeated")
	f.Var(functionCount{&o.Functions}, "functions", "how many functions to list of each load, or all")
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "probability that any named change is wrong")
	f.document(&o.Result)
	f.json()
	return c
}
