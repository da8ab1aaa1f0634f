package report

import (
	"fmt"
	"strings"

	"headroom/internal/diff"
)

// MechanismText says in a clause what profiles of two sides say of a difference; empty where they say nothing.
//
//	qi_submit_sync 0.02 → 1.00 calls per I/O in the profiles, as it is known to do
func MechanismText(m *diff.Mechanism, a, b string) string {
	const most = 3
	if m == nil {
		return ""
	}
	var parts []string
	for i, f := range m.Functions {
		if i < most {
			parts = append(parts, fmt.Sprintf("%s %s → %s", f.Function, callsText(f.A), callsText(f.B)))
		}
	}
	counted := strings.Join(parts, ", ") + " calls per I/O in the profiles (" + a + " → " + b + ")"
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
