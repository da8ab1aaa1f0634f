package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/single"
	"github.com/headroom/headroom/internal/results"
)

// newProfileCommand returns the command that profiles loads, with the commands for saved profiles.
func newProfileCommand(a *app.App) *cobra.Command {
	var o single.ProfileOptions
	c := &cobra.Command{
		Use: "profile SUITE [DEVICE or DIR]",
		Long: `Profiles the loads of a suite: where CPU time goes and which kernel functions are called for each I/O, how long
requests are queued, in the scheduler and in the device, and where the load's threads wait.

Each load is measured five times, and after each time carried out twice more: once while stacks of all CPUs are
sampled and requests followed, once while calls of kernel functions are counted in short bursts. Intervals are
over these. The recorder is headroom itself, which copies itself to other machines (--on) and removes itself,
also after a crash. It needs root there; what the machine refuses is named, and the rest is recorded.

headroom profile show prints the profile of a saved run, also of one that was measured with --profile: run,
compare --live, sweep, ablate and bisect have that flag.`,
		Example: `  headroom profile quick /srv
  headroom profile quick /srv --job randread-q1 --loads 10
  headroom profile nvme /dev/nvme1n1 -o profile.html
  headroom profile quick /srv --on ssh://root@db1
  headroom profile --resume last`,
		Args:              argumentCount(0, 2, "a suite and a directory or device"),
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE: func(c *cobra.Command, args []string) error {
			if err := refuseSettled(c, "label", "order", "seed", "size", "set", "job", "loads", "profile-hz"); err !=
				nil {
				return err
			}
			if err := refusePlaceFirst(a.Args, args, len(o.On) > 0); err != nil {
				return err
			}
			s, err := a.OpenStoreFor(o.Resume)
			if err != nil {
				return err
			}
			o.Report = results.ShowMeasured(a, s, o.Format)
			return single.Profile(c.Context(), a, s, o, args)
		},
	}
	f := flagsOf(a, c)
	f.count(&o.RunOptions.Profile.Loads, "loads",
		"how many loads to profile of each job, and how often to measure "+
			"it beside them (default 5)")
	o.RunOptions.Profile.Loads = single.DefaultProfiled
	f.StringArrayVar(&o.Jobs, "job", nil, "a job of the suite to profile; may be repeated (default: all)")
	f.recorder(&o.RunOptions.Profile, "")
	f.StringVar(&o.Label, "label", "", "a name for the run")
	f.StringVar(&o.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.seed(&o.Seed, "seed of the random order; the same seed gives the same order (default: random)")
	f.StringVar(&o.Size, "size", "", "size of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.Set, "set", nil, "a parameter for every job, fio's or the suite's own, like runtime=10s; may "+
		"be repeated")
	f.StringVar(&o.Destroy, "destroy", "",
		"allow destroying the data of a device, named by its serial number or size in bytes")
	f.StringVar(&o.Sampled, "sampled", "",
		"prove a device empty by a sample instead of reading all of it; named by its serial number or size in bytes")
	f.StringVar(&o.MaxWrites, "max-writes", "", "refuse to write more than this to a device, like 500g")
	f.StringArrayVar(&o.On, "on", nil, "where to measure: "+a.AllKinds().Forms()+" (default local)")
	f.StringVar(&o.BringFio, "bring-fio", "", "copy this static fio to the target, and use it for the run")
	f.targets("on")
	f.resume(&o.Resume, "continue an interrupted profile, or show a complete one again")
	f.document(&o.Result)
	f.dryRun(&o.DryRun, "print what would be done, and do nothing"+app.EveryCommand)
	f.json()
	return c
}
