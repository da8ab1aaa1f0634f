package compared

import (
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// probably precedes a verdict that the values suggest but do not prove.
const probably = "probably "

// comparedWord returns the verdict of a row, or what its values suggest if they prove nothing.
func comparedWord(c *compare.ComparedMetric) string {
	if c.Suggests != nil {
		return probably + string(c.Suggests.Verdict)
	}
	return string(c.Verdict)
}

// shownChange returns the change of a row with the interval that is shown: the model's for a probable change. It is nil
// if there is none.
func shownChange(c *compare.ComparedMetric) *compare.Change {
	if c.Suggests == nil {
		return c.Change
	}
	shown := *c.Change
	shown.RatioEstimate = c.Suggests.RatioEstimate
	return &shown
}

// comparedWords returns all verdicts in the order in which they are counted: proved, probable, the rest.
func comparedWords() []string {
	moved := []compare.Verdict{compare.Slower, compare.Worse, compare.Faster, compare.Better}
	var words []string
	for _, v := range moved {
		words = append(words, string(v))
	}
	for _, v := range moved {
		words = append(words, probably+string(v))
	}
	for _, v := range compare.Verdicts() {
		if word := string(v); !strings.Contains(strings.Join(words, " "), word) {
			words = append(words, word)
		}
	}
	return words
}

// whyText explains a row's verdict, or its suggestion.
func whyText(c *compare.ComparedMetric) string {
	s := c.Suggests
	if s == nil {
		return c.Why
	}
	why := fmt.Sprintf("%d v %d %ss are too few to prove it", c.Base.N, c.New.N, c.Change.Per)
	if c.More > 0 {
		why += fmt.Sprintf("; %s more would tell changes above %s", prose.About(c.More), compare.Amount(c.Decides))
	}
	if c.Verdict == compare.Differs {
		why = "two sessions prove nothing of a third"
	}
	return suggestedAmount(s) + "; " + why
}

// suggestedAmount returns the suggested change: "by about 12% [8, 16]", "about 4.8 times [3.1, 7.5]".
func suggestedAmount(s *compare.Suggestion) string {
	ratio, lo, hi := s.Ratio, *s.Lo, *s.Hi
	if ratio < 1 {
		ratio, lo, hi = 1/ratio, 1/hi, 1/lo
	}
	if ratio >= 2 {
		return fmt.Sprintf("about %s times [%s, %s]", report.RatioDigits(ratio), report.RatioDigits(lo),
			report.RatioDigits(hi))
	}
	return fmt.Sprintf("by about %s", strings.TrimLeft(report.SignedPercent(s.Ratio, true), "+-")+"%")
}

// decisionText returns the command that reaches a verdict, and how long it takes; empty if unknown.
func decisionText(n *compare.ComparedRun) (what, command string) {
	if n.Decide == nil {
		return "", ""
	}
	takes := time.Duration(n.Decide.Seconds * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s (about %s)", n.Decide.Why, unit.Duration(takes)), n.Decide.Command
}

// undecidedBySpread reports whether a row suggests nothing because its spread is too large for the change that it
// shows.
func undecidedBySpread(c *compare.ComparedMetric) bool {
	return c.Verdict == compare.Undecided && c.Suggests == nil && c.Smallest > 0
}

// undecidedText describes several rows together: which changes were detectable, and how many more repetitions would
// decide where the fewest suffice; empty for one or two rows, which have a line each.
func undecidedText(rows []*compare.ComparedMetric) string {
	const few = 2
	var least, most, fewest *compare.ComparedMetric
	n := 0
	for _, c := range rows {
		if !undecidedBySpread(c) {
			continue
		}
		n++
		if least == nil || c.Smallest < least.Smallest {
			least = c
		}
		if most == nil || c.Smallest > most.Smallest {
			most = c
		}
		if c.More > 0 && (fewest == nil || c.More < fewest.More) {
			fewest = c
		}
	}
	if n <= few {
		return ""
	}
	text := fmt.Sprintf("undecided in %d: only changes above %s (%s) to %s (%s) were detectable", n,
		compare.Amount(least.Smallest), least.Job, compare.Amount(most.Smallest), most.Job)
	if fewest != nil {
		text += fmt.Sprintf("; with %s more, those of %s above %s", prose.About(fewest.More), fewest.Job,
			compare.Amount(fewest.Decides))
	}
	return text
}
