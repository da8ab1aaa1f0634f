package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
)

func newAblateCommand(a *app.App) *cobra.Command {
	v := &variation{app: a, kind: app.AblateKind}
	c := &cobra.Command{
		Use: "ablate SUITE [DEVICE or DIR] --setting FACTOR=LEVEL... | ablate FILE.yaml",
		Long: `Measures a suite with each setting alone added to the machine as found, with all of them, and with each one
removed from all of them; and reports the cost or gain of each, as far as the measurements show.

Each block visits every arm once, and the machine as found twice: the difference between those two visits is
noise. Settings with a clear effect are left out of later blocks. If effects don't add up, the pairs of
settings that most likely explain it are measured next. A setting of the running machine is recorded before
it is changed, read back afterwards, and put back at the end, after an error, and by headroom restore after a
crash. Settings that take effect at boot are varied by rebooting.`,
		Example: `  headroom ablate quick /srv --setting sysctl:vm.dirty_ratio=5 --setting queue:scheduler=none
  headroom ablate quick /srv --setting queue:nr_requests=32 --alone --dry-run
  headroom ablate network --on server=ssh://db1 --setting bundle:esnet=100g --setting qdisc:under-test=fq --setting client:nic:eth0/mtu=9000
  headroom ablate arguments.yaml --on qemu:guest.yaml -o arguments.html`,
		Args:              argumentCount(0, 2, "a suite and a directory or device, or an experiment's file"),
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE: func(c *cobra.Command, args []string) error {
			return v.measure(c, args, func(id string) error { return v.report(c.Context(), id) })
		},
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&v.o.Factors, "setting", nil, "a setting to price: FACTOR=LEVEL; may be repeated")
	f.BoolVar(&v.o.Alone, "alone", false, "only add each setting to the machine as found: half the time, but nothing "+
		"about how settings act together")
	f.IntVar(&v.o.Pairs, "pairs", ablation.MaxPairs,
		"most pairs of settings to measure where effects don't add up; 0 for none")
	v.blockFlags(f)
	f.json()
	return c
}
