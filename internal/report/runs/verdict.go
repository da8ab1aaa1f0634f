package runs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// answer returns the first sentence: the highest rates in each direction, and the results of commands.
func answer(s *summary.Run) string {
	lines := rows(s)
	var reach []string
	names := map[string]string{lab.Read: "reads", lab.Write: "writes", lab.Trim: "trims",
		lab.Mixed: "reads and writes together"}
	for _, direction := range lab.Directions() {
		if text := bestText(lines, direction); names[direction] != "" && text != "" {
			reach = append(reach, names[direction]+" "+text)
		}
	}
	commands := commandTexts(lines)
	if len(reach) == 0 && len(commands) > 0 {
		return strings.Join(commands, "; ") + "." // it begins with the name of a job, whose case is kept
	}
	reach = append(reach, commands...)
	if len(reach) == 0 && slices.ContainsFunc(s.Cells, summary.Cell.NamesMetrics) {
		return "Nothing was measured."
	}
	if len(reach) == 0 {
		return "No I/O was measured."
	}
	return prose.Capital(strings.Join(reach, "; ")) + "."
}

// bestText returns the highest IOPS and the highest bandwidth of a direction and the jobs that reached them.
func bestText(lines []row, direction string) string {
	fastest, rate := highest(lines, direction, func(r row) *summary.Metric { return r.iops })
	widest, bandwidth := highest(lines, direction, func(r row) *summary.Metric { return r.bandwidth })
	var words []string
	of := "" // the source of the rate
	if rate != nil {
		of = " (" + fastest.name + ")"
		words = append(words, shown(rate)+" IOPS"+of)
	}
	if bandwidth != nil {
		words = append(words, shown(bandwidth)+" ("+widest.name+")")
	}
	if len(words) == 0 {
		return ""
	}
	if len(words) == 2 && strings.HasSuffix(words[1], of) {
		words[0] = strings.TrimSuffix(words[0], of) // both come from one job, which is named once
	}
	return "reach " + prose.List(words)
}

// highest finds the row of a direction with the best center of a metric, the lowest if lower is better; the metric is
// nil if no row has it.
func highest(lines []row, direction string, metric func(row) *summary.Metric) (best row, most *summary.Metric) {
	for _, r := range lines {
		m := metric(r)
		if r.direction == direction && m != nil &&
			(most == nil || (m.Center > most.Center) == (m.Better != lab.Lower)) {
			best, most = r, m
		}
	}
	return best, most
}

// singleText returns how long one small request takes when nothing else is running: the number that most programs wait
// for.
func singleText(lines []row) string {
	var found []string
	for _, r := range singles(lines) {
		found = append(found, fmt.Sprintf("one %s %s at a time takes %s, 99%% within %s",
			r.cell.Params["bs"], r.direction, shown(r.p50), shown(r.p99)))
	}
	if len(found) == 0 {
		return ""
	}
	return prose.Capital(strings.Join(found, "; ")) + "."
}

// flushText returns how long a flush takes if a load of synced writes mostly measures flushes: the number that a
// database waits for.
func flushText(lines []row) string {
	r, share, found := flushRow(lines)
	if !found {
		return ""
	}
	one := r.mean
	if r.p50 != nil {
		one = r.p50
	}
	text := "A flush takes " + shown(one)
	if r.p99 != nil {
		text += ", 99% within " + shown(r.p99)
	}
	return fmt.Sprintf("%s: %s of the time of synced writes (%s); the write alone takes %s.", text,
		unit.Percent(share), r.name, shown(r.cell.Metric(lab.Latency(lab.Write, "mean"))))
}

// flushRow returns the row of the flushes of the first load that waits for them most of its time, and their share of
// it.
func flushRow(lines []row) (of row, share float64, found bool) {
	for _, r := range lines {
		share, known := lab.FlushShare(r.cell.Params, func(metric string) (float64, bool) {
			m := r.cell.Metric(metric)
			if m == nil {
				return 0, false
			}
			return m.Center, true
		})
		if r.direction == lab.Sync && known && share >= lab.FlushDominates {
			return r, share, true
		}
	}
	return row{}, 0, false
}

