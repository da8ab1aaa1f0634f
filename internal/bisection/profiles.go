package bisection

import (
	"slices"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/search"
)

func (p *Progress) space() search.Space {
	return search.Space{Candidates: candidates(p.Run.Experiment)}
}

// armOf a subset that was measured; empty for none.
func (p *Progress) armOf(b search.Subset) string {
	for _, s := range p.Steps {
		if slices.Equal(s.Subset, b) {
			return s.Arm
		}
	}
	return ""
}

// ExpectBy takes what profiles of the two ends say into the priors of a search: true where they say anything. The
// caller keeps the experiment, whose priors are changed.
func (p *Progress) ExpectBy(k *diff.Knowledge, costs []cost.Profile) bool {
	e, space := *p.Run.Experiment, p.space()
	fast, slow := p.armOf(space.None()), p.armOf(space.All())
	if e.Steps || fast == "" || slow == "" {
		return false
	}
	known := Priors(k, &e)
	e.Priors, e.PriorsFrom = PriorsBeside(k, &e, difference.OfArms(costs, fast, slow)), lab.PriorsFromProfiles
	if slices.Equal(e.Priors, known) {
		return false
	}
	p.Run.Experiment = &e
	p.Search.Expect(e.Priors)
	p.Steps[len(p.Steps)-1].Likeliest = p.likeliest(shownSuspects)
	return true
}

// proofProfiles compares states with a culprit and without, of those of the proof that were profiled: with it alone
// first, and last where there is one culprit only the two ends.
func (p *Progress) proofProfiles(culprits []int, c int) difference.Document {
	space := p.space()
	pairs := [][2]search.Subset{{space.None(), space.Only(c)}, {space.Without(c), space.All()},
		{space.None(), space.Only(culprits...)}, {space.Without(culprits...), space.All()}}
	if len(culprits) == 1 {
		pairs = append(pairs, [2]search.Subset{space.None(), space.All()})
	}
	for _, pair := range pairs {
		without, with := p.armOf(pair[0]), p.armOf(pair[1])
		if without == "" || with == "" {
			continue
		}
		if d := difference.OfArms(p.Costs, without, with); len(d.Cells) > 0 {
			return d
		}
	}
	return difference.Document{}
}

// explain what a culprit does by the profiles of states with it and without.
func (p *Progress) explain(culprit *Culprit, culprits []int, c int) {
	k, err := diff.Load()
	if err != nil || len(p.Costs) == 0 {
		return // its own tests say what is wrong with the knowledge
	}
	d := p.proofProfiles(culprits, c)
	culprit.Mechanism = MechanismOf(k, p.Run.Experiment.Factors[c], d)
	culprit.Functions = d.First()
}
