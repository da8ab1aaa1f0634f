package varied

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// proofText writes the proof of an answer in words, with what could not be measured.
type proofText struct {
	bisection.Document
	names  candidateNames
	metric measuredMetric
}

// left returns how the answer was proved, and the candidates that are not cleared.
func (t proofText) left() []string {
	return append(t.proved(), t.notCleared()...)
}

func (t proofText) proved() []string {
	if t.Outcome != bisection.Found {
		return t.notMeasured()
	}
	if t.Series {
		var lines []string
		for _, c := range t.Culprits {
			lines = append(lines, evidenceText(c.Evidence, 1)...)
		}
		return append(lines, t.notMeasured()...)
	}
	lines := append([]string{t.proof()}, t.shares()...)
	lines = append(lines, evidenceText(t.Evidence, len(t.Culprits))...)
	lines = append(lines, t.mechanisms()...)
	lines = append(lines, t.together()...)
	return append(lines, t.notMeasured()...)
}

// mechanisms returns what profiles show about each culprit: how it does harm, or a reason to doubt.
func (t proofText) mechanisms() []string {
	var lines []string
	for _, c := range t.Culprits {
		name := t.names.name(c.Factor, c.Bad)
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

// together names the settings that change whenever a culprit does, so that any of them may be the real one.
func (t proofText) together() []string {
	var lines []string
	for _, c := range t.Culprits {
		if n := len(c.With); n > 0 {
			names := slices.Clone(c.With[:min(n, maxNamed)])
			if n > maxNamed {
				names = append(names, prose.Count(n-maxNamed, "other"))
			}
			lines = append(lines, t.names.name(c.Factor, c.Bad)+" can't be switched without "+prose.List(names)+
				": any of these may be what costs.")
		}
	}
	return lines
}

// proof returns the proof of culprits among settings. One of its two sides may not be measurable.
func (t proofText) proof() string {
	it := verb(len(t.Culprits), "it", "them")
	var parts []string
	if t.Reverted != nil {
		parts = append(parts, "from slow without "+it+" to slow "+t.metric.change(t.Reverted))
	} else {
		parts = append(parts, "slow without "+it+" can't be measured")
	}
	if t.Applied != nil {
		parts = append(parts, "from fast to fast with "+it+" "+t.metric.change(t.Applied))
	} else {
		parts = append(parts, "fast with "+it+" can't be measured")
	}
	return "Proof: " + strings.Join(parts, "; ") + "."
}

// shares returns the effect of each of several culprits alone.
func (t proofText) shares() []string {
	var lines []string
	for _, c := range t.Culprits {
		if len(t.Culprits) == 1 {
			break
		}
		name := t.names.name(c.Factor, c.Bad)
		switch {
		case c.Effect != nil:
			lines = append(lines, "From mixtures without "+name+" to mixtures with it "+t.metric.change(c.Effect)+".")
		case c.Needed && c.Reverted != nil:
			lines = append(lines, "From slow without "+name+" alone to slow "+t.metric.change(c.Reverted)+".")
		case c.Enough && c.Applied != nil:
			lines = append(lines, "From fast to fast with "+name+" alone "+t.metric.change(c.Applied)+".")
		}
	}
	return lines
}

// notMeasured returns the states that can't be measured, and what that leaves open.
func (t proofText) notMeasured() []string {
	var lines []string
	for _, c := range t.Culprits {
		if len(c.Among) > 0 {
			lines = append(lines,
				fmt.Sprintf("The %d can't be distinguished, since none between %s and %s can be measured.", len(c.Among),
					c.Good, c.Bad))
		}
	}
	if n := len(t.Unmeasurable); n > 0 {
		what := prose.Count(n, "mixture")
		if t.Series {
			what = fmt.Sprintf("%d of %s", n, t.names.states(len(t.Candidates)+1))
		}
		lines = append(lines, what+" can't be measured, and "+verb(n, "was", "were")+" left out:")
	}
	for _, s := range t.Unmeasurable {
		name := titled(s.Level, s.Title)
		if !t.Series {
			name = t.names.mixture(s.Applied)
		}
		lines = append(lines, name+": "+s.Reason)
	}
	return lines
}

// notCleared returns the candidates that may not have been in effect, about which the measurements show nothing.
func (t proofText) notCleared() []string {
	var names []string
	why := map[string]bool{}
	for _, c := range t.Candidates {
		if c.NotVerified == "" {
			continue
		}
		name := t.names.name(c.Factor, c.Bad)
		if c.Bad == "absent" {
			name = t.names.name(c.Factor, c.Good)
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

// toldBy reports whether the sentence about a mechanism names all of some functions.
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
