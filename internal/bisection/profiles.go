package bisection

import (
	"slices"
	"strings"

	"headroom/internal/diff"
	"headroom/internal/lab"
	"headroom/internal/profile/cost"
	"headroom/internal/profile/difference"
	"headroom/internal/search"
)

// Profiles of two runs side by side: those of each cell that both have.
func Profiles(a, b []cost.Profile) difference.Document {
	d := difference.Document{Schema: difference.Schema}
	for _, one := range a {
		for _, other := range b {
			if other.Cell == one.Cell && other.Role == one.Role {
				d.Cells = append(d.Cells, difference.Cell{Cell: one.Cell, A: one, B: other})
			}
		}
	}
	return d
}

// ProfilesOfArms are the same of two arms of a run.
func ProfilesOfArms(costs []cost.Profile, a, b string) difference.Document {
	return Profiles(ofArm(costs, a), ofArm(costs, b))
}

// ofArm are the profiles of an arm, by the names of its cells alone.
func ofArm(costs []cost.Profile, arm string) []cost.Profile {
	var own []cost.Profile
	for _, c := range costs {
		if cell, in := strings.CutSuffix(c.Cell, lab.CellIn("", arm)); in {
			c.Cell = cell
			own = append(own, c)
		}
	}
	return own
}

// endProfiles are the profiles of the fast state and the slow one, side by side: of cells in which both have counts of
// calls.
func (p *Progress) endProfiles(costs []cost.Profile) difference.Document {
	none, all := p.armOf(p.space().None()), p.armOf(p.space().All())
	d := ProfilesOfArms(costs, none, all)
	d.Cells = slices.DeleteFunc(d.Cells, func(c difference.Cell) bool {
		return c.A.CallLoads == 0 || c.B.CallLoads == 0
	})
	return d
}

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

// ExpectBy takes what profiles of the two ends say into the priors of a search, once: true where they say anything.
// The caller keeps the experiment's priors, which are changed.
func (p *Progress) ExpectBy(k *diff.Knowledge, costs []cost.Profile) bool {
	e := *p.Run.Experiment
	profiles := p.endProfiles(costs)
	if e.Steps || len(profiles.Cells) == 0 {
		return false
	}
	e.Priors, e.PriorsFrom = PriorsBeside(k, &e, profiles), lab.PriorsFromProfiles
	p.Run.Experiment = &e
	p.Search.Expect(e.Priors)
	return true
}

// mechanismOf a culprit is what profiles of states with it and without say: of those of the proof and, where those were
// not profiled and there is one culprit only, of the two ends.
func (p *Progress) mechanismOf(culprits []int, c int) *diff.Mechanism {
	k, err := diff.Load()
	if err != nil || len(p.Costs) == 0 {
		return nil // its own tests say what is wrong with it
	}
	space := p.space()
	var d difference.Document
	for _, pair := range [][2]search.Subset{{space.None(), space.Only(c)}, {space.Without(c), space.All()},
		{space.None(), space.Only(culprits...)}, {space.Without(culprits...), space.All()}} {
		without, with := p.armOf(pair[0]), p.armOf(pair[1])
		if without != "" && with != "" {
			d.Cells = append(d.Cells, ProfilesOfArms(p.Costs, without, with).Cells...)
		}
	}
	if len(d.Cells) == 0 && len(culprits) == 1 {
		d = p.endProfiles(p.Costs)
	}
	return MechanismOf(k, p.Run.Experiment.Factors[c], d)
}
