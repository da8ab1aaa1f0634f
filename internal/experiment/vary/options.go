package vary

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// Options are the flags of sweep and ablate, or the values of an experiment's file instead.
type Options struct {
	Factors  []string
	Baseline string
	// Reference is a place, and ReferenceOn its target.
	Reference, ReferenceOn string
	Keep                   []string
	commands               map[string]lab.SettingCommands
	// on is the target of a storage. Ends are the targets as typed, which are the ends of a network. Addresses and Port
	// belong to the network's server.
	on   string
	Ends []string
	// peers are further targets of a storage, which are loaded at the same time.
	peers     []string
	Addresses []string
	Port      int
	// NetworkPairs is how many pairs of clients and servers measure at the same time; 0 for the larger number of
	// clients, servers or addresses.
	NetworkPairs int
	Set          []string
	Size         string
	Label        string
	Seed         uint64
	Destroy      string
	Sampled      string
	Writes       string
	Blocks       int
	Repeat       int
	Budget       time.Duration
	// Report prints the run of an ID when it is measured.
	Report func(id string) error
	Margin string
	Alpha  string
	Share  string
	Limit  string
	Alone  bool
	// NoPriors makes all candidates of a search equally likely at first.
	NoPriors bool
	// Profiles are profiles of the fast and the slow state from before the search, if any.
	Profiles difference.Document
	// Excluded lists the differences that are left out of a search.
	Excluded *lab.Excluded
	// Steps is true if the levels of one factor are searched in their order.
	Steps bool
	// Commits is the series of a search among commits; nil for others.
	Commits *CommitSeries
	// Kernels are the kernels that a search builds; nil if it builds none.
	Kernels *KernelSeries
	// SettableOnly leaves out settings that can't be set on the target.
	SettableOnly bool
	Pairs        int
	Resume       string
	Show         string
	// Published names published figures of merit: a reference or a file; empty for none.
	Published string
	DryRun    app.DryRun
	// Reboot is the real machine that may be restarted. BootOn is the machine that is restarted, if it is not the one
	// that loads run on.
	Reboot     string
	BootOn     string
	BootMethod string
	BootLimit  time.Duration
	Result     results.DocumentOutput
	Profile    experiment.ProfileOptions
}

// flag returns the name of the flag for what is varied.
func (o *Options) flag(kind string) string {
	if kind == app.SweepKind {
		return "--factor"
	}
	return "--setting"
}

func exampleOf(kind string) string {
	switch kind {
	case app.AblateKind:
		return "sysctl:vm.dirty_ratio=5 --setting queue:scheduler=none"
	case app.BisectKind:
		return "sysctl:vm.dirty_ratio=20,5 --setting queue:scheduler=none,bfq"
	}
	return "queue:scheduler=none,mq-deadline"
}

// blocksInBudget is the number of blocks of a sweep with a time limit: loads that are decided early leave time for more
// blocks of the others.
const blocksInBudget = 20

// defaultBlocks returns how often every arm is visited at most. The number of blocks of a sweep is fixed beforehand. An
// ablation stops when everything is decided. A search for culprits stops when they are proved: its blocks are single
// measurements.
func defaultBlocks(kind string) int {
	switch kind {
	case app.AblateKind:
		return 12
	case app.BisectKind:
		return 150
	}
	return 6
}

func (o *Options) perVisit() int { return max(1, o.Repeat) }

// runOptions returns the options of the underlying measurement.
func (o *Options) runOptions() experiment.RunOptions {
	return experiment.RunOptions{Label: o.Label, Seed: o.Seed, Size: o.Size, Set: o.Set, Destroy: o.Destroy,
		Sampled:   o.Sampled,
		MaxWrites: o.Writes, DryRun: o.DryRun, Profile: o.Profile}
}

