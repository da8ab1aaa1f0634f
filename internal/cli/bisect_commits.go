package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/commits"
	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/target"
)

// commitFactor is the factor whose levels are commits.
const commitFactor = "commit:"

// commitSeries is what a search among commits is about.
type commitSeries struct {
	lab.Commits
	// list from the good end to the bad one, both included.
	list []commits.Commit
}

func (p *program) bisectCommitsCommand() *cobra.Command {
	o := experimentOptions{steps: true}
	var tree, build string
	kept := 40
	c := &cobra.Command{
		Use:   "commits GOOD..BAD SUITE [DEVICE or DIR] [--tree DIR] [--build COMMAND]",
		Short: "Which commit made it slow: commits of a git tree are built and measured",
		Long: `Finds the commits of a git tree at which the performance changed, between GOOD and BAD as git reads a range
(BAD is HEAD where it is left out), along first parents: a merge is one step.

Each commit is checked out and built in a folder of headroom's own; the working tree, its index, HEAD and
branches are not touched. {tree} in a suite's command stands for that folder: exec: ["{tree}/bench"].
Commits that don't build, or whose program fails, are left out, and the report says which and why; where the
culprit lies beside them, it is named as one of several. A commit is built once, also across --resume.`,
		Example: `  headroom bisect commits v1.4..main bench.yaml --build "make -j8"
  headroom bisect commits v1.4..main bench.yaml /srv --tree ~/src/store --build "go build ./cmd/bench" --budget 2h
  headroom bisect commits --resume last`,
	}
	f := c.Flags()
	f.StringVar(&tree, "tree", ".", "the git tree")
	f.StringVar(&build, "build", "", "the command that builds a commit in its folder, as words: no shell reads it")
	f.IntVar(&kept, "keep-built", kept, "built commits that are kept at most while the search goes on")
	p.completeBisectCommand(c, &o, func() ([]string, error) { return nil, nil })
	c.Args = argumentCount(0, 3, "a range of commits, a suite, and a directory or device")
	c.ValidArgsFunction = p.completeCommits
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.resume != "" || o.show != "" {
			return p.bisectRun(c, o, args)
		}
		if len(args) == 0 {
			return usage("headroom bisect commits needs a range of commits",
				"for example: headroom bisect commits v1.4..main bench.yaml --build make")
		}
		var err error
		if o.commits, err = p.commitsBetween(c.Context(), tree, args[0], build, kept); err != nil {
			return err
		}
		return p.bisectRun(c, o, args[1:])
	}
	if err := c.MarkFlagDirname("tree"); err != nil {
		panic(err) // the flag is not there: an error of the program
	}
	return c
}

// commitsBetween reads what was typed.
func (p *program) commitsBetween(ctx context.Context, tree, span, build string, kept int) (*commitSeries, error) {
	good, bad, ok := strings.Cut(span, "..")
	switch {
	case !ok || good == "" || strings.HasPrefix(bad, "."):
		return nil, usage(span+" is no range of commits", "write GOOD..BAD: v1.4..main",
			"then come the suite and the place")
	case kept < 1:
		return nil, usage(fmt.Sprintf("--keep-built %d is too few", kept), "write 1 or more")
	}
	words, err := buildWords(build)
	if err != nil {
		return nil, err
	}
	if bad == "" {
		bad = "HEAD"
	}
	dir, err := filepath.Abs(tree)
	if err != nil {
		return nil, err
	}
	opened, err := commits.Open(ctx, p.local(), dir)
	if err != nil {
		return nil, err
	}
	s := &commitSeries{Commits: lab.Commits{Tree: dir, Good: good, Bad: bad, Build: words, Kept: kept}}
	if s.list, err = opened.Between(ctx, good, bad); err != nil {
		return nil, err
	}
	switch len(s.list) {
	case 1:
		return nil, usage(fmt.Sprintf("%s and %s are one commit", good, bad))
	case 2:
		return nil, usage(fmt.Sprintf("%s comes right after %s, so that there is nothing to search", bad, good),
			"whether one is slower: headroom compare")
	}
	return s, nil
}

// buildWords are the words of a build command.
func buildWords(build string) ([]string, error) {
	if strings.TrimSpace(build) == "" {
		return nil, nil
	}
	return wordsOf("--build", build)
}

// completeCommits offers nothing for the range, which only git knows, and then suites and places.
func (p *program) completeCommits(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeSuites(c, args[1:], word)
}

