package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/paired"
)

// liveFlags adds the flags of comparisons that are measured.
func (r *compareCommand) liveFlags(f flags) {
	o := &r.live
	f.BoolVar(&o.Live, "live", false, "measure both sides now, in turns, until there is a verdict")
	f.BoolVar(&o.Layers, "layers", false, "measure the layers of a host's storage, from the bottom up, and what each "+
		"adds")
	f.StringVar(&o.Suite, "suite", "", "with --live, --layers: the suite to measure with (default quick; layers)")
	f.StringArrayVar(&o.Set, "set", nil, "with --live, --layers: a parameter for every job, like runtime=10s; may be "+
		"repeated")
	f.StringArrayVar(&o.SetBase, "set-base", nil, "with --live: a parameter for the base only")
	f.StringArrayVar(&o.SetNew, "set-new", nil, "with --live: a parameter for the new side only")
	f.StringVar(&o.Size, "size", "",
		"with --live, --layers: size of each scratch file, like 4g (default: as the suite says)")
	f.StringVar(&o.Label, "label", "", "with --live, --layers: a name for the runs; base and new, or the number of "+
		"the layer, is added")
	f.seed(&o.Seed, "with --live, --layers: seed of the random order (default: random)")
	f.StringArrayVar(&o.Destroy, "destroy", nil, "with --live: allow destroying the data of a device, named by its "+
		"serial number or size; for the base, then for the new side")
	f.StringArrayVar(&o.Sampled, "sampled", nil, "with --live: prove a device empty by a sample instead of reading "+
		"all of it; named by its serial number or size; for the base, then for the new side")
	f.StringVar(&o.Writes, "max-writes", "",
		"with --live, --layers: stop when more than this was written to the disks, like 500g")
	f.IntVar(&o.Pairs, "pairs", 0, "with --live: most pairs of a cell, in blocks of two (default 20); with --layers: "+
		"passes over the layers (default 10)")
	f.IntVar(&o.Confirm, "confirm", paired.DefaultConfirm,
		"with --live: more pairs after a verdict, for an estimate that stopping early does not bias; 0 for none")
	f.DurationVar(&o.Budget, "budget", 0, "with --live, --layers: time limit, like 10m; with --resume it counts from "+
		"now")
	f.profile(&o.Profile, "with --live: ")
	f.dryRun(&o.DryRun,
		"with --live, --layers: print the loads and how long they take, and do nothing"+app.EveryCommand)
	f.resume(&o.Resume, "with --live, --layers: continue an interrupted comparison, named by one of its runs; "+
		"with --live and --budget or --pairs also one that ended undecided")
}

// checkLive refuses flags that would have no effect.
func (r *compareCommand) checkLive(c *cobra.Command) error {
	o := &r.live
	measuring := []string{"suite", "set", "size", "label", "seed", "max-writes", "pairs", "budget", "resume", "dry-run"}
	onlyLive := append(profileFlagNames(), "set-base", "set-new", "destroy", "sampled", "confirm", "recorder")
	comparing := []string{"margin", "alpha", "metrics", "all", "anyway", "output", "format", "fail-on",
		"serials", "raw-cells",
		"warnings"}
	var idle []string
	why := "without --live or --layers"
	switch {
	case o.Live && o.Layers:
		return app.Usage("--live and --layers exclude each other")
	case o.Layers:
		idle, why = slices.Concat(onlyLive, slices.DeleteFunc(comparing, func(name string) bool {
			return name == "output" || name == "format"
		})), "with --layers"
	case !o.Live:
		idle = slices.Concat(measuring, onlyLive)
	}
	for _, name := range idle {
		if c.Flags().Changed(name) {
			return app.Usage("--"+name+" means nothing "+why, "headroom compare --help lists the flags of each kind")
		}
	}
	settled := []string{"suite", "set", "set-base", "set-new", "size", "label", "seed", "confirm", "margin", "alpha",
		"metrics"}
	if o.Layers {
		settled = append(settled, "pairs") // the intervals depend on a number of passes that is fixed beforehand
	}
	return refuseSettled(c, append(settled, profileFlagNames()...)...)
}
