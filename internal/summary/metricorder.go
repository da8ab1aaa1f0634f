package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// compareMetrics puts what belongs to one direction together, and the parts of a latency in the order of a
// distribution.
func compareMetrics(a, b string) int {
	_, quantityA, partA := lab.CutMetric(a)
	_, quantityB, partB := lab.CutMetric(b)
	return cmp.Or(cmp.Compare(directionRank(a), directionRank(b)), cmp.Compare(quantityA, quantityB),
		cmp.Compare(partRank(partA), partRank(partB)), cmp.Compare(a, b))
}

// partRank is where a part of a latency stands: percentiles, of which p90 is before p99 and that before p99.9, are
// between the least and the most.
func partRank(part string) int {
	switch strings.TrimPrefix(part, "latency.") { // request.latency.p99 has no direction
	case "mean":
		return 1
	case "min":
		return 2
	case "max":
		return 4
	}
	return 3
}

// directionRank puts what has no direction (cpu, elapsed) last.
func directionRank(metric string) int {
	direction, _, _ := lab.CutMetric(metric)
	if i := slices.Index(lab.Directions(), direction); i >= 0 {
		return i
	}
	return len(lab.Directions())
}
