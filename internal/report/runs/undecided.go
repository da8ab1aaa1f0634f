package runs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// precisionTexts describes how much of the requested precision was reached, and what the rest would take.
func precisionTexts(s *summary.Run) []string {
	within := "±" + strconv.FormatFloat(100*s.Precision, 'g', 4, 64) + "%"
	switch {
	case s.Precision == 0:
		return nil
	case len(s.Undecided) == 0:
		return []string{"What each job is decided by is known to " + within + " or better."}
	}
	lines := []string{prose.Capital(outOf(s)) + " left undecided, to " + within + ":"}
	names := summary.CellNames(s)
	for _, u := range s.Undecided {
		lines = append(lines, names[u.Cell]+": "+metricText(u.Metric)+" "+shortOf(u, within))
	}
	return lines
}

// secondsPerDay is the longest time that users are advised to spend, in seconds.
const secondsPerDay = 24 * 3600

// moreTime estimates the time that a complete run needs to decide the rest, to the minute; 0 if there is none or it is
// unknown, or if no time would suffice.
func moreTime(s *summary.Run) time.Duration {
	byCell := map[string]float64{} // a repetition measures all metrics of a cell
	for _, u := range s.Undecided {
		byCell[u.Cell] = max(byCell[u.Cell], u.Seconds)
	}
	total := 0.0
	for _, seconds := range byCell {
		total += seconds
	}
	if s.Status != lab.Complete || total > secondsPerDay {
		return 0
	}
	return time.Duration(math.Ceil(total/60)) * time.Minute
}

// outOf describes what ended the run.
func outOf(s *summary.Run) string {
	switch {
	case s.Status != lab.Complete:
		return "what was measured"
	case s.Budget > 0:
		return "the budget of " + unit.Duration(time.Duration(s.Budget*float64(time.Second)))
	default:
		return "the most repetitions that a job may have"
	}
}

// shortOf describes what is missing: "±4.1% after 14 repetitions; 25 more (4m 10s) reach ±3% in four of five cases".
func shortOf(u summary.Undecided, within string) string {
	took := ""
	if u.Seconds > 0 {
		took = " (" + unit.Duration(time.Duration(u.Seconds*float64(time.Second))) + ")"
	}
	if u.Width == nil {
		return fmt.Sprintf("has no interval after %s; %d more%s would give one", prose.Count(u.N, "repetition"),
			u.More, took)
	}
	if u.Seconds > secondsPerDay {
		return fmt.Sprintf("±%s after %s; a day of repeating would not reach %s", unit.Percent(*u.Width),
			prose.Count(u.N, "repetition"), within)
	}
	return fmt.Sprintf("±%s after %s; %d more%s reach %s in four of five cases", unit.Percent(*u.Width),
		prose.Count(u.N, "repetition"), u.More, took, within)
}

// metricText returns a metric's name in words: "read IOPS", "mean write latency".
func metricText(metric string) string {
	direction, quantity, part := lab.CutMetric(metric)
	if quantity == "iops" {
		quantity = "IOPS"
	}
	return strings.Join(strings.Fields(part+" "+direction+" "+quantity), " ")
}