// chooseCommits makes the one choice of such a search: its commits, in their order.
func (x *experiment) chooseCommits() error {
	if !x.traits(x.options.on).Local {
		return usage("commits are built and measured on this machine", "leave out --on")
	}
	scheme, name, err := factor.Find(commitFactor)
	if err != nil {
		return err
	}
	c := factor.Choice{Scheme: scheme, Name: name}
	for _, commit := range x.options.commits.list {
		c.Levels = append(c.Levels, commit.Hash)
	}
	x.choices = []factor.Choice{c}
	return nil
}

// recordIn takes the series down in an experiment.
func (s *commitSeries) recordIn(e *lab.Experiment) {
	if s == nil {
		return
	}
	e.Commits = &s.Commits
	for _, c := range s.list {
		e.Factors[0].Titles = append(e.Factors[0].Titles, c.Subject)
	}
}

// openBuilds takes up the built commits of a search that has them.
func (x *experiment) openBuilds(ctx context.Context) error {
	terms := x.run.Experiment.Commits
	if terms == nil {
		return nil
	}
	tree, err := commits.Open(ctx, x.target, terms.Tree)
	if err != nil {
		return err
	}
	of := buildTerms(x.target, x.owner())
	of.Run, of.Build, of.Kept, of.AtStep = x.run.ID, terms.Build, terms.Kept, x.AtStep
	x.builds, err = commits.Begin(ctx, x.store.Built(), tree, of)
	return err
}

// buildTerms say how what was started for a build is found and ended.
func buildTerms(t target.Target, owner string) commits.Terms {
	mark := runner.MarkFor(owner)
	return commits.Terms{Mark: mark, Trust: store.Trust, End: func(ctx context.Context, folder string) error {
		return runner.EndProcesses(ctx, t, target.Started{Mark: mark, Folder: folder})
	}}
}

// closeBuilds keeps what was built for a search that may go on, and removes it otherwise.
func (x *experiment) closeBuilds(ctx context.Context, failed error) error {
	if x.builds == nil {
		return nil
	}
	return x.builds.Close(context.WithoutCancel(ctx), failed != nil)
}

// buildStep is the step that makes an arm's commit the one that is measured; nil where arms are no commits.
func (x *experiment) buildStep(levels map[string]string) []armStep {
	hash := levels[commitFactor]
	if x.builds == nil || hash == "" {
		return nil
	}
	text := "build " + hash
	if x.builds.Has(hash) {
		text = "take " + hash + " as it was built"
	}
	return []armStep{{text: text, do: func(ctx context.Context) error { return x.builds.Enter(ctx, hash) }}}
}

// commitText is a commit with its subject.
func (x *experiment) commitText(hash string) string {
	f := x.run.Experiment.Factors[0]
	if i := slices.Index(f.Levels, hash); i >= 0 && i < len(f.Titles) {
		return hash + " (" + f.Titles[i] + ")"
	}
	return hash
}

// commitsText is what a search among commits is about, for people.
func (x *experiment) commitsText() string {
	e := x.run.Experiment
	text := fmt.Sprintf("%s of %s after %s", prose.Count(len(e.Factors[0].Levels)-1, "commit"), e.Commits.Tree,
		x.commitText(e.Factors[0].Levels[0]))
	if len(e.Commits.Build) > 0 {
		text += ", built with " + lab.ShellQuote(e.Commits.Build)
	}
	return text
}

// recoverBuilds removes the commits that a killed search was about to build, and those that were built for searches
// that will not go on. It returns how many searches had left any.
func recoverBuilds(ctx context.Context, p *program, s *store.Store) (int, error) {
	pending, err := commits.Pending(s.Built(), store.Trust)
	errs := []error{err}
	n := 0
	for _, left := range pending {
		b, err := s.Find(left.Run)
		continues := err == nil && (b.Active() || b.Run.Status == lab.Interrupted || b.Run.Status == lab.Running)
		removed, err := left.Recover(ctx, p.local(), continues, buildTerms(p.local(), left.Run))
		if errs = append(errs, err); len(removed) > 0 {
			n++
			fmt.Fprintf(p.Stderr, "run %s was cut off or deleted: removed %s that it had built or begun to build\n",
				s.ShortID(left.Run), prose.Count(len(removed), "commit"))
		}
	}
	return n, errors.Join(errs...)
}
