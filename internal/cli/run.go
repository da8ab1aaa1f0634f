package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/experiment/parallel"
	"headroom/internal/recovery"
)

func (p *program) runCommand() *cobra.Command {
	var o experiment.RunOptions
	c := &cobra.Command{
		Use:   "run SUITE [DEVICE or DIR]",
		Short: "Measure a directory or an empty device",
		Long: `Measures with a built-in suite (headroom suites lists them), a suite file (.yaml) or a plain fio
job file (.fio).

In a directory, one scratch file is laid out, measured and removed. A device is written to only
when it was proved to be empty; otherwise the run is refused, unless every load only reads. To prove
it, all of the device is read, as fast as it goes; of a loop device over a file, all that is no hole.
--destroy gives up what a drive holds, --sampled is content with a sample of it, which can miss data;
both name the drive by its serial number.

With --precision or --budget the run repeats where the interval is widest: until every number is
known as well as asked for, and no longer than the budget. That is for the repetitions with their
pauses and steps; a first fill or layout comes on top. An interval takes 8 repetitions of a cell
then, because it must hold however often one looks.

With --on it measures elsewhere: the directory or device, its facts and counters are those of that
machine, reached with your own ssh. Devices there are only read.

With --on given more than once it measures all of those targets at the same time: their loads are started
together, and beside the numbers of each target stand those of all. The directory or device is the same on each,
or one is named for each, in the order of the targets. kube:nodes?selector=… stands for a pod on each node of a
cluster, kube:pod?…&count=N for N pods. --at-once loads some at a time. The report names targets that are not like
the others.

With --event something is done on purpose while each load goes on: a link is cut, a server restarts. The
report says how deep the rate fell, how long nothing came through, and when it was back. --undo is on disk
before that, and is carried out whatever happens; after a crash headroom restore does it.

Ctrl-C ends a run in order: what was finished is kept, and --resume goes on with it. With
--precision or --budget it goes on with a finished run too; the budget is what it has from now on.`,
		Example: `  headroom run quick /srv
  headroom run nvme /dev/nvme1n1 --label 'before tuning' --repeat 3
  headroom run nvme /dev/nvme1n1 --format sheet
  headroom run ./my.fio /srv
  headroom run quick /srv --set runtime=10s --set ioengine=io_uring
  headroom run pgbench /srv --set seconds=60 --set clients=8
  headroom run quick /srv --precision 3% --budget 10m
  headroom run quick /srv --on ssh://db1
  headroom run quick /srv --on qemu:guest.yaml
  headroom run quick --on 'kube:pod?class=fast&size=20Gi&cpu=2'
  headroom run quick /srv --on a=ssh://db1 --on b=ssh://db2
  headroom run quick --on 'kube:nodes?selector=disk=nvme&hostpath=/srv' --at-once 1
  headroom run quick /srv --on ssh://root@db1:2222 --bring-fio ./fio-static
  headroom run quick /srv --set runtime=60s --event '20s: nvme disconnect -d nvme1' --undo 'sh connect.sh'
  headroom run quick /mnt/nfs --set runtime=60s --event '20s: lose-trunk 10.0.2.1'
  headroom run ./vm.fio /srv --event '30s: qm-migrate 100 pve2' --event-on ssh://root@pve1
  headroom run --resume last
  headroom run --resume last --budget 10m`,
		Args: func(c *cobra.Command, args []string) error {
			if len(o.On) > 1 {
				return argumentCount(0, 1+len(o.On), "a suite and a directory or device, or one for each target")(c,
					args)
			}
			return argumentCount(0, 2, "a suite and a directory or device")(c, args)
		},
		ValidArgsFunction: completeSuites,
		RunE: func(c *cobra.Command, args []string) error {
			if err := exclusive(c, "format", "json"); err != nil {
				return err
			}
			if o.Resume != "" {
				for _, name := range append(experiment.EventFlags(), "label", "repeat", "at-once", "order", "seed",
					"size",
					"set", "as-published") {
					if c.Flags().Changed(name) {
						return app.Usage("--"+name+" can't be changed when a run is resumed",
							"headroom run --resume "+o.Resume)
					}
				}
			}
			if known := app.FormatNames(app.ReportFormats()); !slices.Contains(known, o.Format) {
				return app.Usage(fmt.Sprintf("there is no format %q", o.Format),
					"the formats are "+strings.Join(known, ", "))
			}
			if err := p.refusePlaceFirst(args, len(o.On) > 0); err != nil {
				return err
			}
			return p.run(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Label, "label", "", "text to find the run by")
	countVar(f, &o.Repeat, "repeat", "repetitions of every cell, the least with a precision (default: as the suite "+
		"says)")
	f.StringVar(&o.Precision, "precision", "", "repeat until every number is known to this, like 3%")
	f.StringVar(&o.Budget, "budget", "", "time for all repetitions, like 10m; it goes where intervals are widest")
	f.StringVar(&o.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.Uint64Var(&o.Seed, "seed", 0, "of the order; the same seed gives the same order (default: drawn)")
	f.StringVar(&o.Size, "size", "", "of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.Set, "set", nil, "a parameter for every job, fio's or the suite's own, like runtime=10s; may "+
		"be repeated")
	f.BoolVar(&o.AsPublished, "as-published", false, "do what the suite's source did, faults included")
	f.StringVar(&o.Destroy, "destroy", "", "serial number or size in bytes of a device whose data may be destroyed")
	f.StringVar(&o.Sampled, "sampled", "",
		"serial number or size in bytes of a device that is written to after a look at a sample of it, not all")
	f.StringVar(&o.MaxWrites, "max-writes", "", "refuse to write more than this to a device, like 500g")
	p.resumeFlag(c, &o.Resume, "go on with an interrupted run; with a finished one if more is asked for")
	f.StringArrayVar(&o.On, "on", nil,
		"where to measure: [ROLE=]TARGET, a target is "+p.AllKinds().Forms()+" (default "+
			"local)")
	f.IntVar(&o.AtOnce, "at-once", 0, "with several targets: load so many at the same time, by turns; 1 is one after "+
		"the other (default: all)")
	f.StringVar(&o.BringFio, "bring-fio", "", "copy this static fio to the target for the run, and use it")
	eventFlagsOf(&o.Events, f,
		"where events are: a target (default: the one under test) or its role; once for all, or for each")
	completeFlag(c, "on", p.targetNames)
	completeFlag(c, "event-on", p.targetNames)
	completeFlag(c, "event", experiment.EventNames)
	dryRunFlag(c, &o.DryRun, "say what would be done, and do nothing"+app.EveryCommand)
	f.StringVar(&o.Format, "format", "table",
		"how to print the result: "+strings.Join(app.FormatNames(app.ReportFormats()),
			", "))
	completeFlag(c, "format", func() []string { return app.FormatNames(app.ReportFormats()) })
	p.jsonFlag(c)
	return c
}

func (p *program) run(ctx context.Context, o experiment.RunOptions, args []string) error {
	s, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	if several, err := parallel.SeveralTargets(p.App, o, s); err != nil || len(several) > 0 {
		if err != nil {
			return err
		}
		return parallel.RunMultiTarget(ctx, p.App, s, o, several, args)
	}
	name, err := p.targetFor(o, s)
	if err != nil {
		return err
	}
	if !o.DryRun.Asked() {
		if err := recovery.RecoverLeftovers(ctx, p.App, s, name); err != nil {
			return err
		}
	}
	t, err := p.OpenTarget(ctx, name)
	if err != nil {
		return err
	}
	defer p.CloseTarget(t)
	return experiment.RunOn(ctx, p.App, &experiment.Measurement{App: p.App, Options: o, Store: s, Target: t}, args)
}
