package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/results"
)

// netCommand measures a network.
type netCommand struct {
	app *app.App
	o   network.Options
}

func newNetCommand(a *app.App) *cobra.Command {
	n := &netCommand{app: a}
	o := &n.o
	c := &cobra.Command{
		Use: "net [SUITE]",
		Long: `Measures a network between clients and servers: throughput, with iperf3 and the built-in suite network;
requests per second and response times, with sockperf and the built-in suite requests; RDMA, with perftest
and the built-in suite rdma; or a suite of your own.

--on client=TARGET and --on server=TARGET say where; the default for each is this machine, so --on
server=local measures this machine's own loopback. Given more than once, the first client measures with the
first server and so on, all at the same time; the report shows each pair and all together. --pairs N makes N
pairs, each with its own port. Several --address of one server are used in turn.

A server listens only on the address under test, for one test, and then ends. --address selects that
address; the default is the one that ssh connected to.

--event does something during each test, on the client, the server or another target (--event-on): cuts a
path, restarts a switch. The report has the depth of the drop, how long traffic stood still, and when the
rate was back. headroom restore undoes the event after a crash.

Ctrl-C stops cleanly: finished repetitions are kept, and --resume continues.`,
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
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE:              n.run,
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.On, "on", nil,
		"where: client=TARGET or server=TARGET, a target is "+a.AllKinds().Forms()+" (default local)")
	f.StringArrayVar(&o.Addresses, "address", nil,
		"address of the server to test; once for each server, or several of one server, which pairs take in turn")
	f.IntVar(&o.Port, "port", served.Port, "port of the first server; each further pair takes the next")
	f.IntVar(&o.Pairs, "pairs", 0, "how many pairs measure at the same time (default: one for each client, server or "+
		"address)")
	f.StringVar(&o.Label, "label", "", "a name for the run")
	f.budget(&o.Within)
	f.count(&o.Repeat, "repeat", "repetitions of every cell (default: as the suite says)")
	f.StringVar(&o.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.seed(&o.Seed, "seed of the random order; the same seed gives the same order (default: random)")
	f.StringArrayVar(&o.Set, "set", nil,
		"an option of the load generator for every job, like time=30s or parallel=4; may be repeated")
	f.resume(&o.Resume, "continue an interrupted run")
	f.dryRun(&o.DryRun, "print what would be done, and do nothing"+app.EveryCommand)
	f.events(&o.Events, "where events happen: client, server or a target; once for all events, or once for each")
	f.wait()
	f.targets("on", "event-on")
	f.json()
	return c
}

func (n *netCommand) run(c *cobra.Command, args []string) error {
	if err := refuseSettled(c, append(experiment.EventFlags(), "label", "repeat", "order", "seed", "set", "on",
		"address", "port", "pairs")...); err != nil {
		return err
	}
	o := &n.o
	if len(args) == 0 && !c.Flags().Changed("resume") && len(o.On)+len(o.Addresses) == 0 && !o.DryRun.Asked() {
		return app.Usage("measure which network? without --on both ends are this machine, "+
			"and its own loopback is measured",
			"for example: headroom net --on server=ssh://db1", "the loopback: headroom net --on server=local",
			"headroom net --dry-run prints the commands")
	}
	s, err := n.app.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	o.Report = results.ShowMeasured(n.app, s, o.Format)
	return network.Run(c.Context(), n.app, s, *o, args)
}
