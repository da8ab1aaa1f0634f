package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/experiment/ladderrun"
	"github.com/headroom/headroom/internal/experiment/paired"
	"github.com/headroom/headroom/internal/results"
)

// compareCommand compares saved runs, or measures both sides itself.
type compareCommand struct {
	app  *app.App
	o    results.CompareOptions
	live paired.LiveOptions
}

func newCompareCommand(a *app.App) *cobra.Command {
	r := &compareCommand{app: a}
	o := &r.o
	c := &cobra.Command{
		Use: "compare BASE NEW...",
		Long: `Compares runs with a base, load by load. "same", "faster" and "slower" are each proved: the interval of
the change lies within the margin, or excludes no change. Everything else is undecided, with the smallest
difference that would have been detected and how many more repetitions it takes. All verdicts of a table
are right together with 95% confidence (--alpha).

Loads that are not the same, and numbers that a warning affects, are incomparable; --anyway compares
them, too.

reference:NAME is a published result (headroom references lists them).

--live measures both sides now, in turns: two directories or devices, two suites in one place, or two
targets. Each load ends as soon as it has a verdict. --layers measures from the bottom up what each layer
of storage adds, on one target or several.`,
		Example: `  headroom compare before after
  headroom compare debian talos flatcar --margin 5%
  headroom compare before last --margin 3% --margin 'read.latency.*=10%'
  headroom compare before last --fail-on slower
  headroom compare before after -o page.html
  headroom compare before after --warnings
  headroom compare reference:kbench/samsung-850-pro last
  headroom compare --live --suite quick /mnt/a /mnt/b
  headroom compare --live --suite quick /srv --set-base iodepth=1 --set-new iodepth=2
  headroom compare --live --suite quick ssh://db1 ssh://db2 /srv
  headroom compare --live --suite nvme 'kube:pod?class=fast&mode=block' 'kube:pod?class=slow&mode=block'
  headroom compare --layers /dev/sdb /dev/vg/data /srv
  headroom compare --layers raw='kube:pod?node=w1&privileged' /dev/nvme0n1 pod='kube:pod?class=fast&node=w1'`,
		Args:              r.checkArgs,
		ValidArgsFunction: completion{a}.comparable,
		Annotations:       namedArguments(argumentsAreSides),
		RunE:              r.run,
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.Margins, "margin", nil,
		"largest difference that counts as no change: 3%, or for one metric read.latency.p99=10% (default 3%)")
	f.Float64Var(&o.Alpha, "alpha", compare.DefaultAlpha, "probability that any verdict of the table is wrong")
	f.StringSliceVar(&o.Metrics, "metrics", nil,
		"metrics to compare, named as in JSON; a trailing * matches all that begin so")
	f.BoolVar(&o.All, "all", false, "compare all metrics that both sides have")
	f.BoolVar(&o.Anyway, "anyway", false, "compare also what is incomparable")
	f.document(&o.Result)
	rawCellsFlag(c, &o.Result.Report.RawCells)
	f.StringVar(&o.FailOn, "fail-on", "",
		"exit with 3 if something is slower (or different), with 5 if that is undecided")
	f.BoolVar(&o.Result.Report.Serials, "serials", false, "show serial numbers, also in files")
	warningsFlag(c, &o.Result.Report.Warnings)
	r.liveFlags(f)
	f.json()
	f.values("fail-on", results.FailOns)
	f.values("metrics", results.CommonMetrics)
	return c
}

// checkArgs demands a base and a run, unless both are measured.
func (r *compareCommand) checkArgs(c *cobra.Command, args []string) error {
	if r.live.Live || r.live.Layers {
		return nil
	}
	return argumentCount(2, unlimited, "a base and one run or more")(c, args)
}

func (r *compareCommand) run(c *cobra.Command, args []string) error {
	if err := r.checkLive(c); err != nil {
		return err
	}
	live := r.live
	if live.Layers {
		layers := ladderrun.LayerOptions{Suite: live.Suite, Set: live.Set, Size: live.Size, Label: live.Label,
			Seed: live.Seed, MaxWrites: live.Writes, Passes: live.Pairs, Budget: live.Budget,
			Resume: live.Resume, DryRun: live.DryRun, Result: r.o.Result}
		return ladderrun.CompareLayers(c.Context(), r.app, layers, args)
	}
	if live.Live {
		return paired.CompareLive(c.Context(), r.app, live, r.o, args)
	}
	return interruptible(c.Context(), &r.app.UnfinishedWork, func() error {
		return results.CompareRuns(r.app, args, r.o)
	})
}
