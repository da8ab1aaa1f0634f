package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/host/bootloader"
)

// flags adds those that sweep and ablate have.
func experimentFlags(o *vary.Options, p *program, c *cobra.Command) {
	f := c.Flags()
	countVar(f, &o.Blocks, "blocks", "most visits of every arm")
	countVar(f, &o.Repeat, "repeat",
		"repetitions of every cell in a visit (default 1); with 2 the report says how many pay off")
	f.DurationVar(&o.Budget, "budget", 0, "time limit, like 30m: no block starts that would end later; the first is "+
		"always finished. A sweep leaves out levels and loads that don't fit six times, and names them; loads that "+
		"six blocks have decided get no more")
	f.StringVar(&o.Margin, "margin", "", "levels that differ by less are the same (default 3%)")
	f.StringVar(&o.Alpha, "alpha", "", "probability that any verdict is wrong (default 5%)")
	commonExperimentFlags(o, p, c)
}

// bisectFlags adds those that a search for culprits has.
func bisectFlags(o *vary.Options, p *program, c *cobra.Command) {
	f := c.Flags()
	countVar(f, &o.Repeat, "repeat", "repetitions of every cell in a measurement (default 1)")
	countVar(f, &o.Blocks, "max-boots", "most measurements, not counting the proof (default 150)")
	f.DurationVar(&o.Budget, "budget", 0, "time limit, like 30m: no measurement starts later")
	f.StringVar(&o.Margin, "margin", "", "ends that differ by less are the same (default 5%)")
	if !o.Steps { // of which nothing is known
		f.BoolVar(&o.NoPriors, "no-priors", false, "ignore what is known about settings: all start equally likely")
	}
	commonExperimentFlags(o, p, c)
}

// commonFlags are those of all experiments.
func commonExperimentFlags(o *vary.Options, p *program, c *cobra.Command) {
	f := c.Flags()
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
	p.completeTargets(c, "on", "reboot", "boot-on")
	f.DurationVar(&o.BootLimit, "boot-limit", 10*time.Minute, "time limit for a boot of a real machine")
	f.StringArrayVar(&o.Set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.StringVar(&o.Size, "size", "", "size of the scratch file, like 4g (default: as the suite says)")
	f.StringVar(&o.Label, "label", "", "a name for the run")
	seedVar(f, &o.Seed, "seed of the random order (default: random)")
	f.StringVar(&o.Destroy, "destroy", "",
		"allow destroying the data of a device, named by its serial number or size in bytes")
	f.StringVar(&o.Sampled, "sampled", "",
		"prove a device empty by a sample instead of reading all of it; named by its serial number or size in bytes")
	f.StringVar(&o.Writes, "max-writes", "", "stop when more than this was written to the disks, like 500g")
	profileFlag(&o.Profile, c, "")
	p.resumeFlag(c, &o.Resume, "continue an interrupted run")
	f.StringVar(&o.Show, "show", "", "show a saved run, and measure nothing")
	waitFlag(c)
	p.dryRunFlag(c, &o.DryRun, "print what would be set and measured, in order, and do nothing"+app.EveryCommand)
	p.documentFlags(&o.Result, c)
	rawCellsFlag(c, &o.Result.Report.RawCells)
}

// check refuses flags that would do nothing beside --resume or --show.
func checkExperimentOptions(o *vary.Options, c *cobra.Command, kind string) error {
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
		ofLevels := kind == app.SweepKind && slices.Contains(levelFlags(), name)
		if c.Flags().Changed(name) && !ofLevels {
			return app.Usage("--" + name + " means nothing with --show")
		}
	}
	return nil
}
