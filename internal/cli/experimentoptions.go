package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headroom/internal/lab"
	"headroom/internal/suite"
	"headroom/internal/target/bootloader"
)

// experimentOptions are the flags of sweep and ablate, or what an experiment's file says in their place.
type experimentOptions struct {
	factors  []string
	baseline string
	// reference is a place, referenceOn the target it is on.
	reference, referenceOn string
	keep                   []string
	commands               map[string]lab.SettingCommands
	// on is the target of a storage; ends are the targets as typed, which of a network are its ends, and addresses and
	// port those of its server.
	on   string
	ends []string
	// peers are further targets of a storage, which are loaded at the same moment.
	peers     []string
	addresses []string
	port      int
	// networkPairs are how many pairs of clients and servers measure at the same time; 0 for as many as there are of
	// either, or addresses.
	networkPairs int
	set          []string
	size         string
	label        string
	seed         uint64
	destroy      string
	sampled      string
	writes       string
	blocks       int
	repeat       int
	budget       time.Duration
	margin       string
	alpha        string
	share        string
	limit        string
	alone        bool
	// noPriors takes all candidates of a search for equally likely at first.
	noPriors bool
	// excluded is what differs and is left out of a search.
	excluded *lab.Excluded
	// steps of one factor are searched, in the order of its levels.
	steps bool
	// commits are that series, where it is one of commits; nil for others.
	commits *commitSeries
	// kernels are those that are built for a search; nil where none are.
	kernels *kernelSeries
	// settableOnly leaves out what the target does not let be set.
	settableOnly bool
	pairs        int
	resume       string
	show         string
	// published names figures of merit that somebody published: a reference or a file; empty for none.
	published string
	dryRun    dryRun
	// reboot is the real machine that may be started again; bootOn the one that is, where it is not the one that loads
	// run on.
	reboot     string
	bootOn     string
	bootMethod string
	bootLimit  time.Duration
	output     string
	// formatName is --format.
	formatName string
	rawCells   bool
}

// flag is the name of the flag that says what is varied.
func (o *experimentOptions) flag(kind string) string {
	if kind == sweepKind {
		return "--factor"
	}
	return "--setting"
}

func exampleOf(kind string) string {
	switch kind {
	case ablateKind:
		return "sysctl:vm.dirty_ratio=5 --setting queue:scheduler=none"
	case bisectKind:
		return "sysctl:vm.dirty_ratio=20,5 --setting queue:scheduler=none,bfq"
	}
	return "queue:scheduler=none,mq-deadline"
}

// blocksInBudget are those of a sweep that is bounded by its time: loads that are decided early leave room for more of
// the others.
const blocksInBudget = 20

// defaultBlocks is how often every arm is visited at most. A sweep has a number of blocks that is fixed beforehand; an
// ablation stops when nothing is left to decide, and a search for culprits when they are proved: its blocks are single
// measurements.
func defaultBlocks(kind string) int {
	switch kind {
	case ablateKind:
		return 12
	case bisectKind:
		return 150
	}
	return 6
}

func (o *experimentOptions) perVisit() int { return max(1, o.repeat) }

// flags adds those that sweep and ablate have.
func experimentFlags(o *experimentOptions, p *program, c *cobra.Command) {
	f := c.Flags()
	countVar(f, &o.blocks, "blocks", "visits of every arm at most")
	countVar(f, &o.repeat, "repeat",
		"repetitions of every cell in a visit (default 1); with 2 the report says how many are worth it")
	f.DurationVar(&o.budget, "budget", 0, "begin no block that would end later than this, like 30m; the first is "+
		"always finished. Of a sweep, levels and loads are left out that do not fit four times, and named; loads "+
		"that four blocks have decided get no more")
	f.StringVar(&o.margin, "margin", "", "two levels within this are the same (default 3%)")
	f.StringVar(&o.alpha, "alpha", "", "risk that any of the claims is wrong (default 5%)")
	commonExperimentFlags(o, p, c)
}

// bisectFlags adds those that a search for culprits has.
func bisectFlags(o *experimentOptions, p *program, c *cobra.Command) {
	f := c.Flags()
	countVar(f, &o.repeat, "repeat", "repetitions of every cell in a measurement (default 1)")
	countVar(f, &o.blocks, "max-boots", "measurements at most, proof apart (default 150)")
	f.DurationVar(&o.budget, "budget", 0, "begin no measurement later than this, like 30m")
	f.StringVar(&o.margin, "margin", "", "ends that differ by less are alike (default 5%)")
	if !o.steps { // of which nothing is known
		f.BoolVar(&o.noPriors, "no-priors", false, "forget what is known of settings: all are equally likely at first")
	}
	commonExperimentFlags(o, p, c)
}

