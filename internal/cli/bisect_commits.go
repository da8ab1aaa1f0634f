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

func (p *program) bisectCommitsCommand() *cobra.Command {
	o := vary.Options{Steps: true}
	var tree, build string
	kept := 40
	c := &cobra.Command{
		Use:   "commits GOOD..BAD SUITE [DEVICE or DIR] [--tree DIR] [--build COMMAND]",
		Short: "Which commit made it slow: builds and measures commits of a git tree",
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
	f := c.Flags()
	f.StringVar(&tree, "tree", ".", "the git tree")
	f.StringVar(&build, "build", "", "the command that builds a commit in its folder; split into words, not run by a "+
		"shell")
	f.IntVar(&kept, "keep-built", kept, "most built commits to keep during the search")
	p.completeBisectCommand(c, &o, func() ([]string, error) { return nil, nil })
	c.Args = argumentCount(0, 3, "a range of commits, a suite, and a directory or device")
	c.ValidArgsFunction, c.Annotations = p.completeSuites(1), suiteAt(1) // the range only git knows
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.Resume != "" || o.Show != "" {
			return p.bisectRun(c, o, args)
		}
		if len(args) == 0 {
			return app.Usage("headroom bisect commits needs a range of commits",
				"for example: headroom bisect commits v1.4..main bench.yaml --build make")
		}
		var err error
		if o.Commits, err = p.commitsBetween(c.Context(), tree, args[0], build, kept); err != nil {
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
func (p *program) commitsBetween(ctx context.Context, tree, span, build string, kept int) (*vary.CommitSeries, error) {
	good, bad, ok := strings.Cut(span, "..")
	switch {
	case !ok || good == "" || strings.HasPrefix(bad, "."):
		return nil, app.Usage(span+" is no range of commits", "write GOOD..BAD: v1.4..main",
			"then come the suite and the place")
	case kept < 1:
		return nil, app.Usage(fmt.Sprintf("--keep-built %d is too few", kept), "write 1 or more")
	}
	words, err := experiment.BuildWords(build)
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
	opened, err := commits.Open(ctx, p.App.Local(), dir)
	if err != nil {
		return nil, err
	}
	s := &vary.CommitSeries{Commits: lab.Commits{Tree: dir, Good: good, Bad: bad, Build: words, Kept: kept}}
	if s.List, err = opened.Between(ctx, good, bad); err != nil {
		return nil, err
	}
	switch len(s.List) {
	case 1:
		return nil, app.Usage(fmt.Sprintf("%s and %s are one commit", good, bad))
	case 2:
		return nil, app.Usage(fmt.Sprintf("%s comes right after %s, so that there is nothing to search", bad, good),
			"whether one is slower: headroom compare")
	}
	return s, nil
}
