package compared

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/changepoint"
	"github.com/headroom/headroom/internal/unit"
)

// where returns the suite, the machine and the place where it ran.
func (h historyText) where() string {
	s := h.s
	where := s.Host
	if where == "" {
		where = s.Target
	}
	text := h.Suite
	if where != "" {
		text += " on " + where
	}
	if s.Place.Path != "" {
		text += ", " + s.Place.Path
	}
	return text
}

// title returns where the suite ran, and over what time.
func (h historyText) title() string {
	s := h.s
	first, last := s.Runs[0].Created, s.Runs[len(s.Runs)-1].Created
	text := h.where() + ": " + prose.Count(len(s.Runs), "run")
	if len(s.Runs) > 1 {
		text += " over " + spanText(last.Sub(first))
	}
	text += ", " + h.when(first)
	switch {
	case day(last) != day(first):
		text += " to " + h.when(last)
	case h.withinADay():
		text += " to " + last.UTC().Format("15:04")
	}
	if h.withinADay() {
		text += " UTC"
	}
	return text
}

// spanText formats a time in the unit that people use for it.
func spanText(d time.Duration) string {
	days := d.Hours() / 24
	switch {
	case days < 2:
		return unit.Duration(d)
	case days < 14:
		return prose.Count(int(math.Round(days)), "day")
	default:
		return prose.Count(int(math.Round(days/7)), "week")
	}
}

// answer returns a sentence for each change and one for the newest run.
func (h historyText) answer() []string {
	var lines []string
	switch n := len(h.s.Events); {
	case len(h.s.Cells) == 0:
		lines = append(lines, "No load has been measured in any of these runs.")
	case n == 0 && len(h.slopes()) > 0:
	case n == 0 && h.runsAfter() == "":
		lines = append(lines, fmt.Sprintf("Too few runs to find a change in %s.",
			prose.Count(len(h.s.Cells), "figure")))
	case n == 0:
		lines = append(lines, fmt.Sprintf("No change found in %s.", prose.Count(len(h.s.Cells), "figure")))
	default:
		for _, e := range h.s.Events {
			lines = append(lines, h.changeSentence(e))
		}
	}
	lines = slices.Concat(lines, h.slopes(), h.patterns())
	if h.newestOutage() {
		return append([]string{h.newestSentence()}, lines...)
	}
	return append(lines, h.newestSentence())
}

// changeSentence describes the largest change: by how much, since when, and with which update.
func (h historyText) changeSentence(e history.Event) string {
	track, c := h.largest(e)
	text := map[bool]string{false: "Changed: ", true: "Likely changed, not proved: "}[c.Likely] + track.Name + " " +
		StepText(c.RatioEstimate) + ", " + c.Verdict
	if more := len(e.Cells) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more of %s", more, prose.Count(len(h.s.Cells), "figure"))
	}
	text += ", since " + h.when(e.Created) + " (run " + h.id(e.Run) + ")"
	var with []string
	for _, d := range e.Updates() {
		with = append(with, updateText(d))
	}
	if len(with) == 0 && len(e.Differences) > 0 {
		d := e.Differences[0]
		with = append(with, d.Name+" went from "+differenceValue(d, d.A)+" to "+differenceValue(d, d.B))
	}
	when := ", when "
	if e.Near {
		when = "; about then "
	}
	if len(with) > 0 {
		text += when + prose.List(with)
	}
	return text + "."
}

// largest returns the change of an event that is furthest from no change.
func (h historyText) largest(e history.Event) (track *history.Track, change history.Change) {
	size := -1.0
	for _, i := range e.Cells {
		for _, c := range h.s.Cells[i].Changes {
			if d := math.Abs(math.Log(c.Ratio)); d > size && h.distance(c.Run, e.Run) <= eventWidth {
				track, change, size = &h.s.Cells[i], c, d
			}
		}
	}
	return track, change
}

// eventWidth is the maximum distance, in runs, between the changes of an event.
const eventWidth = 2

func (h historyText) distance(a, b string) int {
	at := func(id string) int {
		return slices.IndexFunc(h.s.Runs, func(r history.RunInfo) bool { return r.ID == id })
	}
	d := at(a) - at(b)
	return max(d, -d)
}

func updateText(d diff.Difference) string {
	name := map[string]string{"kernel.release": "the kernel", "os.version": "the system", "os.name": "the system",
		"machine.bios.version": "the firmware", "disk.firmware": "the drive's firmware",
		"cpu.microcode": "the microcode", "tool.fio.version": "fio"}[d.Fact]
	return name + " went from " + d.A + " to " + d.B
}

// StepText formats a change: "-7.1% [-8.0, -6.2]".
func StepText(e stat.RatioEstimate) string {
	return strings.TrimRight(report.ChangeText(e.Ratio)+" "+report.ChangeBounds(e), " ")
}

