package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/load/iperf3"
)

func newInterferenceCommand(a *app.App) *cobra.Command {
	o := network.InterferenceOptions{Alpha: interference.DefaultAlpha}
	c := &cobra.Command{
		Use: "interference",
		Long: `Measures groups of loads in turns: each alone, every two together, and all together. The report gives
the share of its rate that each group keeps next to the others, and whether groups share one ceiling.

A group is a name and what its load uses: addresses of the server, one for each of its ports, with a pair of
iperf3 processes each; or a device or directory of the server, which fio reads. Devices are only read,
whatever they hold; in a directory, a scratch file is created, read, and removed.

The clients send to the server; --set reverse=1 makes the server send.`,
		Example: `  headroom net interference --on client=ssh://a --on client=ssh://b --on server=ssh://db1 --group application=10.0.1.1,10.0.2.1 --group data=10.0.3.1,10.0.4.1,10.0.5.1,10.0.6.1 --group backup=10.0.7.1,10.0.8.1
  headroom net interference --on server=ssh://db1 --group application=10.0.1.1 --group data=/dev/mapper/mpatha --passes 10
  headroom net interference --resume last`,
		Args: argumentCount(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := refuseSettled(c, "label", "passes", "seed", "set", "set-fio", "size", "on", "group", "port",
				"pairs", "margin", "alpha", "dry-run"); err != nil {
				return err
			}
			return network.RunInterference(c.Context(), a, o)
		},
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.Groups, "group", nil,
		"NAME=ADDRESS[,ADDRESS...] or NAME=/PATH: a load and the ports or the storage that it uses; twice or more")
	f.StringArrayVar(&o.On, "on", nil,
		"where: client=TARGET or server=TARGET, a target is "+a.AllKinds().Forms()+" (default local)")
	f.IntVar(&o.Port, "port", iperf3.Port, "port of the first server process; each further pair takes the next")
	f.IntVar(&o.Pairs, "pairs", 1, "pairs of processes for each address")
	f.budget(&o.Within)
	f.IntVar(&o.Passes, "passes", defaultPasses, "how often each combination is measured")
	f.StringVar(&o.Margin, "margin", fmt.Sprintf("%g%%", 100*interference.DefaultMargin),
		"largest loss that counts as none")
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "probability that any verdict is wrong")
	f.StringArrayVar(&o.Set, "set", nil, "an option of iperf3, like time=30s or parallel=4; may be repeated")
	f.StringArrayVar(&o.SetFio, "set-fio", nil, "a parameter of fio, like bs=64k or rw=randread; may be repeated")
	f.StringVar(&o.Size, "size", "", "size of the scratch file in a directory, like 4g")
	f.StringVar(&o.Label, "label", "", "a name for the run")
	f.seed(&o.Seed, "seed of the random order (default: random)")
	f.resume(&o.Resume, "continue an interrupted run, or show a complete one again")
	f.document(&o.Result)
	f.dryRun(&o.DryRun, "print what would be done, and do nothing"+app.EveryCommand)
	f.targets("on")
	f.json()
	return c
}
