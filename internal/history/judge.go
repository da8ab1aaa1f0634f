package history

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/changepoint"
	"github.com/headroom/headroom/internal/unit"
)

// minBefore is how many runs the newest is compared with at least: of fewer, heavy tails and two modes make the
// interval of the next too narrow.
const minBefore = 6

// cleared is the confidence of the interval whose lower end clears a run: with 95% the level is not below it.
const cleared = 0.90

// judge decides whether a track has a regression: its newest run is worse than those since its last change, or that
// last change was for the worse. The newest run is compared with runs before it, but for the last few: those are too
// few to have been found a change themselves, and must not make a regression that began with them look like scatter.
// Values are the levels of the runs without what repeats. alpha is the share of one track.
func (t *Track) judge(values []float64, all []RunInfo, fewestAfter int, alpha, margin float64) {
	last := len(t.Points) - 1
	segment := values[t.edges()[len(t.Changes)]:last]
	leave := max(0, min(max(fewestAfter, changepoint.MinBesides)-1, len(segment)-minBefore))
	base := segment[:len(segment)-leave]
	n := Newest{Run: t.Points[last].Run, Against: len(base)}
	alarm := changepoint.NextChange(base, values[last], 1-alpha)
	clear := changepoint.NextChange(base, values[last], cleared)
	if alarm.N > 0 {
		wide, narrow := alarm.Estimate(), clear.Estimate()
		n.Alarm, n.Cleared = &wide, &narrow
	}
	n.Verdict, n.Why, n.Margin = t.newestVerdict(alarm, clear, margin)
	switch {
	case t.Ended:
		n.Verdict, n.Why = t.absentVerdict(all, all[len(all)-1].Complete)
		n.Margin = nil
	case n.Verdict != Regression && t.Slope != nil && t.Slope.Verdict == worse:
		n.Verdict, n.Margin = Regression, nil
		n.Why = "worse, evenly over " + runs(len(t.Points))
	case n.Verdict != Regression && t.likelyWorse():
		n.Verdict, n.Margin = Undecided, nil
		n.Why = "likely worse since run " + t.Changes[len(t.Changes)-1].Run + ", not proved"
	case n.Verdict != Regression && len(t.Changes) > 0 && t.Changes[len(t.Changes)-1].Verdict == worse:
		n.Verdict, n.Margin = Regression, nil
		n.Why = "worse since run " + t.Changes[len(t.Changes)-1].Run
	case n.Verdict == None && t.Points[last].partly() != "":
		n.Verdict, n.Why, n.Margin = Undecided, t.Points[last].partly(), nil
	}
	t.Newest = n
}

// likelyWorse says that the last change was for the worse, if it was one.
func (t *Track) likelyWorse() bool {
	n := len(t.Changes)
	return n > 0 && t.Changes[n-1].Likely && t.Changes[n-1].Verdict == worse
}

// newestVerdict judges the newest run alone.
func (t *Track) newestVerdict(alarm, clear stat.Change, margin float64) (Verdict, string, *float64) {
	switch {
	case alarm.N < changepoint.MinBesides:
		return Undecided, fmt.Sprintf("%s before it at this level; it takes %d", runs(alarm.N), changepoint.MinBesides),
			nil
	case verdict(alarm.Decide(margin), t.Better) == worse:
		return Regression, "worse than the " + runs(alarm.N) + " before it", nil
	}
	loss := 1/clear.Lo - 1 // the largest that is not excluded
	if t.Better == lab.Lower {
		loss = clear.Hi - 1
	}
	if loss <= margin {
		return None, "as before", nil
	}
	need := math.Ceil(loss*1000) / 1000
	return Undecided, fmt.Sprintf("a loss of %s is not excluded", unit.Percent(loss)), &need
}

func runs(n int) string {
	switch n {
	case 0:
		return "no run"
	case 1:
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