// commonFlags are those of all experiments.
func commonExperimentFlags(o *experimentOptions, p *program, c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.keep, "keep", nil, "a setting that must stay as it is, like cmdline:numa; may be repeated")
	f.StringArrayVar(&o.ends, "on", nil, "where to measure: local, ssh://user@host, qemu:FILE; of a network "+
		"client=TARGET and server=TARGET (default local)")
	f.StringArrayVar(&o.addresses, "address", nil, "of the server of a network, the one under test; once for each "+
		"server, or several of one, which pairs take in turn")
	f.IntVar(&o.port, "port", 0, "that the first server of a network listens on (default 5201); each further pair "+
		"takes the next")
	f.IntVar(&o.networkPairs, "net-pairs", 0,
		"how many pairs of a network measure at the same time (default: one for each client, server or address)")
	f.StringVar(&o.reboot, "reboot", "", "the machine that may be started anew at every visit, like ssh://root@host; "+
		"what runs there ends")
	f.StringVar(&o.bootOn, "boot-on", "",
		"vary the boot of another machine than the one that loads run on: ssh://root@host, talos://NODE")
	f.StringVar(&o.bootMethod, "boot-way", "", "how a real machine is booted: "+strings.Join(bootloader.Methods(),
		", ")+" (default: the first that is possible)")
	f.DurationVar(&o.bootLimit, "boot-limit", 10*time.Minute, "how long a boot of a real machine may take")
	f.StringArrayVar(&o.set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.StringVar(&o.size, "size", "", "of the scratch file, like 4g (default: as the suite says)")
	f.StringVar(&o.label, "label", "", "text to find the run by")
	f.Uint64Var(&o.seed, "seed", 0, "of the order (default: drawn)")
	f.StringVar(&o.destroy, "destroy", "", "serial number or size in bytes of a device whose data may be destroyed")
	f.StringVar(&o.sampled, "sampled", "",
		"serial number or size in bytes of a device that is written to after a look at a sample of it, not all")
	f.StringVar(&o.writes, "max-writes", "", "end when the disks have been written more than this, like 500g")
	p.resumeFlag(c, &o.resume, "go on with an interrupted run")
	f.StringVar(&o.show, "show", "", "show a saved run again, and measure nothing")
	dryRunFlag(c, &o.dryRun, "say what would be set and measured in which order, and do nothing"+everyCommand)
	f.StringVarP(&o.output, "output", "o", "", "write the report to a file: .html, .md, .csv or .json")
	formatFlag(c, &o.formatName, experimentFormats())
	rawCellsFlag(c, &o.rawCells)
}

// check refuses flags that would do nothing beside --resume or --show.
func checkExperimentOptions(o *experimentOptions, c *cobra.Command, kind string) error {
	if o.budget < 0 {
		return usage("--budget "+o.budget.String()+" is no length of time", "write something like 10m or 1h30m")
	}
	if o.bootLimit <= 0 {
		return usage("--boot-limit "+o.bootLimit.String()+" is no length of time", "write something like 10m")
	}
	settled, why := []string{"boot-on", "factor", "setting", "baseline", "reference", "reference-on", "keep", "on",
		"address", "port", "net-pairs", "set", "size", "label", "seed", "blocks", "max-boots", "good", "bad", "repeat",
		"margin", "alpha", "share", "limit", "alone", "no-priors", "pairs", "tree", "build", "keep-built", "make"},
		"is settled when a run is resumed"
	switch {
	case o.show != "":
		settled, why = append(settled, "resume", "dry-run", "budget", "destroy", "sampled", "max-writes", "reboot",
			"boot-way", "boot-limit"), "means nothing with --show"
		if kind == sweepKind {
			settled = slices.DeleteFunc(settled, func(name string) bool { return slices.Contains(levelFlags(), name) })
		}
	case o.resume == "":
		return nil
	}
	for _, name := range settled {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			return usage("--" + name + " " + why)
		}
	}
	return nil
}

// runOptions are those of the measurement underneath.
func (o *experimentOptions) runOptions() runOptions {
	return runOptions{label: o.label, seed: o.seed, size: o.size, set: o.set, destroy: o.destroy, sampled: o.sampled,
		maxWrites: o.writes, dryRun: o.dryRun}
}

// mergeFile takes from an experiment's file what the flags leave open.
func (o *experimentOptions) mergeFile(e suite.Experiment) {
	o.factors = append(e.Factors, o.factors...)
	o.keep = append(e.Keep, o.keep...)
	o.set = append(e.Set, o.set...)
	o.commands = e.Commands
	fill := func(to *string, from string) {
		if *to == "" {
			*to = from
		}
	}
	fill(&o.baseline, e.Baseline)
	fill(&o.reference, e.Reference)
	fill(&o.referenceOn, e.ReferenceOn)
	fill(&o.margin, percentOr(e.Margin))
	fill(&o.alpha, percentOr(e.Alpha))
	fill(&o.share, percentOr(e.Share))
	fill(&o.limit, e.Limit)
	if len(o.ends) == 0 {
		o.ends = e.On
	}
	if len(o.addresses) == 0 {
		o.addresses = e.Addresses
	}
	if o.networkPairs == 0 {
		o.networkPairs = e.NetworkPairs
	}
	if o.blocks == 0 {
		o.blocks = e.Blocks
	}
	if o.repeat == 0 {
		o.repeat = e.Repetitions
	}
	if o.budget == 0 {
		o.budget = e.Budget
	}
}

// percentOr is a share as typed; empty for none.
func percentOr(share float64) string {
	if share == 0 {
		return ""
	}
	return typedPercent(share)
}

func experimentFormats() []outputFormat {
	return []outputFormat{{"table", ".txt"}, {"html", ".html"}, {"markdown", ".md"}, {"csv", ".csv"}, {"json", ".json"}}
}

// format of the report that the output's name asks for: "table", "json", "html", "markdown" or "csv".
func (o *experimentOptions) format(json bool) (string, error) {
	return chosenFormat(o.output, o.formatName, json, experimentFormats())
}
