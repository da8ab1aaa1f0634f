package compare

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// Deciding returns the metrics that decide a live comparison of two loads: the metrics in its terms, or the primary
// ones. A rate limit that differs between the sides is what is compared, so IOPS decide then.
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

// stopMetrics returns the metrics that decided a live comparison.
func stopMetrics(base Run, m match) []string {
	return Deciding(base.Terms, m.base.Own, m.base.Params, m.next.Params, m.base.Values)
}

// onBothSides removes the warnings that both sides of a live comparison have, and warnings about a drift within a run,
// from the reasons. They cast doubt on the absolute values, not on the difference: sides that alternate are measured
// under the same conditions, and a drift affects both halves of a pair.
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

// harmlessInterleaved returns warnings about effects that pairs cancel, and about the machine that both sides share,
// which one side may have by chance alone. It also has the warning about a rate limit, which is compared where it
// differs.
func harmlessInterleaved() []string {
	return []string{"position-effect", "fresh-layout", "busy-before", "other-load", "settings-changed",
		"cpu-steal", "rate-limited"}
}

// withoutDeliberate removes the parameters from the reasons: whoever measures two loads in turns has chosen their
// differences.
func withoutDeliberate(reasons []Reason, notes []string) ([]Reason, []string) {
	var left []Reason
	for _, r := range reasons {
		if r.Code == "parameters" || r.Code == "direct" {
			notes = append(slices.Clone(notes), r.Text+", as requested")
			continue
		}
		left = append(left, r)
	}
	return left, notes
}
