package results

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// Listed has the texts of a run in a list.
type Listed struct{ Suite, Where, Status string }

// ListedRun returns what a run measured ("quick", "quick, sweep of job:iodepth", "nfs, stage two paths"), where, and
// how it ended or how much time is left.
func ListedRun(r store.Row) Listed {
	l := Listed{Suite: r.Suite, Where: strings.TrimSpace(r.Target + " " + r.Place), Status: string(r.Status)}
	if r.Experiment != "" {
		l.Suite += ", " + r.Experiment
	}
	if r.Stage != "" {
		l.Suite += ", stage " + r.Stage
	}
	if r.Design.HasParts() {
		l.Suite += ", " + r.Design.Command()
	}
	if n := len(r.Arms); n > 1 {
		l.Where += fmt.Sprintf(" and %d more", n-1)
	}
	if r.Format != "" {
		l.Where = strings.TrimSpace(l.Where + " (" + r.Format + ")")
	}
	if r.Status == lab.Complete && r.EndedAfter != "" {
		l.Status += " after " + r.EndedAfter
	}
	if r.Progress != nil {
		l.Status = strings.TrimSuffix(l.Status+", "+cmp.Or(LeftText(*r.Progress, time.Now()), r.Progress.Count), ", ")
	}
	return l
}

// LeftText returns the time left of a running run: "about 8m 20s left". It is empty if that is unknown, or if the run
// should have ended by now.
func LeftText(p lab.Progress, now time.Time) string {
	left := unit.SecondsToDuration(p.LeftAt(now)).Round(time.Second)
	if left == 0 {
		return ""
	}
	bound := "about "
	if p.AtMost {
		bound = "at most "
	}
	return bound + unit.Duration(left) + " left"
}
