package runs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outage"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// waitedLonger is how many seconds an operation must have taken longer than the stall to be mentioned.
const waitedLonger = 1.0

// maxEventLoads is how many loads the table lists separately.
const maxEventLoads = 12

// eventTexts describes the effect of each event on each load.
func eventTexts(s *summary.Run) []string {
	if s.Events == nil {
		return nil
	}
	var lines []string
	coarse := 0.0
	for k, load := range s.Events.Loads {
		if k == maxEventLoads {
			lines = append(lines, fmt.Sprintf("%s more had events; --json has all of them.",
				prose.Count(len(s.Events.Loads)-k, "load")))
			break
		}
		for i, f := range load.Findings {
			coarse = max(coarse, f.Resolution)
			u := s.Events.Events[i]
			name := load.Job
			c := cellOf(s, load.Cell)
			if c != nil && severalAtOnce(s.Events.Loads) {
				name += ", " + c.Role
			}
			if c != nil && c.N > 1 {
				name += fmt.Sprintf(", repetition %d", load.Repetition)
			}
			lines = append(lines, fmt.Sprintf("Event: %s (%s, %s into it)", u.Text(), name,
				briefSeconds(u.At))+": "+eventText(load, u, load.Happened[i], f))
		}
	}
	if coarse > 0 {
		lines = append(lines,
			fmt.Sprintf("Times of events are good to %s; a dip clearly exceeds the usual variation of the rate. "+
				"The rates of the table cover the whole load, with the effects of its events.",
				briefSeconds(coarse)))
	}
	return lines
}

// severalAtOnce reports whether loads of several targets, or pairs, had the same events.
func severalAtOnce(loads []summary.EventLoad) bool {
	return slices.ContainsFunc(loads, func(l summary.EventLoad) bool {
		return l.Job == loads[0].Job && l.Repetition == loads[0].Repetition && l.Cell != loads[0].Cell
	})
}

func cellOf(s *summary.Run, id string) *summary.Cell {
	for i := range s.Cells {
		if s.Cells[i].ID == id {
			return &s.Cells[i]
		}
	}
	return nil
}

// briefSeconds formats seconds: "1.2 s".
func briefSeconds(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f s", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " s"
}

// eventText describes an event's effect on a load, in a few sentences.
func eventText(load summary.EventLoad, u lab.Event, h lab.Occurrence, f outage.Finding) string {
	switch {
	case h.Failed != "":
		return "it was not carried out as intended: " + h.Failed + "."
	case f.Unknown != "":
		return "its effect is unknown: " + f.Unknown + "."
	}
	parts := []string{eventPhase(f.Event, "it", load, f)}
	if l := f.Event.Level; l != nil && f.Event.Dip {
		text := "meanwhile the rate settled at " + levelText(*l)
		if u.ExpectedShare > 0 {
			text += fmt.Sprintf(", where %s should be left", unit.Percent(u.ExpectedShare))
		}
		parts = append(parts, text)
	}
	if f.Undo != nil {
		parts = append(parts, eventPhase(*f.Undo, "it was undone", load, f))
	}
	switch {
	case f.Recovery == nil:
		parts = append(parts, "the rate was not back to "+unit.Percent(outage.RecoveredShare)+" of its former level "+
			"when the load ended")
	case *f.Recovery > 0:
		parts = append(parts, "back to "+unit.Percent(outage.RecoveredShare)+" of its former level "+
			briefSeconds(*f.Recovery)+" after the event")
	}
	if load.Retransmits != nil && len(load.Findings) == 1 {
		parts = append(parts, prose.Count(int(math.Round(*load.Retransmits)), "retransmit")+" in the whole test")
	}
	if load.Slowest != nil && *load.Slowest > f.Stall+waitedLonger {
		parts = append(parts, "the slowest I/O of the load took "+briefSeconds(*load.Slowest)+
			", while others continued")
	}
	text := strings.Join(parts, "; ") + "."
	if len(load.Errors) > 0 {
		text += " The load reported errors: " + load.Errors[0] + "."
	}
	return text
}

// eventPhase describes the rate after a moment.
func eventPhase(p outage.Phase, what string, load summary.EventLoad, f outage.Finding) string {
	low := p.From > f.Event.From && f.Event.Dip && f.Event.Back == nil // the later phase, which began with a low rate
	switch {
	case !p.Dip && !low:
		return fmt.Sprintf("after %s no dip beyond the usual variation of the load (lowest %s of %s; before, %s)", what,
			unit.Percent(p.Lowest), unit.Value(load.Unit, f.Before.Center), unit.Percent(f.LowestBefore))
	case p.Fell == nil && p.Stall == 0 && p.Back != nil:
		return fmt.Sprintf("%s after %s the rate was back", briefSeconds(max(*p.Back, f.Resolution)), what)
	case p.Fell == nil && p.Stall == 0:
		return fmt.Sprintf("after %s the rate stayed low", what)
	}
	text := fmt.Sprintf("after %s the rate", what)
	if p.Fell != nil {
		text += fmt.Sprintf(" fell within %s", briefSeconds(max(*p.Fell, f.Resolution)))
	} else {
		text += " fell"
	}
	text += fmt.Sprintf(" to %s of %s", unit.Percent(p.Lowest), unit.Value(load.Unit, f.Before.Center))
	if p.Stall > 0 {
		text += fmt.Sprintf(", and nothing came through for %s", briefSeconds(p.Stall))
	}
	return text
}

func levelText(l outage.Level) string {
	if l.Confidence == 0 {
		return unit.Percent(l.Center)
	}
	return fmt.Sprintf("%s (%s to %s)", unit.Percent(l.Center), unit.Percent(l.Lo), unit.Percent(l.Hi))
}

// eventPlots shows the rates during events, in their fine steps, with marks at the events.
func eventPlots(s *summary.Run, c *summary.Cell, name string) []document.Plot {
	if s.Events == nil {
		return nil
	}
	drawn, metric := summary.Cell{}, ""
	var marks []document.Mark
	for _, load := range s.Events.Loads {
		if load.Cell != c.ID || len(load.Rate.Values) == 0 || drawn.N == summary.MaxSeriesRepetitions {
			continue
		}
		rate := load.Rate
		rate.Metric = "all." + rate.Metric
		metric = rate.Metric
		drawn.Series = append(drawn.Series, summary.Series{Repetition: load.Repetition, Series: rate})
		drawn.N++
		for i, h := range load.Happened {
			if marks = append(marks, document.Mark{At: h.At, Text: s.Events.Events[i].Text()}); h.Undone > 0 {
				marks = append(marks, document.Mark{At: h.Undone, Text: "undone"})
			}
		}
		if drawn.N > 1 { // all had the same events, at about the same times
			marks = marks[:len(marks)/2]
		}
	}
	p, ok := overTime(&drawn, name, metric)
	if !ok {
		return nil
	}
	p.Y.Title = report.MetricTitle(strings.TrimPrefix(metric, "all."), false)
	p.Note, p.Marks = "the rate during the events, "+prose.Count(drawn.N, "repetition"), marks
	return []document.Plot{p.Thinned(PagePoints)}
}
