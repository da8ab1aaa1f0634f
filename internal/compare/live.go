package compare

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// Deciding are the metrics that a live comparison of two loads is decided by: those that its terms name, or the primary
// ones. A pace that the two sides set differently is not a setting of the comparison but what is compared; so IOPS
// decide then.
func Deciding[V any](terms *lab.Terms, own map[string]lab.MetricInfo, base, next map[string]string,
	measured map[string]V) []string {
	if terms != nil && len(terms.Metrics) > 0 {
		return slices.DeleteFunc(slices.Clone(terms.Metrics), func(name string) bool {
			_, ok := measured[name]
			return !ok
		})
	}
	common := maps.Clone(base)
	maps.DeleteFunc(common, func(name, value string) bool { return next[name] != value })
	return lab.Deciding(own, common, measured)
}

// stopMetrics are the metrics that a live comparison was decided by.
func stopMetrics(base Run, m match) []string {
	return Deciding(base.Terms, m.base.Own, m.base.Params, m.next.Params, m.base.Values)
}

// onBothSides takes off the reasons the warnings that both sides of a live comparison have, and those of a drift within
// a run. They weaken what the numbers say of the storage, but not of the difference: what was measured in turns was
// measured under the same conditions, and what drifts meets both halves of a pair.
func onBothSides(base, next Run, m match, reasons []Reason, notes []string) ([]Reason, []string) {
	has := func(run Run, cell Cell, code string) bool {
		return slices.ContainsFunc(run.Warnings, func(w lab.Warning) bool { return w.Code == code }) ||
			slices.ContainsFunc(cell.Warnings, func(w lab.RepeatedWarning) bool { return w.Code == code })
	}
	var left []Reason
	var shared []string
	for _, r := range reasons {
		if r.Code == "warning" {
			code := r.Items[0].Name
			if slices.Contains(harmlessInterleaved(), code) || has(base, m.base, code) && has(next, m.next, code) {
				shared = append(shared, code)
				continue
			}
		}
		left = append(left, r)
	}
	for _, code := range shared {
		notes = append(slices.Clone(notes), code+": measured alternately, the difference holds; "+
			"the absolute values may be off")
	}
	return left, notes
}

// harmlessInterleaved are warnings about what pairs take care of, or about the machine that both sides share: one side
// may have them by chance alone. And about a pace, which is compared where it differs.
func harmlessInterleaved() []string {
	return []string{"position-effect", "fresh-layout", "busy-before", "other-load", "settings-changed",
		"cpu-steal", "rate-limited"}
}

// withoutDeliberate takes the parameters off the reasons: who measures two loads in turns has chosen what they differ
// in.
func withoutDeliberate(reasons []Reason, notes []string) ([]Reason, []string) {
	var left []Reason
	for _, r := range reasons {
		if r.Code == "parameters" || r.Code == "direct" {
			notes = append(slices.Clone(notes), r.Text+", as was asked for")
			continue
		}
		left = append(left, r)
	}
	return left, notes
}
