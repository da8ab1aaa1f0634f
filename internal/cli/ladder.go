package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/ladderrun"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/results"
)

// defaultPasses is the default number of passes over the rungs: few, because there are many rungs, and enough to detect
// a missing tenth if loads vary by 2%.
const defaultPasses = 6

func newLadderCommand(a *app.App) *cobra.Command {
	o := ladderrun.Options{Alpha: ladder.DefaultAlpha}
	c := &cobra.Command{
		Use: "ladder [PLACE...]",
		Long: `Measures the storage under a directory or device rung by rung: memory, a null device, each drive alone,
pairs of drives, all drives together, then what is built from them (md, LVM, dm-crypt), then the file
system. The report shows each rung with its ceiling and with what the rungs below it promise. The first
rung that falls short is the answer.

headroom finds the rungs under one PLACE itself. Several places are the rungs, in that order; "null" is the
null device, and devices separated by commas are loaded at the same time.

--guest adds the disks of a guest in QEMU as rungs: first those without storage behind them, then the
others. If one falls short of the storage below it, the answer reports if virtio itself is the limit.
Blank images for the guest are made in the directory that the ladder leads to, unlinked, and filled.

Devices are only read, whatever they hold. In directories, a scratch file is created, read, and removed.

--on server=TARGET (and --on client=TARGET, once or more) measures a network in both directions: what each
machine moves over its own loopback, one flow, each port of the server alone (--address), groups of ports
(--group), all ports, and all ports both ways.

Between pods, the network below the pod network is measured, too: the same pods on the same nodes, but in
the nodes' own network. The difference is the cost of the pod network (CNI).`,
		Example: `  headroom ladder /srv
  headroom ladder /dev/nvme0n1,/dev/nvme1n1,/dev/nvme2n1
  headroom ladder null /dev/sdb /dev/drbd0 /srv
  headroom ladder /srv --dry-run
  headroom ladder /srv --passes 12 --margin 3%
  headroom ladder /srv --guest qemu:guest.yaml
  headroom ladder /srv --on ssh://db1
  headroom ladder --on server=ssh://db1 --address 10.0.1.1 --address 10.0.2.1 --pairs 3
  headroom ladder --on client=ssh://a --on client=ssh://b --on server=ssh://db1 --group data=10.0.3.1,10.0.4.1 --address 10.0.5.1
  headroom ladder --on 'client=kube:pod?node=worker-1' --on 'server=kube:pod?node=worker-2'
  headroom ladder --resume last --keep cmdline:numa=off
  headroom ladder --resume 'as found' --beside 'numa on' --beside 'one socket' --keep cmdline:numa=off`,
		Args: argumentCount(0, unlimited, "places, from the bottom up"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := refuseSettled(c, "suite", "set", "size", "label", "seed", "passes", "margin", "alpha", "guest",
				"on", "address", "group", "pairs", "port", "direction", "dry-run"); err != nil {
				return err
			}
			if len(args)+len(o.On) == 0 && o.Resume == "" && !o.OfNetwork() && !o.DryRun.Asked() {
				return app.Usage("climb to what? name a directory or a device, or the server of a network",
					"the storage under the working directory: headroom ladder .",
					"a network: headroom ladder --on server=ssh://db1",
					"headroom ladder --dry-run prints every command for the working directory")
			}
			return ladderrun.Run(c.Context(), a, o, args)
		},
	}
	f := flagsOf(a, c)
	f.StringVar(&o.Suite, "suite", "ladder", "suite to measure with; only its reading loads are used")
	f.StringArrayVar(&o.Set, "set", nil, "a fio parameter for every job, like runtime=5s; may be repeated")
	f.StringVar(&o.Size, "size", "", "how much each job reads, like 4g (default: as the suite says)")
	f.StringVar(&o.Label, "label", "", "a name for the runs; the number of the rung is added")
	f.seed(&o.Seed, "seed of the random order (default: random)")
	f.IntVar(&o.Passes, "passes", defaultPasses, "how often each rung is measured")
	f.budget(&o.Budget)
	f.StringVar(&o.Margin, "margin", fmt.Sprintf("%g%%", 100*ladder.DefaultMargin),
		"how far a rung may stay below its expected rate")
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "probability that any verdict is wrong")
	f.StringArrayVar(&o.On, "on", nil, "the machine whose storage to measure: ssh://[user@]host[:port] (default "+
		"local); for a network, client=TARGET and server=TARGET")
	f.StringArrayVar(&o.Addresses, "address", nil,
		"address of a port of the server; once for each port (default: the address that ssh connected to)")
	f.StringArrayVar(&o.Groups, "group", nil, "NAME=ADDRESS,ADDRESS...: ports that together are a rung")
	f.IntVar(&o.Pairs, "pairs", 1, "pairs of processes for each address")
	f.IntVar(&o.Port, "port", iperf3.Port, "port of the first server process; each further pair takes the next")
	f.targets("on")
	f.StringArrayVar(&o.Guests, "guest", nil, "a guest whose disks are rungs, too: qemu:FILE; may be repeated")
	f.StringVar(&o.Direction, "direction", results.BothDirections,
		"of a network: send, receive or both, as the clients see it")
	f.StringArrayVar(&o.Keep, "keep", nil,
		"of a network: a setting that must stay, like cmdline:numa=off; may be repeated")
	f.StringArrayVar(&o.Beside, "beside", nil,
		"of a network: show a saved ladder of the same ports, measured with something changed, next to it; may be "+
			"repeated")
	f.resume(&o.Resume, "continue an interrupted ladder, named by one of its runs, or show a complete one again")
	f.document(&o.Result)
	f.dryRun(&o.DryRun, "print the rungs, their loads and how long they take, and do nothing"+app.EveryCommand)
	f.json()
	f.values("suite", func() []string { return suiteNames(a) })
	return c
}
