package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// runOptions are the flags of run.
type runOptions struct {
	label       string
	repeat      int
	precision   string
	budget      string
	order       string
	seed        uint64
	size        string
	set         []string
	asPublished bool
	destroy     string
	sampled     string
	maxWrites   string
	resume      string
	format      string
	dryRun      dryRun
	on          []string
	atOnce      int
	bringFio    string
	events      eventOptions
}

// defaultScratch is the size of the scratch file when nobody says otherwise.
const defaultScratch = 1 << 30

func (p *program) runCommand() *cobra.Command {
	var o runOptions
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
			if len(o.on) > 1 {
				return argumentCount(0, 1+len(o.on), "a suite and a directory or device, or one for each target")(c,
					args)
			}
			return argumentCount(0, 2, "a suite and a directory or device")(c, args)
		},
		ValidArgsFunction: completeSuites,
		RunE: func(c *cobra.Command, args []string) error {
			if err := exclusive(c, "format", "json"); err != nil {
				return err
			}
			if o.resume != "" {
				for _, name := range append(eventFlags(), "label", "repeat", "at-once", "order", "seed", "size",
					"set", "as-published") {
					if c.Flags().Changed(name) {
						return usage("--"+name+" can't be changed when a run is resumed",
							"headroom run --resume "+o.resume)
					}
				}
			}
			if known := formatNames(reportFormats()); !slices.Contains(known, o.format) {
				return usage(fmt.Sprintf("there is no format %q", o.format),
					"the formats are "+strings.Join(known, ", "))
			}
			if err := p.refusePlaceFirst(args, len(o.on) > 0); err != nil {
				return err
			}
			return p.run(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.label, "label", "", "text to find the run by")
	countVar(f, &o.repeat, "repeat", "repetitions of every cell, the least with a precision (default: as the suite "+
		"says)")
	f.StringVar(&o.precision, "precision", "", "repeat until every number is known to this, like 3%")
	f.StringVar(&o.budget, "budget", "", "time for all repetitions, like 10m; it goes where intervals are widest")
	f.StringVar(&o.order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.Uint64Var(&o.seed, "seed", 0, "of the order; the same seed gives the same order (default: drawn)")
	f.StringVar(&o.size, "size", "", "of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.set, "set", nil, "a parameter for every job, fio's or the suite's own, like runtime=10s; may "+
		"be repeated")
	f.BoolVar(&o.asPublished, "as-published", false, "do what the suite's source did, faults included")
	f.StringVar(&o.destroy, "destroy", "", "serial number or size in bytes of a device whose data may be destroyed")
	f.StringVar(&o.sampled, "sampled", "",
		"serial number or size in bytes of a device that is written to after a look at a sample of it, not all")
	f.StringVar(&o.maxWrites, "max-writes", "", "refuse to write more than this to a device, like 500g")
	p.resumeFlag(c, &o.resume, "go on with an interrupted run; with a finished one if more is asked for")
	f.StringArrayVar(&o.on, "on", nil,
		"where to measure: [ROLE=]TARGET, a target is "+p.allKinds().forms()+" (default "+
			"local)")
	f.IntVar(&o.atOnce, "at-once", 0, "with several targets: load so many at the same time, by turns; 1 is one after "+
		"the other (default: all)")
	f.StringVar(&o.bringFio, "bring-fio", "", "copy this static fio to the target for the run, and use it")
	eventFlagsOf(&o.events, f,
		"where events are: a target (default: the one under test) or its role; once for all, or for each")
	completeFlag(c, "on", p.targetNames)
	completeFlag(c, "event-on", p.targetNames)
	completeFlag(c, "event", eventNames)
	dryRunFlag(c, &o.dryRun, "say what would be done, and do nothing"+everyCommand)
	f.StringVar(&o.format, "format", "table", "how to print the result: "+strings.Join(formatNames(reportFormats()),
		", "))
	completeFlag(c, "format", func() []string { return formatNames(reportFormats()) })
	p.jsonFlag(c)
	return c
}

func (p *program) run(ctx context.Context, o runOptions, args []string) error {
	s, err := p.openStoreFor(o.resume)
	if err != nil {
		return err
	}
	if several, err := severalTargets(p, o, s); err != nil || len(several) > 0 {
		if err != nil {
			return err
		}
		return runMultiTarget(ctx, p, s, o, several, args)
	}
	name, err := p.targetFor(o, s)
	if err != nil {
		return err
	}
	if !o.dryRun.asked() {
		if err := recoverLeftovers(ctx, p, s, name); err != nil {
			return err
		}
	}
	t, err := p.openTarget(ctx, name)
	if err != nil {
		return err
	}
	defer p.closeTarget(t)
	return runOn(ctx, p, &measurement{program: p, options: o, store: s, target: t}, args)
}

// runOn measures on one target, which is open.
func runOn(ctx context.Context, p *program, m *measurement, args []string) error {
	var err error
	if m.options.resume != "" {
		err = m.resumeRun(ctx, args)
	} else {
		err = m.plan(ctx, args)
	}
	if err != nil {
		return err
	}
	defer m.release()
	m.printSummary(ctx)
	if m.options.dryRun.asked() {
		return m.printPlan()
	}
	return m.execute(ctx)
}
