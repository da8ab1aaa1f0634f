package results

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// findOutliers adds outliers to the summary of a run on several targets, with the number of other runs in which they
// were outliers, and with the differences of their machines.
func findOutliers(p *app.App, b *store.Bundle, s *summary.Run, serials bool) error {
	if !app.IsMultiTarget(b.Run) || b.Run.Concurrent != nil {
		return nil
	}
	s.Outliers = outliers.Find(s.Samples())
	if s.Outliers == nil || len(s.Outliers.Found) == 0 {
		return nil
	}
	s.Outliers.AddOtherRuns(otherRunsOf(p, b.Run))
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	const explained = 5 // whole snapshots of two machines each
	known := map[[2]string][]outliers.Difference{}
	for i := range s.Outliers.Found {
		o := &s.Outliers.Found[i]
		pair := [2]string{o.Role, o.Typical}
		differences, done := known[pair]
		if !done && len(known) < explained {
			if differences, err = differencesOf(knowledge, b, o.Role, o.Typical, serials); err != nil {
				return err
			}
			known[pair] = differences
		}
		o.Explain(differences, s.Outliers.Targets-2)
	}
	return nil
}

// maxOtherRuns is how many other runs are read about outliers, the newest first: more add little certainty.
const maxOtherRuns = 10

// otherRunsOf returns the samples of other complete runs of a run's suite, for the targets that they have in common. A
// run that is not in the store has none. Damaged runs are skipped; `headroom list` reports them.
func otherRunsOf(p *app.App, run lab.Run) [][]outliers.Sample {
	var all [][]outliers.Sample
	_, others := runsOfSuite(p, run.ID)
	for b := range others {
		if !app.IsMultiTarget(b.Run) || b.Run.Concurrent != nil {
			continue
		}
		s, err := summary.Of(b.Run, b.Repetitions())
		if err != nil {
			continue
		}
		samples := slices.DeleteFunc(s.Samples(), func(s outliers.Sample) bool {
			return !sameTarget(run, b.Run, s.Role)
		})
		if all = append(all, samples); len(all) == maxOtherRuns {
			break
		}
	}
	return all
}

// sameTarget reports whether a role is the same target in two runs, measured in the same place.
func sameTarget(a, b lab.Run, role string) bool {
	var found [2]lab.RunTarget
	for i, r := range []lab.Run{a, b} {
		at := slices.IndexFunc(r.Targets, func(t lab.RunTarget) bool { return t.Role == role })
		if at < 0 {
			return false
		}
		found[i] = r.Targets[at]
	}
	return found[0].Target == found[1].Target && found[0].Place.Path == found[1].Place.Path
}

// maxShownDifferences is how many differences are printed.
const maxShownDifferences = 3

// differencesOf returns how one machine of a run differs from another. It leaves out differences that can't matter, and
// facts that differ on every target.
func differencesOf(knowledge *diff.Knowledge, b *store.Bundle, role, typical string,
	serials bool) ([]outliers.Difference, error) {
	var sides [2]facts.Document
	for i, r := range []string{role, typical} {
		d, known, err := b.Facts(r, store.Before)
		if err != nil || !known {
			return nil, err
		}
		sides[i] = d
	}
	redactor := facts.NewRedactor(slices.Concat(sides[0].Facts, sides[1].Facts))
	var all []outliers.Difference
	for _, d := range knowledge.Compare(diff.Side{Name: role, Facts: sides[0].Facts},
		diff.Side{Name: typical, Facts: sides[1].Facts}).Differences {
		if len(all) == maxShownDifferences || d.Weight <= diff.Unknown {
			break
		}
		one := outliers.Difference{Fact: d.Name, Value: d.A, Typical: d.B, Why: d.Why}
		if d.Kind == "fact" {
			one.Value, one.Typical = catalogue.Show(lab.Fact{Key: d.Fact, Value: d.A}),
				catalogue.Show(lab.Fact{Key: d.Fact, Value: d.B})
		}
		if len(d.About) > 0 {
			one.About = d.About[0].A
		}
		if alike, reported := CountSameValue(b.Run, d.Fact, one.About, d.B, role, typical); reported {
			if alike == 0 && len(b.Run.Targets) > outliers.MinTargets {
				continue // the value differs on each target
			}
			one.Alike = &alike
		}
		if !serials {
			one = hideNames(redactor, one, d)
		}
		all = append(all, one)
	}
	return all, nil
}

// hideNames hides names in a difference: of a guest, a folder, a disk.
func hideNames(r facts.Redactor, one outliers.Difference, d diff.Difference) outliers.Difference {
	clean := r.Text
	for _, p := range d.About {
		for _, about := range []string{p.A, p.B} {
			if hidden := r.Fact(lab.Fact{Key: d.Fact + ".name", About: about}).About; hidden != about {
				before := clean
				clean = func(text string) string { return before(strings.ReplaceAll(text, about, hidden)) }
			}
		}
	}
	one.Fact, one.Value, one.Typical, one.About = clean(one.Fact), clean(one.Value), clean(one.Typical),
		clean(one.About)
	return one
}

// CountSameValue returns how many of a run's targets, except two, have a value of a fact; false if the header of the
// run does not have the fact.
func CountSameValue(run lab.Run, key, about, value string, but ...string) (int, bool) {
	value0, reported := "", false
	lookUp := func(t lab.RunTarget) (string, bool) {
		for _, f := range t.Facts {
			if f.Key == key && f.About == about {
				return f.Value, true
			}
		}
		return "", false
	}
	n := 0
	for i, t := range run.Targets {
		v, has := lookUp(t)
		if i == 0 {
			value0, reported = v, has
		}
		if !has && t.FactsAs != "" {
			v, has = value0, reported
		}
		if has && v == value && t.Role != but[0] && t.Role != but[1] {
			n++
		}
		reported = reported || has
	}
	return n, reported
}
