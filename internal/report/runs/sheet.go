package runs

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// sheetDocument has a row for each run, to paste below the rows of other machines: bandwidth, IOPS and latency of each
// job in the order of the suite, as in the spreadsheet of the Talos report. The columns' units are MiB/s, because fio
// prints it, 1/s, and the mean completion latency in µs. The codes of the warnings are at the end of the row.
func sheetDocument(runs []summary.Run, _ report.Options) document.Document {
	groups := sheetGroups(runs)
	columns := []string{"run", "label", "created"}
	for _, g := range groups {
		for _, q := range g.quantities {
			columns = append(columns, g.name+" "+q.title)
		}
	}
	return document.Document{Data: &document.Data{Columns: append(columns, "warnings"),
		Rows: func(yield func([]document.Field) bool) {
			for i := range runs {
				if !yield(sheetRow(&runs[i], groups)) {
					return
				}
			}
		}}}
}

func sheetRow(s *summary.Run, groups []sheetGroup) []document.Field {
	fields := document.Texts(s.ID, s.Label, timeText(s.Created))
	mine := sheetRows(s)
	for _, g := range groups {
		r, found := mine[g.name]
		for _, q := range g.quantities {
			var number *float64
			if found {
				if m := q.of(r); m != nil {
					v := report.SixDigits(m.Center * q.scale)
					number = &v
				}
			}
			fields = append(fields, document.Numbers(number)...)
		}
	}
	return append(fields, document.Texts(strings.Join(allCodes(s), " "))...)
}

// quantity is one of the columns of a job, with the factor from base units to those of its title.
type quantity struct {
	title string
	scale float64
	of    func(row) *summary.Metric
}

// sheetQuantities returns the quantities of a job; a sync row has only its latency, a command its own metrics.
func sheetQuantities(r row) []quantity {
	var own []quantity
	for _, name := range r.own {
		own = append(own, quantity{report.OwnTitle(name) + " (" + string(r.cell.Metrics[name].Unit) + ")", 1,
			func(r row) *summary.Metric { return r.cell.Metric(name) }})
	}
	if own != nil {
		return own
	}
	latency := quantity{"latency (µs)", 1e6, func(r row) *summary.Metric { return r.mean }}
	if r.direction == lab.Sync {
		return []quantity{latency}
	}
	return []quantity{
		{"bandwidth (MiB/s)", 1.0 / (1 << 20), func(r row) *summary.Metric { return r.bandwidth }},
		{"IOPS", 1, func(r row) *summary.Metric { return r.iops }},
		latency,
	}
}

// sheetGroup is the columns of a job, in one direction.
type sheetGroup struct {
	name       string
	quantities []quantity
}

// sheetGroups returns the groups of all runs: the first run's in its order, then those that only later runs have.
func sheetGroups(runs []summary.Run) []sheetGroup {
	var out []sheetGroup
	for i := range runs {
		for _, r := range rows(&runs[i]) {
			name := r.whole()
			if !slices.ContainsFunc(out, func(g sheetGroup) bool { return g.name == name }) {
				out = append(out, sheetGroup{name, sheetQuantities(r)})
			}
		}
	}
	return out
}

func sheetRows(s *summary.Run) map[string]row {
	out := map[string]row{}
	for _, r := range rows(s) {
		out[r.whole()] = r
	}
	return out
}

// allCodes returns the codes of all warnings of a run, each once.
func allCodes(s *summary.Run) []string {
	var codes []string
	for _, m := range marks(s) {
		codes = append(codes, m.Code)
	}
	return codes
}
