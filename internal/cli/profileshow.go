package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/results"
)

func newProfileShowCommand(a *app.App) *cobra.Command {
	o := results.ProfileOptions{Functions: profiled.ShownFunctions}
	c := &cobra.Command{
		Use: "show RUN[:ARM]",
		Long: `Shows the profiled loads of a run: what an I/O costs in CPU time and in calls of kernel functions, by layer and
by function; how long requests are queued, in the scheduler and in the device; and where the load's threads
wait. A page (-o FILE.html) has a flame graph, too.

Stacks come in formats for other programs: folded (flamegraph.pl), pprof (go tool pprof) and speedscope. folded
and pprof have whole numbers: nanoseconds of CPU time per thousand I/Os.`,
		Example: `  headroom profile show last
  headroom profile show last --functions all
  headroom profile show 7KQ4:tuned --cell randread
  headroom profile show last -o profile.html
  headroom profile show last -o profile.speedscope
  headroom profile show last -o profile.pb.gz
  headroom profile show last --format folded --cell randread`,
		Args:              argumentCount(1, 1, "one run, or an arm of one"),
		ValidArgsFunction: completion{a}.runs,
		RunE: func(c *cobra.Command, args []string) error {
			return interruptible(c.Context(), &a.UnfinishedWork, func() error {
				return results.ShowProfiles(a, args[0], o)
			})
		},
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.Cells, "cell", nil, "only loads whose name has this in it, like randread; may be repeated")
	f.Var(functionCount{&o.Functions}, "functions", "how many functions to list of each load, or all")
	o.Result.More = results.StackFormats()
	f.document(&o.Result)
	f.json()
	return c
}

// functionCount is the value of a flag for the number of listed functions; "all" is 0.
type functionCount struct{ n *int }

func (c functionCount) Type() string { return "number" }

func (c functionCount) String() string {
	if c.n == nil {
		return ""
	}
	if *c.n == 0 {
		return "all"
	}
	return strconv.Itoa(*c.n)
}

func (c functionCount) Set(text string) error {
	if text == "all" {
		*c.n = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return app.Usage(fmt.Sprintf("%q is no number of functions", text), "write 40, or all")
	}
	*c.n = n
	return nil
}
