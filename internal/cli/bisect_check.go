package cli

import (
	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/experiment/vary"
)

func (p *program) bisectCheckCommand() *cobra.Command {
	var good, bad, build, label string
	var set []string
	most := 20
	c := &cobra.Command{
		Use:   "check SUITE [DIR] --good RUN --bad RUN",
		Short: "For git bisect run: is the checkout as fast as a good run, or as slow as a bad one?",
		Long: `Measures what is checked out now, in the folder that it is started in, as often as it takes until it is clear
whether it is as in the good run or as in the bad one. Both are saved runs of the same suite, with some repetitions
each. {tree} in the suite's commands stands for the folder that it is started in.

It ends as git bisect run reads it: 0 good, 1 bad, 125 where that can't be told, or the build or the load fails
(git skips the commit), and 129 where the set-up is wrong (git stops).

headroom bisect commits does the whole search, with fewer measurements where they are noisy.`,
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
	c.ValidArgsFunction = completeSuites
	c.RunE = func(c *cobra.Command, args []string) error {
		if good == "" || bad == "" || most < 2 {
			return app.StopBisect(
				app.Usage("headroom bisect check needs a good run and a bad one, and two measurements or more",
					"--good RUN --bad RUN; headroom list names them"))
		}
		return app.StopBisect(
			vary.RunCheck(c.Context(), p.App, vary.CheckTerms{Good: good, Bad: bad, Build: build, Most: most,
				Options: experiment.RunOptions{Label: label, Set: set}},
				args))
	}
	f := c.Flags()
	f.StringVar(&good, "good", "", "a saved run of the good state")
	f.StringVar(&bad, "bad", "", "a saved run of the bad state")
	f.StringVar(&build, "build", "", "the command that builds what is checked out, as words: no shell reads it")
	f.IntVar(&most, "most", most, "measurements at most")
	f.StringVar(&label, "label", "", "text to find the run by")
	f.StringArrayVar(&set, "set", nil, "a parameter for every job; may be repeated")
	for _, name := range []string{"good", "bad"} {
		if err := c.RegisterFlagCompletionFunc(name, p.completeRuns); err != nil {
			panic(err) // the flag is not there: an error of the program
		}
	}
	return c
}
