package report

import (
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
)

func MetricTitle(metric string, several bool) string {
	direction, quantity, part := lab.CutMetric(metric)
	switch {
	case direction == lab.Sync:
		direction = "flush"
	case !several:
		direction = ""
	}
	switch quantity {
	case "iops":
		quantity = "IOPS"
	case "latency":
		if part != "" { // a command may have a latency without parts
			quantity = part
		}
	default:
		quantity = prose.Join(quantity, part)
	}
	return prose.Join(direction, strings.ReplaceAll(quantity, "_", " "))
}

func IsSpeed(u lab.Unit) bool { return u == lab.PerSecond || u == lab.BytesPerSecond }