func (h historyText) newestSentence() string {
	var bad, open []string
	measured := 0
	for _, u := range h.s.Unmeasured {
		if u.Verdict == history.Undecided {
			measured++
			open = append(open, u.Name+" (no run has measured it)")
		}
	}
	for _, t := range h.s.Cells {
		if !t.Ended || t.Newest.Verdict != history.None {
			measured++ // loads that the newest run was not meant to have are not reported
		}
		switch t.Newest.Verdict {
		case history.Regression:
			bad = append(bad, t.Name+" ("+h.shortenIDs(t.Newest.Why)+")")
		case history.Undecided:
			open = append(open, t.Name)
		}
	}
	newest := "The newest run, " + h.id(h.s.Runs[len(h.s.Runs)-1].ID) + " of " +
		h.when(h.s.Runs[len(h.s.Runs)-1].Created) + ", "
	switch {
	case len(bad) > 0:
		text := newest + "shows a regression: " + report.FirstNames(bad)
		if len(open) > 0 {
			text += "; " + prose.Count(len(open), "figure") + " undecided"
		}
		return text + "."
	case measured == 0:
		return newest + "has none of these cells."
	case len(open) == measured:
		return newest + "is proved neither as good as those before it nor worse: " + report.FirstNames(open) + "."
	case len(open) > 0:
		return newest + fmt.Sprintf("shows no regression in %d of %s; undecided: %s.", measured-len(open),
			prose.Count(measured, "figure"), report.FirstNames(open))
	}
	return newest + "has no regression of more than " + unit.Percent(h.Margin) + " in any figure."
}

// shortenIDs shortens the IDs of runs in a text.
func (h historyText) shortenIDs(text string) string {
	for _, r := range h.s.Runs {
		text = strings.ReplaceAll(text, r.ID, h.id(r.ID))
	}
	return text
}

func (h historyText) newestText(t history.Track) string {
	switch n := t.Newest; {
	case t.Ended:
		return h.shortenIDs(n.Why)
	case n.Verdict == history.Regression:
		return h.shortenIDs(strings.TrimSuffix(n.Why, " before it"))
	case n.Verdict == history.Undecided && n.Margin != nil:
		return "? margin " + unit.Percent(*n.Margin)
	case n.Verdict == history.Undecided && n.Against < changepoint.MinBesides:
		return "? too few runs"
	case n.Verdict == history.Undecided:
		return "? " + h.shortenIDs(n.Why)
	default:
		return "as before"
	}
}

// DifferencesOf lists the differences of an event, the likeliest to matter first. The note describes them, or explains
// why there are none.
func DifferencesOf(e history.Event) (note string, list []string) {
	for _, d := range e.Differences {
		list = append(list, differenceText(d))
	}
	return differencesNote(e), list
}

func differencesNote(e history.Event) string {
	switch {
	case e.Unknown != "":
		return e.Unknown
	case len(e.Differences) == 0:
		return "nothing that is known of the machine differs between these runs, nor between those two before and " +
			"two after"
	case e.Near:
		return "between these two runs nothing else changed; within two runs around them:"
	}
	return "what else changed, the likeliest to matter first:"
}

func differenceText(d diff.Difference) string {
	name := d.Name
	if d.Kind == "fact" && d.Fact != "" {
		name = d.Fact
	}
	text := name + ": " + differenceValue(d, d.A) + ", then " + differenceValue(d, d.B)
	if d.Why != "" {
		text += " (" + d.Why + ")"
	}
	return text
}

// atMost formats a probability that was counted among permutations.
func atMost(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

func differenceValue(d diff.Difference, value string) string {
	if value == "" {
		return "nothing"
	}
	if d.Kind == "fact" {
		return catalogue.Show(lab.Fact{Key: d.Fact, Value: value})
	}
	return value
}

// proved returns how many changes of a track are proved.
func proved(t history.Track) int {
	n := 0
	for _, c := range t.Changes {
		if !c.Likely {
			n++
		}
	}
	return n
}

// reading explains how certain the results are, and their limits.
func (h historyText) reading() []string {
	var lines []string
	if codes := h.warned(); codes != "" {
		lines = append(lines, "Warnings taint some of these numbers: "+codes+"; headroom show RUN has them.")
	}
	var wander []string
	for _, t := range h.s.Cells {
		if t.Lag1 != nil && *t.Lag1 > changepoint.ClearCorrelation(len(t.Points), proved(t)) {
			wander = append(wander, t.Name)
		}
	}
	if len(wander) > 0 {
		lines = append(lines, "Neighbouring runs are alike ("+report.FirstNames(wander)+"): the level wanders, so "+
			"changes come out by chance more often than said.")
	}
	if text := h.outages(); text != "" {
		lines = append(lines, text)
	}
	var ended []string
	for _, t := range h.s.Cells {
		if n := len(t.Absences); t.Ended && (n == 0 || t.Absences[n-1].Run != h.s.Runs[len(h.s.Runs)-1].ID) {
			ended = append(ended, t.Name+" (last in "+h.id(t.Points[len(t.Points)-1].Run)+")")
		}
	}
	if len(ended) > 0 {
		lines = append(lines,
			"Not in the newest run, because the load is another or was left out: "+report.FirstNames(ended)+".")
	}
	after := h.runsAfter()
	switch {
	case len(h.s.Cells) == 0:
	case after != "":
		lines = append(lines,
			fmt.Sprintf("A run counts with its median. When nothing changes, at most one such history in %.0f shows "+
				"a change at one look; %s, and until then the newest run is compared alone.", 1/h.Alpha, after))
	default:
		lines = append(lines, "A run counts with its median. So few runs can't show a change for certain; the newest "+
			"is compared with those before it.")
	}
	return lines
}

// warned counts the runs by the code of their warnings.
func (h historyText) warned() string {
	runs := map[string]map[string]bool{}
	for _, t := range h.s.Cells {
		for _, p := range t.Points {
			for _, code := range p.Warnings {
				if runs[code] == nil {
					runs[code] = map[string]bool{}
				}
				runs[code][p.Run] = true
			}
		}
	}
	var words []string
	for _, code := range slices.Sorted(maps.Keys(runs)) {
		words = append(words, code+" in "+prose.Count(len(runs[code]), "run"))
	}
	return report.FirstNames(words)
}
