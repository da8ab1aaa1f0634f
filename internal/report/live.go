package report

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// Live is the line for one repetition that has just ended, for a run that is under way: what it was, which repetition
// of how many (0 leaves that out), its rates and p99, and the codes of its warnings. It is never wider than the
// terminal.
func Live(cell lab.Cell, rep lab.Repetition, of int, o Options) string {
	c := Cell{Job: cell.Job, Params: cell.Params}
	parts := []string{strings.TrimSpace(cell.Job + " " + paramText(&c, nil))}
	if of > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d", rep.Number, of))
	}
	for _, d := range lab.Directions() {
		var figures []string
		if v, ok := rep.Values[lab.IOPS(d)]; ok {
			figures = append(figures, unit.IOPS(v)+" IOPS")
		}
		if v, ok := rep.Values[lab.Bandwidth(d)]; ok {
			figures = append(figures, unit.Bandwidth(v))
		}
		if v, ok := rep.Values[lab.Latency(d, "p99")]; ok {
			figures = append(figures, "p99 "+unit.Latency(v))
		}
		if len(figures) > 0 {
			parts = append(parts, d+" "+strings.Join(figures, " "))
		}
	}
	line := shorten(strings.Join(parts, "  "), o.width())
	var codes []string
	for _, w := range rep.Warnings {
		if !slices.Contains(codes, "!"+w.Code) {
			codes = append(codes, "!"+w.Code)
		}
	}
	if len(codes) == 0 {
		return line
	}
	// The warnings stay whole as long as they can: they are why a reader should not use the numbers before them.
	text := shorten(strings.Join(codes, " "), o.width())
	if room := o.width() - columns(text) - 2; room < shortestName {
		return alarm.paint(text, o)
	} else {
		return shorten(line, room) + "  " + alarm.paint(text, o)
	}
}
