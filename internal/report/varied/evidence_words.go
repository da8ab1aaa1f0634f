package varied

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// counterTitles returns titles of kernel counters whose own names are obscure.
func counterTitles() map[string]string {
	return map[string]string{
		"interrupts.TLB": "TLB shootdowns", "interrupts.CAL": "function call interrupts",
		"interrupts.RES": "rescheduling interrupts", "interrupts.LOC": "timer interrupts",
		"stat.ctxt": "context switches", "stat.processes": "new processes", "vmstat.pgfault": "page faults",
		"vmstat.pgmajfault":    "page faults with I/O",
		"vmstat.pgalloc_dma32": "pages taken below 4 GB", "vmstat.pgfree": "pages freed",
	}
}

// evidenceText returns what else changed with the result.
func evidenceText(e *bisection.Evidence, culprits int) []string {
	if e == nil {
		return nil
	}
	var parts []string
	if e.CPU != nil {
		parts = append(parts, "CPU time of all programs "+movedText(*e.CPU))
	}
	for _, m := range e.Changed {
		title, ok := counterTitles()[m.Counter]
		if !ok {
			title = strings.ReplaceAll(m.Counter, ".", " ")
		}
		parts = append(parts, title+" "+movedText(m))
	}
	var lines []string
	if len(parts) > 0 {
		lines = append(lines, "For the same work with "+verb(culprits, "it", "them")+": "+strings.Join(parts, ", ")+".")
	}
	if len(e.Changed) == 0 && e.Counters > 0 {
		lines = append(lines, "None of "+prose.Count(e.Counters, "other kernel counter")+" rose per second, or fell "+
			"for the same work.")
	}
	return lines
}

// movedText prints how a counter changed with the culprits: as a multiple, or from one value to another if it was
// almost 0 without them.
func movedText(m bisection.ChangedCounter) string {
	if m.Counter != lab.CounterBusy && m.Without*1000 < m.With {
		return fmt.Sprintf("from %s to %s a second", unit.Value(lab.Count, m.Without), unit.Value(lab.Count, m.With))
	}
	return fmt.Sprintf("%s times [%s, %s]", multiple(m.Ratio), multiple(m.Lo), multiple(m.Hi))
}

// multiple prints two digits after the point if they are significant: 1.04, 14, 0.31.
func multiple(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
