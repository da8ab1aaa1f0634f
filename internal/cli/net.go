package cli

import (
	"context"

	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/experiment/network"
	"headroom/internal/load/served"
)

func (p *program) netCommand() *cobra.Command {
	var o network.Options
	c := &cobra.Command{
		Use:   "net [SUITE]",
		Short: "Measure a network between clients and servers",
		Long: `Measures a network between clients and servers: what goes through it, with iperf3 and the built-in suite
network, or how many requests are answered a second and how long an answer takes, with sockperf and the
built-in suite requests; or RDMA, with perftest and the built-in suite rdma; or with a suite of your own.

--on client=TARGET and --on server=TARGET say where; either is this machine where it is not given: with
--on server=local it measures this machine's own loopback. Given more than once, the first client
measures with the first server and so on, all at the same time; beside the numbers of each pair stand
those of all together. --pairs N makes N pairs of them, each with a port of its own. Several --address of
one server are taken in turn.

A server listens on the address under test and nowhere else, for one test, and ends with it. Which
address that is says --address; without it, it is the one by which the server was reached over ssh.

With --event something is done on purpose while each test goes on, at --event-on client, server or another
target: a path is cut, a switch restarts. The report says how deep the rate fell, how long nothing came
through, and when it was back. headroom restore undoes it after a crash.

Ctrl-C ends it in order: what was finished is kept, and --resume goes on with it.`,
		Example: `  headroom net --on server=ssh://db1
  headroom net --on server=local
  headroom net --on client=ssh://web1 --on server=ssh://db1 --address 10.0.0.7
  headroom net --on server=ssh://db1 --pairs 8 --set time=30s --set parallel=1
  headroom net --on client=ssh://a --on client=ssh://b --on server=ssh://storage
  headroom net requests --on server=ssh://db1
  headroom net rdma --on server=ssh://db1 --address 10.0.0.7
  headroom net ./my-network.yaml --on server=ssh://db1 --label 'jumbo frames'
  headroom net --on server=ssh://db1 --set time=60s --event '20s: ip link set eth1 down' --undo 'ip link set eth1 up' --event-on client
  headroom net --resume last`,
		Args:              argumentCount(0, 1, "a suite"),
		ValidArgsFunction: completeSuites,
		RunE: func(c *cobra.Command, args []string) error {
			if o.Resume != "" {
				for _, name := range append(experiment.EventFlags(), "label", "repeat", "order", "seed", "set", "on",
					"address", "port", "pairs") {
					if c.Flags().Changed(name) {
						return app.Usage("--"+name+" can't be changed when a run is resumed",
							"headroom net --resume "+o.Resume)
					}
				}
			}
			if len(args) == 0 && !c.Flags().Changed("resume") && len(o.On)+len(o.Addresses) == 0 && !o.DryRun.Asked() {
				return app.Usage("measure which network? without --on both ends are this machine, "+
					"and its own loopback is measured",
					"for example: headroom net --on server=ssh://db1", "the loopback: headroom net --on server=local",
					"headroom net --dry-run prints the commands")
			}
			return p.net(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.On, "on", nil,
		"where: client=TARGET or server=TARGET, a target is "+p.AllKinds().Forms()+" (default local)")
	f.StringArrayVar(&o.Addresses, "address", nil,
		"of the server, the one under test; once for each server, or several of one, which pairs take in turn")
	f.IntVar(&o.Port, "port", served.Port, "that the first server listens on; each further pair takes the next")
	f.IntVar(&o.Pairs, "pairs", 0, "how many pairs measure at the same time (default: one for each client, server or "+
		"address)")
	f.StringVar(&o.Label, "label", "", "text to find the run by")
	countVar(f, &o.Repeat, "repeat", "repetitions of every cell (default: as the suite says)")
	f.StringVar(&o.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.Uint64Var(&o.Seed, "seed", 0, "of the order; the same seed gives the same order (default: drawn)")
	f.StringArrayVar(&o.Set, "set", nil,
		"an option of the load generator for every job, like time=30s or parallel=4; may be repeated")
	p.resumeFlag(c, &o.Resume, "go on with an interrupted run")
	dryRunFlag(c, &o.DryRun, "say what would be done, and do nothing"+app.EveryCommand)
	eventFlagsOf(&o.Events, f, "where events are: client, server or a target; once for all, or for each")
	completeFlag(c, "on", p.targetNames)
	completeFlag(c, "event-on", p.targetNames)
	completeFlag(c, "event", experiment.EventNames)
	p.jsonFlag(c)
	c.AddCommand(p.interferenceCommand())
	return c
}

func (p *program) net(ctx context.Context, o network.Options, args []string) error {
	s, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	n := network.NewNetwork(p.App, s, o)
	defer n.Close()
	if o.Resume != "" {
		return n.ResumeRun(ctx, args)
	}
	if err := n.Name(); err != nil {
		return err
	}
	su, err := n.Suite(args)
	if err != nil {
		return err
	}
	if err := n.NeedsOf(su); err != nil {
		return err
	}
	if err := n.Open(ctx); err != nil {
		return err
	}
	if err := n.Pair(ctx); err != nil {
		return err
	}
	if err := n.NewHeader(ctx, su); err != nil {
		return err
	}
	t := n.MultiTarget()
	if t != nil {
		t.Join()
		t.Run.Network = n.Pairs
	}
	return n.Execute(ctx, t)
}
