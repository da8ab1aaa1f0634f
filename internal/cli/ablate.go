package cli

import (
	"github.com/spf13/cobra"

	"headroom/internal/ablation"
	"headroom/internal/app"
	"headroom/internal/experiment/vary"
)

func (p *program) ablateCommand() *cobra.Command {
	var o vary.Options
	c := &cobra.Command{
		Use:   "ablate SUITE [DEVICE or DIR] --setting FACTOR=LEVEL... | ablate FILE.yaml",
		Short: "Price each setting: what it costs or gains alone, and in the whole set",
		Long: `Measures a suite with each setting alone added to the machine as found, with all of them, and with
each alone removed from all of them; and says what each costs or gains, as far as that can be told.

In each block every arm is visited once, and the machine as found twice: what differs between those two
is noise. Settings that are settled are left out of the blocks that follow. Where effects do not add up,
the pairs that are the likeliest reason are measured after that. A setting of the running
machine is written down before it is changed, read back after, and put back at the end, after an error,
and by headroom restore after a crash. What is decided when the machine starts is varied by starting it
anew.`,
		Example: `  headroom ablate quick /srv --setting sysctl:vm.dirty_ratio=5 --setting queue:scheduler=none
  headroom ablate quick /srv --setting queue:nr_requests=32 --alone --dry-run
  headroom ablate network --on server=ssh://db1 --setting bundle:esnet=100g --setting qdisc:under-test=fq --setting client:nic:eth0/mtu=9000
  headroom ablate arguments.yaml --on qemu:guest.yaml -o arguments.html`,
		Args:              argumentCount(0, 2, "a suite and a directory or device, or an experiment's file"),
		ValidArgsFunction: completeSuites,
		RunE:              func(c *cobra.Command, args []string) error { return p.ablateRun(c, o, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.Factors, "setting", nil, "a setting to price: FACTOR=LEVEL; may be repeated")
	f.BoolVar(&o.Alone, "alone", false, "only add each to the machine as found; halves the time, and says nothing of "+
		"how they act together")
	f.IntVar(&o.Pairs, "pairs", ablation.MaxPairs,
		"pairs of settings to measure at most where effects do not add up; 0 for none")
	experimentFlags(&o, p, c)
	p.jsonFlag(c)
	return c
}

func (p *program) ablateRun(c *cobra.Command, o vary.Options, args []string) error {
	id, err := p.experimentRun(c, app.AblateKind, o, args)
	if err != nil || id == "" {
		return err
	}
	return p.reportExperiment(c.Context(), id, app.AblateKind, o)
}
