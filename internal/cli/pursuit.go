package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/unit"
)

// pursuit is how far a run has come that goes on until its numbers are precise or its budget is spent.
type pursuit struct {
	plan   *plan.Precision
	cells  []runner.Cell
	done   []plan.Done
	within float64
	budget time.Duration // 0 is none
	spent  time.Duration // of the budget, by what has ended
	// standings after what has ended.
	standings []plan.Standing
}

func newPursuit(p *plan.Precision, run lab.Run, cells []runner.Cell, kept []lab.Repetition) *pursuit {
	u := &pursuit{plan: p, cells: cells, within: run.Precision, budget: secondsToDuration(run.Budget)}
	for _, r := range kept {
		u.add(u.cell(r.Cell), r)
	}
	u.standings = p.Standings(u.done)
	return u
}

func (u *pursuit) cell(id string) runner.Cell {
	i := slices.IndexFunc(u.cells, func(c runner.Cell) bool { return c.ID == id })
	return u.cells[max(0, i)]
}

func (u *pursuit) add(c runner.Cell, r lab.Repetition) {
	u.done = append(u.done, runner.Done(c.Cell, r))
	u.spent += secondsToDuration(r.Took)
}

func (u *pursuit) see(e runner.Event) {
	if e.Ended != nil {
		u.add(*e.Cell, *e.Ended)
		u.standings = u.plan.Standings(u.done)
	}
}

func (u *pursuit) left(e runner.Event) (time.Duration, bool) {
	now := time.Duration(0) // that the present load has taken
	if e.Cell != nil && e.Ended == nil {
		now = max(0, e.Cell.Expected-e.Left)
	}
	return max(0, u.budget-u.spent-now), u.budget > 0
}

func (u *pursuit) bound() string { return "of at most" }

// count says how many repetitions there are, and with a precision how many cells have it.
func (u *pursuit) count() string {
	if u.within == 0 {
		return fmt.Sprint(len(u.done))
	}
	precise := 0
	for _, s := range u.standings {
		if s.Precise(u.within) {
			precise++
		}
	}
	return fmt.Sprintf("%d  %d/%d cells to ±%s", len(u.done), precise, len(u.cells), asked(u.within))
}

// table has the widest interval first, so that what a low terminal cuts off is what is known best.
func (u *pursuit) table() []string {
	if slices.ContainsFunc(u.standings, func(s plan.Standing) bool {
		return !slices.ContainsFunc(u.done, func(d plan.Done) bool { return d.Cell == s.Cell })
	}) {
		return nil
	}
	sorted := slices.Clone(u.standings)
	slices.SortStableFunc(sorted, func(a, b plan.Standing) int { return cmp.Compare(b.Width(), a.Width()) })
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range sorted {
		c := u.cell(s.Cell)
		name := c.Job + "\t" + c.Title
		for _, e := range s.Metrics {
			direction, _, _ := strings.Cut(e.Metric, ".")
			spread := ""
			if e.Known() {
				spread = "±" + unit.Percent(e.Width)
			}
			fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\n", name, direction, quantity(c.Metric(e.Metric), e.Metric, e.Center),
				spread, prose.Count(s.N, "repetition"))
		}
		if len(s.Metrics) == 0 {
			fmt.Fprintf(w, "%s\tno result\t\t\n", name)
		}
	}
	if err := w.Flush(); err != nil {
		return nil // a builder takes everything
	}
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

func quantity(info lab.MetricInfo, metric string, v float64) string {
	switch {
	case info.Unit == lab.Seconds:
		return unit.Latency(v)
	case info.Unit == lab.BitsPerSecond:
		return unit.Bitrate(v)
	case info.Unit == lab.BytesPerSecond:
		return unit.Bandwidth(v)
	case strings.HasSuffix(metric, ".iops"):
		return unit.IOPS(v) + " IOPS"
	case info.Unit == lab.PerSecond:
		return unit.IOPS(v) + "/s"
	default:
		return fmt.Sprintf("%.4g %s", v, info.Unit)
	}
}
