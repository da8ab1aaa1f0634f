package vary

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/commits"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/kbuild"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
)

// building builds what a search measures: commits of a tree, or kernels between two configurations. Other experiments
// build nothing.
type building struct {
	under   *experiment.Measurement
	commits *commits.Builds
	kernels *builtKernels
}

// Open opens the trees of a search that builds.
func (b *building) Open(ctx context.Context) error {
	err := errors.Join(b.openCommits(ctx, b.under), b.openKernels(ctx, b.under))
	if err != nil {
		return errors.Join(err, b.Close(ctx, err))
	}
	if b.commits != nil {
		b.under.Tree = b.commits.Link()
	}
	return nil
}

// Reach does nothing: what is built is on this machine.
func (b *building) Reach(context.Context) error { return nil }

// openCommits opens the built commits of a search among commits.
func (b *building) openCommits(ctx context.Context, m *experiment.Measurement) error {
	terms := m.Run.Experiment.Commits
	if terms == nil {
		return nil
	}
	tree, err := commits.Open(ctx, m.Target, terms.Tree)
	if err != nil {
		return err
	}
	of := recovery.BuildTerms(m.Target, m.Owner())
	of.Run, of.Build, of.Kept, of.AtStep = m.Run.ID, terms.Build, terms.Kept, m.App.AtStep
	b.commits, err = commits.Begin(ctx, m.Store.Folder.Built(), tree, of)
	return err
}

// Close keeps the builds for a search that may be resumed, and removes them otherwise.
func (b *building) Close(ctx context.Context, failed error) error {
	if b.commits == nil {
		return nil
	}
	return b.commits.Close(context.WithoutCancel(ctx), failed != nil)
}

// commitStep returns the step that builds an arm's commit and selects it; nil if arms are not commits.
func (b *building) commitStep(levels map[string]string) []armStep {
	hash := levels[commitFactor]
	if b.commits == nil || hash == "" {
		return nil
	}
	text := "build " + hash
	if b.commits.Has(hash) {
		text = "reuse the build of " + hash
	}
	return []armStep{{text: text, do: func(ctx context.Context) error { return b.commits.Enter(ctx, hash) }}}
}

// openKernels opens the source and the configurations of a search among options.
func (b *building) openKernels(ctx context.Context, m *experiment.Measurement) error {
	k := m.Run.Experiment.Kernels
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
			return &lab.Error{Kind: lab.Refused, What: name + " has changed since the search began",
				Hints: []string{"restore it, or begin another search"}}
		}
		texts[i] = text
	}
	local := m.App.Local()
	of := recovery.BuildTerms(local, m.Owner())
	tree, err := OpenTree(ctx, *k, kbuild.Terms{Target: local, Run: m.Run.ID, Mark: of.Mark, End: of.End,
		AtStep: m.App.AtStep, Waiting: func(folder string) { WarnBuildBusy(m.App, folder) }})
	if err != nil {
		return err
	}
	if tree.Release != k.Release {
		return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s is Linux %s, and was %s when the search began",
			k.Tree, tree.Release, k.Release)}
	}
	between, err := tree.Regroup(ctx, texts[0], texts[1], k.Groups, k.Follows)
	b.kernels = &builtKernels{tree: tree, mixer: between, made: map[string]bool{}}
	return err
}

// kernelStep returns the step that builds the kernel of an arm and makes spec boot it; nil if arms have no separate
// kernels.
func (b *building) kernelStep(factors []lab.VariedFactor, levels map[string]string, spec *host.BootSpec) []armStep {
	if b.kernels == nil {
		return nil
	}
	var switched []bool
	n := 0
	for _, f := range factors {
		bad := levels[f.Factor] == f.Levels[1]
		if switched = append(switched, bad); bad {
			n++
		}
	}
	text := fmt.Sprintf("build the kernel with %d of %d options as in the slow one", n, len(switched))
	if b.kernels.made[fmt.Sprint(switched)] {
		text = fmt.Sprintf("reuse the kernel with %d of %d options as in the slow one", n, len(switched))
	}
	return []armStep{{text: text, do: func(ctx context.Context) error {
		kernel, err := b.kernels.make(ctx, switched)
		spec.Kernel = kernel.Image
		return err
	}}}
}

// builtKernels builds the kernels of a search.
type builtKernels struct {
	tree  *kbuild.Tree
	mixer *kbuild.Between
	// made has the mixtures whose kernels were built, by the switched options.
	made map[string]bool
}

// make builds a kernel, or finds it if it was built before.
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
