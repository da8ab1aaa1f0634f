package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// listFilter selects the listed runs.
type listFilter struct {
	suite, label, on, status, since string
	limit                           int
}

// flags adds the flags of the filter.
func (l *listFilter) flags(f flags) {
	f.StringVar(&l.suite, "suite", "", "only runs of this suite; for imports, with this label")
	f.StringVar(&l.label, "label", "", "only runs with this text in their label")
	f.StringVar(&l.on, "on", "", "only runs with this text in their target or place")
	f.StringVar(&l.status, "status", "", "only runs that are "+strings.Join(statusNames(), ", "))
	f.StringVar(&l.since, "since", "", "only runs since: 90d, 12w, a date such as 2026-10-03, or a run")
	f.count(&l.limit, "limit", "most runs to list (default: all)")
	f.values("suite", func() []string {
		s, err := f.app.OpenStore()
		if err != nil {
			return nil
		}
		return results.SuitesIn(s)
	})
	f.values("status", statusNames)
}

func statusNames() []string {
	return []string{string(lab.Complete), string(lab.Interrupted), string(lab.Running), string(lab.Failed)}
}

// of returns the rows that match. more is how many matching rows the limit leaves out.
func (l *listFilter) of(s *store.Store, rows []store.Row) (fitting []store.Row, more int, err error) {
	if l.status != "" && !slices.Contains(statusNames(), l.status) {
		return nil, 0, app.Usage(fmt.Sprintf("--status takes no %q", l.status),
			"it is one of "+strings.Join(statusNames(), ", "))
	}
	var since time.Time
	if l.since != "" {
		if since, err = results.ParseSince(s, l.since, time.Now()); err != nil {
			return nil, 0, err
		}
	}
	has := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	for _, r := range rows {
		if (l.suite == "" || results.SuiteOf(r) == l.suite) && has(r.Label, l.label) &&
			has(r.Target+" "+r.Place, l.on) &&
			(l.status == "" || string(r.Status) == l.status) && !r.Created.Before(since) {
			fitting = append(fitting, r)
		}
	}
	if l.limit > 0 && len(fitting) > l.limit {
		fitting, more = fitting[:l.limit], len(fitting)-l.limit
	}
	return fitting, more, nil
}
