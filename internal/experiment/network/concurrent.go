package network

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// ConcurrentNetwork is a network some of whose loads are carried out at the same time, then others.
type ConcurrentNetwork struct {
	Network
	Design lab.ConcurrentDesign
	Terms  lab.Terms
	// Whole are the loads as one run, once they are planned.
	Whole *experiment.MultiTargetRun
	// saved is the run that is resumed, or only shown; empty for a new one.
	saved string
}

// NewConcurrentNetwork is a network some of whose pairs are loaded at a time, of a kind that its runs record.
func NewConcurrentNetwork(p *app.App, st *store.Store, o Options, kind string) ConcurrentNetwork {
	return ConcurrentNetwork{Network: NewNetwork(p, st, o), Design: lab.ConcurrentDesign{Kind: kind}}
}

// Targets returns the targets of the ends; none for a saved run that is complete.
func (s *ConcurrentNetwork) Targets(saved *store.Bundle) ([]string, error) {
	if saved == nil {
		err := s.Name()
		return s.Names(), err
	}
	if s.saved = saved.Run.ID; !saved.Run.Unfinished() && s.Network.Options.Within == 0 {
		return nil, nil
	}
	s.Design = *saved.Run.Concurrent
	err := s.ReadEnds(saved)
	return s.Names(), err
}

// Saved is the run that was measured.
func (s *ConcurrentNetwork) Saved() (*store.Bundle, error) {
	if s.saved != "" {
		return s.Store.Find(s.saved)
	}
	return s.Store.Find(s.Whole.Run.ID)
}

// OneLoad is the suite with the one load of a network that is measured in combinations: several streams to the server.
func (n *Network) OneLoad(defaults ...string) (suite.Suite, error) {
	su, err := experiment.LoadSuite("network")
	if err != nil {
		return su, err
	}
	su.Jobs = su.Jobs[:1]
	return su.With(slices.Concat([]string{"parallel=4"}, defaults, n.Options.Set))
}

// TermsOf checks what verdicts are to hold by.
func TermsOf(margin string, alpha float64, passes int) (terms lab.Terms, err error) {
	if terms.Margin, err = unit.ParseShare(margin); err != nil {
		return terms, app.Usage("--margin "+margin+": "+err.Error(), "write something like 5%")
	}
	switch {
	case !unit.IsShare(alpha):
		return terms, app.Usage(fmt.Sprintf("--alpha %g is no probability", alpha),
			"0.05 is one wrong answer in twenty")
	case passes < 2:
		return terms, app.Usage(fmt.Sprintf("--passes %d is too few: one says nothing of the spread", passes))
	}
	terms.Alpha = alpha
	return terms, nil
}

// SetDesign makes the header of a drafted part that of one of a concurrent design.
func (s *ConcurrentNetwork) SetDesign(m *experiment.Measurement, suiteName string, passes int) {
	m.Run.Suite, m.Run.SuiteText, m.Run.Seed = suiteName, "", s.Network.Options.Seed
	m.Run.Order, m.Run.Repetitions = string(suite.Shuffled), passes
	m.Run.Terms = &s.Terms
	m.PrefixRole()
	if m.Server != nil {
		m.Run.Targets = []lab.RunTarget{s.End(m.Client).Recorded, s.End(m.Server.Role).Recorded}
		m.Run.Network = s.Pairs
	}
}

// TakeParts makes one run of the parts, which are loaded at the same moment.
func (s *ConcurrentNetwork) TakeParts() *experiment.MultiTargetRun {
	s.Whole = &experiment.MultiTargetRun{App: s.App, Options: s.Network.Options.RunOptions, Store: s.Store,
		Parts: s.Parts, Design: &s.Design}
	s.Plan.LoadTogether(s.Whole)
	return s.Whole
}

// DurationText returns the number of passes and the time that is left: "6 passes; about 4m".
func (s *ConcurrentNetwork) DurationText() string {
	time := experiment.Cost{Time: s.Whole.Workload().Time()}
	return time.Text(fmt.Sprintf("%d passes", s.Whole.Run.Repetitions), "about %s", false)
}

// ListOrder says in which order the tests come.
func (s *ConcurrentNetwork) ListOrder(l app.Listing) {
	t := s.Whole
	if !l.Full {
		l.Line("\nin each of %d passes all of them, in an order that is drawn (--seed %d)", t.Run.Repetitions,
			t.Run.Seed)
		return
	}
	l.Line("\nThe order, with --seed %d:", t.Run.Seed)
	for _, r := range t.Workload().Order() {
		l.Line("  pass %d  %s", r.Block, r.Cell)
	}
}
