package paired

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
)

// LiveOptions are the flags of compare --live for measuring.
type LiveOptions struct {
	Live    bool
	Layers  bool
	Suite   string
	Set     []string
	SetBase []string
	SetNew  []string
	Size    string
	Label   string
	Seed    uint64
	Destroy []string
	Sampled []string
	Writes  string
	Pairs   int
	Confirm int
	Budget  time.Duration
	Resume  string
	DryRun  app.DryRun
	Profile experiment.ProfileOptions
}

// DefaultPairs is the largest number of pairs of a cell until its verdict.
const DefaultPairs = 20

// DefaultConfirm is the number of pairs that follow the verdict.
const DefaultConfirm = 4

// liveSide has the suite, place and target of one side of a live comparison.
type liveSide struct{ suite, place, target string }

// sides reads the arguments: places, suites and targets, each one for both sides or one per side.
func (o *LiveOptions) sides(args []string, kinds app.TargetKinds) (base, next liveSide, err error) {
	var suites, places, targets []string
	for _, a := range args {
		switch {
		case kinds.Has(a):
			targets = append(targets, a)
		case experiment.IsSuite(a):
			suites = append(suites, a)
		default:
			places = append(places, a)
		}
	}
	if o.Suite != "" {
		suites = append(suites, o.Suite)
	}
	if len(suites) == 0 {
		suites = []string{"quick"}
	}
	if len(targets) == 0 {
		targets = []string{app.LocalTarget}
	}
	fault := func(what string) error {
		return app.Usage(what, "two places: headroom compare --live --suite quick /mnt/a /mnt/b",
			"two suites: headroom compare --live a.yaml b.yaml /mnt/a",
			"two targets: headroom compare --live ssh://db1 ssh://db2 /srv", "one place with itself: name it twice")
	}
	different := len(suites) == 2 || len(places) == 2 || len(targets) == 2 || len(o.SetBase)+len(o.SetNew) > 0
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

// runOptions returns the options of one side.
func (o *LiveOptions) runOptions(of int, set []string) experiment.RunOptions {
	r := experiment.RunOptions{Seed: o.Seed, Size: o.Size, MaxWrites: o.Writes, Set: slices.Concat(o.Set, set),
		DryRun: o.DryRun, Label: o.Label, Profile: o.Profile}
	if len(o.Destroy) > 0 {
		r.Destroy = o.Destroy[min(of, len(o.Destroy)-1)]
	}
	if len(o.Sampled) > 0 {
		r.Sampled = o.Sampled[min(of, len(o.Sampled)-1)]
	}
	return r
}

// CompareLive measures two sides in turns, and compares the saved runs.
func CompareLive(ctx context.Context, p *app.App, live LiveOptions, o results.CompareOptions, args []string) error {
	settings, err := o.Settings()
	if err != nil {
		return err
	}
	if o.All || len(settings.Margins) > 0 || slices.ContainsFunc(o.Metrics, func(name string) bool {
		return strings.HasSuffix(name, "*")
	}) {
		return app.Usage("--live decides by metrics that are named, at one margin",
			"compare the two sides afterwards: headroom compare RUN:base RUN:new --all")
	}
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measurement
	}
	terms, err := live.terms(settings.Margin, settings.Alpha, settings.Metrics)
	if err != nil {
		return err
	}
	s, err := p.OpenStoreFor(live.Resume)
	if err != nil {
		return err
	}
	return experiment.Carry(ctx, p, s, experiment.Request{Design: lab.DesignLive, Resume: live.Resume, Args: args,
		DryRun: live.DryRun, Complete: true},
		&pairedComparison{app: p, store: s, options: live, result: o, args: args, terms: terms})
}

// evenPairs returns the number of pairs that completes the last block: a block is two.
func evenPairs(pairs int) int { return pairs + pairs%2 }

// terms returns the terms of a live comparison from the flags. The suite adds the number of claims.
func (o *LiveOptions) terms(margin, alpha float64, metrics []string) (lab.Terms, error) {
	t := lab.Terms{Margin: margin, Alpha: alpha, Metrics: metrics, Pairs: evenPairs(o.Pairs), Confirm: o.Confirm}
	if t.Pairs == 0 {
		t.Pairs = DefaultPairs
	}
	switch {
	case t.Confirm < 0:
		return t, app.Usage(fmt.Sprintf("--confirm %d is no number of pairs", t.Confirm))
	case o.Budget < 0:
		return t, app.Usage("--budget "+o.Budget.String()+" is no length of time", "write something like 10m or 1h30m")
	}
	return t, nil
}
