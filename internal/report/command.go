package report

import (
	"slices"
	"strings"

	"headroom/internal/lab"
)

// OwnTitle is a metric in words: send.bitrate is "send bitrate", request.latency.p99 "p99 latency". Those that a suite
// names have no dots to part words.
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
