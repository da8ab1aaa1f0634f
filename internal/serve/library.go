package serve

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// library finds runs of a store by what a request says.
type library struct {
	app   *app.App
	store *store.Store
}

// find finds a run by its ID, or the start of one, with ":ARM" behind it for an arm. Labels and paths are none: a label
// may be another run's tomorrow, and a path names a file of the machine.
func (l library) find(ref string) (*store.Bundle, error) {
	id, arm, ok := strings.Cut(ref, ":")
	if !store.MayBeID(id) || ok && arm == "" {
		return nil, noRun(ref)
	}
	b, err := l.store.FindID(ref)
	if lab.KindOf(err) == lab.Usage {
		return nil, noRun(ref)
	}
	if err != nil {
		return nil, err
	}
	return b, mayShow(b)
}

func noRun(ref string) error {
	return notFound{"there is no run " + prose.Inline(ref), "it may have been removed, or is in another store"}
}

// mostOfProfiles is how much memory the profiled loads of a run may take that pages show, in bytes: a load of a hundred
// CPUs takes some tens of megabytes.
const mostOfProfiles = 128 << 20

// mayShow refuses a run whose profiles take more memory than a page may.
func mayShow(b *store.Bundle) error {
	memory, err := b.ProfileMemory(mostOfProfiles)
	if err == nil && memory > mostOfProfiles {
		what := fmt.Sprintf("the profiles of run %s take more than %d MiB", b.Run.ID, mostOfProfiles>>20)
		err = &lab.Error{What: what, Hints: []string{"headroom profile show " + b.Run.ID + " shows them"}}
	}
	return err
}

// mostCompared is how many runs one page compares.
const mostCompared = 16

// compared are the runs to compare, the oldest first: a list has the newest first, and what changed is told from the
// oldest on.
func (l library) compared(refs []string) ([]*store.Bundle, error) {
	if len(refs) < 2 || len(refs) > mostCompared {
		return nil, app.Usage(fmt.Sprintf("runs to compare: %d; it takes 2 to %d", len(refs), mostCompared),
			"tick them in the list of runs")
	}
	var bundles []*store.Bundle
	for _, ref := range refs {
		b, err := l.find(ref)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	slices.SortStableFunc(bundles, func(a, b *store.Bundle) int { return a.Run.Created.Compare(b.Run.Created) })
	return bundles, nil
}

func idsOf(bundles []*store.Bundle) []string {
	var ids []string
	for _, b := range bundles {
		ids = append(ids, b.Run.ID)
	}
	return ids
}

// rows are the runs of the store, without what names one piece of hardware.
func (l library) rows() ([]store.Row, error) {
	all, damaged := l.store.List()
	for i, row := range all {
		all[i] = row.ForOthers()
	}
	return all, damaged
}

// chosen returns the runs that a filter asks for, in its order. A page beyond the last becomes the last.
func (l library) chosen(all []store.Row, f *runFilter) ([]store.Row, error) {
	since := time.Time{}
	if f.Since != "" {
		var err error
		if since, err = sinceOf(l.store, f.Since); err != nil {
			return nil, err
		}
	}
	var rows []store.Row
	for _, row := range all {
		if f.fits(row, since) {
			rows = append(rows, row)
		}
	}
	f.sort(rows)
	f.Page = min(f.Page, 1+max(0, len(rows)-1)/rowsPerPage)
	return rows, nil
}

// machineOfRun is one of the machines of a run. Role is empty where there is only one.
type machineOfRun struct {
	*store.Bundle
	role string
}

// twoMachines returns the machines of two runs, the older one first; or as they are asked for, with the role of each,
// where runs are on several targets: &role=client&role=server.
func (l library) twoMachines(q url.Values) (two []machineOfRun, err error) {
	refs, roles := q["run"], q["role"]
	if len(refs) != 2 || len(roles) != 0 && len(roles) != 2 {
		return nil, app.Usage("it takes two machines", "tick two in the list of machines")
	}
	bundles, err := l.compared(refs)
	if err != nil {
		return nil, err
	}
	for i, b := range bundles {
		m := machineOfRun{b, ""}
		if len(roles) > 0 {
			m.role = roles[i]
			m.Bundle, err = l.find(refs[i])
		} else if all := app.Machines(b); len(all) > 1 {
			m.role = all[0]
		}
		if err != nil {
			return nil, err
		}
		two = append(two, m)
	}
	return two, nil
}

// options of what is shown: without serial numbers, and with IDs as short as can be.
func (l library) options() report.Options { return report.Options{ShortID: l.store.ShortIDs()} }

// stamp changes whenever what the page of a run says does: with its bundle, and with what it says of its progress.
func (l library) stamp(b *store.Bundle) (string, error) {
	stamp, err := l.store.Stamp(b.Whole().Run.ID)
	if p, ok := b.Whole().Progress(); ok {
		stamp += " " + p.At.Format(time.RFC3339Nano)
	}
	return stamp, err
}

// inSeries reports whether a run is one of a series: it is complete, and measured what its suite says, no experiment
// and no part of one. The figures of an experiment are an answer for people, and would be a separate level in a graph.
func inSeries(r store.Row) bool {
	return r.Status == lab.Complete && r.Experiment == "" && r.Pair == "" && !r.Design.HasParts()
}

// newest are the newest runs of each suite, target and place, the one that was measured last first. Unread is how many
// of them can't be read.
func (l library) newest(rows []store.Row) (bundles []*store.Bundle, unread int) {
	type series struct{ suite, target, place string }
	seen := map[series]bool{}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b store.Row) int { return b.Created.Compare(a.Created) })
	for _, r := range rows {
		of := series{results.SuiteOf(r), r.Target, r.Place}
		if seen[of] || !inSeries(r) {
			continue
		}
		seen[of] = true
		b, err := l.store.Find(r.ID)
		switch {
		case err == nil:
			bundles = append(bundles, b)
		case lab.KindOf(err) != lab.Usage: // which one is that was removed a moment ago
			unread++
		}
	}
	return bundles, unread
}
