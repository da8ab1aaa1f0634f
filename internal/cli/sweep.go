package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/results"
)

// sweepCommand varies one setting, or shows other runs that have levels.
type sweepCommand struct{ variation }

func newSweepCommand(a *app.App) *cobra.Command {
	s := &sweepCommand{variation{app: a, kind: app.SweepKind}}
	c := &cobra.Command{
		Use: "sweep SUITE [DEVICE or DIR] --factor FACTOR=LEVEL,LEVEL... | sweep FILE.yaml",
		Long: `Measures a suite at each level of a factor. For each load it names the best level, the smallest level
that reaches 90% of the best, and the gain of the best over the baseline.

Each block visits every level once, in random order. A setting of the running machine is recorded before it
is changed, read back afterwards, and put back at the end, after an error, and by headroom restore after a
crash. Settings that take effect at boot are varied by rebooting.

With a network suite a setting is made on both ends, or on one if the factor begins with client: or server:.

headroom factors lists what can be varied, and how each change is verified.

--show analyses existing results in the same way: a saved sweep, results of another program at several levels
(headroom import), or stages. --factor names the level that they differ in, --reference the loads that are
not levels of it.`,
		Example: `  headroom sweep quick /srv --factor queue:scheduler=none,mq-deadline,bfq
  headroom sweep quick /srv --factor job:iodepth=1,4,16,64 --blocks 10
  headroom sweep quick /srv --factor job:rate_iops=1k,2k,4k,8k,16k --limit p99=2ms
  headroom sweep quick /srv --factor sysctl:vm.dirty_ratio=5,20,40 --dry-run
  headroom sweep quick /dev/vda --on qemu:guest.yaml --factor guest:iothreads=0,1,2,4 --reference /srv
  headroom sweep iothreads --on 'kube:vm?boot=IMAGE&class=fast' --factor guest:iothreads=0,1,2,4 --reference 'kube:pod?class=fast'
  headroom sweep network --on client=ssh://a --on server=ssh://db1 --factor nic:under-test/mtu=1500,9000
  headroom sweep iothreads.yaml -o iothreads.html
  headroom sweep --show last
  headroom sweep --show last --published reference:iothreads-report
  headroom sweep --show last --factor guest:iothreads --reference kube:runtime_class=runc`,
		Args:              argumentCount(0, 2, "a suite and a directory or device, or an experiment's file"),
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE:              s.run,
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&s.o.Factors, "factor", nil, "what to vary: FACTOR=LEVEL,LEVEL")
	f.StringVar(&s.o.Baseline, "baseline", "", "the level that the others are compared with (default: the first)")
	f.StringVar(&s.o.Reference, "reference", "", "also measure this directory or device and compare the levels with "+
		"it, such as the host's disk below a guest's; or a target that is created with one: kube:pod?…")
	f.StringVar(&s.o.ReferenceOn, "reference-on", "", "the target that has the reference (default local)")
	f.targets("reference-on")
	f.StringVar(&s.o.Share, "share", "", "share of the best level's result that is enough (default 90%)")
	f.StringVar(&s.o.Limit, "limit", "", "latency limit, like 2ms (p99) or p99.9=5ms: report how much load stays "+
		"within it")
	f.StringVar(&s.o.Published, "published", "",
		"show published figures of merit next to the measured ones: FILE or reference:NAME")
	s.blockFlags(f)
	f.values("published", func() []string { return results.PublishedNames(reference.ScoreNames) })
	f.json()
	return c
}

// run measures, or shows a saved run.
func (s *sweepCommand) run(c *cobra.Command, args []string) error {
	return s.measure(c, args, func(id string) error {
		if s.o.Show != "" {
			return interruptible(c.Context(), &s.app.UnfinishedWork, func() error { return s.showSaved(c) })
		}
		return s.report(c.Context(), id)
	})
}

// showSaved shows a saved run over the levels of a factor: a sweep, or another run whose loads were measured at several
// levels.
func (s *sweepCommand) showSaved(c *cobra.Command) error {
	found, err := results.FindAll(s.app, []string{s.o.Show})
	if err != nil {
		return err
	}
	run, err := results.StagedRunOf(s.app, found[0])
	if err != nil {
		return err
	}
	if hasLevels(run) {
		return s.showLevels(run)
	}
	b, err := s.find(s.o.Show)
	if err != nil {
		return err
	}
	if err := refuseLevelFlags(c, b); err != nil {
		return err
	}
	return s.show(b)
}
