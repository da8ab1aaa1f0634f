package network

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// interferenceKind is the kind of concurrent design that measures what loads take from each other.
const interferenceKind = "interference"

// InterferenceOptions are the flags of net interference.
type InterferenceOptions struct {
	Options
	Groups []string
	SetFio []string
	Passes int
	Margin string
	Alpha  float64
	Result results.DocumentOutput
}

// interferenceRun is a network whose groups are loaded in all combinations.
type interferenceRun struct {
	ConcurrentNetwork
	options InterferenceOptions
	// groupOf is the group of each pair.
	groupOf []string
}

// RunInterference measures what groups of loads take from each other, or resumes a run. A dry run only lists the loads.
func RunInterference(ctx context.Context, p *app.App, o InterferenceOptions) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	st, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	r := o.Request(lab.DesignInterference, nil)
	r.Complete = true
	return experiment.Carry(ctx, p, st, r,
		&interferenceRun{ConcurrentNetwork: NewConcurrentNetwork(p, st, o.Options, interferenceKind), options: o})
}

// Targets returns the targets of the ends, and reads the groups between them.
func (s *interferenceRun) Targets(saved *store.Bundle) (names []string, err error) {
	if saved == nil {
		if s.Terms, err = TermsOf(s.options.Margin, s.options.Alpha, s.options.Passes); err == nil {
			err = s.readGroups()
		}
		if err != nil {
			return nil, err
		}
	}
	return s.ConcurrentNetwork.Targets(saved)
}

// Draft makes the header of a new run.
func (s *interferenceRun) Draft(ctx context.Context, p *experiment.Plan) error {
	if err := s.Open(ctx, p); err != nil {
		return err
	}
	if err := s.SnapshotEnds(ctx); err != nil {
		return err
	}
	if err := s.pairUp(); err != nil {
		return err
	}
	if err := s.newParts(ctx); err != nil {
		return err
	}
	t := s.Whole
	if err := t.CheckDistinct(ctx); err != nil {
		return err
	}
	t.Join()
	t.Run.Design, t.Run.Network = lab.DesignInterference, s.Pairs
	return nil
}

// Rebuild reads what an interrupted run has measured.
func (s *interferenceRun) Rebuild(ctx context.Context, p *experiment.Plan, b *store.Bundle) error {
	if err := s.Open(ctx, p); err != nil {
		return err
	}
	at := 0
	for _, g := range s.Design.Groups {
		for _, arm := range g.Arms {
			var m *experiment.Measurement
			if ofStorage(g) {
				i := slices.IndexFunc(b.Run.Targets, func(t lab.RunTarget) bool { return t.Role == arm })
				if i < 0 {
					return &lab.Error{What: fmt.Sprintf("run %s names no target for %s", b.Run.ID, arm)}
				}
				m = &experiment.Measurement{App: s.App, Options: s.Network.Options.RunOptions, Store: s.Store,
					Target: p.Opened(b.Run.Targets[i].Target)}
			} else {
				m = s.Part(at)
				at++
			}
			m.Role = arm
			s.Parts = append(s.Parts, m)
		}
	}
	return s.takeParts().Resume(ctx, b)
}

// takeParts has the combinations carried out as the schedule says.
func (s *interferenceRun) takeParts() *experiment.MultiTargetRun {
	t := s.TakeParts()
	s.Plan.Schedule = &combinations{t, s}
	return t
}

// combinations is the schedule of an interference.
type combinations struct {
	*experiment.MultiTargetRun
	of *interferenceRun
}

// Summarize names the groups in a line each.
func (c *combinations) Summarize(context.Context) {
	s := c.of
	for _, g := range s.Design.Groups {
		how := prose.Count(len(g.Arms), "pair") + " of iperf3"
		if ofStorage(g) {
			how = "fio"
		}
		s.App.Print("", fmt.Sprintf("%s: %s, %s", g.Name, how, strings.Join(g.Over, ", ")))
	}
	s.App.Print("  ", fmt.Sprintf("%s in %s", prose.Count(len(s.Design.Combinations), "combination"), s.DurationText()))
}

// List lists what each load is, and the order of the combinations.
func (c *combinations) List(_ context.Context, l app.Listing) error {
	for _, m := range c.Parts {
		l.Line("\n%s, on %s:", m.Role, m.Target.Name())
		one := *m
		one.Run.Cells = m.Run.Cells[:1]
		one.ListPlan(l)
	}
	c.of.ListOrder(l)
	return l.End()
}

// Report analyses the saved run.
func (s *interferenceRun) Report() error {
	b, err := s.Saved()
	if err != nil {
		return err
	}
	return results.ShowRun(s.ConcurrentNetwork.Network.App, s.Store, b, s.options.Result)
}
