package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/unit"
)

// Adaptive estimates the progress of a run that ends when its numbers are precise or its budget is spent.
type Adaptive struct {
	plan   *plan.Precision
	cells  []runner.Cell
	done   []plan.Done
	within float64
	budget time.Duration // 0 is none
	spent  time.Duration // of the budget, by what has ended
	// standings after what has ended.
	standings []plan.CellEstimate
}

func NewAdaptive(p *plan.Precision, run lab.Run, cells []runner.Cell, kept []lab.Repetition) *Adaptive {
	u := &Adaptive{plan: p, cells: cells, within: run.Precision, budget: unit.SecondsToDuration(run.Budget)}
	for _, r := range kept {
		u.add(u.cell(r.Cell), r)
	}
	u.standings = p.CellEstimates(u.done)
	return u
}

func (p *Adaptive) cell(id string) runner.Cell {
	i := slices.IndexFunc(p.cells, func(c runner.Cell) bool { return c.ID == id })
	return p.cells[max(0, i)]
}

func (p *Adaptive) add(c runner.Cell, r lab.Repetition) {
	p.done = append(p.done, runner.Done(c.Cell, r))
	p.spent += unit.SecondsToDuration(r.Took)
}

func (p *Adaptive) Update(e runner.Progress) {
	if e.Ended != nil {
		p.add(*e.Cell, *e.Ended)
		p.standings = p.plan.CellEstimates(p.done)
	}
}

func (p *Adaptive) Left(e runner.Progress) (time.Duration, bool) {
	now := time.Duration(0) // that the present load has taken
	if e.Cell != nil && e.Ended == nil {
		now = max(0, e.Cell.Expected-e.Left)
	}
	return max(0, p.budget-p.spent-now), p.budget > 0
}

// AtMost is true: what is precise before is not measured further.
func (p *Adaptive) AtMost() bool { return true }

// CountText returns the number of repetitions, and with a requested precision the number of cells that have reached it.
func (p *Adaptive) CountText() string {
	if p.within == 0 {
		return fmt.Sprint(len(p.done))
	}
	precise := 0
	for _, s := range p.standings {
		if s.Precise(p.within) {
			precise++
		}
	}
	return fmt.Sprintf("%d  %d/%d cells to ±%s", len(p.done), precise, len(p.cells), unit.TypedPercent(p.within))
}

// ResultTable has the widest interval first, so that what a low terminal cuts off is what is known best.
func (p *Adaptive) ResultTable() []string {
	if slices.ContainsFunc(p.standings, func(s plan.CellEstimate) bool {
		return !slices.ContainsFunc(p.done, func(d plan.Done) bool { return d.Cell == s.Cell })
	}) {
		return nil
	}
	sorted := slices.Clone(p.standings)
	slices.SortStableFunc(sorted, func(a, b plan.CellEstimate) int { return cmp.Compare(b.Width(), a.Width()) })
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range sorted {
		c := p.cell(s.Cell)
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
