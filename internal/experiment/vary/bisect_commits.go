package vary

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/commits"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
)

// commitFactor is the factor whose levels are commits.
const commitFactor = "commit:"

// CommitSeries is the series of a search among commits.
type CommitSeries struct {
	lab.Commits
	// List has the commits from the good end to the bad one, both included.
	List []commits.Commit
}

// chooseCommits makes the single choice of such a search: its commits, in their order.
func (o *Options) chooseCommits(kinds app.TargetKinds) ([]factor.Choice, error) {
	if !kinds.Traits(o.on).Local {
		return nil, app.Usage("commits are built and measured on this machine", "leave out --on")
	}
	scheme, name, err := factor.Find(commitFactor)
	if err != nil {
		return nil, err
	}
	c := factor.Choice{Scheme: scheme, Name: name}
	for _, commit := range o.Commits.List {
		c.Levels = append(c.Levels, commit.Hash)
	}
	return []factor.Choice{c}, nil
}

// recordIn records the series in an experiment.
func (s *CommitSeries) recordIn(e *lab.Experiment) {
	if s == nil {
		return
	}
	e.Commits = &s.Commits
	for _, c := range s.List {
		e.Factors[0].Titles = append(e.Factors[0].Titles, c.Subject)
	}
}
