package report

import (
	"fmt"
	"strings"

	"headroom/internal/diff"
	"headroom/internal/profile/difference"
)

// MechanismText says in a clause what profiles of two sides say of a difference; empty where they say nothing.
//
//	qi_submit_sync 0.02 → 1.00 calls per I/O in the profiles, as it is known to do
func MechanismText(m *diff.Mechanism, a, b string) string {
	const most = 3
	if m == nil {
		return ""
	}
	var parts, shares []string
	for i, f := range m.Functions {
		if i < most && f.Share {
			shares = append(shares, fmt.Sprintf("%s %.0f%% → %.0f%%", f.Function, 100*f.A, 100*f.B))
		} else if i < most {
			parts = append(parts, fmt.Sprintf("%s %s → %s", f.Function, callsText(f.A), callsText(f.B)))
		}
	}
	var units []string
	if len(parts) > 0 {
		units = append(units, strings.Join(parts, ", ")+" calls per I/O")
	}
	if len(shares) > 0 {
		units = append(units, strings.Join(shares, ", ")+" of the CPU time")
	}
	counted := strings.Join(units, "; ") + " in the profiles (" + a + " → " + b + ")"
	switch {
	case m.Evidence == diff.Moved:
		return counted + ", as it is known to do"
	case m.Evidence == diff.NeverRan:
		return "none of its functions ran in the profiles, " + a + " or " + b
	case len(parts) == 0:
		return "the functions that it is known to make run did not run in the profiles, " + a + " or " + b
	}
	return "the functions that it is known to make run did not move with it: " + counted
}

// callsText is a number of calls per I/O: 0.02, 1.00, 17.1.
func callsText(calls float64) string {
	if calls >= 10 {
		return fmt.Sprintf("%.1f", calls)
	}
	return fmt.Sprintf("%.2f", calls)
}

// FunctionsText says by which functions two profiles differ most, a sentence for each load.
//
//	With iommu.strict=1, rand-read: qi_submit_sync 0.02 → 1.00, fq_ring_free 1.03 → 0.00 calls per I/O.
func FunctionsText(where string, list []difference.CellFunctions) []string {
	var lines []string
	for _, c := range list {
		var calls, times []string
		for _, f := range c.Functions {
			if f.Calls != nil && f.Calls.Change != "" {
				calls = append(calls, fmt.Sprintf("%s %s → %s", f.Name, callsText(f.Calls.A), callsText(f.Calls.B)))
			} else if f.NS != nil {
				times = append(times, fmt.Sprintf("%s %.0f → %.0f", f.Name, f.NS.A, f.NS.B))
			}
		}
		var parts []string
		if len(calls) > 0 {
			parts = append(parts, strings.Join(calls, ", ")+" calls per I/O")
		}
		if len(times) > 0 {
			parts = append(parts, strings.Join(times, ", ")+" ns per I/O")
		}
		lines = append(lines, where+", "+c.Cell+": "+strings.Join(parts, "; ")+".")
	}
	return lines
}
