package bisection

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/search"
)

// ignorance is the share of the prior probability that all candidates have alike, whatever is known of them: what
// knowledge has wrong costs the measurements that choosing among five takes, and no answer.
const ignorance = 0.2

// Priors of the factors between whose two levels a search looks, a fast one and a slow one: how likely each is the
// culprit before anything was measured, in proportion to what facts diff expects it to cost. One that would make the
// fast side slow, as far as is known, is as unlikely as one that nothing is known of; these share the rest. Nil where
// nothing is known of any, and for a series, whose steps it can't tell apart. They belong into the experiment, so that
// a resumed run and one that is looked at years later have the same, whatever is known by then.
func Priors(k *diff.Knowledge, e *lab.Experiment) []float64 {
	if e.Steps {
		return nil
	}
	weights := make([]float64, len(e.Factors))
	for i, f := range e.Factors {
		for _, d := range k.Compare(side(f.Factor, f.Levels[0]), side(f.Factor, f.Levels[1])).Differences {
			weights[i] = max(weights[i], weightOf(d))
		}
	}
	if !slices.ContainsFunc(weights, func(w float64) bool { return w > 0 }) {
		return nil
	}
	return search.Mix(weights, ignorance)
}

// PriorsBeside are the priors of a search whose fast state and slow one were profiled, in this order: a setting whose
// functions ran in the slow state only is likelier than it was, and one whose functions ran alike, or none of them at
// all, less likely. Ignorance is mixed in again, as what is known of functions can be wrong, too.
func PriorsBeside(k *diff.Knowledge, e *lab.Experiment, profiles difference.Document) []float64 {
	priors := Priors(k, e)
	if e.Steps {
		return nil
	}
	factors, said := make([]float64, len(e.Factors)), false
	for i, f := range e.Factors {
		factors[i] = 1
		if m := MechanismOf(k, f, profiles); m != nil {
			factors[i], said = m.Factor, true
		}
	}
	if !said {
		return priors
	}
	if priors == nil {
		priors = search.Mix(factors, 1)
	}
	for i := range priors {
		priors[i] *= factors[i]
	}
	return search.Mix(priors, ignorance)
}

// MechanismOf a factor between its two levels is what profiles of the fast state and the slow one say of it: of several
// differences that it makes, of the one that weighs most. Nil where they say nothing.
func MechanismOf(k *diff.Knowledge, f lab.VariedFactor, profiles difference.Document) *diff.Mechanism {
	for _, d := range k.Compare(side(f.Factor, f.Levels[0]), side(f.Factor, f.Levels[1])).Differences {
		if m := k.Mechanism(profiles, d); m != nil {
			return m
		}
	}
	return nil
}

// weightOf a difference between a fast side, a, and a slow one, b.
func weightOf(d diff.Difference) float64 {
	if d.Weight <= diff.Unknown || d.Slower == "a" {
		return 0
	}
	return d.Weight
}

// side is a machine of which nothing is known but one setting, as a fact; without facts where there is none for this
// setting.
func side(name, level string) diff.Side {
	if argument, ok := strings.CutPrefix(name, "cmdline:"); ok {
		return diff.Side{Facts: []lab.Fact{{Key: "kernel.cmdline", Value: commandLine(argument, level)}}}
	}
	if option, ok := strings.CutPrefix(name, "option:"); ok {
		return diff.Side{Facts: []lab.Fact{{Key: "kernel.config." + option, Value: level}}}
	}
	key, ok := factor.FactOf(name)
	if !ok {
		return diff.Side{}
	}
	fact := lab.Fact{Key: key, Value: level}
	if strings.HasPrefix(key, "disk.") {
		fact.About = "disk"
	}
	return diff.Side{Facts: []lab.Fact{fact}}
}

// commandLine is one with nothing but an argument at this level, as facts hold it.
func commandLine(argument, level string) string {
	switch level {
	case spot.Absent:
		return "none"
	case "":
		return argument
	}
	return argument + "=" + level
}

// Expected are the candidates that were thought likely before anything was measured, the likeliest first; none where
// all were thought of alike.
func (p *Progress) Expected() []Suspect {
	priors := p.Run.Experiment.Priors
	var all []Suspect
	for c, prior := range priors {
		if prior > 1/float64(len(priors)) {
			all = append(all, Suspect{Candidate: c, Probability: prior, Last: c})
		}
	}
	slices.SortStableFunc(all, func(a, b Suspect) int { return cmp.Compare(b.Probability, a.Probability) })
	return all[:min(maxExpected, len(all))]
}

// maxExpected are as many as a sentence holds.
const maxExpected = 3
