package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/kbuild"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// between asks a kernel tree for the options that differ between two configurations, and which of them can be switched
// separately.
func (s *kernelSearch) between(ctx context.Context) (*vary.KernelSeries, error) {
	k := s.kernels
	var texts [2][]byte
	for i, name := range []*string{&k.Good, &k.Bad} {
		if *name == "" {
			return nil, app.Usage("headroom bisect kconfig needs both configurations",
				"name a file with --good and one with --bad, like /boot/config-$(uname -r)")
		}
		var err error
		if *name, err = filepath.Abs(*name); err != nil {
			return nil, err
		}
		if texts[i], k.Sums[i], err = vary.ReadConfiguration(*name); err != nil {
			return nil, err
		}
	}
	known, boots, err := knownOf(k, texts)
	if err != nil {
		return nil, err
	}
	tree, err := vary.OpenTree(ctx, k, kbuild.Terms{Target: s.app.Local(), Waiting: func(folder string) {
		vary.WarnBuildBusy(s.app, folder)
	}})
	if err != nil {
		return nil, err
	}
	k.Tree, k.Release = tree.Dir, tree.Release
	if boots > 1 {
		s.app.Print("", fmt.Sprintf("a boot argument stands for %d of the differences: without --tree these are searched, "+
			"and no kernel is built", boots))
	}
	s.app.Print("", "asking "+k.Tree+" which options can be switched one without the other")
	between, err := tree.Between(ctx, texts[0], texts[1], known, printTenths(s.app, "asked about"))
	if err != nil {
		return nil, err
	}
	k.Groups, k.Follows = between.Groups, between.Follows
	if len(k.Groups) < 2 {
		return nil, app.Usage(fmt.Sprintf("in %s the two configurations differ in %s that can be switched", k.Tree,
			prose.Count(len(k.Groups), "thing")),
			"what a single difference costs: build both kernels, and headroom sweep --factor kernel:=GOOD,BAD")
	}
	series := &vary.KernelSeries{Kernels: k}
	for _, g := range k.Groups {
		series.Levels = append(series.Levels, []string{optionValue(between.Good, g[0]), optionValue(between.Bad, g[0])})
	}
	return series, nil
}

func optionValue(c kconfig.Config, option string) string {
	if v, in := c[option]; in {
		return v
	}
	return "n"
}

// knownOf returns the groups of options that follow from others between two configurations, each led by the option that
// the rest follows from, the likeliest to matter first. boots is how many of the differences boot arguments replace.
func knownOf(k lab.Kernels, texts [2][]byte) (groups [][]string, boots int, err error) {
	knowledge, err := diff.Load()
	if err != nil {
		return nil, 0, err
	}
	var sides [2]diff.Side
	for i, name := range []string{k.Good, k.Bad} {
		if sides[i], err = diff.Decode(name, texts[i]); err != nil {
			return nil, 0, err
		}
	}
	for _, d := range knowledge.Compare(sides[0], sides[1]).Differences {
		var group []string
		for _, key := range append([]string{d.Fact}, d.Follows...) {
			if option, ok := strings.CutPrefix(key, "kernel.config."); ok {
				group = append(group, option)
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	byBoots, _ := knowledge.ByBoots(sides[0], sides[1])
	return groups, len(byBoots), nil
}

// printTenths prints progress at every tenth.
func printTenths(a *app.App, did string) func(done, of int) {
	printed := 0
	return func(done, of int) {
		if tenth := 10 * done / max(1, of); tenth > printed {
			printed = tenth
			a.Print("  ", fmt.Sprintf("%s %d of %d", did, done, of))
		}
	}
}
