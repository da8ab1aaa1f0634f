package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// suggestion returns what the values of an undecided number suggest; nil for nothing: no probable change, a change
// within the margin, or one that the disturbances could explain.
func (p *pending) suggestion(change stat.Change) *Suggestion {
	c := &p.cell
	if c.Verdict != Differs && (c.Verdict != Undecided || c.Withheld != "") || len(c.Reasons) > 0 {
		return nil // incomparable numbers suggest nothing, even with --anyway
	}
	by, sessions := p.sample.suggest(shownConfidence)
	ratio := c.New.Center / c.Base.Center
	sameSign := (by.Ratio > 1) == (ratio > 1)
	if !(by.Chance >= stat.ClearChance) || !sameSign || !exceeds(share(max(ratio, 1/ratio)), c.Margin) {
		return nil
	}
	// The model's interval around the ratio that is printed.
	shift := ratio / by.Ratio
	lo, hi := by.Lo*shift, by.Hi*shift
	seen := stat.Change{Ratio: ratio, Lo: min(lo, ratio), Hi: max(hi, ratio), Confidence: shownConfidence}
	if len(p.disturbed) > 0 && undisturbed(seen, c.Better, p.disturbed).Decide(0) == stat.Undecided {
		return nil
	}
	s := &Suggestion{Verdict: c.verdictOf(stat.Above),
		RatioEstimate: stat.Change{Ratio: ratio, Lo: lo, Hi: hi, Confidence: shownConfidence}.Estimate(),
		Chance:        by.Chance, Model: "Student's t of logarithms", Sessions: sessions}
	if ratio < 1 {
		s.Verdict = c.verdictOf(stat.Below)
	}
	return s
}

// suggest applies the model for the unit that counts as one value, and returns how many other sessions are known.
func (s sample) suggest(confidence float64) (by stat.Suggestion, sessions int) {
	switch s.per {
	case perPair:
		return stat.SuggestPairs(logRatios(s.base, s.next), confidence), 0
	case perBoot:
		return stat.SuggestBoots(s.base, s.next, confidence), 0
	}
	var others [][]float64
	if s.sessions {
		others = s.others()
	}
	return stat.Suggest(s.base, s.next, others, confidence), len(others)
}

// maxToRun is the largest number of repetitions for which a command is printed.
const maxToRun = 1000

// decision returns what to measure for numbers without a verdict. It is the suite on either side with as many
// repetitions as the number needs that needs fewest, or enough runs to know how far sessions differ. It returns nil if
// different commands measured the sides.
func decision(base, next Run, list []pending) *Decision {
	known := next.Repetitions > 0 && next.Finished.After(next.Created)
	if base.ID == next.ID || !known || !slices.Equal(base.Command, next.Command) || len(next.Command) < 2 ||
		next.Command[1] != "run" {
		return nil
	}
	each := next.Finished.Sub(next.Created).Seconds() / float64(next.Repetitions)
	sessions := math.MaxInt
	var of *ComparedMetric
	for i := range list {
		c := &list[i].cell
		switch {
		case list[i].sample.per != perRepetition:
		case c.Verdict == Undecided && c.More > 0 && (of == nil || c.More < of.More):
			of = c
		case c.Verdict == Differs || c.Verdict == Agrees:
			sessions = min(sessions, len(list[i].sample.others()))
		}
	}
	switch {
	case sessions < stat.MinSessions:
		n := stat.MinSessions - sessions
		return &Decision{
			Command: fmt.Sprintf("for i in $(seq %d); do %s; done", n, shellCommand(next.Command)),
			Seconds: float64(n*next.Repetitions) * each,
			Why: fmt.Sprintf("%d more runs show how far runs of this load differ, without which there is no verdict",
				n),
		}
	case of != nil && next.Repetitions+of.More <= maxToRun:
		repetitions := next.Repetitions + of.More
		return &Decision{
			Command: shellCommand(withRepetitions(next.Command, repetitions)),
			Seconds: float64(repetitions) * each,
			Why: fmt.Sprintf("%d repetitions on both sides detect changes of %s above %s", repetitions, of.Job,
				Amount(of.Decides)),
		}
	}
	return nil
}

// shellCommand quotes a command for the shell, without the path of the program.
func shellCommand(argv []string) string {
	return lab.ShellQuote(append([]string{"headroom"}, argv[1:]...))
}

// withRepetitions sets another number of repetitions.
func withRepetitions(argv []string, n int) []string {
	var out []string
	for i := 0; i < len(argv); i++ {
		switch {
		case argv[i] == "--repeat" || argv[i] == "-n":
			i++
		case strings.HasPrefix(argv[i], "--repeat="):
		default:
			out = append(out, argv[i])
		}
	}
	return append(out, "--repeat", strconv.Itoa(n))
}
