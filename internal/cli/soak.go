package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/single"
)

func newSoakCommand(a *app.App) *cobra.Command {
	var o single.SoakOptions
	c := &cobra.Command{
		Use: "soak SUITE [DEVICE or DIR]",
		Long: `Measures one load of a suite for a long time, in rounds without a pause between them, and reports
whether its rate holds: what a write cache, burst credits, heat or garbage collection leave of it, since
when it is steady, and at what rate.

Each round is saved when it ends, so Ctrl-C or a crash costs one round, and --resume continues. The
first quarter of the rounds is compared with the last; what counts as steady is SNIA's definition.

Of a suite with several jobs, --job names the one to measure. The suite soak is random writes, for which
a device is filled first.`,
		Example: `  headroom soak soak /srv --for 4h
  headroom soak soak /dev/nvme1n1 --for 8h --round 5m
  headroom soak quick /srv --job randread-q32 --for 1h -o soak.html
  headroom soak ./my.fio /srv --on ssh://db1 --for 24h --max-writes 20t
  headroom soak --resume last`,
		Args:              argumentCount(0, 2, "a suite and a directory or device"),
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE: func(c *cobra.Command, args []string) error {
			if err := refuseSettled(c, "label", "size", "set", "job", "for", "round"); err != nil {
				return err
			}
			if err := refusePlaceFirst(a.Args, args, len(o.On) > 0); err != nil {
				return err
			}
			s, err := a.OpenStoreFor(o.Resume)
			if err != nil {
				return err
			}
			return single.Soak(c.Context(), a, s, o, args)
		},
	}
	f := flagsOf(a, c)
	f.StringVar(&o.Job, "job", "", "the job of the suite to measure, where it has several")
	f.DurationVar(&o.For, "for", time.Hour, "how long to measure, like 4h")
	f.DurationVar(&o.Round, "round", time.Minute, "length of a round, which is what Ctrl-C or a crash can cost")
	f.StringVar(&o.Label, "label", "", "a name for the run")
	f.StringVar(&o.Size, "size", "", "size of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.Set, "set", nil, "a parameter of fio, like ioengine=io_uring; may be repeated")
	f.StringVar(&o.Destroy, "destroy", "",
		"allow destroying the data of a device, named by its serial number or size in bytes")
	f.StringVar(&o.Sampled, "sampled", "",
		"prove a device empty by a sample instead of reading all of it; named by its serial number or size in bytes")
	f.StringVar(&o.MaxWrites, "max-writes", "", "refuse to write more than this to a device, like 500g")
	f.StringArrayVar(&o.On, "on", nil, "where to measure: "+a.AllKinds().Forms()+" (default local)")
	f.targets("on")
	f.resume(&o.Resume, "continue an interrupted soak, or show a complete one again")
	f.document(&o.Result)
	f.dryRun(&o.DryRun, "print what would be done, and do nothing"+app.EveryCommand)
	f.json()
	return c
}
