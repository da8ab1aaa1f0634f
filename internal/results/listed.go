package results

import (
	"fmt"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/store"
)

// Listed are the texts of a run in a list.
type Listed struct{ Suite, Where, Status string }

// ListedRun says what a run measured ("quick", "quick, sweep of job:iodepth", "nfs, stage two paths"), where, and how
// it ended.
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
	return l
}
