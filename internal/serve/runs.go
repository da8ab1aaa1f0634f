package serve

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// rowsPerPage is how many runs a page lists.
const rowsPerPage = 100

// runFilter is what is asked for of the list of runs. Each field is a parameter of the address, so that it can be sent
// around.
type runFilter struct {
	Text, Label, Suite, Machine, Status, Warning, Since string
	Sort                                                string
	Page                                                int
}

// sorts are the orders of the list, by the parameter; the first is for an address without it. A minus in front
// turns it round.
func sorts() []sortOrder {
	by := func(of func(store.Row) string) func(a, b store.Row) int {
		return func(a, b store.Row) int { return strings.Compare(of(a), of(b)) }
	}
	return []sortOrder{
		{"created", "Created", func(a, b store.Row) int { return b.Created.Compare(a.Created) }},
		{"label", "Label", by(func(r store.Row) string { return r.Label })},
		{"suite", "Suite", by(results.SuiteOf)},
		{"machine", "Where", by(func(r store.Row) string { return results.ListedRun(r).Where })},
		{"repetitions", "Repetitions", func(a, b store.Row) int { return cmp.Compare(b.Repetitions, a.Repetitions) }},
		{"status", "Status", by(func(r store.Row) string { return string(r.Status) })},
	}
}

type sortOrder struct {
	name, title string
	compare     func(a, b store.Row) int
}

func readFilter(q url.Values) runFilter {
	f := runFilter{Text: q.Get("q"), Label: q.Get("label"), Suite: q.Get("suite"), Machine: q.Get("machine"),
		Status: q.Get("status"), Warning: q.Get("warning"), Since: q.Get("since"), Sort: q.Get("sort")}
	f.Page, _ = strconv.Atoi(q.Get("page"))
	f.Page = max(1, f.Page)
	return f
}

// runParameters are the names of the fields.
func runParameters() []string {
	return []string{"q", "label", "suite", "machine", "status", "warning", "since", "sort", "page"}
}

// address returns the address of the list with a filter.
func (f runFilter) address() string {
	q := url.Values{}
	for name, value := range map[string]string{"q": f.Text, "label": f.Label, "suite": f.Suite, "machine": f.Machine,
		"status": f.Status, "warning": f.Warning, "since": f.Since, "sort": f.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Page > 1 {
		q.Set("page", strconv.Itoa(f.Page))
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// fits reports whether a run is asked for.
func (f runFilter) fits(r store.Row, since time.Time) bool {
	if f.Suite != "" && results.SuiteOf(r) != f.Suite || f.Machine != "" && r.Target != f.Machine ||
		f.Status != "" && string(r.Status) != f.Status || r.Created.Before(since) ||
		f.Warning != "" && !slices.Contains(r.Warnings, f.Warning) ||
		!strings.Contains(strings.ToLower(r.Label), strings.ToLower(f.Label)) {
		return false
	}
	text := strings.ToLower(strings.Join([]string{r.ID, r.Label, r.Suite, r.Experiment, r.Target, r.Place, r.Format},
		" "))
	for word := range strings.FieldsSeq(strings.ToLower(f.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// sort sorts runs as they are asked for.
func (f runFilter) sort(rows []store.Row) {
	name, reversed := strings.CutPrefix(f.Sort, "-")
	all := sorts()
	i := max(0, slices.IndexFunc(all, func(o sortOrder) bool { return o.name == name }))
	slices.SortStableFunc(rows, func(a, b store.Row) int {
		if reversed {
			a, b = b, a
		}
		return all[i].compare(a, b)
	})
}

// runsPage is what the template of the list gets.
type runsPage struct {
	runFilter
	Suites, Machines, Statuses, Warnings []string
	Heads                                []runsHead
	Rows                                 []runRow
	Fitting, All                         int
	Newer, Older                         string
	Damaged                              string
	Store                                string
}

// runsHead is the title of a column, which sorts by it.
type runsHead struct{ Title, Address, Direction string }

// runRow is a run in the list.
type runRow struct {
	ID, Short, Label, Suite, Where, Status string
	Created                                time.Time
	Repetitions                            int
	Warnings                               []string
	Running                                bool
}

// shown returns the runs of the page.
func (f runFilter) shown(rows []store.Row) []store.Row {
	first := (f.Page - 1) * rowsPerPage
	return rows[first:min(first+rowsPerPage, len(rows))]
}

// runs is the page of all runs.
func (s *site) runs(r *http.Request) (page, error) {
	all, damaged := s.library.rows()
	if damaged != nil && len(all) == 0 {
		return page{}, damaged
	}
	f := readFilter(r.URL.Query())
	rows, err := s.library.chosen(all, &f)
	if err != nil {
		return page{}, err
	}
	list := runsPage{runFilter: f, Heads: f.heads(), Fitting: len(rows), All: len(all), Store: s.library.store.Dir(),
		Damaged: textOf(damaged), Newer: f.at(f.Page-1, len(rows)), Older: f.at(f.Page+1, len(rows))}
	for _, row := range all {
		list.Suites, list.Machines = append(list.Suites, results.SuiteOf(row)), append(list.Machines, row.Target)
		list.Statuses, list.Warnings = append(list.Statuses, string(row.Status)), append(list.Warnings, row.Warnings...)
	}
	for _, names := range []*[]string{&list.Suites, &list.Machines, &list.Statuses, &list.Warnings} {
		*names = distinct(*names)
	}
	shortID := s.library.store.ShortIDs()
	for _, row := range f.shown(rows) {
		list.Rows = append(list.Rows, rowOf(row, shortID))
	}
	return page{Title: "Runs", Template: "runs", Data: list, Section: "runs"}, nil
}

// at is the address of another page of the list; empty where there is none.
func (f runFilter) at(number, rows int) string {
	if number < 1 || (number-1)*rowsPerPage >= rows {
		return ""
	}
	f.Page = number
	return f.address()
}

func (f runFilter) heads() []runsHead {
	var heads []runsHead
	for i, o := range sorts() {
		h, to := runsHead{Title: o.title}, f
		name, reversed := strings.CutPrefix(f.Sort, "-")
		to.Sort, to.Page = o.name, 1
		if name == o.name || name == "" && i == 0 {
			h.Direction = "ascending"
			if reversed {
				h.Direction = "descending"
			} else {
				to.Sort = "-" + o.name
			}
		}
		h.Address = to.address()
		heads = append(heads, h)
	}
	return heads
}

func rowOf(r store.Row, shortID func(string) string) runRow {
	of := results.ListedRun(r)
	return runRow{ID: r.ID, Short: shortID(r.ID), Label: prose.Inline(r.Label), Suite: prose.Inline(of.Suite),
		Where: prose.Inline(of.Where), Status: prose.Inline(of.Status), Created: r.Created, Repetitions: r.Repetitions,
		Warnings: r.Warnings, Running: r.Status == lab.Running}
}

// distinct are the names, sorted, each once, without an empty one.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}
