package paired

import (
	"fmt"
	"slices"
	"time"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/unit"
)

// comparisonProgress shows how a comparison stands: one line that is painted over on a terminal, a line for each pair
// elsewhere; and in both a line that stays for each verdict.
type comparisonProgress struct {
	*pairedComparison
	width   int // 0 when standard error is no terminal
	started time.Time
	ended   map[string]bool   // cells that have their ending
	titles  map[string]string // of the cells
}

func newComparisonProgress(c *pairedComparison) *comparisonProgress {
	s := &comparisonProgress{pairedComparison: c, width: app.Columns(c.Stderr), started: time.Now(),
		ended:  map[string]bool{},
		titles: map[string]string{}}
	for _, cell := range c.base().Run.Cells {
		s.titles[cell.ID] = experiment.TitleOf(cell)
		if _, ending := c.pairs.Verdicts(cell.ID, c.Done); ending != plan.Open {
			s.ended[cell.ID] = true // in an earlier part
		}
	}
	return s
}

// metric is what is known of a metric of a cell.
func (s *comparisonProgress) metric(cell, name string) lab.MetricInfo {
	return cellOf(s.base().Run, cell).Metric(name)
}

// Update paints what goes on.
//
//	1m 12s  2 of 6 settled  pair 5 of randwrite 4k q1, new (2s left)  -19.8% [-24.1%, -15.2%]
func (s *comparisonProgress) Update(arm string, e runner.Progress) {
	if s.width == 0 {
		if e.Begins && e.Left == 0 {
			fmt.Fprintf(s.Stderr, "%s: %s\n", arm, e.Doing)
		}
		return
	}
	line := fmt.Sprintf("%s  %s  %s, %s", unit.Duration(time.Since(s.started).Truncate(time.Second)),
		s.count(), e.Doing, arm)
	if e.Left > 0 {
		line += " (" + unit.Duration(e.Left.Round(time.Second)) + " left)"
	}
	if e.Cell != nil {
		metrics, _ := s.pairs.Verdicts(e.Cell.ID, s.Done)
		for _, m := range metrics {
			line += "  " + experiment.ChangeText(m.Change)
		}
	}
	fmt.Fprint(s.Stderr, s.Key.Own("\r\x1b[K")+app.Fit(line, s.width-1))
}

func (s *comparisonProgress) count() string {
	return fmt.Sprintf("%d of %d settled", len(s.ended), len(s.titles))
}

// Saved says how the cell of a repetition stands, when that completed a pair.
func (s *comparisonProgress) Saved(r plan.Repetition) {
	other := func(d plan.Done) bool { return d.Cell == r.Cell && d.Number == r.Number && d.Arm != r.Arm }
	if !slices.ContainsFunc(s.Done, other) {
		return
	}
	metrics, ending := s.pairs.Verdicts(r.Cell, s.Done)
	if ending != plan.Open && !s.ended[r.Cell] {
		s.ended[r.Cell] = true
		s.Finish()
		for _, m := range metrics {
			fmt.Fprintf(s.Stderr, "%s  %s %s: %s %s after %s\n", s.count(), s.titles[r.Cell], m.Metric,
				experiment.OutcomeWord(s.metric(r.Cell, m.Metric), m, ending),
				experiment.ChangeText(m.Change), prose.Count(m.Change.N, "pair"))
		}
		if ending == plan.Failing {
			fmt.Fprintf(s.Stderr, "%s  %s: given up, because no pair of the first block could be measured\n",
				s.count(), s.titles[r.Cell])
		}
		return
	}
	if s.width > 0 {
		return
	}
	for _, m := range metrics {
		change := m.Change
		doing := "pair"
		if r.Confirms {
			change, doing = m.Confirmed, "confirming pair"
		}
		fmt.Fprintf(s.Stderr, "%s  %s %d of %s %s: %s\n", s.count(), doing, r.Number, s.titles[r.Cell],
			m.Metric, experiment.ChangeText(change))
	}
}

// Finish clears the line.
func (s *comparisonProgress) Finish() {
	if s.width > 0 {
		fmt.Fprint(s.Stderr, s.Key.Own("\r\x1b[K"))
	}
}
