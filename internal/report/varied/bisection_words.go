package varied

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/search"
)

// answer is the first thing that a reader sees.
func (t bisectionText) answer() []string {
	switch t.Outcome {
	case bisection.NoDifference:
		return []string{"No difference to find: the ends are alike, " + t.loss() + "."}
	case bisection.ManySmall:
		if t.Series {
			return []string{"No step stands out: the ends differ by " + t.loss() + "."}
		}
		return []string{"Many small effects: the ends differ by " + t.loss() + ", and no setting does a sixth of it."}
	case bisection.Undecided:
		text := "Undecided after " + prose.Count(t.Measurements, "measurement")
		if t.Unprovable {
			return []string{text + ": " + strings.Join(t.likeliest(t.Steps[len(t.Steps)-1], maxNamed), "  ") +
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
	lines := []string{fmt.Sprintf("%s %s %s of the loss (%s, and %d more to prove it).", t.culprits(),
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
func (t bisectionText) rest() []string {
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
func (t bisectionText) prices() []string {
	var lines []string
	for _, c := range t.Culprits {
		if c.GivesUp != "" {
			_, what, _ := strings.Cut(c.Cost, ":")
			lines = append(lines, fmt.Sprintf("The fast state gives up %s (%s):%s.", c.GivesUp,
				t.name(c.Factor, c.Faster()), strings.TrimRight(what, ".")))
		}
	}
	return lines
}

// opposing are settings that work against the loss.
func (t bisectionText) opposing() string {
	var names []string
	for _, h := range t.Opposing {
		names = append(names, t.name(h.Factor, h.Bad)+" ("+probabilityText(h.Confidence)+")")
	}
	n := len(names)
	return fmt.Sprintf("%s %s no part in the loss: with %s the slow state is likely to be %s than without. That was "+
		"not proved.",
		prose.List(names), verb(n, "has", "have"), verb(n, "it", "them"), t.Opposing[0].Direction)
}

// stepsFound are the steps of a series that make a difference, in order.
func (t bisectionText) stepsFound() []string {
	var parts []string
	for _, c := range t.Culprits {
		switch {
		case len(c.Among) > 0:
			parts = append(parts, t.oneOf(c)+" changes "+t.valueTitle()+" by "+t.change(c.Effect))
		case c.Title != "":
			parts = append(parts, "commit "+titled(c.Bad, c.Title)+" changes "+t.valueTitle()+" by "+t.change(c.Effect))
		default:
			parts = append(parts, t.step(c.Good, c.Bad)+" "+t.valueTitle()+" "+t.change(c.Effect))
		}
	}
	return append([]string{prose.Capital(prose.List(parts)) + fmt.Sprintf(" (%s, and %d more to prove it).",
		prose.Count(t.Measurements, "measurement"), t.Proofs)}, t.prices()...)
}

// notMeasured are the states that can't be measured, and what that leaves open.
func (t bisectionText) notMeasured() []string {
	var lines []string
	for _, c := range t.Culprits {
		if len(c.Among) > 0 {
			lines = append(lines,
				fmt.Sprintf("Nothing tells the %d apart, since none between %s and %s can be measured.", len(c.Among),
					c.Good, c.Bad))
		}
	}
	if n := len(t.Unmeasurable); n > 0 {
		what := prose.Count(n, "mixture")
		if t.Series {
			what = fmt.Sprintf("%d of %s", n, t.states(len(t.Candidates)+1))
		}
		lines = append(lines, what+" can't be measured, and "+verb(n, "was", "were")+" left out:")
	}
	for _, s := range t.Unmeasurable {
		name := titled(s.Level, s.Title)
		if !t.Series {
			name = t.mixture(s.Applied)
		}
		lines = append(lines, name+": "+s.Reason)
	}
	return lines
}

func verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// roles of several culprits.
func (t bisectionText) roles() string {
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

// explainedText is a share of the loss with its interval: "97% [91, 103]".
func explainedText(s *bisection.Share) string {
	return fmt.Sprintf("%.0f%% [%.0f, %.0f]", 100*s.Share, 100*s.Lo, 100*s.Hi)
}

// loss between the ends, as a change in percent.
func (t bisectionText) loss() string {
	if t.Loss == nil {
		return document.Absent
	}
	return t.change(t.Loss)
}

// change of the metric: where less of it is better, a loss is a plus.
func (t bisectionText) change(r *bisection.Ratio) string {
	r = t.towards(r)
	return fmt.Sprintf("%s%% [%s, %s]", report.SignedPercent(r.Ratio, false), report.SignedPercent(r.Lo, true),
		report.SignedPercent(r.Hi, true))
}

// towards is a ratio of the metric itself: of rates as it is.
func (t bisectionText) towards(r *bisection.Ratio) *bisection.Ratio {
	if t.Better == lab.Lower {
		return &bisection.Ratio{Ratio: 1 / r.Ratio, Lo: 1 / r.Hi, Hi: 1 / r.Lo}
	}
	return r
}

// differing is how many candidates there are.
func (t bisectionText) differing() string {
	if t.Series {
		return prose.Count(len(t.Candidates), "step")
	}
	return prose.Count(len(t.Candidates), "differing setting")
}

// ends says how far they are apart, how noisy a measurement is, and what that takes.
func (t bisectionText) ends() string {
	text := t.differing()
	if t.Loss == nil {
		return text
	}
	text += fmt.Sprintf("; from %s %s, one measurement spreads by %.1f%%", t.between(), t.loss(), 100*t.Spread)
	if t.InformationLimit > 0 {
		text += fmt.Sprintf("; %.0f is the least possible on average", math.Ceil(t.InformationLimit))
	}
	return text
}

// before says what was thought of the candidates before anything was measured, and what else differs.
func (t bisectionText) before() []string {
	var lines, parts []string
	for _, c := range t.Expected {
		parts = append(parts, t.name(c.Factor, c.Bad)+" "+probabilityText(c.Probability))
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

// ExcludedText says what a search leaves out.
func ExcludedText(u lab.Excluded) string {
	text := "not searched, since nothing stands for it that could be set here: " +
		prose.Count(u.Count, "other difference")
	if len(u.First) > 0 {
		text += ", the likeliest to matter first: " + strings.Join(u.First, ", ")
	}
	return text
}

// notCleared are the candidates that may not have been in effect, so that what was measured says nothing of them.
func (t bisectionText) notCleared() []string {
	var names []string
	why := map[string]bool{}
	for _, c := range t.Candidates {
		if c.NotVerified == "" {
			continue
		}
		name := t.name(c.Factor, c.Bad)
		if c.Bad == "absent" {
			name = t.name(c.Factor, c.Good)
		}
		if !why[name] {
			why[name] = true
			names = append(names, name+" ("+c.NotVerified+")")
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"Not verified, and so not cleared: nothing shows whether " + prose.List(names) + " " +
		verb(len(names), "was", "were") + " in effect."}
}

// left is how the answer was proved, and what it costs.
func (t bisectionText) left() []string {
	return append(t.proved(), t.notCleared()...)
}

func (t bisectionText) proved() []string {
	if t.Outcome != bisection.Found {
		return t.notMeasured()
	}
	if t.Series {
		var lines []string
		for _, c := range t.Culprits {
			lines = append(lines, t.evidence(c.Evidence, 1)...)
		}
		return append(lines, t.notMeasured()...)
	}
	lines := append([]string{t.proof()}, t.shares()...)
	lines = append(lines, t.evidence(t.Evidence, len(t.Culprits))...)
	lines = append(lines, t.mechanisms()...)
	lines = append(lines, t.together()...)
	return append(lines, t.notMeasured()...)
}

// mechanisms are what profiles say of each culprit: a proof of how it does harm, or a reason to doubt.
func (t bisectionText) mechanisms() []string {
	var lines []string
	for _, c := range t.Culprits {
		name := t.name(c.Factor, c.Bad)
		if text := report.MechanismText(c.Mechanism, "without", "with"); text != "" {
			if c.Mechanism.Little || c.Mechanism.Evidence != diff.Moved && c.Mechanism.Evidence != diff.SlowsAll {
				text = "caution: " + text + "; look for what else changed with it"
			}
			lines = append(lines, name+": "+text+".")
		}
		if !toldBy(c.Mechanism, c.Functions) {
			lines = append(lines, report.FunctionsText("With "+name, c.Functions)...)
		}
	}
	return lines
}

// toldBy says whether the sentence about a mechanism names all of some functions.
func toldBy(m *diff.Mechanism, list []difference.CellFunctions) bool {
	for _, c := range list {
		if c.Account.Clear() {
			return false
		}
		for _, f := range c.Functions {
			if m == nil || !slices.ContainsFunc(m.Functions, func(told diff.FunctionCalls) bool {
				return told.Function == f.Name && told.Cell == c.Cell
			}) {
				return false
			}
		}
	}
	return true
}

// together are what can't be switched without a culprit, so that any of it may be what costs.
func (t bisectionText) together() []string {
	var lines []string
	for _, c := range t.Culprits {
		if n := len(c.With); n > 0 {
			names := slices.Clone(c.With[:min(n, maxNamed)])
			if n > maxNamed {
				names = append(names, prose.Count(n-maxNamed, "other"))
			}
			lines = append(lines, t.name(c.Factor, c.Bad)+" can't be switched without "+prose.List(names)+": any of "+
				"these may be what costs.")
		}
	}
	return lines
}

// proof of culprits among settings. One of its two sides may not be measurable.
func (t bisectionText) proof() string {
	it := verb(len(t.Culprits), "it", "them")
	var parts []string
	if t.Reverted != nil {
		parts = append(parts, "from slow without "+it+" to slow "+t.change(t.Reverted))
	} else {
		parts = append(parts, "slow without "+it+" can't be measured")
	}
	if t.Applied != nil {
		parts = append(parts, "from fast to fast with "+it+" "+t.change(t.Applied))
	} else {
		parts = append(parts, "fast with "+it+" can't be measured")
	}
	return "Proof: " + strings.Join(parts, "; ") + "."
}

// shares are what was measured of each of several culprits by itself.
func (t bisectionText) shares() []string {
	var lines []string
	for _, c := range t.Culprits {
		if len(t.Culprits) == 1 {
			break
		}
		name := t.name(c.Factor, c.Bad)
		switch {
		case c.Effect != nil:
			lines = append(lines, "From mixtures without "+name+" to mixtures with it "+t.change(c.Effect)+".")
		case c.Needed && c.Reverted != nil:
			lines = append(lines, "From slow without "+name+" alone to slow "+t.change(c.Reverted)+".")
		case c.Enough && c.Applied != nil:
			lines = append(lines, "From fast to fast with "+name+" alone "+t.change(c.Applied)+".")
		}
	}
	return lines
}

func (t bisectionText) reading() string {
	return "Intervals hold with 95%. A percentage next to a setting is the probability that it is a culprit, after " +
		"all measurements up to there; an answer that is likely is proved by measurements of its own."
}
