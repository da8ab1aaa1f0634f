package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/commits"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/lab"
)

// commitSearch is a search among the commits of a git tree.
type commitSearch struct {
	*search
	tree, build string
	kept        int
}

func newBisectCommitsCommand(a *app.App) *cobra.Command {
	s := &commitSearch{search: newStepsSearch(a)}
	c := &cobra.Command{
		Use: "commits GOOD..BAD SUITE [DEVICE or DIR] [--tree DIR] [--build COMMAND]",
		Long: `Finds the commits of a git tree that changed the performance, between GOOD and BAD as in a git range (BAD is
HEAD if left out), along first parents: a merge counts as one step.

Each commit is checked out and built in a folder of headroom's own; your working tree, index, HEAD and branches
are not touched. {tree} in a suite's command stands for that folder: exec: ["{tree}/bench"]. Commits that don't
build, or whose program fails, are left out, and the report lists them with the reason; if the culprit is next to
such commits, the report names the candidates. A commit is built only once, also across --resume.`,
		Example: `  headroom bisect commits v1.4..main bench.yaml --build "make -j8"
  headroom bisect commits v1.4..main bench.yaml /srv --tree ~/src/store --build "go build ./cmd/bench" --budget 2h
  headroom bisect commits --resume last`,
	}
	f := flagsOf(a, c)
	f.StringVar(&s.tree, "tree", ".", "the git tree")
	f.StringVar(&s.build, "build", "", "the command that builds a commit in its folder; split into words, not run by a "+
		"shell")
	f.IntVar(&s.kept, "keep-built", 40, "most built commits to keep during the search")
	s.complete(c, func() ([]string, error) { return nil, nil })
	c.Args = argumentCount(0, 3, "a range of commits, a suite, and a directory or device")
	c.ValidArgsFunction, c.Annotations = completion{a}.suites(1), suiteAt(1) // the range only git knows
	c.RunE = s.runRange
	if err := c.MarkFlagDirname("tree"); err != nil {
		panic(err) // the flag does not exist: a programming error
	}
	return c
}

// runRange builds and measures the commits of the range in the first argument.
func (s *commitSearch) runRange(c *cobra.Command, args []string) (err error) {
	if s.o.Resume != "" || s.o.Show != "" {
		return s.run(c, args)
	}
	if len(args) == 0 {
		return app.Usage("headroom bisect commits needs a range of commits",
			"for example: headroom bisect commits v1.4..main bench.yaml --build make")
	}
	if s.o.Commits, err = s.commitsBetween(c.Context(), args[0]); err != nil {
		return err
	}
	return s.run(c, args[1:])
}

// commitsBetween reads the range as typed.
func (s *commitSearch) commitsBetween(ctx context.Context, span string) (*vary.CommitSeries, error) {
	good, bad, ok := strings.Cut(span, "..")
	switch {
	case !ok || good == "" || strings.HasPrefix(bad, "."):
		return nil, app.Usage(span+" is no range of commits", "write GOOD..BAD: v1.4..main",
			"then come the suite and the place")
	case s.kept < 1:
		return nil, app.Usage(fmt.Sprintf("--keep-built %d is too few", s.kept), "write 1 or more")
	}
	words, err := experiment.BuildWords(s.build)
	if err != nil {
		return nil, err
	}
	if bad == "" {
		bad = "HEAD"
	}
	dir, err := filepath.Abs(s.tree)
	if err != nil {
		return nil, err
	}
	opened, err := commits.Open(ctx, s.app.Local(), dir)
	if err != nil {
		return nil, err
	}
	series := &vary.CommitSeries{Commits: lab.Commits{Tree: dir, Good: good, Bad: bad, Build: words, Kept: s.kept}}
	if series.List, err = opened.Between(ctx, good, bad); err != nil {
		return nil, err
	}
	switch len(series.List) {
	case 1:
		return nil, app.Usage(fmt.Sprintf("%s and %s are one commit", good, bad))
	case 2:
		return nil, app.Usage(fmt.Sprintf("%s comes right after %s, so that there is nothing to search", bad, good),
			"whether one is slower: headroom compare")
	}
	return series, nil
}
