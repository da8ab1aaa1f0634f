package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
)

// runCommand measures a suite on one target, or on several at the same time.
type runCommand struct {
	app *app.App
	o   experiment.RunOptions
}

func newRunCommand(a *app.App) *cobra.Command {
	r := &runCommand{app: a}
	o := &r.o
	c := &cobra.Command{
		Use: "run SUITE [DEVICE or DIR]",
		Long: `Measures with a built-in suite (headroom suites lists them), a suite file (.yaml) or a plain fio
job file (.fio).

In a directory, headroom creates one scratch file, measures it and removes it. It writes to a device
only if the device is proved empty; otherwise it refuses, unless every load only reads. The proof
reads the whole device; of a loop device over a file, everything but holes. --destroy gives up the
data of a drive, --sampled accepts a sample as proof, which can miss data; both name the drive by its
serial number.

--precision and --budget repeat cells where the interval is widest, until every number is known
precisely enough or the time is up. The budget covers repetitions with their pauses and steps; a first
fill or layout is extra. Each cell then takes at least 8 repetitions for an interval, because the
interval must hold however often headroom looks at it.

--on measures on another machine, over your own ssh: the directory or device, facts and counters belong
to that machine. Devices there are only read.

With --on given more than once, all of those targets are measured at the same time: their loads start
together, and the report shows the numbers of each target and of all together. The directory or device
is the same on each, or one is given for each, in the order of the targets. kube:nodes?selector=… is a
pod on each node of a cluster, kube:pod?…&count=N is N pods. --at-once limits how many are loaded at
the same time. The report names targets that differ from the others.

--event does something during each load: cuts a link, restarts a server. The report has the depth of
the drop, how long I/O stood still, and when the rate was back. The --undo command is saved to disk
first and always carried out; after a crash, headroom restore does it.

Ctrl-C stops a run cleanly: finished repetitions are kept, and --resume continues it. With --precision
or --budget, --resume continues a finished run, too; the budget then counts from now.`,
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
		Args:              r.checkArgs,
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE:              r.run,
	}
	f := flagsOf(a, c)
	f.StringVar(&o.Label, "label", "", "a name for the run")
	f.count(&o.Repeat, "repeat", "repetitions of every cell; with --precision the minimum (default: as the suite "+
		"says)")
	f.StringVar(&o.Precision, "precision", "", "repeat until every number is known this precisely, like 3%")
	f.StringVar(&o.Budget, "budget", "", "time limit for all repetitions, like 10m; repetitions go where intervals "+
		"are widest")
	f.StringVar(&o.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.seed(&o.Seed, "seed of the random order; the same seed gives the same order (default: random)")
	f.StringVar(&o.Size, "size", "", "size of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.Set, "set", nil, "a parameter for every job, fio's or the suite's own, like runtime=10s; may "+
		"be repeated")
	f.BoolVar(&o.AsPublished, "as-published", false,
		"measure exactly as the suite's source did, including its mistakes")
	f.StringVar(&o.Destroy, "destroy", "",
		"allow destroying the data of a device, named by its serial number or size in bytes")
	f.StringVar(&o.Sampled, "sampled", "",
		"prove a device empty by a sample instead of reading all of it; named by its serial number or size in bytes")
	f.StringVar(&o.MaxWrites, "max-writes", "", "refuse to write more than this to a device, like 500g")
	f.resume(&o.Resume, "continue an interrupted run, or a finished one with a higher --precision or more "+
		"--budget")
	f.StringArrayVar(&o.On, "on", nil,
		"where to measure: [ROLE=]TARGET, a target is "+a.AllKinds().Forms()+" (default "+
			"local)")
	f.IntVar(&o.AtOnce, "at-once", 0, "with several targets: how many to load at the same time; 1 is one after "+
		"another (default: all)")
	f.StringVar(&o.BringFio, "bring-fio", "", "copy this static fio to the target, and use it for the run")
	f.events(&o.Events,
		"where events happen: a target or its role (default: the target under test); once for all events, or once "+
			"for each")
	f.profile(&o.Profile, "")
	f.wait()
	f.targets("on", "event-on")
	f.dryRun(&o.DryRun, "print what would be done, and do nothing"+app.EveryCommand)
	f.StringVar(&o.Format, "format", "table",
		"how to print the result: "+strings.Join(results.FormatNames(results.ReportFormats()),
			", "))
	f.values("format", func() []string { return results.FormatNames(results.ReportFormats()) })
	f.json()
	return c
}

// checkArgs requires a suite and a place, or a place for each target.
func (r *runCommand) checkArgs(c *cobra.Command, args []string) error {
	if targets := len(r.o.On); targets > 1 {
		return argumentCount(0, 1+targets, "a suite and a directory or device, or one for each target")(c, args)
	}
	return argumentCount(0, 2, "a suite and a directory or device")(c, args)
}

func (r *runCommand) run(c *cobra.Command, args []string) error {
	if err := r.check(c, args); err != nil {
		return err
	}
	s, err := r.app.OpenStoreFor(r.o.Resume)
	if err != nil {
		return err
	}
	r.o.Report = results.ShowMeasured(r.app, s, r.o.Format)
	return experiment.RunOnTargets(c.Context(), r.app, s, r.o, args)
}

// check refuses impossible options before anything is opened.
func (r *runCommand) check(c *cobra.Command, args []string) error {
	if err := exclusive(c, "format", "json"); err != nil {
		return err
	}
	if err := refuseSettled(c, slices.Concat(experiment.EventFlags(), profileFlagNames(),
		[]string{"label", "repeat", "at-once", "order", "seed", "size", "set", "as-published"})...); err != nil {
		return err
	}
	if known := results.FormatNames(results.ReportFormats()); !slices.Contains(known, r.o.Format) {
		return app.Usage(fmt.Sprintf("there is no format %q", r.o.Format),
			"the formats are "+strings.Join(known, ", "))
	}
	return refusePlaceFirst(r.app.Args, args, len(r.o.On) > 0)
}

// refusePlaceFirst refuses a command line that has a place instead of the suite, and suggests a correct one: headroom
// run /srv, headroom run /srv quick. elsewhere is true for a place on another machine, where nothing is looked up.
// typed is the whole command line.
func refusePlaceFirst(typed, args []string, elsewhere bool) error {
	if len(args) == 0 || experiment.IsSuite(args[0]) {
		return nil
	}
	place, kind := args[0], ""
	info, err := os.Stat(place)
	switch {
	case err == nil && info.IsDir():
		kind = "a directory"
	case err == nil && info.Mode()&fs.ModeDevice != 0:
		kind = "a device"
	case err != nil && elsewhere && filepath.IsAbs(place):
		kind = "a place"
	default:
		return nil
	}
	suite := "quick"
	words := slices.Clone(typed[1:])
	if i := slices.IndexFunc(args[1:], experiment.IsSuite); i >= 0 {
		suite = args[1+i]
		at := slices.Index(words, suite)
		words = slices.Delete(words, at, at+1)
	}
	words = slices.Insert(words, slices.Index(words, place), suite)
	return app.Usage(place+" is "+kind+", and the suite comes first",
		lab.ShellQuote(append([]string{"headroom"}, words...)),
		"headroom suites lists the suites")
}
