package serve

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// followedSuite is a suite in the list of those that can be followed.
type followedSuite struct {
	Name, Address string
	Runs          int
	// Newest is when the newest run was made, which has the ID and a Short one.
	Newest    time.Time
	ID, Short string
	Machines  []string
}

// followedSuites are the suites of which a run has ended. Damaged runs are named in the error, beside the others.
func followedSuites(st *store.Store) (list []followedSuite, damaged error) {
	rows, damaged := st.List()
	shortID := st.ShortIDs()
	for _, name := range results.SuitesIn(st) {
		f := followedSuite{Name: prose.Inline(name), Address: historyAddress(name)}
		for _, r := range rows {
			if !results.InHistory(r, name) {
				continue
			}
			f.Runs++
			f.Machines = append(f.Machines, prose.Inline(r.Target))
			if f.ID == "" || r.Created.After(f.Newest) {
				f.Newest, f.ID, f.Short = r.Created, r.ID, shortID(r.ID)
			}
		}
		if f.Runs > 0 {
			f.Machines = distinct(f.Machines)
			list = append(list, f)
		}
	}
	return list, damaged
}

// histories finds what suites did over their runs, and keeps it.
type histories struct {
	library library
	// cache has those that were looked at last.
	cache cache[followedHistory]
}

// followedHistory is a history without the runs that it was made of, which would take much memory. hide hides the names
// of their hardware. damaged has the faults of other runs.
type followedHistory struct {
	found   results.ResultDocument
	hide    func(string) string
	damaged error
}

// mostHistories is how many are cached.
const mostHistories = 8

// of is the history of a suite by a filter and its options. To look for changes in hundreds of runs takes seconds, and
// a page is asked for again and again until the next run.
func (c *histories) of(suite string, f historyFilter, o results.HistoryOptions) (followedHistory, error) {
	rows, err := c.library.store.List()
	stamp := []string{textOf(err)}
	for _, r := range rows {
		if !results.InHistory(r, suite) {
			continue
		}
		of, err := c.library.store.Stamp(r.ID)
		stamp = append(stamp, r.ID, of, textOf(err), strconv.FormatBool(r.Created.Before(o.Since)))
	}
	defer c.cache.keepMost(mostHistories)
	name := strings.Join([]string{suite, f.Cell, f.Metric, f.Since, f.Margin}, "\x00")
	return c.cache.get(name, strings.Join(stamp, " "), func() (h followedHistory, err error) {
		h.found, h.damaged, err = results.History(c.library.app, suite, o)
		h.hide, h.found.Runs = summary.Hiding(h.found.Runs...), nil
		return h, err
	})
}

// mayFollow reports whether runs of a suite have ended.
func (c *histories) mayFollow(suite string) error {
	list, damaged := followedSuites(c.library.store)
	if slices.ContainsFunc(list, func(f followedSuite) bool { return f.Address == historyAddress(suite) }) {
		return nil
	}
	if damaged != nil {
		return damaged // there may well be some
	}
	hint := "headroom run measures one"
	if len(list) > 0 {
		var names []string
		for _, f := range list {
			names = append(names, f.Name)
		}
		hint = "there are runs of " + prose.List(names)
	}
	return notFound{"no run of a suite " + prose.Inline(suite) + " has ended here", hint}
}
