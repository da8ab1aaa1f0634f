package results

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// maxSessions is how many runs of a suite are read at most, the newest first: more add little certainty.
const maxSessions = 50

// otherSessions returns a function that finds, for a cell of one of these runs, its values in the other saved runs of
// the suite on the same machine and in the same place. It leaves out runs whose warnings about the load forbid a
// comparison, unless anyway is set. Damaged runs are skipped; `headroom list` reports them.
func otherSessions(p *app.App, compared []compare.Run, anyway bool) func(of compare.Run, cell compare.Cell,
	metric string) [][]float64 {
	read := map[string][]history.Run{} // by the run whose other sessions they are
	weights := validity.Weights()
	return func(of compare.Run, cell compare.Cell, metric string) [][]float64 {
		if _, known := read[of.ID]; !known {
			read[of.ID] = comparableSessions(p, of.ID, compared)
		}
		var sessions [][]float64
		for _, r := range read[of.ID] {
			for _, c := range r.Cells {
				if c.Job != cell.Job || !maps.Equal(c.Params, cell.Params) || !maps.Equal(c.Levels, cell.Levels) ||
					!anyway && Spoiled(weights, c, metric) {
					continue
				}
				if values := c.Values[metric]; stat.Median(values) > 0 {
					sessions = append(sessions, values)
				}
			}
		}
		return sessions
	}
}

// Spoiled reports whether warnings of the load make a metric of the cell incomparable. It ignores warnings of the whole
// run.
func Spoiled(weights map[string]validity.Weight, c history.Cell, metric string) bool {
	return slices.ContainsFunc(c.Warnings.List, func(w lab.RepeatedWarning) bool {
		return compare.Spoils(w, weights, metric, len(c.Values[metric]))
	})
}

// comparableSessions returns the saved runs of the same suite, machine and place as a run, without the compared ones.
func comparableSessions(p *app.App, id string, compared []compare.Run) []history.Run {
	mine, others := runsOfSuite(p, id)
	if mine == nil {
		return nil
	}
	this, err := historyRun(mine)
	if err != nil {
		return nil
	}
	var found []history.Run
	for b := range others {
		if slices.ContainsFunc(compared, func(r compare.Run) bool { return r.ID == b.Run.ID }) ||
			b.Run.MadeBy().HasParts() {
			continue
		}
		if r, err := historyRun(b); err == nil && r.Where() == this.Where() {
			if found = append(found, r); len(found) == maxSessions {
				break
			}
		}
	}
	return found
}

// runsOfSuite returns a saved run and the other complete runs of its suite, the newest first, each read on demand; nil
// and none if it is not in the store.
func runsOfSuite(p *app.App, id string) (mine *store.Bundle, others iter.Seq[*store.Bundle]) {
	none := func(func(*store.Bundle) bool) {}
	s, err := p.OpenStore()
	if err != nil || !s.Has(id) {
		return nil, none
	}
	rows, _ := s.List()
	whole, _ := lab.CutArm(id)
	whole = cmp.Or(whole, id)
	at := slices.IndexFunc(rows, func(r store.Row) bool { return r.ID == whole })
	if at < 0 || SuiteOf(rows[at]) == "" {
		return nil, none
	}
	suite := SuiteOf(rows[at])
	if mine, err = s.Find(id); err != nil {
		return nil, none
	}
	rows = slices.DeleteFunc(rows, func(r store.Row) bool {
		return r.ID == whole || r.Status != lab.Complete || !ofSuite(r, suite)
	})
	slices.SortFunc(rows, func(a, b store.Row) int { return b.Created.Compare(a.Created) })
	return mine, func(yield func(*store.Bundle) bool) {
		for _, r := range rows {
			if b, err := s.Find(r.ID); err == nil && !yield(b) {
				return
			}
		}
	}
}
