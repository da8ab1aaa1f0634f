package paired

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// pairing is the schedule of a comparison. It prints a line for each verdict and, unless a line of progress is
// repainted, for each pair.
type pairing struct {
	experiment.Plain
	*plan.Pairs
	*pairedComparison
	ended map[string]bool // cells that have an ending
}

// Done returns a repetition for the plan, with the metrics that decide.
func (s *pairing) Done(arm string, r lab.Repetition) plan.Done {
	d := plan.Done{Seconds: r.Took, Repetition: plan.Repetition{Cell: r.Cell, Arm: arm, Number: r.Number,
		Block:    r.Block,
		Position: r.Position, Confirms: r.Confirms}}
	if r.Failed() {
		return d
	}
	d.Values = map[string]float64{}
	base, next := cellOf(s.base().Run, r.Cell), cellOf(s.next().Run, r.Cell)
	for _, name := range compare.Deciding(&s.terms, base.Metrics, base.Params, next.Params, r.Values) {
		d.Values[name] = r.Values[name]
	}
	return d
}

// Summarize prints the plan on standard error.
func (s *pairing) Summarize(context.Context) {
	var once []*experiment.Measurement
	for _, arm := range armNames() {
		m := *s.plan.Parts[arm]
		s.app.Print(fmt.Sprintf("%-4s  ", arm), m.Where())
		m.Saved, m.Run.Cells = nil, slices.Clone(m.Run.Cells)
		for i := range m.Run.Cells {
			m.Run.Cells[i].Repetitions = 1
		}
		once = append(once, &m)
	}
	cost := experiment.CostOf(1, once...)
	if both := s.plan.Measurements(); experiment.ProfilesText(both...) != "" {
		cost.Profiles = experiment.ProfilesText(both...) + ", which takes " +
			unit.Duration(experiment.ProfilesTime(both...))
	}
	cost.Writes = cost.Writes.Times(s.terms.Pairs + s.terms.Confirm)
	s.app.Print("  ", cost.Text(fmt.Sprintf("%s, each in pairs until its verdict: at most %d and %d to confirm",
		prose.Count(len(s.base().Run.Cells), "cell"), s.terms.Pairs, s.terms.Confirm), "a pass takes about %s", true))
}

// List lists the loads of each side, and how they alternate. The results decide how many pairs there will be.
func (s *pairing) List(_ context.Context, l app.Listing) error {
	for _, arm := range armNames() {
		m := s.plan.Parts[arm]
		l.Line("%s: %s", arm, m.Where())
		m.ListLoads(l, func(cell runner.Cell) string { return fmt.Sprintf("%s: %v", cell.Title, cell.Steps) })
		m.ProfiledLoads().List(l)
	}
	l.Line("in blocks of two pairs of a cell, base and new in an order that is drawn for each (--seed %d), until "+
		"each cell has its verdict", s.base().Run.Seed)
	return l.End()
}

// Source counts the cells that have a verdict, including verdicts of earlier commands.
func (s *pairing) Source() progress.Source {
	s.ended = map[string]bool{}
	for _, cell := range s.base().Run.Cells {
		if _, ending := s.Verdicts(cell.ID, s.plan.Done); ending != plan.Open {
			s.ended[cell.ID] = true
		}
	}
	return progress.Counter(s.count)
}

func (s *pairing) count() string {
	return fmt.Sprintf("%d of %d settled", len(s.ended), len(s.base().Run.Cells))
}

// Doing names the side in a line of progress. A repainted line also has the present estimate of the cell.
func (s *pairing) Doing(arm string, e runner.Progress) string {
	text := ", " + arm
	if e.Cell == nil || !s.plan.Painted() {
		return text
	}
	metrics, _ := s.Verdicts(e.Cell.ID, s.plan.Done)
	for _, m := range metrics {
		text += "  " + ChangeText(m.Change)
	}
	return text
}

// Ended prints the state of a cell when a repetition has completed a pair.
func (s *pairing) Ended(_ context.Context, r plan.Repetition, _ lab.Repetition, failed error) error {
	if failed == nil {
		s.note(r)
	}
	return failed
}

// note prints the state of the cell of a repetition.
func (s *pairing) note(r plan.Repetition) {
	other := func(d plan.Done) bool { return d.Cell == r.Cell && d.Number == r.Number && d.Arm != r.Arm }
	if !slices.ContainsFunc(s.plan.Done, other) {
		return
	}
	cell := cellOf(s.base().Run, r.Cell)
	title := suite.TitleOf(cell)
	metrics, ending := s.Verdicts(r.Cell, s.plan.Done)
	if ending != plan.Open && !s.ended[r.Cell] {
		s.ended[r.Cell] = true
		for _, m := range metrics {
			s.plan.Note(fmt.Sprintf("%s  %s %s: %s %s after %s", s.count(), title, m.Metric,
				OutcomeWord(cell.Metric(m.Metric), m, ending), ChangeText(m.Change), prose.Count(m.Change.N, "pair")))
		}
		if ending == plan.Failing {
			s.plan.Note(fmt.Sprintf("%s  %s: given up, because no pair of the first block could be measured", s.count(),
				title))
		}
		return
	}
	if s.plan.Painted() {
		return
	}
	for _, m := range metrics {
		change, doing := m.Change, "pair"
		if r.Confirms {
			change, doing = m.Confirmed, "confirming pair"
		}
		s.plan.Note(fmt.Sprintf("%s  %s %d of %s %s: %s", s.count(), doing, r.Number, title, m.Metric,
			ChangeText(change)))
	}
}

// OutcomeWord returns the verdict on a metric.
func OutcomeWord(info lab.MetricInfo, m plan.PairedMetric, ending plan.Ending) string {
	switch word := decisionWord(info, m.Decision); {
	case m.Zeros:
		return word + ", since a value of 0 has no ratio:"
	case m.Decision != stat.Undecided || ending != plan.Futile:
		return word
	}
	return "undecided, and hardly to be decided within the pairs allowed:"
}

// decisionWord returns a decision in the words of a metric: speeds are faster or slower, others better or worse.
func decisionWord(info lab.MetricInfo, d stat.Decision) string {
	if d == stat.Same || d == stat.Undecided {
		return d.String()
	}
	words := [2]string{"worse", "better"}
	if info.Unit == lab.PerSecond || info.Unit == lab.BytesPerSecond {
		words = [2]string{"slower", "faster"}
	}
	if (d == stat.Above) == (info.Better == lab.Higher) {
		return words[1]
	}
	return words[0]
}

// ChangeText returns a change with its interval, in percent: "-19.8% [-24.1%, -15.2%]".
func ChangeText(c stat.Change) string {
	if math.IsNaN(c.Ratio) {
		return ""
	}
	text := percentText(c.Ratio)
	if c.Estimate().Informative() {
		text += fmt.Sprintf(" [%s, %s]", percentText(c.Lo), percentText(c.Hi))
	}
	return text
}

func percentText(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*(ratio-1)) }
