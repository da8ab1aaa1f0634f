package cli

import (
	"context"
	"fmt"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// concurrentNetwork is a network some of whose loads are carried out at the same time, then others.
type concurrentNetwork struct {
	network
	design lab.ConcurrentDesign
	terms  lab.Terms
}

func newNetworkStudy(p *program, st *store.Store, o netOptions, kind string) concurrentNetwork {
	return concurrentNetwork{network: newNetwork(p, st, o), design: lab.ConcurrentDesign{Kind: kind}}
}

// openEnds opens the ends that the command line names, and takes them down as they are.
func (s *concurrentNetwork) openEnds(ctx context.Context) error {
	if err := s.name(); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.snapshotEnds(ctx)
}

// termsOf checks what verdicts are to hold by.
func termsOf(margin string, alpha float64, passes int) (terms lab.Terms, err error) {
	if terms.Margin, err = unit.ParseShare(margin); err != nil {
		return terms, usage("--margin "+margin+": "+err.Error(), "write something like 5%")
	}
	switch {
	case !(alpha > 0 && alpha < 1):
		return terms, usage(fmt.Sprintf("--alpha %g is no probability", alpha), "0.05 is one wrong answer in twenty")
	case passes < 2:
		return terms, usage(fmt.Sprintf("--passes %d is too few: one says nothing of the spread", passes))
	}
	terms.Alpha = alpha
	return terms, nil
}

// setDesign makes the header of a drafted part that of a part of the study.
func (s *concurrentNetwork) setDesign(m *measurement, suiteName string, passes int) {
	m.run.Suite, m.run.SuiteText, m.run.Seed = suiteName, "", s.network.options.seed
	m.run.Order, m.run.Repetitions = string(suite.Shuffled), passes
	m.run.Terms = &s.terms
	m.prefixRole()
	if m.server != nil {
		m.run.Targets = []lab.RunTarget{s.end(m.client).recorded, s.end(m.server.Role).recorded}
		m.run.Network = s.pairs
	}
}

func (s *concurrentNetwork) asMultiTarget() *multiTargetRun {
	return &multiTargetRun{program: s.program, options: s.network.options.runOptions, store: s.store, parts: s.parts,
		design: &s.design}
}

// executeDesign says what is measured, measures it, and shows it.
func (s *concurrentNetwork) executeDesign(ctx context.Context, t *multiTargetRun, what []string, effort string,
	show func(*store.Bundle) error) error {
	defer t.release()
	for _, line := range what {
		s.print("", line)
	}
	s.print("  ", effort)
	outcome, err := t.measure(ctx)
	if err != nil {
		return err
	}
	b, err := s.store.Find(t.run.ID)
	if err == nil {
		err = show(b)
	}
	if err != nil {
		return err
	}
	return failures(outcome)
}

// durationText says how many passes there are, and the time that is left: "6 passes; about 4m".
func (s *concurrentNetwork) durationText(t *multiTargetRun) string {
	all := measurement{run: t.run, saved: t.saved}
	all.run.Cells = slices.DeleteFunc(slices.Clone(t.run.Cells), func(c lab.Cell) bool {
		return c.Arm != runner.AllTargets
	})
	text := fmt.Sprintf("%d passes", t.run.Repetitions)
	if d := suite.EstimateTime(all.suiteCells(), all.pause()); d > 0 {
		text += "; about " + unit.Duration(d)
	}
	return text
}

// listOrder says in which order the tests come.
func (s *concurrentNetwork) listOrder(l listing, t *multiTargetRun) {
	if !l.full {
		l.line("\nin each of %d passes all of them, in an order that is drawn (--seed %d)", t.run.Repetitions,
			t.run.Seed)
		return
	}
	l.line("\nThe order, with --seed %d:", t.run.Seed)
	for _, r := range t.order() {
		l.line("  pass %d  %s", r.Block, r.Cell)
	}
}
