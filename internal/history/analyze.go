package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/changepoint"
)

// DefaultMargin is the largest difference that counts as none, and DefaultAlpha the probability of a false alarm.
const (
	DefaultMargin = 0.03
	DefaultAlpha  = 0.05
)

// Options of a history. The zero value has the defaults.
type Options struct {
	Margin float64
	// Alpha is the probability of a false alarm at one look.
	Alpha float64
	// Cell is a part of the names of the cells to look at, Metric a metric to follow instead of the primary ones.
	Cell, Metric string
	Since        time.Time
}

// Analyze makes the history of a suite from its runs, in any order. Facts are read of those runs only between which
// something changed.
func Analyze(suite string, runs []Run, facts FactsOf, knowledge *diff.Knowledge, o Options) (Document, error) {
	if o.Margin == 0 {
		o.Margin = DefaultMargin
	}
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	doc := Document{Schema: Schema, Suite: suite, Since: o.Since, Alpha: o.Alpha, Margin: o.Margin,
		Verdict: None, Series: []Series{}}
	for _, group := range comparableRuns(runs, o.Since) {
		s := newSeries(group, o)
		var err error
		if s.Events, err = events(s, facts, knowledge); err != nil {
			return doc, err
		}
		doc.Verdict = worseVerdict(doc.Verdict, s.Verdict)
		doc.Series = append(doc.Series, s)
	}
	return doc, nil
}

// comparableRuns are the runs of one machine and place together, each in the order of time; the group with the newest
// run first.
func comparableRuns(runs []Run, since time.Time) [][]Run {
	var groups [][]Run
	at := map[string]int{}
	for _, r := range runs {
		if r.Created.Before(since) {
			continue
		}
		key := r.Where()
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	for _, g := range groups {
		slices.SortFunc(g, func(a, b Run) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	}
	slices.SortStableFunc(groups, func(a, b []Run) int { return b[len(b)-1].Created.Compare(a[len(a)-1].Created) })
	return groups
}

// newSeries makes the series of runs that are alike.
func newSeries(runs []Run, o Options) Series {
	newest := runs[len(runs)-1]
	s := Series{Host: newest.Host, Target: newest.Target, Place: newest.Place, Verdict: None}
	s.Cells, s.Unmeasured = tracks(runs, o)
	for _, r := range runs {
		s.Runs = append(s.Runs, RunInfo{ID: r.ID, Label: r.Label, Created: r.Created, Complete: r.Complete})
	}
	for _, u := range s.Unmeasured {
		s.Verdict = worseVerdict(s.Verdict, u.Verdict)
	}
	if len(s.Cells) == 0 {
		s.Cells = []Track{}
		return s
	}
	search := changepoint.NewChangeSearch(o.Alpha, len(s.Cells))
	if s.FewestAfter = search.FewestAfter(len(runs)); s.FewestAfter != changepoint.MinBesides {
		s.FarAfter = search.FarAfter(len(runs))
	}
	for i := range s.Cells {
		t := &s.Cells[i]
		levels := search.Levels(t.centers())
		t.Changes = changes(t, levels, o.Margin)
		if c := levels.Slope; c != nil {
			t.Slope = &Slope{c.Estimate(), verdict(c.Decide(o.Margin), t.Better)}
		}
		if r := levels.Rhythm; r != nil {
			t.Rhythm = &Rhythm{r.Period, r.Change.Ratio}
		}
		if m := levels.Modes; m != nil {
			t.Modes = &Modes{m.Change.Estimate(), m.Upper, m.Switches}
		}
		if t.Slope == nil && t.Modes == nil {
			t.Lag1 = residualCorrelation(levels)
		}
		t.Ended = t.Points[len(t.Points)-1].Run != newest.ID
		t.judge(levels.Values, s.Runs, s.FewestAfter, o.Alpha/float64(len(s.Cells)), o.Margin)
		s.Verdict = worseVerdict(s.Verdict, t.Newest.Verdict)
	}
	return s
}

func worseVerdict(a, b Verdict) Verdict {
	for _, v := range []Verdict{Regression, Undecided} {
		if a == v || b == v {
			return v
		}
	}
	return None
}

// changes are the change points as they are published.
func changes(t *Track, levels changepoint.Levels, margin float64) []Change {
	out, start := []Change{}, 0
	for i, p := range levels.Changes {
		end := len(levels.Levelled)
		if i+1 < len(levels.Changes) {
			end = levels.Changes[i+1].Index
		}
		from, to := stat.Median(levels.Levelled[start:p.Index]), stat.Median(levels.Levelled[p.Index:end])
		change := p.Change.Agreeing(from, to)
		out = append(out, Change{Run: t.Points[p.Index].Run, Before: t.Points[p.Index-1].Run, Index: p.Index,
			From: from, To: to, RatioEstimate: change.Estimate(), P: p.P, Likely: p.Likely,
			Verdict: verdict(change.Decide(margin), t.Better)})
		start = p.Index
	}
	return out
}

// The words for a change.
const (
	better = "better"
	worse  = "worse"
	same   = "same"
)

func verdict(d stat.Decision, good lab.Better) string {
	switch {
	case d == stat.Same:
		return same
	case d == stat.Above && good == lab.Higher, d == stat.Below && good == lab.Lower:
		return better
	case d == stat.Above, d == stat.Below:
		return worse
	}
	return string(Undecided)
}

// minForLag is how many runs it takes to say anything of neighbours: the estimate then strays by 0.3.
const minForLag = 12

// residualCorrelation is the correlation of neighbouring runs around the levels between the changes that are proved:
// those that are not may be what it looks like.
func residualCorrelation(levels changepoint.Levels) *float64 {
	if len(levels.Values) < minForLag {
		return nil
	}
	proved := slices.DeleteFunc(slices.Clone(levels.Changes), func(p changepoint.ChangePoint) bool { return p.Likely })
	r := changepoint.StepCorrelation(levels.Values, proved)
	if math.IsNaN(r) { // a constant series
		return nil
	}
	return &r
}
