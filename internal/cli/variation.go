package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// variation is a command that varies settings: a sweep, an ablation or a search for culprits.
type variation struct {
	app  *app.App
	kind string
	o    vary.Options
}

// blockFlags adds the flags that sweep and ablate have.
func (v *variation) blockFlags(f flags) {
	o := &v.o
	f.count(&o.Blocks, "blocks", "most visits of every arm")
	f.count(&o.Repeat, "repeat",
		"repetitions of every cell in a visit (default 1); with 2 the report suggests a number")
	f.DurationVar(&o.Budget, "budget", 0, "time limit, like 30m: no block starts that would end later; the first is "+
		"always finished. A sweep leaves out levels and loads that don't fit six times, and names them; loads that "+
		"six blocks have decided get no more")
	f.StringVar(&o.Margin, "margin", "", "levels that differ by less are the same (default 3%)")
	f.StringVar(&o.Alpha, "alpha", "", "probability that any verdict is wrong (default 5%)")
	v.flags(f)
}

// flags adds the flags of all variations.
func (v *variation) flags(f flags) {
	o := &v.o
	f.StringArrayVar(&o.Keep, "keep", nil, "never change this setting, like cmdline:numa; may be repeated")
	f.StringArrayVar(&o.Ends, "on", nil, "where to measure: local, ssh://user@host, qemu:FILE; network suites take "+
		"client=TARGET and server=TARGET (default local)")
	f.StringArrayVar(&o.Addresses, "address", nil, "network suites: address of the server to test; once for each "+
		"server, or several of one server, which pairs take in turn")
	f.IntVar(&o.Port, "port", 0, "network suites: port of the first server (default 5201); each further pair takes "+
		"the next")
	f.IntVar(&o.NetworkPairs, "net-pairs", 0,
		"network suites: how many pairs measure at the same time (default: one for each client, server or address)")
	f.StringVar(&o.Reboot, "reboot", "",
		"allow rebooting this machine at every visit, like ssh://root@host; everything that runs there is ended")
	f.StringVar(&o.BootOn, "boot-on", "",
		"vary the boot of another machine than the one that runs the loads: ssh://root@host, talos://NODE")
	f.StringVar(&o.BootMethod, "boot-way", "", "how to boot a real machine: "+strings.Join(bootloader.Methods(),
		", ")+" (default: the first that works there)")
	f.targets("on", "reboot", "boot-on")
	f.DurationVar(&o.BootLimit, "boot-limit", 10*time.Minute, "time limit for a boot of a real machine")
	f.StringArrayVar(&o.Set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.StringVar(&o.Size, "size", "", "size of the scratch file, like 4g (default: as the suite says)")
	f.StringVar(&o.Label, "label", "", "a name for the run")
	f.seed(&o.Seed, "seed of the random order (default: random)")
	f.StringVar(&o.Destroy, "destroy", "",
		"allow destroying the data of a device, named by its serial number or size in bytes")
	f.StringVar(&o.Sampled, "sampled", "",
		"prove a device empty by a sample instead of reading all of it; named by its serial number or size in bytes")
	f.StringVar(&o.Writes, "max-writes", "", "stop when more than this was written to the disks, like 500g")
	f.profile(&o.Profile, "")
	f.resume(&o.Resume, "continue an interrupted run")
	f.StringVar(&o.Show, "show", "", "show a saved run, and measure nothing")
	f.wait()
	f.dryRun(&o.DryRun, "print what would be set and measured, in order, and do nothing"+app.EveryCommand)
	f.document(&o.Result)
	rawCellsFlag(f.command, &o.Result.Report.RawCells)
}

// check refuses flags that have no effect with --resume or --show.
func (v *variation) check(c *cobra.Command) error {
	o := &v.o
	if o.Budget < 0 {
		return app.Usage("--budget "+o.Budget.String()+" is no length of time", "write something like 10m or 1h30m")
	}
	if o.BootLimit <= 0 {
		return app.Usage("--boot-limit "+o.BootLimit.String()+" is no length of time", "write something like 10m")
	}
	settled := []string{"boot-on", "factor", "setting", "baseline", "reference", "reference-on", "keep", "on",
		"address", "port", "net-pairs", "set", "size", "label", "seed", "blocks", "max-boots", "good", "bad", "repeat",
		"margin", "alpha", "share", "limit", "alone", "no-priors", "pairs", "tree", "build", "keep-built", "make"}
	settled = append(settled, profileFlagNames()...)
	if o.Show == "" {
		return refuseSettled(c, settled...)
	}
	for _, name := range append(settled, "resume", "dry-run", "budget", "destroy", "sampled", "max-writes", "reboot",
		"boot-way", "boot-limit", "recorder") {
		ofLevels := v.kind == app.SweepKind && slices.Contains(levelFlags(), name)
		if c.Flags().Changed(name) && !ofLevels {
			return app.Usage("--" + name + " means nothing with --show")
		}
	}
	return nil
}

// measure carries out the experiment, unless --show names a saved run, and passes the run's ID to show.
func (v *variation) measure(c *cobra.Command, args []string, show func(id string) error) error {
	if err := v.check(c); err != nil {
		return err
	}
	if _, _, err := v.o.Result.Formats(v.app.JSON); err != nil {
		return err // rather now than after the measurement
	}
	if _, err := v.o.PublishedScores(); err != nil {
		return err
	}
	if v.o.Show != "" {
		return show(v.o.Show)
	}
	if err := refusePlaceFirst(v.app.Args, args, len(v.o.Ends) > 0); err != nil {
		return err
	}
	v.o.Report = show
	return vary.RunExperiment(c.Context(), v.app, v.kind, v.o, args)
}

// report prints a saved variation. It ends immediately when interrupted: all changes are undone by then.
func (v *variation) report(ctx context.Context, ref string) error {
	return interruptible(ctx, &v.app.UnfinishedWork, func() error {
		b, err := v.find(ref)
		if err != nil {
			return err
		}
		return v.show(b)
	})
}

func (v *variation) show(b *store.Bundle) (err error) {
	s, err := v.app.OpenStore()
	if err != nil {
		return err
	}
	if v.o.Result.Report.Scores, err = v.o.PublishedScores(); err != nil {
		return err
	}
	return results.ShowRun(v.app, s, b, v.o.Result)
}

func (v *variation) find(ref string) (*store.Bundle, error) {
	s, err := v.app.OpenStore()
	if err != nil {
		return nil, err
	}
	b, err := s.Find(ref)
	if err == nil && (b.Run.Experiment == nil || b.Run.Experiment.Kind != v.kind) {
		return nil, app.Usage("run "+s.ShortID(b.Run.ID)+" is no "+lab.Experiment{Kind: v.kind}.Noun(),
			"headroom show "+s.ShortID(b.Run.ID)+" shows it")
	}
	return b, err
}
