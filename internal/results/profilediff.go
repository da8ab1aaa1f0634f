package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// ProfileAlpha is the default bound of the probability of a wrong statement about two profiles.
const ProfileAlpha = 0.05

// ProfileDiffOptions are the options of a comparison of two profiles.
type ProfileDiffOptions struct {
	ProfileOptions
	Alpha float64
}

// CompareProfiles prints how the profiles of two runs, or of two arms, differ.
func CompareProfiles(p *app.App, refs []string, o ProfileDiffOptions) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err
	}
	if !unit.IsShare(o.Alpha) {
		return app.Usage(fmt.Sprintf("--alpha %g is no probability between 0 and 1", o.Alpha),
			"for example --alpha 0.01")
	}
	s, err := p.OpenStore()
	if err != nil {
		return err
	}
	r, err := ProfileDifference(s, refs, o)
	if err != nil {
		return err
	}
	return ShowResult(p, s, r, o.Result)
}

// ProfileDifference returns how the profiles of two runs, or of two arms, differ.
func ProfileDifference(s *store.Store, refs []string, o ProfileDiffOptions) (ResultDocument, error) {
	layers, err := layer.Load()
	if err != nil {
		return ResultDocument{}, err
	}
	a, b, err := profiledSides(s, refs, o.Cells)
	if err != nil {
		return ResultDocument{}, err
	}
	d, err := difference.Of(a.costs, b.costs, difference.Options{A: a.name, B: b.name, Alpha: o.Alpha,
		FactsA: factsOf(s, a.name), FactsB: factsOf(s, b.name)})
	if err != nil {
		return ResultDocument{}, err
	}
	sides := profiled.Sides{A: a.breakdown, B: b.breakdown}
	of := func(shown report.Options) document.Document {
		return profiled.Difference(d, sides, profiled.Options{Options: shown, Functions: o.Functions, Layers: layers})
	}
	return ResultDocument{Published: d, Document: of, Runs: []lab.Run{a.run, b.run}}, nil
}

// factsOf returns the facts of the machine of a run, or of an arm of one; none if they are unknown.
func factsOf(s *store.Store, name string) []lab.Fact {
	b, err := s.Find(name)
	if err != nil {
		return nil // an arm without a separate target
	}
	all, _, err := allFacts(b)
	if err != nil {
		return nil
	}
	return all
}

// profiledSides returns the two named sides. A single name, of a run with arms, means its first and its last arm.
func profiledSides(s *store.Store, refs, cells []string) (a, b profiledRun, err error) {
	if len(refs) == 1 {
		whole, err := profilesOf(s, refs[0], cells)
		if err != nil {
			return a, b, err
		}
		arms := whole.arms()
		if len(arms) < 2 {
			return a, b, app.Usage(refs[0]+" has one arm with a profile",
				"name what to compare it with: headroom profile "+
					"diff A B")
		}
		return whole.arm(arms[0]), whole.arm(arms[len(arms)-1]), nil
	}
	var sides [2]profiledRun
	for i, ref := range refs {
		if sides[i], err = profilesOf(s, ref, cells); err != nil {
			return a, b, err
		}
		if arms := sides[i].arms(); len(arms) > 1 {
			return a, b, app.Usage(ref+" has profiles of several arms: "+strings.Join(arms, ", "),
				"name one: "+lab.ShellQuote([]string{ref + ":" + arms[0]}))
		}
	}
	return sides[0], sides[1], nil
}

// arms returns the profiled arms, in the order of the run.
func (r profiledRun) arms() []string {
	var arms []string
	for _, a := range r.run.Arms {
		name := armName(r.run, a.ID)
		if slices.ContainsFunc(r.costs, func(c cost.Profile) bool { return c.Arm == name }) {
			arms = append(arms, name)
		}
	}
	return arms
}

// arm returns one arm of the run.
func (r profiledRun) arm(name string) profiledRun {
	one := profiledRun{name: r.name + ":" + name, run: r.run, breakdown: r.breakdown}
	one.breakdown.Cells = nil
	for i, c := range r.costs {
		if c.Arm == name {
			one.costs = append(one.costs, c)
			one.breakdown.Cells = append(one.breakdown.Cells, r.breakdown.Cells[i])
		}
	}
	return one
}
