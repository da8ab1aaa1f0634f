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

// interferenceKind is the kind of concurrent design that says what loads take from each other.
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

// RunInterference measures what groups of loads take from each other, resumes that, or says what would be done.
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
	return experiment.Conduct(ctx, p, st, r,
		&interferenceRun{ConcurrentNetwork: NewConcurrentNetwork(p, st, o.Options, interferenceKind), options: o})
}

// Targets are those of the ends, with the groups that go between them.
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

// New makes the header of a new run.
func (s *interferenceRun) New(ctx context.Context) error {
	if err := s.SnapshotEnds(ctx); err != nil {
		return err
	}
	if err := s.pairUp(); err != nil {
		return err
	}
	if err := s.newParts(ctx); err != nil {
		return err
	}
	t := s.TakeParts()
	if err := t.CheckDistinct(ctx); err != nil {
		return err
	}
	t.Join()
	t.Run.Design, t.Run.Network = lab.DesignInterference, s.Pairs
	return nil
}

// Resume reads what an interrupted run has measured.
func (s *interferenceRun) Resume(ctx context.Context, b *store.Bundle) error {
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
					Target: s.Opened.Get(b.Run.Targets[i].Target)}
			} else {
				m = s.Part(at)
				at++
			}
			m.Role = arm
			s.Parts = append(s.Parts, m)
		}
	}
	return s.TakeParts().Resume(ctx, b)
}

// PrintSummary names the groups in a line each.
func (s *interferenceRun) PrintSummary(context.Context) {
	for _, g := range s.Design.Groups {
		how := prose.Count(len(g.Arms), "pair") + " of iperf3"
		if ofStorage(g) {
			how = "fio"
		}
		s.App.Print("", fmt.Sprintf("%s: %s, %s", g.Name, how, strings.Join(g.Over, ", ")))
	}
	s.App.Print("  ", fmt.Sprintf("%s in %s", prose.Count(len(s.Design.Combinations), "combination"), s.DurationText()))
}

// PrintPlan lists what each load is, and the order of the combinations.
func (s *interferenceRun) PrintPlan(context.Context) error {
	l := s.App.Listing(s.options.DryRun)
	for _, m := range s.Parts {
		l.Line("\n%s, on %s:", m.Role, m.Target.Name())
		one := *m
		one.Run.Cells = m.Run.Cells[:1]
		one.ListPlan(l)
	}
	s.ListOrder(l)
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
