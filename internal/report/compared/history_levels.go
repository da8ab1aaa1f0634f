package compared

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat/changepoint"
)

// slopes returns a sentence for the levels that get worse evenly, and one each for those that get better or hardly
// change.
func (h historyText) slopes() []string {
	var lines []string
	for _, verdict := range []string{"worse", "better", "same"} {
		t, more, ok := h.largestOf(func(t history.Track) float64 {
			if t.Slope == nil || t.Slope.Verdict != verdict {
				return math.NaN()
			}
			return t.Slope.Ratio
		})
		if !ok {
			continue
		}
		word := "Rises"
		if t.Slope.Ratio < 1 {
			word = "Falls"
		}
		lines = append(lines, fmt.Sprintf("%s evenly: %s %s over %s, %s%s.", word, t.Name,
			StepText(t.Slope.RatioEstimate), prose.Count(len(t.Points), "run"), verdict, more))
	}
	return lines
}

// patterns returns a sentence for the levels that repeat, and one for those that switch between two.
func (h historyText) patterns() []string {
	var lines []string
	t, more, ok := h.largestOf(func(t history.Track) float64 {
		if t.Rhythm == nil {
			return math.NaN()
		}
		return t.Rhythm.Ratio
	})
	if ok {
		lines = append(lines, fmt.Sprintf("Repeats every %d runs: %s, %s in the lowest of them%s.",
			t.Rhythm.Period, t.Name, report.ChangeText(t.Rhythm.Ratio), more))
	}
	t, more, ok = h.largestOf(func(t history.Track) float64 {
		if t.Modes == nil {
			return math.NaN()
		}
		return t.Modes.Ratio
	})
	if ok {
		lines = append(lines, fmt.Sprintf("Switches between two levels %s: %s, %s in %d of %s%s.",
			prose.Count(t.Modes.Switches, "time"), t.Name, StepText(t.Modes.RatioEstimate), len(t.Points)-t.Modes.Upper,
			prose.Count(len(t.Points), "run"), more))
	}
	return lines
}

// largestOf returns the track with the largest ratio, and words for how many more have one. It returns false if none
// has: their ratios are NaN.
func (h historyText) largestOf(ratio func(history.Track) float64) (largest history.Track, more string, ok bool) {
	n, most := 0, 0.
	for _, t := range h.s.Cells {
		size := math.Abs(math.Log(ratio(t)))
		if math.IsNaN(size) {
			continue
		}
		if n++; n == 1 || size > most {
			largest, most = t, size
		}
	}
	if n > 1 {
		more = fmt.Sprintf(", and %d more of %s", n-1, prose.Count(len(h.s.Cells), "figure"))
	}
	return largest, more, n > 0
}

// runsAfter describes how many runs must follow a change before it can be found; empty if no number would suffice yet.
func (h historyText) runsAfter() string {
	far := fmt.Sprintf("%.2g times the noise", h.s.FarAfter)
	switch {
	case h.s.FewestAfter == 0 && h.s.FarAfter == 0:
		return ""
	case h.s.FewestAfter == 0:
		return fmt.Sprintf("a change of %s is found in four of five of them with %d runs after it, others are not yet",
			far, changepoint.MinBesides)
	}
	text := fmt.Sprintf("a change must have %s after it to be found", prose.Count(h.s.FewestAfter, "run"))
	if h.s.FarAfter > 0 {
		text += fmt.Sprintf(" (%d find one of %s in four of five of them)", changepoint.MinBesides, far)
	}
	return text
}
