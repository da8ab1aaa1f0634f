package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/suite"
)

// liveOptions are the flags of compare --live that are about measuring.
type liveOptions struct {
	live    bool
	layers  bool
	suite   string
	set     []string
	setBase []string
	setNew  []string
	size    string
	label   string
	seed    uint64
	destroy []string
	sampled []string
	writes  string
	pairs   int
	confirm int
	budget  time.Duration
	resume  string
	dryRun  dryRun
	// result is where that of layers goes.
	result documentOutput
}

// defaultPairs are the pairs that a cell gets at most until its verdict.
const defaultPairs = 20

// defaultConfirm are the pairs that follow the verdict.
const defaultConfirm = 4

// flags adds them to the command.
func liveFlags(o *liveOptions, p *program, c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.live, "live", false, "measure both sides now, in turns, until the verdict")
	f.BoolVar(&o.layers, "layers", false, "measure the layers of a host's storage, from the bottom up, and say what "+
		"each adds")
	f.StringVar(&o.suite, "suite", "", "with --live, --layers: the suite to measure with (default quick; layers)")
	f.StringArrayVar(&o.set, "set", nil, "with --live, --layers: a parameter for every job, like runtime=10s; may be "+
		"repeated")
	f.StringArrayVar(&o.setBase, "set-base", nil, "with --live: a parameter for the base alone")
	f.StringArrayVar(&o.setNew, "set-new", nil, "with --live: a parameter for the new side alone")
	f.StringVar(&o.size, "size", "",
		"with --live, --layers: of each scratch file, like 4g (default: as the suite says)")
	f.StringVar(&o.label, "label", "", "with --live, --layers: text to find the runs by; base and new, or the number "+
		"of the layer, is added")
	f.Uint64Var(&o.seed, "seed", 0, "with --live, --layers: of the order (default: drawn)")
	f.StringArrayVar(&o.destroy, "destroy", nil, "with --live: serial number or size of a device whose data may be "+
		"destroyed; for the base, then for the new side")
	f.StringArrayVar(&o.sampled, "sampled", nil, "with --live: serial number or size of a device that is written to "+
		"after a look at a sample of it, not all; for the base, then for the new side")
	f.StringVar(&o.writes, "max-writes", "",
		"with --live, --layers: end when the disks have been written more than this, like 500g")
	f.IntVar(&o.pairs, "pairs", 0, "with --live: pairs of a cell at most, in blocks of two (default 20); with "+
		"--layers: passes over the layers (default 10)")
	f.IntVar(&o.confirm, "confirm", defaultConfirm,
		"with --live: pairs after a verdict, for an estimate that did not steer it; 0 for none")
	f.DurationVar(&o.budget, "budget", 0, "with --live, --layers: begin nothing that would end later than this, like "+
		"10m; with --resume from now on")
	dryRunFlag(c, &o.dryRun,
		"with --live, --layers: print the loads and the time they take, and do nothing"+everyCommand)
	p.resumeFlag(c, &o.resume, "with --live, --layers: go on with an interrupted comparison, named by one of its "+
		"runs; with --live and --budget or --pairs also with one that ended undecided")
}

// check refuses flags that would do nothing.
func checkLiveOptions(o *liveOptions, c *cobra.Command) error {
	measuring := []string{"suite", "set", "size", "label", "seed", "max-writes", "pairs", "budget", "resume", "dry-run"}
	onlyLive := []string{"set-base", "set-new", "destroy", "sampled", "confirm"}
	comparing := []string{"margin", "alpha", "metrics", "all", "anyway", "output", "format", "fail-on",
		"serials", "raw-cells",
		"warnings"}
	var idle []string
	why := "without --live or --layers"
	switch {
	case o.live && o.layers:
		return usage("--live and --layers exclude each other")
	case o.layers:
		idle, why = slices.Concat(onlyLive, slices.DeleteFunc(comparing, func(name string) bool {
			return name == "output" || name == "format"
		})), "with --layers"
	case !o.live:
		idle = slices.Concat(measuring, onlyLive)
	}
	for _, name := range idle {
		if c.Flags().Changed(name) {
			return usage("--"+name+" means nothing "+why, "headroom compare --help says what goes together")
		}
	}
	if o.resume != "" {
		settled := []string{"suite", "set", "set-base", "set-new", "size", "label", "seed", "confirm",
			"margin", "alpha", "metrics"}
		if o.layers {
			settled = append(settled, "pairs") // intervals of a number of passes that is fixed beforehand
		}
		for _, name := range settled {
			if c.Flags().Changed(name) {
				return usage("--"+name+" can't be changed when a comparison is resumed",
					"leave it out: the runs say what was settled")
			}
		}
	}
	return nil
}

// liveSide is what one side of a live comparison measures.
type liveSide struct{ suite, place, target string }