// mergeFile takes values from an experiment's file that the flags leave open.
func (o *Options) mergeFile(e suite.Experiment) {
	o.Factors = append(e.Factors, o.Factors...)
	o.Keep = append(e.Keep, o.Keep...)
	o.Set = append(e.Set, o.Set...)
	o.commands = e.Commands
	fill := func(to *string, from string) {
		if *to == "" {
			*to = from
		}
	}
	fill(&o.Baseline, e.Baseline)
	fill(&o.Reference, e.Reference)
	fill(&o.ReferenceOn, e.ReferenceOn)
	fill(&o.Margin, percentOr(e.Margin))
	fill(&o.Alpha, percentOr(e.Alpha))
	fill(&o.Share, percentOr(e.Share))
	fill(&o.Limit, e.Limit)
	if len(o.Ends) == 0 {
		o.Ends = e.On
	}
	if len(o.Addresses) == 0 {
		o.Addresses = e.Addresses
	}
	if o.NetworkPairs == 0 {
		o.NetworkPairs = e.NetworkPairs
	}
	if o.Blocks == 0 {
		o.Blocks = e.Blocks
	}
	if o.Repeat == 0 {
		o.Repeat = e.Repetitions
	}
	if o.Budget == 0 {
		o.Budget = e.Budget
	}
}

// percentOr returns a share as typed; empty for none.
func percentOr(share float64) string {
	if share == 0 {
		return ""
	}
	return unit.TypedPercent(share)
}

// limitIn adds the limit of latency, if requested, to the terms of a sweep. It refuses a limit if the levels are not a
// load.
func (o *Options) limitIn(e *lab.Experiment) error {
	if o.Limit == "" {
		return nil
	}
	quantile, seconds, err := suite.ParseLimit(o.Limit)
	if err != nil {
		return app.Usage("--limit: " + err.Error())
	}
	if len(e.Factors) != 1 || !sweep.IsLoad(e.Factors[0].Factor) {
		return app.Usage("--limit asks how much load keeps a latency, so the levels must be more and more of it",
			"vary one of job:rate_iops, job:rate, job:iodepth, job:numjobs, job:thinktime")
	}
	if quantile == "" {
		quantile = sweep.DefaultQuantile
	}
	e.Limit, e.Quantile = seconds, quantile
	return nil
}

// PublishedScores returns the requested published figures of merit; nil for none.
func (o *Options) PublishedScores() (*reference.Scores, error) {
	if o.Published == "" {
		return nil, nil
	}
	m, err := results.ReadPublished(o.Published, reference.BuiltInScores, reference.ParseScores)
	return &m, err
}

// read merges an experiment's file into the flags, which take precedence, and returns the suite and the place.
func (o *Options) read(kind string, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	if ext := filepath.Ext(args[0]); ext != ".yaml" && ext != ".yml" {
		return args, nil
	}
	data, err := app.ReadInput(args[0])
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't read " + args[0], Err: err}
	}
	if !suite.IsExperiment(data) {
		return args, nil
	}
	e, err := suite.DecodeExperiment(args[0], data, CheckFactor)
	if err != nil {
		return nil, err
	}
	if e.Kind != kind {
		return nil, app.Usage(fmt.Sprintf("%s is an experiment for %s", args[0], e.Kind),
			"headroom "+e.Kind+" "+args[0])
	}
	rest := args[1:]
	o.mergeFile(e)
	if e.Suite == "" && len(rest) == 0 {
		return nil, app.Usage(args[0]+" names no suite", "add suite: quick to it")
	}
	if e.Suite != "" {
		rest = append([]string{suitePath(args[0], e.Suite)}, rest...)
	}
	if len(rest) < 2 && e.Place != "" {
		rest = append(rest, e.Place)
	}
	return rest, nil
}

// FileSets reports whether the arguments begin with an experiment's file that sets the value of a flag.
func FileSets(args []string, flag string) bool {
	var o Options
	for _, kind := range []string{app.SweepKind, app.AblateKind} {
		if _, err := o.read(kind, args); err == nil {
			return flag == "margin" && o.Margin != "" || flag == "alpha" && o.Alpha != ""
		}
	}
	return false // a fault is reported when the file is read
}

// suitePath returns the path of a suite that an experiment's file names relative to itself.
func suitePath(file, name string) string {
	if filepath.Ext(name) == "" && !strings.ContainsRune(name, filepath.Separator) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}
