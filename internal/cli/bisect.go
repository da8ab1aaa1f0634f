package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
)

func (p *program) bisectCommand() *cobra.Command {
	var o vary.Options
	c := &cobra.Command{
		Use: "bisect args|sysctl|settings|facts|kconfig|kernels|steps|commits|check ... | bisect --resume RUN | " +
			"bisect --show RUN",
		Short: "Find the culprit: which of the differences between a fast and a slow state make it slow",
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
			if o.Resume == "" && o.Show == "" {
				return app.Usage("headroom bisect needs to know what differs", "headroom bisect kernels: a series of "+
					"kernels", "headroom bisect commits: the commits of a git tree",
					"headroom bisect args: kernel arguments",
					"headroom bisect sysctl: sysctls", "headroom bisect settings: anything that headroom can set",
					"headroom bisect facts: two machines", "headroom bisect kconfig: two kernels' builds")
			}
			return p.bisectRun(c, o, args)
		},
	}
	bisectFlags(&o, p, c)
	p.jsonFlag(c)
	c.AddCommand(p.bisectArgsCommand(), p.bisectSysctlCommand(), p.bisectSettingsCommand(), p.bisectFactsCommand(),
		p.bisectKernelsCommand(), p.bisectStepsCommand(),
		p.bisectCommitsCommand(), p.bisectCheckCommand(), p.bisectKconfigCommand())
	return c
}

func (p *program) bisectArgsCommand() *cobra.Command {
	var o vary.Options
	var good, bad string
	c := &cobra.Command{
		Use:   "args SUITE [DEVICE or DIR] --bad ARGUMENTS [--good ARGUMENTS] --on TARGET",
		Short: "Which kernel argument makes it slow: every measurement is a boot",
		Long: `Finds which of the kernel arguments that differ between two command lines cost the performance.

--good and --bad are whole command lines, as in /proc/cmdline. Arguments that are the same in both are left alone,
and so are those that name the root file system, the console or the boot image. Every measurement reboots the
machine: a guest (qemu:FILE), or a real machine that --reboot names.`,
		Example: `  headroom bisect args read.yaml /dev/nvme0n1 --on qemu:guest.yaml --bad "slub_debug=FZPU audit=0 quiet"
  headroom bisect args read.yaml /dev/nvme0n1 --on ssh://root@a --reboot ssh://root@a --good "$(cat fast)" --bad "$(cat slow)"`,
	}
	f := c.Flags()
	f.StringVar(&good, "good", "", "the fast state's kernel arguments (default: none of those in --bad)")
	f.StringVar(&bad, "bad", "", "the slow state's kernel arguments")
	return p.completeBisectCommand(c, &o, func() ([]string, error) { return factor.DifferingArguments(good, bad) })
}

func (p *program) bisectSysctlCommand() *cobra.Command {
	var o vary.Options
	var good, bad string
	c := &cobra.Command{
		Use:   "sysctl SUITE [DEVICE or DIR] --good FILE --bad FILE",
		Short: "Which sysctl makes it slow, without rebooting",
		Long: `Finds which of the sysctls that differ between two states cost the performance. --good and --bad are files as
"sysctl -a" prints them or as in /etc/sysctl.d. Every value is recorded before it is changed, and put back at
the end.`,
		Example: `  headroom bisect sysctl quick /srv --good fast.conf --bad slow.conf
  headroom bisect sysctl quick /srv --good fast.conf --bad slow.conf --on ssh://root@a`,
	}
	f := c.Flags()
	f.StringVar(&good, "good", "", "a file with the fast state's sysctls")
	f.StringVar(&bad, "bad", "", "a file with the slow state's sysctls")
	return p.completeBisectCommand(c, &o, func() ([]string, error) { return differingSysctls(good, bad) })
}

