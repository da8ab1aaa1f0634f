package vary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/kbuild"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// excludeUnavailable removes settings from a search between machines that this target does not have, or that can't be
// written there.
func (x *Experiment) excludeUnavailable(ctx context.Context) error {
	if err := x.findMachines(ctx); err != nil {
		return err
	}
	var left []string
	x.varies.choices = slices.DeleteFunc(x.varies.choices, func(c factor.Choice) bool {
		var err error
		if c.Scheme.Class == scheme.Live {
			err = x.settings.settable(ctx, c)
		}
		if err != nil {
			left = append(left, c.Factor()+" ("+err.Error()+")")
		}
		return err != nil
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	x.under.Run.Experiment.Factors = slices.DeleteFunc(x.under.Run.Experiment.Factors, func(v lab.VariedFactor) bool {
		return !slices.ContainsFunc(x.varies.choices, func(c factor.Choice) bool { return c.Factor() == v.Factor })
	})
	if len(left) > 0 {
		w := validity.NotSettable(left)
		x.under.App.Print("", w.Text)
		x.under.Run.Warnings = append(x.under.Run.Warnings, w)
	}
	if len(x.varies.choices) < 2 {
		return app.Usage(
			fmt.Sprintf("only %s of the differences can be set here", prose.Count(len(x.varies.choices), "setting")),
			"headroom ablate measures the cost of one difference")
	}
	return nil
}

// ReadBuild reads a file with the configuration of a kernel.
func ReadBuild(name string) (diff.Side, error) {
	data, err := app.ReadInput(name)
	if err != nil {
		return diff.Side{}, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
	}
	s, err := diff.Decode(name, data)
	if err != nil {
		return s, err
	}
	if !slices.ContainsFunc(s.Facts, func(f lab.Fact) bool { return strings.HasPrefix(f.Key, "kernel.config.") }) {
		return s, app.Usage(name+" is no configuration of a kernel",
			"/boot/config-$(uname -r), /proc/config.gz or a .config is one")
	}
	return s, nil
}

// OptionScheme begins the names of factors that are options of a kernel's build.
const OptionScheme = "option:"

// KernelSeries describes the kernels between two configurations at the start of a search.
type KernelSeries struct {
	lab.Kernels
	// Levels has for each group the level of its first option in the good configuration and in the bad one.
	Levels [][]string
}

// ReadConfiguration reads a kernel's configuration, plain or compressed (/proc/config.gz), with the hash of the file.
func ReadConfiguration(name string) (text []byte, sum string, err error) {
	if _, err := ReadBuild(name); err != nil {
		return nil, "", err
	}
	data, err := app.ReadInput(name)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.Sum256(data)
	text, err = diff.Unpack(name, data)
	return text, hex.EncodeToString(hash[:]), err
}

// OpenTree opens the source of a search's kernels. Built kernels are kept in the user's cache for later searches.
func OpenTree(ctx context.Context, k lab.Kernels, terms kbuild.Terms) (*kbuild.Tree, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	terms.Trust = store.Trust
	terms.Dir, terms.Make, terms.Out = k.Tree, k.Make, filepath.Join(cache, "headroom", "built-kernels")
	return kbuild.Open(ctx, terms)
}

// WarnBuildBusy reports that another search builds in a folder, and that this one waits for it.
func WarnBuildBusy(p *app.App, folder string) {
	p.Print("", "another process builds kernels in "+folder+"; waiting for it")
}

// chooseKernelOptions makes a choice of each group of options.
func (o *Options) chooseKernelOptions(kinds app.TargetKinds) ([]factor.Choice, error) {
	if !kinds.Traits(o.on).HostedHere {
		return nil, app.Usage("the kernels that are built are started in a guest", "--on qemu:FILE")
	}
	var choices []factor.Choice
	for i, g := range o.Kernels.Groups {
		scheme, name, err := factor.Find(OptionScheme + g[0])
		if err != nil {
			return nil, err
		}
		if factor.IsKept(o.Keep, OptionScheme+g[0]) {
			return nil, &lab.Error{Kind: lab.Refused, What: OptionScheme + g[0] + " must stay (--keep), but differs",
				Hints: []string{"give it the same value in both configurations"}}
		}
		choices = append(choices, factor.Choice{Scheme: scheme, Name: name, Levels: o.Kernels.Levels[i]})
	}
	return choices, nil
}
