package cli

import (
	"fmt"
	"math"
	"slices"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/stat"
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
	s := &comparisonProgress{pairedComparison: c, width: columns(c.Stderr), started: time.Now(),
		ended:  map[string]bool{},
		titles: map[string]string{}}
	for _, cell := range c.base().run.Cells {
		s.titles[cell.ID] = titleOf(cell)
		if _, ending := c.pairs.Verdicts(cell.ID, c.done); ending != plan.Open {
			s.ended[cell.ID] = true // in an earlier part
		}
	}
	return s
}

// metric is what is known of a metric of a cell.
func (s *comparisonProgress) metric(cell, name string) lab.MetricInfo {
	return cellOf(s.base().run, cell).Metric(name)
}

func titleOf(c lab.Cell) string { return suiteCell(c).Title() }

// update paints what goes on.
//
//	1m 12s  2 of 6 settled  pair 5 of randwrite 4k q1, new (2s left)  -19.8% [-24.1%, -15.2%]
func (s *comparisonProgress) update(arm string, e runner.Progress) {
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
		metrics, _ := s.pairs.Verdicts(e.Cell.ID, s.done)
		for _, m := range metrics {
			line += "  " + changeText(m.Change)
		}
	}
	fmt.Fprint(s.Stderr, s.key.Own("\r\x1b[K")+fit(line, s.width-1))
}

func (s *comparisonProgress) count() string {
	return fmt.Sprintf("%d of %d settled", len(s.ended), len(s.titles))
}

// saved says how the cell of a repetition stands, when that completed a pair.
func (s *comparisonProgress) saved(r plan.Repetition) {
	other := func(d plan.Done) bool { return d.Cell == r.Cell && d.Number == r.Number && d.Arm != r.Arm }
	if !slices.ContainsFunc(s.done, other) {
		return
	}
	metrics, ending := s.pairs.Verdicts(r.Cell, s.done)
	if ending != plan.Open && !s.ended[r.Cell] {
		s.ended[r.Cell] = true
		s.finish()
		for _, m := range metrics {
			fmt.Fprintf(s.Stderr, "%s  %s %s: %s %s after %s\n", s.count(), s.titles[r.Cell], m.Metric,
				outcomeWord(s.metric(r.Cell, m.Metric), m, ending),
				changeText(m.Change), prose.Count(m.Change.N, "pair"))
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
			m.Metric, changeText(change))
	}
}

// finish clears the line.
func (s *comparisonProgress) finish() {
	if s.width > 0 {
		fmt.Fprint(s.Stderr, s.key.Own("\r\x1b[K"))
	}
}

// outcomeWord is the verdict on a metric.
func outcomeWord(info lab.MetricInfo, m plan.PairedMetric, ending plan.Ending) string {
	switch word := decisionWord(info, m.Decision); {
	case m.Zeros:
		return word + ", since a value of 0 has no ratio:"
	case m.Decision != stat.Undecided || ending != plan.Futile:
		return word
	}
	return "undecided, and hardly to be decided within the pairs allowed:"
}

// decisionWord is a decision in the words of a metric: speeds are faster and slower, others better and worse.
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

// changeText is a change with its interval, in percent: "-19.8% [-24.1%, -15.2%]".
func changeText(c stat.Change) string {
	if math.IsNaN(c.Ratio) {
		return ""
	}
	text := percentText(c.Ratio)
	if c.Known() {
		text += fmt.Sprintf(" [%s, %s]", percentText(c.Lo), percentText(c.Hi))
	}
	return text
}

func percentText(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*(ratio-1)) }
