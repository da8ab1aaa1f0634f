package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/experiment/ladderrun"
	"headroom/internal/ladder"
	"headroom/internal/load/iperf3"
	"headroom/internal/suite"
)

// defaultPasses over the rungs: few, because there are many rungs, and enough that a tenth that is missing shows where
// loads vary by 2%.
const defaultPasses = 6

func (p *program) ladderCommand() *cobra.Command {
	o := ladderrun.Options{Alpha: ladder.DefaultAlpha}
	c := &cobra.Command{
		Use: "ladder [PLACE...]",
		Short: "Climb from one drive to the whole storage, or from one flow to all ports, and say which rung falls " +
			"short first",
		Long: `Measures the storage under a directory or device rung by rung: memory, a null
device, each drive alone, pairs of them, all at once, then what is made of
them (md, LVM, dm-crypt), then the file system. Each rung stands beside its
ceiling and beside what the rungs below promise. The first that falls short
of that is the answer.

It finds the rungs under one PLACE itself.
Several places are the rungs, in that order; "null" is the null device, and
devices with commas between them are loaded at the same time.

With --guest the disks of a guest in QEMU are rungs above: those without storage
behind them, then the others. Where one falls short of what it lies on, the
answer says whether virtio itself does. Blank images of the guest are made in
the directory that the ladder climbs to, without a name, and filled.

Devices are only read, whatever is on them. In directories a scratch file is
made, read, and removed.

With --on server=TARGET (and --on client=TARGET, once or more) it climbs a network,
in both directions: what each machine moves within itself, one flow, each port of
the server alone (--address), groups of them (--group), all, and all both ways.

Between pods the rung below the pod network is measured, too: the same pods once
more, on the same nodes and in the nodes' own network. What the pods do less is
what the pod network (CNI) costs.`,
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
			if o.Resume != "" {
				for _, name := range []string{"suite", "set", "size", "label", "seed", "passes", "margin", "alpha",
					"guest", "on", "address", "group", "pairs", "port", "direction", "dry-run"} {
					if c.Flags().Changed(name) {
						return app.Usage("--"+name+" can't be changed when a ladder is resumed",
							"leave it out: the runs say what was settled")
					}
				}
			}
			if len(args)+len(o.On) == 0 && o.Resume == "" && !o.OfNetwork() && !o.DryRun.Asked() {
				return app.Usage("climb to what? name a directory or a device, or the server of a network",
					"the storage under the working directory: headroom ladder .",
					"a network: headroom ladder --on server=ssh://db1",
					"headroom ladder --dry-run prints every command for the working directory")
			}
			return p.ladder(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Suite, "suite", "ladder", "suite to measure with; of it, the loads that only read")
	f.StringArrayVar(&o.Set, "set", nil, "a fio parameter for every job, like runtime=5s; may be repeated")
	f.StringVar(&o.Size, "size", "", "that each job reads, like 4g (default: as the suite says)")
	f.StringVar(&o.Label, "label", "", "text to find the runs by; the number of the rung is added")
	f.Uint64Var(&o.Seed, "seed", 0, "of the order (default: drawn)")
	f.IntVar(&o.Passes, "passes", defaultPasses, "times that each rung is measured")
	f.DurationVar(&o.Budget, "budget", 0,
		"begin no pass that would end later than this, like 10m; with --resume from now on")
	f.StringVar(&o.Margin, "margin", fmt.Sprintf("%g%%", 100*ladder.DefaultMargin),
		"how much a rung may stay below what is expected of it")
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "probability that any verdict is wrong")
	f.StringArrayVar(&o.On, "on", nil, "the machine whose storage it is: ssh://[user@]host[:port] (default local); "+
		"or client=TARGET and server=TARGET of a network")
	f.StringArrayVar(&o.Addresses, "address", nil,
		"of a port of the server; once for each (default: the one by which it was reached over ssh)")
	f.StringArrayVar(&o.Groups, "group", nil, "NAME=ADDRESS,ADDRESS...: ports that are a rung together")
	f.IntVar(&o.Pairs, "pairs", 1, "pairs of processes for each address")
	f.IntVar(&o.Port, "port", iperf3.Port, "that the first server process listens on; each further pair takes the next")
	completeFlag(c, "on", p.targetNames)
	f.StringArrayVar(&o.Guests, "guest", nil, "a guest whose disks are rungs too: qemu:FILE; may be repeated")
	f.StringVar(&o.Direction, "direction", ladderrun.BothDirections,
		"of a network, seen from the clients: send, receive or both")
	f.StringArrayVar(&o.Keep, "keep", nil, "of a network: a setting that must stay as it is, like cmdline:numa=off; "+
		"may be repeated")
	f.StringArrayVar(&o.Beside, "beside", nil,
		"of a network: another ladder of the same ports, climbed with something changed; may be repeated")
	p.resumeFlag(c, &o.Resume, "go on with an interrupted ladder, named by one of its runs, or show a complete one "+
		"again")
	documentFlags(&o.Result, c)
	dryRunFlag(c, &o.DryRun, "print the rungs, their loads and the time they take, and do nothing"+app.EveryCommand)
	p.jsonFlag(c)
	completeFlag(c, "suite", suite.Builtin)
	return c
}

func (p *program) ladder(ctx context.Context, o ladderrun.Options, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	if o.OfNetwork() {
		return ladderrun.RunNetworkLadder(ctx, p.App, o, args)
	}
	st, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	s := &ladderrun.LadderRun{FixedPasses: experiment.FixedPasses{Turns: experiment.Turns{App: p.App, Store: st},
		Passes: o.Passes, Level: ladderrun.RungLevel},
		Options: o}
	terms, err := o.Terms()
	if err != nil {
		return err
	}
	s.Margin = terms.Margin
	if o.Resume != "" && len(args) > 0 {
		return app.Usage("--resume takes the rungs from the runs", "headroom ladder --resume "+o.Resume)
	}
	if o.Resume != "" {
		if b, err := st.Find(o.Resume); err == nil && b.Run.Study != nil && b.Run.Study.Kind ==
			ladderrun.NetworkLadderKind {
			return ladderrun.ResumeNetworkLadder(ctx, p.App, st, b, o)
		}
	}
	if len(o.Keep)+len(o.Beside) > 0 {
		return app.Usage("--keep and --beside are for the ladder of a network", "leave them out")
	}
	if err := ladderrun.CheckGuests(p.App, o.Guests); err != nil {
		return err
	}
	if _, err := o.Machine(p.AllKinds()); err != nil {
		return err
	}
	if !o.DryRun.Asked() {
		if err := s.RecoverAll(ctx); err != nil {
			return err
		}
	}
	s.Images, s.OpenGuest = os.TempDir(), s.StartGuest
	defer s.Release()
	if o.Resume != "" {
		err = s.ResumeLadder(ctx, o.Resume)
	} else {
		err = s.NewRuns(ctx, args)
	}
	if err != nil {
		return err
	}
	s.SetPlan(o.Budget)
	if _, more := s.Plan.Next(s.Done); more {
		if o.DryRun.Asked() {
			return s.PrintPlan()
		}
		s.PrintSummary(ctx)
		if err := s.Execute(ctx, &experiment.PassesProgress{FixedPasses: &s.FixedPasses,
			Width: app.Columns(s.Stderr)}); err != nil {
			return err
		}
	}
	return s.Report()
}
