package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"headroom/internal/lab"
)

// cutMetric takes a metric name apart: "read.latency.p99.9" is the direction read, the quantity latency and the part
// p99.9. A name that starts with no direction ("cpu.user") has an empty one.
func cutMetric(name string) (direction, quantity, part string) {
	head, rest, found := strings.Cut(name, ".")
	if !found || !slices.Contains(lab.Directions(), head) {
		head, rest = "", name
	}
	quantity, part, _ = strings.Cut(rest, ".")
	return head, quantity, part
}

func compareMetrics(a, b string) int {
	return cmp.Or(cmp.Compare(directionRank(a), directionRank(b)), cmp.Compare(a, b))
}

// directionRank puts what has no direction (cpu, elapsed) last.
func directionRank(metric string) int {
	direction, _, _ := cutMetric(metric)
	if i := slices.Index(lab.Directions(), direction); i >= 0 {
		return i
	}
	return len(lab.Directions())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
