package runs

import (
	"fmt"
	"math"
	"strconv"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// readingOfSpread explains the middle value, and the meaning and confidence of ±.
func readingOfSpread(s *summary.Run) []string {
	least, most := summary.RepetitionRange(s)
	if most == 0 {
		return nil
	}
	if most == 1 {
		line := "Each job was measured once, so the spread is not known"
		switch {
		case s.Anytime:
			line += fmt.Sprintf("; it takes %d repetitions, which is a larger --budget", plan.MinForQuantile)
		case s.Source == lab.Measured:
			line += "; --repeat 6 or more gives one that is 95% sure"
		}
		return []string{line + "."}
	}
	var lines []string
	of := strconv.Itoa(most)
	if least != most {
		of = fmt.Sprintf("%d to %d", least, most)
	}
	line := "Each number is the median of " + of + " repetitions; ± covers the true median" + confidenceSentence(s)
	if s.Anytime && most < plan.MinForQuantile {
		line = fmt.Sprintf("Each number is the median of %s repetitions; an interval (±) takes %d", of,
			plan.MinForQuantile)
	} else if s.Anytime && least < plan.MinForQuantile {
		line += fmt.Sprintf("; it takes %d repetitions", plan.MinForQuantile)
	} else if least < 2 {
		line += "; a number without ± was measured once"
	}
	lines = append(lines, line+".")
	if text := dependenceText(s, most); text != "" {
		lines = append(lines, text)
	}
	return append(lines, percentileTexts(s)...)
}

// percentileTexts returns sentences about percentiles: which operations they cover, what their ± means, and which have
// none because one repetition determines them. For each load it names the lowest.
func percentileTexts(s *summary.Run) (lines []string) {
	measured, fewest := false, math.MaxInt
	for _, c := range s.Cells {
		if measured = measured || len(c.Latency) > 0; len(c.Latency) > 0 && c.N > 1 {
			fewest = min(fewest, c.N)
		}
	}
	if !measured {
		return nil
	}
	text := "p50, p99 and p99.9 cover the operations of all repetitions together"
	if fewest < math.MaxInt {
		text += fmt.Sprintf("; their ± covers repetitions like these: %d may lack stalls that up to %s of all runs have",
			fewest, unit.Percent(stat.MostUnseen(fewest)))
	}
	lines = []string{text + "."}
	for _, r := range rows(s) {
		for _, p := range []struct {
			name string
			m    *summary.Metric
		}{{"p50", r.p50}, {"p99", r.p99}, {"p99.9", r.p999}} {
			if p.m == nil || p.m.RestsOn() == nil {
				continue
			}
			one, most := p.m.RestsOn(), 0.0
			for _, v := range p.m.Values {
				if v.Repetition != one.Repetition {
					most = max(most, v.Value)
				}
			}
			lines = append(lines, fmt.Sprintf("%s of %s rests on repetition %d alone (%s by itself, at most %s in others), "+
				"and has no ±: how often such a repetition comes is not known.", p.name, r.whole(), one.Repetition,
				unit.Latency(one.Value), unit.Latency(most)))
			break
		}
	}
	return lines
}

// notablyWider is the factor by which correlation must widen an interval before it is mentioned.
const notablyWider = 1.5

// dependenceText describes the intervals' assumption about neighbouring repetitions.
func dependenceText(s *summary.Run, most int) string {
	if most < stat.MinForDependence {
		if s.Anytime {
			return ""
		}
		return "± takes repetitions as independent, which fewer than " + strconv.Itoa(stat.MinForDependence) +
			" can't show."
	}
	widest := 0.0
	for _, c := range s.Cells {
		for _, name := range c.Deciding() {
			if i := c.Metrics[name].Interval; i != nil {
				widest = max(widest, i.Widened)
			}
		}
	}
	if widest < notablyWider {
		return ""
	}
	return fmt.Sprintf("Neighbouring repetitions are alike, so ± is up to %.2g times wider. It does not cover levels "+
		"that last for a whole run.", widest)
}

// confidenceSentence returns the confidence of the intervals. Below 95% it adds what would suffice: six is the fewest
// values of which [min, max] covers the median with 95%.
func confidenceSentence(s *summary.Run) string {
	least, most := 1.0, 0.0
	for _, c := range s.Cells {
		for _, m := range c.Metrics {
			if m.Interval != nil {
				least, most = min(least, m.Confidence), max(most, m.Confidence)
			}
		}
	}
	switch {
	case most == 0:
		return ""
	case s.Anytime:
		return ", 95% sure, however often one looked"
	case least >= summary.Confidence:
		return ", 95% sure"
	case least == most:
		return ", " + confidenceText(least) + " sure (6 repetitions would be 95%)"
	default:
		return ", " + confidenceText(least) + " sure where there are fewest (6 repetitions would be 95%)"
	}
}
