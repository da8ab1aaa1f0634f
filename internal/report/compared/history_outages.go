package compared

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/prose"
)

// newestOutage reports whether a load of the newest run failed or measured 0, which is reported first.
func (h historyText) newestOutage() bool {
	return slices.ContainsFunc(h.s.Cells, h.stopped)
}

// stopped reports whether a load failed or measured 0 in the newest run.
func (h historyText) stopped(t history.Track) bool {
	n := len(t.Absences)
	return n > 0 && t.Absences[n-1].Kind.Outage() && t.Absences[n-1].Run == h.s.Runs[len(h.s.Runs)-1].ID
}

// outagesOf returns the IDs of the runs in which the load failed or measured 0.
func outagesOf(absences []history.Absence) map[string]bool {
	runs := map[string]bool{}
	for _, a := range absences {
		if a.Kind.Outage() {
			runs[a.Run] = true
		}
	}
	return runs
}

// outages names the loads that failed or measured 0, and when they last did; empty if none did.
func (h historyText) outages() string {
	var names []string
	add := func(name string, absences []history.Absence) {
		n, last := 0, ""
		for _, a := range absences {
			if a.Kind.Outage() {
				n, last = n+1, h.id(a.Run)
			}
		}
		switch n {
		case 0:
		case 1:
			names = append(names, name+" in "+last)
		default:
			names = append(names, name+" in "+prose.Count(n, "run")+", the last of them "+last)
		}
	}
	for _, t := range h.s.Cells {
		add(t.Name, t.Absences)
	}
	for _, u := range h.s.Unmeasured {
		add(u.Name, u.Absences)
	}
	if len(names) == 0 {
		return ""
	}
	return "Failed, or measured 0, and so without a level: " + strings.Join(names, "; ") + "."
}

// pointsAndGaps returns the points of a track, with one without a level for each run in which the load failed or
// measured 0.
func pointsAndGaps(t history.Track, runs []history.RunInfo) []history.Point {
	if len(t.Absences) == 0 {
		return t.Points
	}
	gaps := outagesOf(t.Absences)
	points, next := []history.Point{}, 0
	for _, r := range runs {
		for ; next < len(t.Points) && t.Points[next].Run == r.ID; next++ {
			points = append(points, t.Points[next])
		}
		if gaps[r.ID] {
			points = append(points, history.Point{Run: r.ID})
		}
	}
	return points
}
