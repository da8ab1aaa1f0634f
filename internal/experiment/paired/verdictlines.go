package paired

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/suite"
)

// verdictLines says how a comparison stands: a line that stays for each verdict, and where nothing is painted one for
// each pair.
type verdictLines struct {
	*pairedComparison
	show   *progress.Progress
	ended  map[string]bool   // cells that have their ending
	titles map[string]string // of the cells
}

func newVerdictLines(c *pairedComparison) *verdictLines {
	s := &verdictLines{pairedComparison: c, ended: map[string]bool{}, titles: map[string]string{}}
	for _, cell := range c.base().Run.Cells {
		s.titles[cell.ID] = suite.TitleOf(cell)
		if _, ending := c.pairs.Verdicts(cell.ID, c.Done); ending != plan.Open {
			s.ended[cell.ID] = true // in an earlier part
		}
	}
	s.show = progress.New(c.App, progress.Counter(s.count))
	return s
}

// metric is what is known of a metric of a cell.
func (s *verdictLines) metric(cell, name string) lab.MetricInfo {
	return cellOf(s.base().Run, cell).Metric(name)
}

func (s *verdictLines) count() string {
	return fmt.Sprintf("%d of %d settled", len(s.ended), len(s.titles))
}

// side says in a line that is painted over on which side something goes on, and what is known of the cell by now.
func (s *verdictLines) side(arm string, e runner.Progress) string {
	text := ", " + arm
	if e.Cell == nil || !s.show.Painted() {
		return text
	}
	metrics, _ := s.pairs.Verdicts(e.Cell.ID, s.Done)
	for _, m := range metrics {
		text += "  " + ChangeText(m.Change)
	}
	return text
}

// saved says how the cell of a repetition stands, when that completed a pair.
func (s *verdictLines) saved(r plan.Repetition) {
	other := func(d plan.Done) bool { return d.Cell == r.Cell && d.Number == r.Number && d.Arm != r.Arm }
	if !slices.ContainsFunc(s.Done, other) {
		return
	}
	metrics, ending := s.pairs.Verdicts(r.Cell, s.Done)
	if ending != plan.Open && !s.ended[r.Cell] {
		s.ended[r.Cell] = true
		for _, m := range metrics {
			s.show.Note(fmt.Sprintf("%s  %s %s: %s %s after %s", s.count(), s.titles[r.Cell], m.Metric,
				OutcomeWord(s.metric(r.Cell, m.Metric), m, ending),
				ChangeText(m.Change), prose.Count(m.Change.N, "pair")))
		}
		if ending == plan.Failing {
			s.show.Note(fmt.Sprintf("%s  %s: given up, because no pair of the first block could be measured", s.count(),
				s.titles[r.Cell]))
		}
		return
	}
	if s.show.Painted() {
		return
	}
	for _, m := range metrics {
		change := m.Change
		doing := "pair"
		if r.Confirms {
			change, doing = m.Confirmed, "confirming pair"
		}
		s.show.Note(fmt.Sprintf("%s  %s %d of %s %s: %s", s.count(), doing, r.Number, s.titles[r.Cell],
			m.Metric, ChangeText(change)))
	}
}
