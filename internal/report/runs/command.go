package runs

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// shownOfCommand returns the metrics of a command that tables show, the deciding one first and its time last. The
// number of CPUs that it kept busy is in the other reports.
func shownOfCommand(c *summary.Cell) []string {
	if !c.NamesMetrics() {
		return nil
	}
	names := c.Deciding()
	for _, name := range []string{lab.Latency(lab.Request, "mean"), lab.Latency(lab.Request, "p50"),
		lab.Latency(lab.Request, "p99")} {
		if c.Metric(name) != nil && !slices.Contains(names, name) {
			names = append(names, name) // before the rest, in the order of preference
		}
	}
	for _, name := range append(c.MetricNames(), "elapsed") {
		if c.Metric(name) != nil && name != "elapsed" && !strings.HasPrefix(name, "cpu.") &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if c.Metric("elapsed") != nil && !slices.Contains(names, "elapsed") {
		names = append(names, "elapsed")
	}
	return names
}

// commandNumbers returns the columns for the metrics of commands, in the order of the rows. The deciding metric of a
// row is kept on a narrow terminal.
func commandNumbers(lines []row) []tableNumber {
	const first = 30 // beyond the ranks of all other columns
	var all []tableNumber
	for _, r := range lines {
		for i, name := range r.own {
			if slices.ContainsFunc(all, func(n tableNumber) bool { return n.title == report.OwnTitle(name) }) {
				continue
			}
			n := tableNumber{title: report.OwnTitle(name), spread: first + 4*len(all), own: true,
				of: func(r row) (string, *summary.Metric) {
					if !slices.Contains(r.own, name) {
						return name, nil
					}
					return name, r.cell.Metric(name)
				}}
			if i > 0 {
				n.drop = first + 2 + 4*len(all)
			}
			all = append(all, n)
		}
	}
	return all
}

// text formats a number for a table. It is unknown whether metrics that a suite defines are rates.
func (n tableNumber) text(m *summary.Metric) string {
	if n.own {
		return ownFigure(m)
	}
	return shown(m)
}

// ownFigure prints a metric that a suite defines: a rate with "/s".
func ownFigure(m *summary.Metric) string {
	text := shown(m)
	if m != nil && m.Unit == lab.PerSecond {
		text += "/s"
	}
	return text
}

// bestOfCommands returns the best row of each job that runs a command.
func bestOfCommands(lines []row) []row {
	var jobs []string
	var found []row
	for _, r := range lines {
		if len(r.own) == 0 || slices.Contains(jobs, r.cell.Job) {
			continue
		}
		jobs = append(jobs, r.cell.Job)
		mine := slices.DeleteFunc(slices.Clone(lines), func(other row) bool { return other.cell.Job != r.cell.Job })
		best, m := highest(mine, r.direction, func(r row) *summary.Metric { _, m := r.headline(); return m })
		if m == nil {
			continue
		}
		if name, _ := best.headline(); strings.HasPrefix(name, "together.") {
			continue // loads of different kinds have no sum, only their synchronisation
		}
		found = append(found, best)
	}
	return found
}

// maxJobs is how many jobs the answer names.
const maxJobs = 4

// commandTexts describes the best result of each job that runs a command: "tpcb: transactions 810/s at best
// (clients=8)".
func commandTexts(lines []row) []string {
	var texts []string
	for _, best := range bestOfCommands(lines) {
		name, m := best.headline()
		job := best.cell.Job
		text := job + ": " + report.OwnTitle(name) + " " + ownFigure(m)
		if slices.ContainsFunc(lines, func(r row) bool { return r.cell.Job == job && r.cell != best.cell }) {
			text += " at best (" + best.params + ")"
		}
		texts = append(texts, text)
	}
	if len(texts) > maxJobs+1 {
		texts = append(texts[:maxJobs], prose.Count(len(texts)-maxJobs, "more job"))
	}
	return texts
}
