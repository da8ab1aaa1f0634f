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
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/kbuild"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// excludeUnavailable takes settings out of a search between machines that this target does not have, or does not let be
// written.
func (x *Experiment) excludeUnavailable(ctx context.Context) error {
	if err := x.findMachines(ctx); err != nil {
		return err
	}
	var left []string
	x.choices = slices.DeleteFunc(x.choices, func(c factor.Choice) bool {
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
	x.Run.Experiment.Factors = slices.DeleteFunc(x.Run.Experiment.Factors, func(v lab.VariedFactor) bool {
		return !slices.ContainsFunc(x.choices, func(c factor.Choice) bool { return c.Factor() == v.Factor })
	})
	if len(left) > 0 {
		w := validity.NotSettable(left)
		x.Print("", w.Text)
		x.Run.Warnings = append(x.Run.Warnings, w)
	}
	if len(x.choices) < 2 {
		return app.Usage(fmt.Sprintf("of what differs, %s can be set here", prose.Count(len(x.choices), "setting")),
			"of one difference headroom ablate tells what it costs")
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

// KernelSeries are the kernels between two configurations, as a search begins with them.
type KernelSeries struct {
	lab.Kernels
	// Levels of each group: what its first option is in the good configuration, and in the bad one.
	Levels [][]string
}

// builtKernels makes the kernels of a search.
type builtKernels struct {
	tree  *kbuild.Tree
	mixer *kbuild.Between
	// made are the mixtures whose kernels were made, by what is switched.
	made map[string]bool
}

// ReadConfiguration reads a kernel's configuration, as it is or compressed (/proc/config.gz), with the hash of the
// file.
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

// OpenTree opens the source of a search's kernels. What is built of it is kept for later searches, in the user's cache.
func OpenTree(ctx context.Context, k lab.Kernels, terms kbuild.Terms) (*kbuild.Tree, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	terms.Trust = store.Trust
	terms.Dir, terms.Make, terms.Out = k.Tree, k.Make, filepath.Join(cache, "headroom", "built-kernels")
	return kbuild.Open(ctx, terms)
}

// WarnBuildBusy says that another search is building in a folder, which is waited for.
func WarnBuildBusy(p *app.App, folder string) {
	p.Print("", "another process builds kernels in "+folder+"; waiting for it")
}

// chooseOptions makes a choice of each group of options.
func (x *Experiment) chooseOptions() error {
	if !x.Traits(x.options.on).HostedHere {
		return app.Usage("the kernels that are built are started in a guest", "--on qemu:FILE")
	}
	for i, g := range x.options.Kernels.Groups {
		scheme, name, err := factor.Find(OptionScheme + g[0])
		if err != nil {
			return err
		}
		if factor.IsKept(x.options.Keep, OptionScheme+g[0]) {
			return &lab.Error{Kind: lab.Refused, What: OptionScheme + g[0] + " must stay (--keep), but differs",
				Hints: []string{"give it the same value in both configurations"}}
		}
		x.choices = append(x.choices, factor.Choice{Scheme: scheme, Name: name, Levels: x.options.Kernels.Levels[i]})
	}
	return nil
}

// openKernels opens the source and the configurations of a search among options.
func (x *Experiment) openKernels(ctx context.Context) error {
	k := x.Run.Experiment.Kernels
	if k == nil {
		return nil
	}
	var texts [2][]byte
	for i, name := range []string{k.Good, k.Bad} {
		text, sum, err := ReadConfiguration(name)
		if err != nil {
			return err
		}
		if sum != k.Sums[i] {
			return &lab.Error{Kind: lab.Refused, What: name + " is not what it was when the search began",
				Hints: []string{"bring it back, or begin another search"}}
		}
		texts[i] = text
	}
	local := x.Local()
	of := recovery.BuildTerms(local, x.Owner())
	tree, err := OpenTree(ctx, *k, kbuild.Terms{Target: local, Run: x.Run.ID, Mark: of.Mark, End: of.End,
		AtStep: x.AtStep, Waiting: func(folder string) { WarnBuildBusy(x.App, folder) }})
	if err != nil {
		return err
	}
	if tree.Release != k.Release {
		return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s is Linux %s, and was %s when the search began",
			k.Tree, tree.Release, k.Release)}
	}
	between, err := tree.Regroup(ctx, texts[0], texts[1], k.Groups, k.Follows)
	x.kernels = &builtKernels{tree: tree, mixer: between, made: map[string]bool{}}
	return err
}

// kernelStep is the step that makes the kernel of an arm, and has the spec start it; nil where arms have no kernels of
// their own.
func (x *Experiment) kernelStep(levels map[string]string, spec *host.BootSpec) []armStep {
	if x.kernels == nil {
		return nil
	}
	var switched []bool
	n := 0
	for _, f := range x.Run.Experiment.Factors {
		bad := levels[f.Factor] == f.Levels[1]
		if switched = append(switched, bad); bad {
			n++
		}
	}
	text := fmt.Sprintf("build the kernel with %d of %d options as in the slow one", n, len(switched))
	if x.kernels.made[fmt.Sprint(switched)] {
		text = fmt.Sprintf("take the kernel with %d of %d options as in the slow one, as it was built", n,
			len(switched))
	}
	return []armStep{{text: text, do: func(ctx context.Context) error {
		kernel, err := x.kernels.make(ctx, switched)
		spec.Kernel = kernel.Image
		return err
	}}}
}

// make a kernel, or find it where it was made before.
func (k *builtKernels) make(ctx context.Context, switched []bool) (kbuild.Kernel, error) {
	mixed, err := k.mixer.Mix(ctx, switched)
	if err != nil {
		return kbuild.Kernel{}, err
	}
	if len(mixed.Refused) > 0 {
		return kbuild.Kernel{}, &kbuild.Unbuilt{Config: k.tree.Hash(mixed.Config),
			Reason: "the kernel's own tools set " + strings.Join(mixed.Refused, ", ") + " otherwise"}
	}
	kernel, err := k.tree.Build(ctx, mixed.Config)
	k.made[fmt.Sprint(switched)] = err == nil
	return kernel, err
}
