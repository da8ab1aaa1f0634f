package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
)

// search is a command that looks for the culprits among differences.
type search struct{ variation }

func newSearch(a *app.App) *search { return &search{variation{app: a, kind: app.BisectKind}} }

// newStepsSearch returns a search among levels that have an order.
func newStepsSearch(a *app.App) *search {
	s := newSearch(a)
	s.o.Steps = true
	return s
}

func newBisectCommand(a *app.App) *cobra.Command {
	s := newSearch(a)
	c := &cobra.Command{
		Use: "bisect args|sysctl|settings|facts|kconfig|kernels|steps|commits|check ... | bisect --resume RUN | " +
			"bisect --show RUN",
		Long: `A fast state and a slow one differ in many ways. headroom measures mixtures of the two, each chosen to narrow
the search the most, until it is clear which differences cost the performance. It proves the answer by removing
them from the slow state and adding them to the fast one.

A measurement is a number, never just "good" or "bad": headroom learns the noise during the search, and every
answer has a probability. If the two states don't differ, or not enough to be measured, it says so. It also
finds several culprits, and ones that only act together.`,
		Example: `  headroom bisect args read.yaml /dev/nvme0n1 --on qemu:guest.yaml --bad "slub_debug=FZPU audit=0 quiet"
  headroom bisect sysctl quick /srv --good fast.conf --bad slow.conf
  headroom bisect --resume last
  headroom bisect --show last -o culprit.html`,
		Args: argumentCount(0, 0, "no argument"),
		RunE: func(c *cobra.Command, args []string) error {
			if s.o.Resume == "" && s.o.Show == "" {
				return app.Usage("headroom bisect needs to know what differs", "headroom bisect kernels: a series of "+
					"kernels", "headroom bisect commits: the commits of a git tree",
					"headroom bisect args: kernel arguments",
					"headroom bisect sysctl: sysctls", "headroom bisect settings: anything that headroom can set",
					"headroom bisect facts: two machines", "headroom bisect kconfig: two kernels' builds")
			}
			return s.run(c, args)
		},
	}
	f := flagsOf(a, c)
	s.searchFlags(f)
	f.json()
	return c
}

func newBisectArgsCommand(a *app.App) *cobra.Command {
	s := newSearch(a)
	var good, bad string
	c := &cobra.Command{
		Use: "args SUITE [DEVICE or DIR] --bad ARGUMENTS [--good ARGUMENTS] --on TARGET",
		Long: `Finds which of the kernel arguments that differ between two command lines cost the performance.

--good and --bad are whole command lines, as in /proc/cmdline. Arguments that are the same in both are left alone,
and so are those that name the root file system, the console or the boot image. Every measurement reboots the
machine: a guest (qemu:FILE), or a real machine that --reboot names.`,
		Example: `  headroom bisect args read.yaml /dev/nvme0n1 --on qemu:guest.yaml --bad "slub_debug=FZPU audit=0 quiet"
  headroom bisect args read.yaml /dev/nvme0n1 --on ssh://root@a --reboot ssh://root@a --good "$(cat fast)" --bad "$(cat slow)"`,
	}
	f := flagsOf(a, c)
	f.StringVar(&good, "good", "", "the fast state's kernel arguments (default: none of those in --bad)")
	f.StringVar(&bad, "bad", "", "the slow state's kernel arguments")
	return s.complete(c, func() ([]string, error) { return factor.DifferingArguments(good, bad) })
}

func newBisectSysctlCommand(a *app.App) *cobra.Command {
	s := newSearch(a)
	var good, bad string
	c := &cobra.Command{
		Use: "sysctl SUITE [DEVICE or DIR] --good FILE --bad FILE",
		Long: `Finds which of the sysctls that differ between two states cost the performance. --good and --bad are files as
"sysctl -a" prints them or as in /etc/sysctl.d. Every value is recorded before it is changed, and put back at
the end.`,
		Example: `  headroom bisect sysctl quick /srv --good fast.conf --bad slow.conf
  headroom bisect sysctl quick /srv --good fast.conf --bad slow.conf --on ssh://root@a`,
	}
	f := flagsOf(a, c)
	f.StringVar(&good, "good", "", "a file with the fast state's sysctls")
	f.StringVar(&bad, "bad", "", "a file with the slow state's sysctls")
	return s.complete(c, func() ([]string, error) { return differingSysctls(good, bad) })
}

func newBisectSettingsCommand(a *app.App) *cobra.Command {
	s := newSearch(a)
	c := &cobra.Command{
		Use: "settings SUITE [DEVICE or DIR] --setting FACTOR=FAST,SLOW...",
		Long: `Finds which of several settings cost the performance. Each has two levels: first the level of the fast state,
then the level of the slow one. headroom factors lists what can be set.`,
		Example: `  headroom bisect settings quick /srv --setting queue:scheduler=none,bfq --setting sysctl:vm.dirty_ratio=20,2
  headroom bisect settings read.yaml /dev/nvme0n1 --on qemu:guest.yaml --setting guest:iommu=none,intel --setting cmdline:quiet=absent,`,
	}
	c.Flags().StringArrayVar(&s.o.Factors, "setting", nil, "a setting that differs: FACTOR=FAST,SLOW; may be repeated")
	return s.complete(c, func() ([]string, error) { return s.o.Factors, nil })
}

