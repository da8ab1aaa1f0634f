package report

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
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

// MetricName returns a metric in the words of a table: "read latency mean", "CPU per I/O".
func MetricName(metric string) string {
	if metric == "cpu.per_io" {
		return "CPU per I/O"
	}
	direction, quantity, part := lab.CutMetric(metric)
	return strings.TrimSpace(direction + " " + strings.ReplaceAll(quantity, "iops", "IOPS") + " " + part)
}

// OwnTitle returns a metric in words: send.bitrate is "send bitrate", request.latency.p99 "p99 latency". Names that a
// suite defines have no dots to separate words.
func OwnTitle(metric string) string {
	if part, latency := strings.CutPrefix(metric, lab.Latency(lab.Request, "")); latency {
		return part + " latency"
	}
	if direction, rest, ok := strings.Cut(metric, "."); ok &&
		slices.Contains([]string{lab.Send, lab.Receive, lab.Request}, direction) {
		return direction + " " + rest
	}
	return strings.ReplaceAll(metric, "_", " ")
}

// FigureNamed prints a value with the name of its metric, since one column can have rows of different metrics.
func FigureNamed(metric string, u lab.Unit, v float64) string {
	text := unit.Value(u, v)
	switch {
	case u == lab.PerSecond && strings.HasSuffix(metric, ".iops"):
		text += " IOPS"
	case u == lab.PerSecond:
		text += "/s " + OwnTitle(metric)
	}
	return text
}
