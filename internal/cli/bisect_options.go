package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"headroom/internal/diff"
	"headroom/internal/factor"
	"headroom/internal/kbuild"
	"headroom/internal/kconfig"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/store"
	"headroom/internal/target"
)

// optionScheme begins the names of factors that are options of a kernel's build.
const optionScheme = "option:"

// kernelSeries are the kernels between two configurations, as a search begins with them.
type kernelSeries struct {
	lab.Kernels
	// levels of each group: what its first option is in the good configuration, and in the bad one.
	levels [][]string
}

// builtKernels makes the kernels of a search.
type builtKernels struct {
	tree  *kbuild.Tree
	mixer *kbuild.Between
	// made are the mixtures whose kernels were made, by what is switched.
	made map[string]bool
}

// kernelsBetween asks a tree which options lie between two configurations, and which of them can be switched one
// without the other.
func (p *program) kernelsBetween(ctx context.Context, k lab.Kernels) (*kernelSeries, error) {
	var texts [2][]byte
	for i, name := range []*string{&k.Good, &k.Bad} {
		if *name == "" {
			return nil, usage("headroom bisect kconfig needs both configurations",
				"name a file with --good and one with --bad, like /boot/config-$(uname -r)")
		}
		var err error
		if *name, err = filepath.Abs(*name); err != nil {
			return nil, err
		}
		if texts[i], k.Sums[i], err = readConfiguration(*name); err != nil {
			return nil, err
		}
	}
	known, boots, err := knownOf(k, texts)
	if err != nil {
		return nil, err
	}
	tree, err := openTree(ctx, k, kbuild.Terms{Target: p.local(), Waiting: func(folder string) {
		warnBuildBusy(p, folder)
	}})
	if err != nil {
		return nil, err
	}
	k.Tree, k.Release = tree.Dir, tree.Release
	if boots > 1 {
		p.print("", fmt.Sprintf("a boot argument stands for %d of the differences: without --tree these are searched, "+
			"and no kernel is built", boots))
	}
	p.print("", "asking "+k.Tree+" which options can be switched one without the other")
	between, err := tree.Between(ctx, texts[0], texts[1], known, p.reportTenths("asked about"))
	if err != nil {
		return nil, err
	}
	k.Groups, k.Follows = between.Groups, between.Follows
	if len(k.Groups) < 2 {
		return nil, usage(fmt.Sprintf("in %s the two configurations differ in %s that can be switched", k.Tree,
			prose.Count(len(k.Groups), "thing")),
			"what a single difference costs: build both kernels, and headroom sweep --factor kernel:=GOOD,BAD")
	}
	s := &kernelSeries{Kernels: k}
	for _, g := range k.Groups {
		s.levels = append(s.levels, []string{optionValue(between.Good, g[0]), optionValue(between.Bad, g[0])})
	}
	return s, nil
}

func optionValue(c kconfig.Config, option string) string {
	if v, in := c[option]; in {
		return v
	}
	return "n"
}

// readConfiguration reads a kernel's configuration, as it is or compressed (/proc/config.gz), with the hash of the
// file.
func readConfiguration(name string) (text []byte, sum string, err error) {
	if _, err := readBuild(name); err != nil {
		return nil, "", err
	}
	data, err := readInput(name)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.Sum256(data)
	text, err = diff.Unpack(name, data)
	return text, hex.EncodeToString(hash[:]), err
}

// knownOf two configurations are options that follow from others, each group led by what the rest follows from, the
// likeliest to matter first; and how many of the differences boot arguments stand for.
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

// openTree opens the source of a search's kernels. What is built of it is kept for later searches, in the user's cache.
func openTree(ctx context.Context, k lab.Kernels, terms kbuild.Terms) (*kbuild.Tree, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	terms.Trust = store.Trust
	terms.Dir, terms.Make, terms.Out = k.Tree, k.Make, filepath.Join(cache, "headroom", "built-kernels")
	return kbuild.Open(ctx, terms)
}

func warnBuildBusy(p *program, folder string) {
	p.print("", "another process builds kernels in "+folder+"; waiting for it")
}

// reportTenths tells how far something has come, at every tenth of it.
func (p *program) reportTenths(did string) func(done, of int) {
	printed := 0
	return func(done, of int) {
		if tenth := 10 * done / max(1, of); tenth > printed {
			printed = tenth
			p.print("  ", fmt.Sprintf("%s %d of %d", did, done, of))
		}
	}
}

// chooseOptions makes a choice of each group of options.
func (x *experiment) chooseOptions() error {
	if !x.traits(x.options.on).HostedHere {
		return usage("the kernels that are built are started in a guest", "--on qemu:FILE")
	}
	for i, g := range x.options.kernels.Groups {
		scheme, name, err := factor.Find(optionScheme + g[0])
		if err != nil {
			return err
		}
		if factor.IsKept(x.options.keep, optionScheme+g[0]) {
			return &lab.Error{Kind: lab.Refused, What: optionScheme + g[0] + " is to be kept, and differs",
				Hints: []string{"give it the same value in both configurations"}}
		}
		x.choices = append(x.choices, factor.Choice{Scheme: scheme, Name: name, Levels: x.options.kernels.levels[i]})
	}
	return nil
}

// openKernels takes up the source and the configurations of a search among options.
func (x *experiment) openKernels(ctx context.Context) error {
	k := x.run.Experiment.Kernels
	if k == nil {
		return nil
	}
	var texts [2][]byte
	for i, name := range []string{k.Good, k.Bad} {
		text, sum, err := readConfiguration(name)
		if err != nil {
			return err
		}
		if sum != k.Sums[i] {
			return &lab.Error{Kind: lab.Refused, What: name + " is not what it was when the search began",
				Hints: []string{"bring it back, or begin another search"}}
		}
		texts[i] = text
	}
	local := x.local()
	of := buildTerms(local, x.owner())
	tree, err := openTree(ctx, *k, kbuild.Terms{Target: local, Run: x.run.ID, Mark: of.Mark, End: of.End,
		AtStep: x.AtStep, Waiting: func(folder string) { warnBuildBusy(x.program, folder) }})
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

// endKernelBuild ends what a killed search was building. Objects that are half made are removed before the next build.
func endKernelBuild(ctx context.Context, p *program, run string) (ended bool, err error) {
	local := p.local()
	jobs, err := local.JobsBelow(ctx, run+"-kernel")
	if err != nil {
		return false, err
	}
	for _, job := range jobs {
		if err := local.ClearJob(ctx, job); err != nil {
			return false, err
		}
	}
	// Whatever make has started works in the source's folder, which may be somebody else's as well, so that only the
	// mark counts.
	return len(jobs) > 0, buildTerms(local, run).End(ctx, filepath.Join(jobsFolder(), run))
}

// kernelStep is the step that makes the kernel of an arm, and has the spec start it; nil where arms have no kernels of
// their own.
func (x *experiment) kernelStep(levels map[string]string, spec *target.BootSpec) []armStep {
	if x.kernels == nil {
		return nil
	}
	var switched []bool
	n := 0
	for _, f := range x.run.Experiment.Factors {
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
