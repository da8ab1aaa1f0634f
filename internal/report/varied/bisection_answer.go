package varied

import (
	"fmt"
	"math"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/search"
)

// answerText writes the answer of a search in words, with the knowledge before it.
type answerText struct {
	bisection.Document
	names  candidateNames
	metric measuredMetric
}

// maxNamed is how many indistinguishable steps the answer names. The others are among those that can't be measured.
const maxNamed = 3

// answer returns the first sentences of the document.
func (t answerText) answer() []string {
	switch t.Outcome {
	case bisection.NoDifference:
		return []string{"No difference to find: the ends are alike, " + t.metric.change(t.Loss) + "."}
	case bisection.ManySmall:
		if t.Series {
			return []string{"No step stands out: the ends differ by " + t.metric.change(t.Loss) + "."}
		}
		return []string{"Many small effects: the ends differ by " + t.metric.change(t.Loss) +
			", and no setting does a sixth of it."}
	case bisection.Undecided:
		text := "Undecided after " + prose.Count(t.Measurements, "measurement")
		if t.Unprovable {
			return []string{text + ": " + strings.Join(t.names.likeliest(t.Steps[len(t.Steps)-1], maxNamed), "  ") +
				", which can't be proved, since what it takes can't be measured."}
		}
		if t.Wanted > 0 {
			text += fmt.Sprintf(": the ends don't differ clearly; if they differ as much as it seems, about %d "+
				"measurements of each decide in four of five searches", t.Wanted)
		}
		return []string{text + "."}
	}
	if t.Series {
		return t.stepsFound()
	}
	e := t.Explained
	lines := []string{fmt.Sprintf("%s %s %s of the loss (%s, and %d more to prove it).", t.names.culprits(t.Culprits),
		verb(len(t.Culprits), "explains", "explain"), explainedText(e),
		prose.Count(t.Measurements, "measurement"), t.Proofs)}
	lines = append(lines, t.rest()...)
	if len(t.Culprits) > 1 {
		lines = append(lines, t.roles())
	}
	lines = append(lines, t.prices()...)
	if len(t.Opposing) > 0 {
		lines = append(lines, t.opposing())
	}
	return lines
}

// rest returns a sentence about the rest of the loss, if another setting has a part in it or may have one.
func (t answerText) rest() []string {
	switch t.Further {
	case search.Yes:
		return []string{"Something else accounts for " + explainedText(t.Rest) + " of the loss: at least one more " +
			"setting, or many small effects."}
	case search.Open:
		return []string{"Another setting may have a part in it: " + explainedText(t.Rest) +
			" of the loss is not explained."}
	}
	return nil
}

// prices returns a sentence for each culprit whose faster level gives something up.
func (t answerText) prices() []string {
	var lines []string
	for _, c := range t.Culprits {
		if c.GivesUp != "" {
			_, what, _ := strings.Cut(c.Cost, ":")
			lines = append(lines, fmt.Sprintf("The fast state gives up %s (%s):%s.", c.GivesUp,
				t.names.name(c.Factor, c.Faster()), strings.TrimRight(what, ".")))
		}
	}
	return lines
}

// opposing returns a sentence about the settings that work against the loss.
func (t answerText) opposing() string {
	var names []string
	for _, h := range t.Opposing {
		names = append(names, t.names.name(h.Factor, h.Bad)+" ("+probabilityText(h.Confidence)+")")
	}
	n := len(names)
	return fmt.Sprintf("%s %s no part in the loss: with %s the slow state is likely to be %s than without. That was "+
		"not proved.",
		prose.List(names), verb(n, "has", "have"), verb(n, "it", "them"), t.Opposing[0].Direction)
}

// stepsFound returns a sentence about the steps of a series that make a difference, in order.
func (t answerText) stepsFound() []string {
	var parts []string
	for _, c := range t.Culprits {
		switch {
		case len(c.Among) > 0:
			parts = append(parts, oneOf(c)+" changes "+t.metric.title()+" by "+t.metric.change(c.Effect))
		case c.Title != "":
			parts = append(parts, "commit "+titled(c.Bad, c.Title)+" changes "+t.metric.title()+" by "+
				t.metric.change(c.Effect))
		default:
			parts = append(parts, t.names.step(c.Good, c.Bad)+" "+t.metric.title()+" "+t.metric.change(c.Effect))
		}
	}
	return append([]string{prose.Capital(prose.List(parts)) + fmt.Sprintf(" (%s, and %d more to prove it).",
		prose.Count(t.Measurements, "measurement"), t.Proofs)}, t.prices()...)
}

// oneOf describes a culprit that is one of several steps.
func oneOf(c bisection.Culprit) string {
	if len(c.Among) > maxNamed {
		return fmt.Sprintf("one of the %d commits after %s up to %s", len(c.Among), c.Good, c.Bad)
	}
	var names []string
	for _, s := range c.Among {
		names = append(names, titled(s.Level, s.Title))
	}
	last := len(names) - 1
	return "commit " + strings.Join(names[:last], ", ") + " or " + names[last]
}

// roles returns whether each of several culprits is enough for the loss.
func (t answerText) roles() string {
	enough := 0
	for _, c := range t.Culprits {
		if c.Enough {
			enough++
		}
	}
	switch enough {
	case 0:
		if t.Culprits[0].Direction == bisection.Faster {
			return "Taking out any of them makes it slower."
		}
		return "Taking out any of them makes it faster."
	case len(t.Culprits):
		return "Each of them does it alone: only without all of them it is fast."
	}
	return "Some of them do it alone."
}

// ends returns how far the ends are apart, how noisy a measurement is, and how many measurements that takes.
func (t answerText) ends() string {
	text := t.names.differing()
	if t.Loss == nil {
		return text
	}
	text += fmt.Sprintf("; from %s %s, one measurement spreads by %.1f%%", t.names.between(),
		t.metric.change(t.Loss), 100*t.Spread)
	if t.InformationLimit > 0 {
		text += fmt.Sprintf("; %.0f is the least possible on average", math.Ceil(t.InformationLimit))
	}
	return text
}

// before returns the likeliest candidates before the first measurement, and the differences that are not searched.
func (t answerText) before() []string {
	var lines, parts []string
	for _, c := range t.Expected {
		parts = append(parts, t.names.name(c.Factor, c.Bad)+" "+probabilityText(c.Probability))
	}
	if len(parts) > 0 {
		by := "By what is known of such settings"
		if t.ExpectedFrom == lab.PriorsFromProfiles {
			by = "By what is known of such settings, and the profiles of the two ends"
		}
		lines = append(lines, by+", most likely at first: "+strings.Join(parts, ", ")+".")
	}
	if u := t.Excluded; u != nil {
		lines = append(lines, prose.Capital(ExcludedText(*u))+".")
	}
	return lines
}

func verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// explainedText prints a share of the loss with its interval: "97% [91, 103]".
func explainedText(s *bisection.Share) string {
	return fmt.Sprintf("%.0f%% [%.0f, %.0f]", 100*s.Share, 100*s.Lo, 100*s.Hi)
}

// ExcludedText lists the differences that a search leaves out.
func ExcludedText(u lab.Excluded) string {
	text := "not searched, since no setting here controls " + verb(u.Count, "it", "them") + ": " +
		prose.Count(u.Count, "other difference")
	if len(u.First) > 0 {
		text += ", the likeliest to matter first: " + strings.Join(u.First, ", ")
	}
	return text
}
