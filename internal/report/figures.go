package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// spread returns half of the interval as a share of the number shown, measured to the end that is further away, so that
// the number plus or minus the spread never promises more than the interval. It is false without an interval, and for a
// percentile that is determined by one repetition.
func spread(m *summary.Metric) (float64, bool) {
	if m == nil || m.ShownInterval() == nil || m.Shown() == 0 {
		return 0, false
	}
	v := m.Shown()
	return math.Max(math.Abs(m.Hi-v), math.Abs(v-m.Lo)) / math.Abs(v), true
}

// SpreadText prints the spread: "±1.2%"; empty without an interval.
func SpreadText(m *summary.Metric) string {
	share, known := spread(m)
	if !known {
		return ""
	}
	if share >= 10 {
		return "±" + strconv.FormatFloat(share, 'f', 0, 64) + "x" // 1349% looks like a typing error
	}
	return "±" + unit.Percent(share)
}

// Significant prints six digits: more than any measurement has, and short enough for a spreadsheet.
func Significant(v float64) string { return unit.Decimal(SixDigits(v)) }

func SixDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v // cannot be: FormatFloat wrote it
	}
	return rounded
}

// CompareAmounts orders amounts by size (4k before 1M) and everything else alphabetically.
func CompareAmounts(a, b string) int {
	x, errX := unit.ParseBytes(a)
	y, errY := unit.ParseBytes(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// LogarithmicFrom is the ratio of the largest to the smallest level from which a plot has a logarithmic scale: on a
// linear one the small ones would be indistinguishable.
const LogarithmicFrom = 8

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
