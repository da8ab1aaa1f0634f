package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/experiment/vary"
	"headroom/internal/target/bootloader"
)

// flags adds those that sweep and ablate have.
func experimentFlags(o *vary.Options, p *program, c *cobra.Command) {
	f := c.Flags()
	countVar(f, &o.Blocks, "blocks", "visits of every arm at most")
	countVar(f, &o.Repeat, "repeat",
		"repetitions of every cell in a visit (default 1); with 2 the report says how many are worth it")
	f.DurationVar(&o.Budget, "budget", 0, "begin no block that would end later than this, like 30m; the first is "+
		"always finished. Of a sweep, levels and loads are left out that do not fit four times, and named; loads "+
		"that four blocks have decided get no more")
	f.StringVar(&o.Margin, "margin", "", "two levels within this are the same (default 3%)")
	f.StringVar(&o.Alpha, "alpha", "", "risk that any of the claims is wrong (default 5%)")
	commonExperimentFlags(o, p, c)
}

// bisectFlags adds those that a search for culprits has.
func bisectFlags(o *vary.Options, p *program, c *cobra.Command) {
	f := c.Flags()
	countVar(f, &o.Repeat, "repeat", "repetitions of every cell in a measurement (default 1)")
	countVar(f, &o.Blocks, "max-boots", "measurements at most, proof apart (default 150)")
	f.DurationVar(&o.Budget, "budget", 0, "begin no measurement later than this, like 30m")
	f.StringVar(&o.Margin, "margin", "", "ends that differ by less are alike (default 5%)")
	if !o.Steps { // of which nothing is known
		f.BoolVar(&o.NoPriors, "no-priors", false, "forget what is known of settings: all are equally likely at first")
	}
	commonExperimentFlags(o, p, c)
}

// commonFlags are those of all experiments.
func commonExperimentFlags(o *vary.Options, p *program, c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.Keep, "keep", nil, "a setting that must stay as it is, like cmdline:numa; may be repeated")
	f.StringArrayVar(&o.Ends, "on", nil, "where to measure: local, ssh://user@host, qemu:FILE; of a network "+
		"client=TARGET and server=TARGET (default local)")
	f.StringArrayVar(&o.Addresses, "address", nil, "of the server of a network, the one under test; once for each "+
		"server, or several of one, which pairs take in turn")
	f.IntVar(&o.Port, "port", 0, "that the first server of a network listens on (default 5201); each further pair "+
		"takes the next")
	f.IntVar(&o.NetworkPairs, "net-pairs", 0,
		"how many pairs of a network measure at the same time (default: one for each client, server or address)")
	f.StringVar(&o.Reboot, "reboot", "", "the machine that may be started anew at every visit, like ssh://root@host; "+
		"what runs there ends")
	f.StringVar(&o.BootOn, "boot-on", "",
		"vary the boot of another machine than the one that loads run on: ssh://root@host, talos://NODE")
	f.StringVar(&o.BootMethod, "boot-way", "", "how a real machine is booted: "+strings.Join(bootloader.Methods(),
		", ")+" (default: the first that is possible)")
	f.DurationVar(&o.BootLimit, "boot-limit", 10*time.Minute, "how long a boot of a real machine may take")
	f.StringArrayVar(&o.Set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.StringVar(&o.Size, "size", "", "of the scratch file, like 4g (default: as the suite says)")
	f.StringVar(&o.Label, "label", "", "text to find the run by")
	f.Uint64Var(&o.Seed, "seed", 0, "of the order (default: drawn)")
	f.StringVar(&o.Destroy, "destroy", "", "serial number or size in bytes of a device whose data may be destroyed")
	f.StringVar(&o.Sampled, "sampled", "",
		"serial number or size in bytes of a device that is written to after a look at a sample of it, not all")
	f.StringVar(&o.Writes, "max-writes", "", "end when the disks have been written more than this, like 500g")
	p.resumeFlag(c, &o.Resume, "go on with an interrupted run")
	f.StringVar(&o.Show, "show", "", "show a saved run again, and measure nothing")
	dryRunFlag(c, &o.DryRun, "say what would be set and measured in which order, and do nothing"+app.EveryCommand)
	f.StringVarP(&o.Output, "output", "o", "", "write the report to a file: .html, .md, .csv or .json")
	formatFlag(c, &o.FormatName, vary.ExperimentFormats())
	rawCellsFlag(c, &o.RawCells)
}

// check refuses flags that would do nothing beside --resume or --show.
func checkExperimentOptions(o *vary.Options, c *cobra.Command, kind string) error {
	if o.Budget < 0 {
		return app.Usage("--budget "+o.Budget.String()+" is no length of time", "write something like 10m or 1h30m")
	}
	if o.BootLimit <= 0 {
		return app.Usage("--boot-limit "+o.BootLimit.String()+" is no length of time", "write something like 10m")
	}
	settled, why := []string{"boot-on", "factor", "setting", "baseline", "reference", "reference-on", "keep", "on",
		"address", "port", "net-pairs", "set", "size", "label", "seed", "blocks", "max-boots", "good", "bad", "repeat",
		"margin", "alpha", "share", "limit", "alone", "no-priors", "pairs", "tree", "build", "keep-built", "make"},
		"is settled when a run is resumed"
	switch {
	case o.Show != "":
		settled, why = append(settled, "resume", "dry-run", "budget", "destroy", "sampled", "max-writes", "reboot",
			"boot-way", "boot-limit"), "means nothing with --show"
		if kind == app.SweepKind {
			settled = slices.DeleteFunc(settled, func(name string) bool { return slices.Contains(levelFlags(), name) })
		}
	case o.Resume == "":
		return nil
	}
	for _, name := range settled {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			return app.Usage("--" + name + " " + why)
		}
	}
	return nil
}
