package bisection

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/search"
)

// State of a series, or a mixture of settings.
type State struct {
	// Level of the factor, and its Title: the hash of a commit and its subject. Absent of a mixture.
	Level string `json:"level,omitempty"`
	Title string `json:"title,omitempty"`
	// Applied are the numbers, from 1, of the candidates that are as in the slow state in a mixture.
	Applied []int `json:"applied,omitempty"`
	// Reason why it can't be measured; empty where it was, or was not tried.
	Reason string `json:"reason,omitempty"`
}

// Skip the arm that was asked for last: the run says why it can't be measured.
func (p *Progress) Skip(run lab.Run) error {
	p.Run = run
	return p.skip(run.Experiment.SearchSteps[len(run.Experiment.SearchSteps)-1])
}

func (p *Progress) skip(asked lab.SearchStep) error {
	subset, err := SubsetOf(p.Run, asked.Arm)
	if err != nil {
		return err
	}
	if err := p.Search.Skip(subset); err != nil {
		return &lab.Error{What: "arm " + asked.Arm + " of run " + p.Run.ID + " can't be left out", Err: err}
	}
	if p.Run.Experiment.Steps {
		p.failed[subset.Count()] = asked.Failed
	} else {
		p.broken = append(p.broken, State{Applied: applied(subset), Reason: asked.Failed})
	}
	return nil
}

// applied are the numbers, from 1, of the candidates of a bundle.
func applied(b search.Subset) []int {
	list := []int{}
	for i, is := range b {
		if is {
			list = append(list, i+1)
		}
	}
	return list
}

// End says that an arm is one of the two ends.
func End(run lab.Run, arm string) bool {
	b, err := SubsetOf(run, arm)
	return err == nil && (b.Count() == 0 || b.Count() == len(b))
}

// state of a series after so many steps.
func (p *Progress) state(steps int) State {
	f := p.Run.Experiment.Factors[0]
	s := State{Level: f.Levels[steps], Reason: p.failed[steps]}
	if steps < len(f.Titles) {
		s.Title = f.Titles[steps]
	}
	return s
}

// unmeasurable are the states that can't be measured: in the order of the series, or in the order in which the search
// met them.
func (p *Progress) unmeasurable() []State {
	list := slices.Clone(p.broken)
	for _, steps := range slices.Sorted(maps.Keys(p.failed)) {
		list = append(list, p.state(steps))
	}
	return list
}

// among are the states to which a step leads that is several at once; nil for a single one.
func (p *Progress) among(first, last int) []State {
	if first == last {
		return nil
	}
	var list []State
	for step := first; step <= last; step++ {
		list = append(list, p.state(step+1))
	}
	return list
}

// suspect is a candidate as it looked after a measurement, which may be several steps at once.
func (p *Progress) suspect(s Suspect) Candidate {
	c := p.candidate(s.Candidate, s.Probability)
	if s.Last > s.Candidate {
		c.Bad, c.Title = p.Run.Experiment.Factors[0].Levels[s.Last+1], ""
	}
	return c
}
