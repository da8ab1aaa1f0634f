package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// MechanismText returns a clause with the evidence about a difference from profiles of two sides; empty if there is
// none.
//
//	qi_submit_sync 0.02 → 1.00 calls per I/O in the profiles, as it is known to do
func MechanismText(m *diff.Mechanism, a, b string) string {
	const most = 3
	if m == nil {
		return ""
	}
	var parts byUnit
	for _, f := range m.Functions[:min(most, len(m.Functions))] {
		switch f.Measure {
		case diff.Share:
			parts.add(" of the CPU time", fmt.Sprintf("%s %.0f%% → %.0f%%", f.Function, 100*f.A, 100*f.B))
		case diff.Waits:
			parts.add(waitsPerIO, fmt.Sprintf("%s %s → %s", f.Function, callsText(f.A), callsText(f.B)))
		default:
			parts.add(callsPerIO, fmt.Sprintf("%s %s → %s", f.Function, callsText(f.A), callsText(f.B)))
		}
	}
	counted := parts.String() + " in the profiles (" + a + " → " + b + ")"
	switch {
	case m.Evidence == diff.Moved && m.Little:
		return counted + ", as it is known to do, but that accounts for little of the time that I/Os take longer"
	case m.Evidence == diff.Moved:
		return counted + ", as it is known to do"
	case m.Evidence == diff.SlowsAll:
		return "most of the time that I/Os take longer is that everything does, which it can do"
	case m.Evidence == diff.NeverRan:
		return "none of its functions ran in the profiles, " + a + " or " + b
	case len(parts.units) == 0:
		return "the functions that it is known to make run did not run in the profiles, " + a + " or " + b
	}
	return "the changes that it is known to make did not appear: " + counted
}

const (
	callsPerIO = " calls per I/O"
	waitsPerIO = " waits per I/O"
)

// byUnit groups figures by their unit: "a 0 → 1, b 1 → 0 calls per I/O; c 0 → 0.5 waits per I/O".
type byUnit struct{ units, texts []string }

func (l *byUnit) add(unit, text string) {
	i := slices.Index(l.units, unit)
	if i < 0 {
		l.units, l.texts = append(l.units, unit), append(l.texts, text)
		return
	}
	l.texts[i] += ", " + text
}

func (l *byUnit) String() string {
	var parts []string
	for i, unit := range l.units {
		parts = append(parts, l.texts[i]+unit)
	}
	return strings.Join(parts, "; ")
}

// callsText formats a number of calls per I/O: 0.02, 1.00, 17.1.
func callsText(calls float64) string {
	if calls >= 10 {
		return fmt.Sprintf("%.1f", calls)
	}
	return fmt.Sprintf("%.2f", calls)
}

// FunctionsText returns a sentence or two for each load: what accounts for a loss according to two profiles, and the
// functions that differ most.
//
//	With iommu.strict=1, rand-read: qi_submit_sync 0.02 → 1.00, fq_ring_free 1.03 → 0.00 calls per I/O.
func FunctionsText(where string, list []difference.CellFunctions) []string {
	var lines []string
	for _, c := range list {
		if c.Account.Clear() {
			lines = append(lines, where+", "+c.Cell+": "+AccountText(c.Account)+".")
		}
		if len(c.Functions) == 0 {
			continue
		}
		var parts byUnit
		for _, f := range c.Functions {
			if f.Calls.Changed() {
				parts.add(callsPerIO, fmt.Sprintf("%s %s → %s", f.Name, callsText(f.Calls.A), callsText(f.Calls.B)))
			}
			if f.Waits.Changed() {
				parts.add(waitsPerIO, fmt.Sprintf("%s %s → %s", f.Name, callsText(f.Waits.A), callsText(f.Waits.B)))
			}
			if f.NS != nil && !f.Calls.Changed() && !f.Waits.Changed() {
				parts.add(" ns per I/O", fmt.Sprintf("%s %.0f → %.0f", f.Name, f.NS.A, f.NS.B))
			}
		}
		text := where + ", " + c.Cell + ": " + parts.String()
		if !slices.ContainsFunc(c.Functions, func(f difference.Function) bool { return !c.Account.Little(f) }) {
			text += "; that accounts for little"
		}
		lines = append(lines, text+".")
	}
	return lines
}

// AccountText returns a sentence about the part that accounts for most of a loss, or of a gain, without its full stop.
//
//	everything takes 2.36 times as long, which accounts for 98% [91, 105] of the 280 µs that an I/O takes longer;
//	page-table isolation (off → on) differs and could be why
//	nothing clearly accounts for the 280 µs that an I/O takes longer; the largest part is waiting, 95% [-38, 228]
func AccountText(a *difference.Account) string {
	most, clearly := a.Most()
	loss := " the " + unit.Latency(math.Abs(a.Loss.Value)/1e9) + " that an I/O takes " + longer(a.Loss.Value)
	if !clearly {
		return "nothing clearly accounts for" + loss + "; the largest part is " + partName(most) + ", " +
			ShareText(most.Share)
	}
	text := PartText(most)
	if most.Reason == difference.Uniform {
		text += ", which"
	}
	text += " accounts for " + ShareText(most.Share) + " of" + loss
	if causes := CausesText(most.Causes); causes != "" {
		text += "; " + causes
	}
	return text
}

func longer(loss float64) string {
	if loss < 0 {
		return "less"
	}
	return "longer"
}

// PartText describes the reason of a part.
func PartText(p difference.Part) string {
	switch p.Reason {
	case difference.Uniform:
		return fmt.Sprintf("everything takes %.2f times as long", p.Factor)
	case difference.InLayer:
		return p.Title
	case difference.Waiting:
		return "waiting"
	case difference.OtherWork:
		return "other work of the machine"
	}
	return "what no layer clearly differs in"
}

// partName returns the text of a part as the object of a sentence.
func partName(p difference.Part) string {
	if p.Reason == difference.Uniform {
		return "that " + PartText(p)
	}
	return PartText(p)
}

// ShareText returns a share of a loss with its interval: 98% [91, 105].
func ShareText(share difference.Range) string {
	return percent(share.Value) + "% [" + percent(share.Low) + ", " + percent(share.High) + "]"
}

// percent returns a share in whole percent, and 0 instead of -0.
func percent(share float64) string { return fmt.Sprintf("%.0f", math.Round(100*share)+0) }

// CausesText names the facts that can slow down everything. It is empty without any.
func CausesText(causes []difference.FactChange) string {
	if len(causes) == 0 {
		return ""
	}
	const most = 3
	var names []string
	for _, c := range causes[:min(most, len(causes))] {
		names = append(names, fmt.Sprintf("%s (%s → %s)", c.Title, c.A, c.B))
	}
	if more := len(causes) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(causes) == 1 {
		return names[0] + " differs and could be why"
	}
	return prose.List(names) + " differ and could be why"
}