func newBisectKernelsCommand(a *app.App) *cobra.Command {
	s := newStepsSearch(a)
	var kernels []string
	c := &cobra.Command{
		Use: "kernels SUITE [DEVICE or DIR] --kernel KERNEL --kernel KERNEL... --on TARGET",
		Long: `Finds where in a series of kernels, given from oldest to newest, the performance changed. Some kernels of the
series are measured first, because performance may go up and down: releases that lack a fix can be faster.
Several changes are found, too, in either direction.`,
		Example: `  headroom bisect kernels read.yaml /dev/nvme0n1 --on qemu:guest.yaml --kernel 6.1.0-28-amd64 --kernel linux-image-6.6.deb --kernel bzImage-6.11`,
	}
	c.Flags().StringArrayVar(&kernels, "kernel", nil, "a kernel of the series, in its order; may be repeated")
	return s.complete(c, func() ([]string, error) {
		if len(kernels) == 0 {
			return nil, nil
		}
		return []string{factor.Series("kernel:", kernels)}, nil
	})
}

func newBisectStepsCommand(a *app.App) *cobra.Command {
	s := newStepsSearch(a)
	c := &cobra.Command{
		Use:     "steps SUITE [DEVICE or DIR] --setting FACTOR=LEVEL,LEVEL,LEVEL...",
		Long:    `Finds the neighbouring levels of one factor between which the performance changes.`,
		Example: `  headroom bisect steps quick /srv --setting queue:nr_requests=1024,512,256,128,64,32,16,8`,
	}
	c.Flags().StringArrayVar(&s.o.Factors, "setting", nil, "the factor with its levels in their order")
	return s.complete(c, func() ([]string, error) { return s.o.Factors, nil })
}

// searchFlags adds the flags of a search.
func (s *search) searchFlags(f flags) {
	o := &s.o
	f.count(&o.Repeat, "repeat", "repetitions of every cell in a measurement (default 1)")
	f.count(&o.Blocks, "max-boots", "most measurements, not counting the proof (default 150)")
	f.DurationVar(&o.Budget, "budget", 0, "time limit, like 30m: no measurement starts later")
	f.StringVar(&o.Margin, "margin", "", "ends that differ by less are the same (default 5%)")
	if !o.Steps { // of which nothing is known
		f.BoolVar(&o.NoPriors, "no-priors", false, "ignore what is known about settings: all start equally likely")
	}
	s.flags(f)
}

// complete completes the command of one kind of search. differences returns the settings that differ between its two
// states.
func (s *search) complete(c *cobra.Command, differences func() ([]string, error)) *cobra.Command {
	c.Args, c.ValidArgsFunction = argumentCount(0, 2, "a suite and a directory or device"), completion{s.app}.suites(0)
	c.Annotations = suiteAt(0)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if s.o.Resume == "" && s.o.Show == "" {
			if s.o.Factors, err = differences(); err != nil {
				return err
			}
		}
		return s.run(c, args)
	}
	f := flagsOf(s.app, c)
	s.searchFlags(f)
	f.json()
	return c
}

// run searches and reports. A search without an answer ends with a separate exit code.
func (s *search) run(c *cobra.Command, args []string) error {
	return s.measure(c, args, func(id string) error { return s.answer(c.Context(), id) })
}

// answer prints the result of a search.
func (s *search) answer(ctx context.Context, id string) error {
	if err := s.report(ctx, id); err != nil || s.o.Show != "" {
		return err
	}
	b, err := s.find(id)
	if err != nil {
		return err
	}
	d, err := results.BisectionOf(b, report.Options{Serials: true})
	if err != nil || d.Outcome != bisection.Undecided {
		return err
	}
	return &lab.Error{Kind: lab.Undecided,
		What:  fmt.Sprintf("no culprit was found in %s", prose.Count(d.Measurements, "measurement")),
		Hints: []string{"more of them may: --max-boots, --budget", "a longer load, or --repeat 2, is less noisy"}}
}

func differingSysctls(good, bad string) ([]string, error) {
	if good == "" || bad == "" {
		return nil, app.Usage("headroom bisect sysctl needs both states",
			"name a file with --good and one with --bad; sysctl -a prints one")
	}
	texts := make([]string, 2)
	for i, name := range []string{good, bad} {
		data, err := app.ReadInput(name)
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
		}
		texts[i] = string(data)
	}
	return factor.DifferingSysctls(texts[0], texts[1])
}