func (p *program) bisectSettingsCommand() *cobra.Command {
	var o vary.Options
	c := &cobra.Command{
		Use:   "settings SUITE [DEVICE or DIR] --setting FACTOR=FAST,SLOW...",
		Short: "Which setting makes it slow, of any kind that headroom can change",
		Long: `Finds which of several settings cost the performance. Each has two levels: first that of the fast state, then
that of the slow one. headroom factors lists what can be set.`,
		Example: `  headroom bisect settings quick /srv --setting queue:scheduler=none,bfq --setting sysctl:vm.dirty_ratio=20,2
  headroom bisect settings read.yaml /dev/nvme0n1 --on qemu:guest.yaml --setting guest:iommu=none,intel --setting cmdline:quiet=absent,`,
	}
	c.Flags().StringArrayVar(&o.Factors, "setting", nil, "a setting that differs: FACTOR=FAST,SLOW; may be repeated")
	return p.completeBisectCommand(c, &o, func() ([]string, error) { return o.Factors, nil })
}

func (p *program) bisectKernelsCommand() *cobra.Command {
	o := vary.Options{Steps: true}
	var kernels []string
	c := &cobra.Command{
		Use:   "kernels SUITE [DEVICE or DIR] --kernel KERNEL --kernel KERNEL... --on TARGET",
		Short: "Between which kernels it became slow: every measurement is a boot",
		Long: `Finds where in a series of kernels, given from oldest to newest, the performance changed. Some kernels of the
series are measured first, because performance may go up and down: releases that lack a fix can be faster.
Several changes are found, too, in either direction.`,
		Example: `  headroom bisect kernels read.yaml /dev/nvme0n1 --on qemu:guest.yaml --kernel 6.1.0-28-amd64 --kernel linux-image-6.6.deb --kernel bzImage-6.11`,
	}
	c.Flags().StringArrayVar(&kernels, "kernel", nil, "a kernel of the series, in its order; may be repeated")
	return p.completeBisectCommand(c, &o, func() ([]string, error) {
		if len(kernels) == 0 {
			return nil, nil
		}
		return []string{factor.Series("kernel:", kernels)}, nil
	})
}

func (p *program) bisectStepsCommand() *cobra.Command {
	o := vary.Options{Steps: true}
	c := &cobra.Command{
		Use:     "steps SUITE [DEVICE or DIR] --setting FACTOR=LEVEL,LEVEL,LEVEL...",
		Short:   "Between which levels of one factor it became slow",
		Long:    `Finds the neighbouring levels of one factor between which the performance changes.`,
		Example: `  headroom bisect steps quick /srv --setting queue:nr_requests=1024,512,256,128,64,32,16,8`,
	}
	c.Flags().StringArrayVar(&o.Factors, "setting", nil, "the factor with its levels in their order")
	return p.completeBisectCommand(c, &o, func() ([]string, error) { return o.Factors, nil })
}

// completeBisectCommand completes the command of one kind of search, which knows what differs between its two states.
func (p *program) completeBisectCommand(c *cobra.Command, o *vary.Options,
	differences func() ([]string, error)) *cobra.Command {
	c.Args, c.ValidArgsFunction = argumentCount(0, 2, "a suite and a directory or device"), p.completeSuites(0)
	c.Annotations = suiteAt(0)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if o.Resume == "" && o.Show == "" {
			if o.Factors, err = differences(); err != nil {
				return err
			}
		}
		return p.bisectRun(c, *o, args)
	}
	bisectFlags(o, p, c)
	p.jsonFlag(c)
	return c
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

// bisectRun searches and reports; a search that came to no answer ends with an exit code of its own.
func (p *program) bisectRun(c *cobra.Command, o vary.Options, args []string) error {
	return p.experimentRun(c, app.BisectKind, o, args, func(id string) error { return p.bisectReport(c, o, id) })
}

// bisectReport shows a search.
func (p *program) bisectReport(c *cobra.Command, o vary.Options, id string) error {
	if err := p.reportExperiment(c.Context(), id, app.BisectKind, o); err != nil || o.Show != "" {
		return err
	}
	b, err := p.findExperiment(id, app.BisectKind)
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
