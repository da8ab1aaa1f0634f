package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// addAbsences gives each track the runs that have its load and no level of it. It returns the loads that have no track,
// since no run has a level of them.
func addAbsences(all []Track, runs []Run) []Unmeasured {
	tracksOf, measured := map[string][]*Track{}, map[*Track]map[string]bool{}
	for i := range all {
		t := &all[i]
		measured[t] = map[string]bool{}
		for _, p := range t.Points {
			measured[t][p.Run] = true
		}
		k := key(Cell{Job: t.Job, Params: t.Params, Levels: t.Levels, Role: t.Role})
		tracksOf[k] = append(tracksOf[k], t)
	}
	var never []Unmeasured
	neverAt := map[string]int{}
	for _, r := range runs {
		for _, c := range r.Cells {
			k := key(c)
			for _, t := range tracksOf[k] {
				if !measured[t][r.ID] {
					t.Absences = append(t.Absences, Absence{Run: r.ID, Kind: absence(c, t.Metric)})
				}
			}
			kind := absence(c, "")
			if len(tracksOf[k]) > 0 || kind == lab.NoValue { // of the metric that was asked for
				continue
			}
			i, known := neverAt[k]
			if !known {
				i = len(never)
				neverAt[k] = i
				never = append(never, Unmeasured{Job: c.Job, Params: orEmpty(c.Params), Levels: orEmpty(c.Levels),
					Role: c.Role, Name: strings.Join(sizedName(c.Job, c.Params), " "), Verdict: None})
			}
			never[i].Absences = append(never[i].Absences, Absence{Run: r.ID, Kind: kind})
			if r.ID == runs[len(runs)-1].ID {
				never[i].Verdict = Undecided
			}
		}
	}
	return never
}

// absence returns why a cell that a run has gives no level of a metric.
func absence(c Cell, metric string) lab.Absence {
	if len(c.Values) == 0 {
		if c.Failed > 0 {
			return lab.LoadFailed
		}
		return lab.NotReached
	}
	medians := map[string]float64{}
	for name, values := range c.Values {
		medians[name] = stat.Median(values)
	}
	if lab.DidNothing(c.Own, metric, medians) {
		return lab.MeasuredZero
	}
	if v, ok := medians[metric]; ok && v == 0 && lab.MetricOf(c.Own, metric).Unit != lab.Seconds {
		return lab.ZeroIsBest
	}
	return lab.NoValue
}

// sinceLastPoint is the newest absence after a track's last point; ok is false where there is none.
func (t *Track) sinceLastPoint(runs []RunInfo) (a Absence, ok bool) {
	if len(t.Absences) == 0 {
		return a, false
	}
	at := func(run string) int { return slices.IndexFunc(runs, func(r RunInfo) bool { return r.ID == run }) }
	a = t.Absences[len(t.Absences)-1]
	return a, at(a.Run) > at(t.Points[len(t.Points)-1].Run)
}

// absentVerdict judges a track of which the newest run has no level. Complete says that the run was not cut off.
func (t *Track) absentVerdict(runs []RunInfo, complete bool) (Verdict, string) {
	last, ok := t.sinceLastPoint(runs)
	if ok && last.Run == runs[len(runs)-1].ID {
		switch last.Kind {
		case lab.LoadFailed:
			return Regression, "the load failed"
		case lab.MeasuredZero:
			return Regression, "it measured 0"
		case lab.ZeroIsBest:
			return None, "measured 0"
		case lab.NoValue:
			return Undecided, "the newest run has no value of it"
		case lab.NotReached:
			return Undecided, "the newest run ended before it"
		}
	}
	switch {
	case !complete:
		return Undecided, "the newest run was cut off before it"
	case ok && last.Kind == lab.LoadFailed:
		return Undecided, "no longer measured; the load failed in run " + last.Run
	case ok && last.Kind == lab.MeasuredZero:
		return Undecided, "no longer measured; it measured 0 in run " + last.Run
	}
	return None, "no longer measured"
}

// partly returns text about how many repetitions of a point failed or measured 0; empty where none did.
func (p Point) partly() string {
	of := fmt.Sprintf(" of %d repetitions", p.N+p.Failed)
	switch {
	case p.Failed > 0:
		return fmt.Sprint(p.Failed) + of + " failed"
	case p.Zero > 0:
		return fmt.Sprint(p.Zero) + of + " measured 0"
	}
	return ""
}
