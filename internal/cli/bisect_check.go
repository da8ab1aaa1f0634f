package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/single"
)

func newBisectCheckCommand(a *app.App) *cobra.Command {
	var good, bad, build, label string
	var set []string
	most := 20
	c := &cobra.Command{
		Use: "check SUITE [DIR] --good RUN --bad RUN",
		Long: `Measures the current checkout, in the current folder, until it is clear whether it performs like the good run
or like the bad one. Both are saved runs of the same suite, with several repetitions each. {tree} in the suite's
commands stands for the current folder.

The exit code is for git bisect run: 0 good; 1 bad; 125 if undecided, or if the build or the load fails (git skips
the commit); 129 if the set-up is wrong (git stops).

headroom bisect commits does the whole search itself, and needs fewer measurements if they are noisy.`,
		Example: `  git checkout v1.4 && make && headroom run bench.yaml /srv --repeat 5 --label good
  git checkout main && make && headroom run bench.yaml /srv --repeat 5 --label bad
  git bisect start main v1.4 && git bisect run headroom bisect check bench.yaml /srv --good good --bad bad --build make`,
	}
	// Errors in the command line end git bisect run as well.
	c.Args = func(c *cobra.Command, args []string) error {
		return app.StopBisect(argumentCount(1, 2, "a suite and a directory")(c, args))
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return app.StopBisect(app.Usage(err.Error(), c.CommandPath()+" --help lists the flags"))
	})
	c.ValidArgsFunction, c.Annotations = completion{a}.suites(0), suiteAt(0)
	c.RunE = func(c *cobra.Command, args []string) error {
		if good == "" || bad == "" || most < 2 {
			return app.StopBisect(
				app.Usage("headroom bisect check needs a good run and a bad one, and two measurements or more",
					"--good RUN --bad RUN; headroom list names them"))
		}
		return app.StopBisect(
			single.Check(c.Context(), a, single.CheckTerms{Good: good, Bad: bad, Build: build, Most: most,
				Options: experiment.RunOptions{Label: label, Set: set}},
				args))
	}
	f := flagsOf(a, c)
	f.StringVar(&good, "good", "", "a saved run of the good state")
	f.StringVar(&bad, "bad", "", "a saved run of the bad state")
	f.StringVar(&build, "build", "", "the command that builds the checkout; split into words, not run by a shell")
	f.IntVar(&most, "most", most, "most measurements")
	f.StringVar(&label, "label", "", "a name for the run")
	f.StringArrayVar(&set, "set", nil, "a parameter for every job; may be repeated")
	for _, name := range []string{"good", "bad"} {
		f.offer(name, completion{a}.runs)
	}
	return c
}
