package vary

import (
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/commits"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/recovery"
)

// commitFactor is the factor whose levels are commits.
const commitFactor = "commit:"

// CommitSeries is what a search among commits is about.
type CommitSeries struct {
	lab.Commits
	// List from the good end to the bad one, both included.
	List []commits.Commit
}

// chooseCommits makes the one choice of such a search: its commits, in their order.
func (x *Experiment) chooseCommits() error {
	if !x.Traits(x.options.on).Local {
		return app.Usage("commits are built and measured on this machine", "leave out --on")
	}
	scheme, name, err := factor.Find(commitFactor)
	if err != nil {
		return err
	}
	c := factor.Choice{Scheme: scheme, Name: name}
	for _, commit := range x.options.Commits.List {
		c.Levels = append(c.Levels, commit.Hash)
	}
	x.choices = []factor.Choice{c}
	return nil
}

// recordIn takes the series down in an experiment.
func (s *CommitSeries) recordIn(e *lab.Experiment) {
	if s == nil {
		return
	}
	e.Commits = &s.Commits
	for _, c := range s.List {
		e.Factors[0].Titles = append(e.Factors[0].Titles, c.Subject)
	}
}

// openBuilds opens the built commits of a search that has them.
func (x *Experiment) openBuilds(ctx context.Context) error {
	terms := x.Run.Experiment.Commits
	if terms == nil {
		return nil
	}
	tree, err := commits.Open(ctx, x.Target, terms.Tree)
	if err != nil {
		return err
	}
	of := recovery.BuildTerms(x.Target, x.Owner())
	of.Run, of.Build, of.Kept, of.AtStep = x.Run.ID, terms.Build, terms.Kept, x.AtStep
	x.builds, err = commits.Begin(ctx, x.Store.Built(), tree, of)
	return err
}

// closeBuilds keeps what was built for a search that may go on, and removes it otherwise.
func (x *Experiment) closeBuilds(ctx context.Context, failed error) error {
	if x.builds == nil {
		return nil
	}
	return x.builds.Close(context.WithoutCancel(ctx), failed != nil)
}

// buildStep is the step that makes an arm's commit the one that is measured; nil where arms are no commits.
func (x *Experiment) buildStep(levels map[string]string) []armStep {
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
func (x *Experiment) commitText(hash string) string {
	f := x.Run.Experiment.Factors[0]
	if i := slices.Index(f.Levels, hash); i >= 0 && i < len(f.Titles) {
		return hash + " (" + f.Titles[i] + ")"
	}
	return hash
}

// commitsText is what a search among commits is about, for people.
func (x *Experiment) commitsText() string {
	e := x.Run.Experiment
	text := fmt.Sprintf("%s of %s after %s", prose.Count(len(e.Factors[0].Levels)-1, "commit"), e.Commits.Tree,
		x.commitText(e.Factors[0].Levels[0]))
	if len(e.Commits.Build) > 0 {
		text += ", built with " + lab.ShellQuote(e.Commits.Build)
	}
	return text
}