// singles returns the rows with the time of one small request: the first of reads and the first of writes.
func singles(lines []row) []row {
	var found []row
	for _, r := range lines {
		alone := r.cell.Params["iodepth"] == "1" && (r.cell.Params["numjobs"] == "" || r.cell.Params["numjobs"] == "1")
		if !alone || r.several || large(r.cell) || r.p50 == nil || r.p99 == nil {
			continue
		}
		sameDirection := func(other row) bool { return other.direction == r.direction }
		if (r.direction == lab.Read || r.direction == lab.Write) && !slices.ContainsFunc(found, sameDirection) {
			found = append(found, r)
		}
	}
	return found
}

// trust describes how many numbers are in doubt, and whether the run is complete. Notes put nothing in doubt.
func (r runText) trust() string {
	warned, empty, measured, planned := 0, 0, 0, 0
	for _, c := range r.Cells {
		measured, planned = measured+c.N, planned+max(c.Planned, c.N)
		if r.doubts(c.ID, c.Warnings, "") {
			warned++
		}
		if c.N == 0 {
			empty++
		}
	}
	var parts []string
	of := fmt.Sprintf("%d of %s", measured, prose.Count(planned, "repetition"))
	if r.Anytime {
		of = prose.Count(measured, "repetition")
	}
	switch r.Status {
	case lab.Interrupted:
		parts = append(parts, "The run was cut off after "+of+".")
	case lab.Failed:
		parts = append(parts, "The run failed after "+of+".")
	case lab.Running:
		parts = append(parts, "The run is at "+of+".")
	}
	if r.endedByBudget() {
		parts = append(parts, report.EndedText(r.EndedAfter))
	}
	if empty > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s never began.", empty, prose.Count(len(r.Cells), "measurement")))
	}
	ofRun := 0
	for _, w := range r.Warnings {
		if r.doubts("", []lab.RepeatedWarning{w}, "") {
			ofRun++
		}
	}
	switch {
	case warned+ofRun == 0:
		parts = append(parts, "No warnings.")
	case warned == 0:
		parts = append(parts, prose.Capital(prose.Count(ofRun, "warning"))+" about the whole run.")
	default:
		verb := "carry"
		if warned == 1 {
			verb = "carries"
		}
		text := fmt.Sprintf("%d of %s %s a warning", warned, prose.Count(len(r.Cells), "measurement"), verb)
		if ofRun > 0 {
			text += ", and so does the whole run"
		}
		parts = append(parts, text+".")
	}
	return strings.Join(parts, " ")
}

// title names the run: its label, what was run and on what.
func title(s *summary.Run) string {
	text := s.Suite
	if text == "" {
		text = "run " + s.ID
	}
	if len(s.Network) > 0 {
		text += " " + between(s)
	} else if on := places(s); on != "" {
		text += " on " + on
	}
	if s.Label != "" {
		text = s.Label + ": " + text
	}
	return text
}

// between returns the ends of a network: "from local to ssh://db1 at 10.0.0.7", "from local to ssh://db1, 8 pairs".
func between(s *summary.Run) string {
	name := func(role string) string {
		for _, t := range s.Targets {
			if t.Role == role {
				return t.Target
			}
		}
		return role
	}
	var from, to []string
	for _, p := range s.Network {
		from, to = append(from, name(p.Client)), append(to, name(p.Server))
	}
	slices.Sort(from)
	slices.Sort(to)
	text := "from " + prose.List(slices.Compact(from)) + " to " + prose.List(slices.Compact(to))
	if len(s.Network) == 1 {
		return text + " at " + s.Network[0].Address
	}
	return text + ", " + prose.Count(len(s.Network), "pair")
}

// places returns where the loads went: the device or directory, with the target if it is another machine.
func places(s *summary.Run) string {
	var names []string
	for _, t := range s.Targets {
		name := t.Place.Path
		switch {
		case name == "":
			name = t.Target
		case t.Remote() != "":
			name += " of " + t.Remote()
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return prose.List(names)
}

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