// sides reads the arguments: places, suites and targets, of each one for both sides or one for either.
func (o *liveOptions) sides(args []string, kinds targetKinds) (base, next liveSide, err error) {
	var suites, places, targets []string
	for _, a := range args {
		switch {
		case kinds.has(a):
			targets = append(targets, a)
		case isSuite(a):
			suites = append(suites, a)
		default:
			places = append(places, a)
		}
	}
	if o.suite != "" {
		suites = append(suites, o.suite)
	}
	if len(suites) == 0 {
		suites = []string{"quick"}
	}
	if len(targets) == 0 {
		targets = []string{localTarget}
	}
	fault := func(what string) error {
		return usage(what, "two places: headroom compare --live --suite quick /mnt/a /mnt/b",
			"two suites: headroom compare --live a.yaml b.yaml /mnt/a",
			"two targets: headroom compare --live ssh://db1 ssh://db2 /srv", "one place with itself: name it twice")
	}
	different := len(suites) == 2 || len(places) == 2 || len(targets) == 2 || len(o.setBase)+len(o.setNew) > 0
	switch {
	case len(suites) > 2 || len(places) > 2 || len(targets) > 2:
		return base, next, fault("compare --live takes two sides, not " + strings.Join(args, " "))
	case !different:
		return base, next, fault("compare --live needs something to compare: two places, two suites, two targets, or " +
			"--set-base and --set-new")
	}
	of := func(list []string, i int) string {
		if len(list) == 0 {
			return ""
		}
		return list[min(i, len(list)-1)]
	}
	return liveSide{of(suites, 0), of(places, 0), of(targets, 0)},
		liveSide{of(suites, 1), of(places, 1), of(targets, 1)}, nil
}

// isSuite tells a suite from a place: a built-in name, or a file as suites are kept in. A folder that is called like a
// suite is named with its path: ./quick.
func isSuite(arg string) bool {
	return slices.Contains(suite.Builtin(), arg) ||
		slices.Contains([]string{".yaml", ".yml", ".fio"}, filepath.Ext(arg))
}

// runOptions are those of one side's run; what is appended to a label tells the sides apart.
func (o *liveOptions) runOptions(of int, arm string, set []string) runOptions {
	r := runOptions{seed: o.seed, size: o.size, maxWrites: o.writes, set: slices.Concat(o.set, set), dryRun: o.dryRun}
	if o.label != "" {
		r.label = o.label + " " + arm
	}
	if len(o.destroy) > 0 {
		r.destroy = o.destroy[min(of, len(o.destroy)-1)]
	}
	if len(o.sampled) > 0 {
		r.sampled = o.sampled[min(of, len(o.sampled)-1)]
	}
	return r
}

// live measures two sides in turns until each cell has its verdict.
func runLive(ctx context.Context, p *program, o liveOptions, terms lab.Terms, args []string) (*pairedComparison,
	error) {
	s, err := p.openStoreFor(o.resume)
	if err != nil {
		return nil, err
	}
	c := &pairedComparison{turns: turns{program: p, store: s}, options: o, terms: terms}
	names, err := c.targetNames(args)
	if err != nil {
		return nil, err
	}
	if !o.dryRun.asked() {
		if err := recoverLeftovers(ctx, p, s, names...); err != nil {
			return nil, err
		}
	}
	defer c.closeTargets()
	if err := c.openTargets(ctx, names); err != nil {
		return nil, err
	}
	defer c.release()
	if o.resume != "" {
		err = c.resumeComparison(ctx)
	} else {
		err = c.newRuns(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	c.printSummary()
	if o.dryRun.asked() {
		return c, c.printPlan()
	}
	return c, c.execute(ctx, newComparisonProgress(c))
}

// compareLive measures two sides in turns, and compares what was saved.
func compareLive(ctx context.Context, p *program, live liveOptions, o compareOptions, args []string) error {
	settings, err := o.settings()
	if err != nil {
		return err
	}
	if o.all || len(settings.Margins) > 0 || slices.ContainsFunc(o.metrics, func(name string) bool {
		return strings.HasSuffix(name, "*")
	}) {
		return usage("--live decides by metrics that are named, at one margin",
			"compare the two runs afterwards: headroom compare BASE NEW --all")
	}
	if _, err := o.format(p.json); err != nil {
		return err // rather now than after the measuring
	}
	terms, err := live.terms(settings.Margin, settings.Alpha, settings.Metrics)
	if err != nil {
		return err
	}
	c, err := runLive(ctx, p, live, terms, args)
	if err != nil || live.dryRun.asked() {
		return err
	}
	o.metrics = nil // the runs say which decided
	runs := []string{c.base().run.ID, c.arms[plan.New].run.ID}
	if o.output != "" && !p.json {
		onTerminal := o
		// after hours the answer is there even where the file can't be written
		onTerminal.output, onTerminal.failOn = "", ""
		if err := compareRuns(p, runs, onTerminal); err != nil {
			return err
		}
	}
	return compareRuns(p, runs, o)
}

// evenPairs is the number of pairs with the last block complete: a block is two.
func evenPairs(pairs int) int { return pairs + pairs%2 }

// terms are those of a live comparison as the flags have them; how many claims there are comes from the suite.
func (o *liveOptions) terms(margin, alpha float64, metrics []string) (lab.Terms, error) {
	t := lab.Terms{Margin: margin, Alpha: alpha, Metrics: metrics, Pairs: evenPairs(o.pairs), Confirm: o.confirm}
	if t.Pairs == 0 {
		t.Pairs = defaultPairs
	}
	switch {
	case t.Confirm < 0:
		return t, usage(fmt.Sprintf("--confirm %d is no number of pairs", t.Confirm))
	case o.budget < 0:
		return t, usage("--budget "+o.budget.String()+" is no length of time", "write something like 10m or 1h30m")
	}
	return t, nil
}
