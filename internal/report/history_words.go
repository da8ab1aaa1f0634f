package report

import (
	"fmt"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/unit"
)

// FirstNames names the first of many.
func FirstNames(list []string) string {
	const most = 3
	if more := len(list) - most; more > 1 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return prose.List(list)
}

// FigureNamed prints a value with what it is, since rows of one column can be of different metrics.
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
