package report

import (
	"slices"
	"strings"

	"headroom/internal/lab"
)

// Signs are the signs of some codes, in the order of their numbers.
func Signs(all []Mark, codes []string) string {
	var signs []string
	for _, m := range all {
		if slices.Contains(codes, m.Code) {
			signs = append(signs, m.Sign())
		}
	}
	return strings.Join(signs, " ")
}

// MetricName is a metric in the words of a table: "read latency mean", "CPU per I/O".
func MetricName(metric string) string {
	if metric == "cpu.per_io" {
		return "CPU per I/O"
	}
	direction, quantity, part := lab.CutMetric(metric)
	return strings.TrimSpace(direction + " " + strings.ReplaceAll(quantity, "iops", "IOPS") + " " + part)
}
