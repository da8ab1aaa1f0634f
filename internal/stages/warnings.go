package stages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/unit"
)

// addWarnings takes over what the run was known to have, unless it taints other numbers only.
func (d *Document) addWarnings(known []lab.CellWarning) {
	for _, w := range known {
		f := Finding{Warning: w.Warning, Repetitions: w.Repetitions, N: w.N}
		for i, r := range d.Rows {
			if r.Cell == w.Cell && (len(w.Taints) == 0 || r.tainted(w.Warning)) {
				f.Rows = append(f.Rows, i)
			}
		}
		if w.Cell == "" || len(f.Rows) > 0 {
			d.add(f)
		}
	}
}

func (r *Row) tainted(w lab.Warning) bool {
	return w.Tainted(lab.IOPS(r.Direction)) || w.Tainted(lab.Bandwidth(r.Direction))
}

// addFound adds what the links say of the rows.
func (d *Document) addFound(g map[string]*gathered) {
	for i, r := range d.Rows {
		for _, w := range g[r.Cell].found[r.Direction].Counted() {
			if !d.has(w.Code, i) {
				d.add(Finding{Warning: w.Warning, Rows: []int{i}, Repetitions: w.Repetitions, N: w.N})
			}
		}
	}
}

// has reports whether a row has a finding of a code already.
func (d *Document) has(code string, row int) bool {
	return slices.ContainsFunc(d.Findings, func(f Finding) bool {
		return f.Code == code && slices.Contains(f.Rows, row)
	})
}

// add puts a finding to one with the same words, or behind the others.
func (d *Document) add(f Finding) {
	if f.Taints == nil {
		f.Taints = []string{}
	}
	for i := range d.Findings {
		if o := &d.Findings[i]; o.Code == f.Code && o.Text == f.Text && (len(o.Rows) > 0) == (len(f.Rows) > 0) {
			for _, row := range f.Rows {
				if !slices.Contains(o.Rows, row) {
					o.Rows = append(o.Rows, row)
				}
			}
			o.Published = append(o.Published, f.Published...)
			return
		}
	}
	d.Findings = append(d.Findings, f)
}

// addUnlike points out pairs that are not alike.
func (d *Document) addUnlike() {
	for i, r := range d.Rows {
		for _, e := range r.Efficiency {
			if len(e.Unlike) == 0 {
				continue
			}
			var words []string
			for _, u := range e.Unlike {
				words = append(words, fmt.Sprintf("%s %s against %s", u.Param, orUnset(u.Value), orUnset(u.Other)))
			}
			d.add(Finding{Rows: []int{i},
				Warning: lab.Warning{Code: "unlike-pair", Taints: []string{}, Text: fmt.Sprintf(
					"%s in %s is compared with %s in %s (%s): its %.1f%% are not what %s makes of the same load; "+
						"measure both with one load",
					r.Title, r.Stage, d.Rows[e.Row].Title, e.Of, strings.Join(words, ", "), 100*e.Ratio, r.Stage)}})
		}
	}
}

// fasterThanRead is how many times less a write must take than a read of the same size, one at a time, for a cache to
// have answered it.
const fasterThanRead = 3

// addWrites points out writes, one at a time, that take far less than a read does where the same data are read: what
// answered them is not what holds the data. That is no fault alone, but the number describes a cache.
func (d *Document) addWrites() {
	for i, w := range d.Rows {
		took, ok := w.each()
		if !ok || w.Direction != lab.Write {
			continue
		}
		for _, r := range d.Rows {
			reads, ok := r.each()
			same := r.Stage == w.Stage && reference.Plain(r.parameter("bs")) ==
				reference.Plain(w.parameter("bs")) &&
				r.parameter("numjobs") == w.parameter("numjobs") &&
				strings.HasPrefix(r.Params["rw"], "rand") == strings.HasPrefix(w.Params["rw"], "rand")
			if !ok || r.Direction != lab.Read || !same || took*fasterThanRead > reads {
				continue
			}
			by := "a cache answered them (of the drive, a controller, or the memory of a server that exports async), " +
				"and not what is read from; see what a loss of power would cost, and measure more data than the " +
				"cache holds"
			if !w.passesPageCache() {
				by = "the load has no direct=1, so the page cache of the machine that ran it answered them; use " +
					"direct=1, or end_fsync=1 and more data than memory holds"
			}
			d.add(Finding{Rows: []int{i}, Warning: lab.Warning{Code: "writes-by-cache", Taints: []string{},
				Text: fmt.Sprintf("%s in %s takes %s for each, one at a time, and a read %s: %s", w.Title, w.Stage,
					unit.Latency(took), unit.Latency(reads), by)}})
			break
		}
	}
}

// passesPageCache reports whether an operation is over only when it is beyond the page cache.
func (r *Row) passesPageCache() bool {
	return r.parameter("direct") == "1" || r.parameter("sync") != "0" ||
		r.parameter("fsync") == "1" || r.parameter("fdatasync") == "1"
}

// each is how many seconds an operation takes of a load that has one at a time in each job; false for any other.
func (r *Row) each() (float64, bool) {
	jobs, err := strconv.ParseFloat(r.parameter("numjobs"), 64)
	mixed := strings.HasSuffix(r.parameter("rw"), "rw")
	if err != nil || r.IOPS <= 0 || mixed || r.parameter("iodepth") != "1" {
		return 0, false
	}
	return jobs / r.IOPS, true
}

func orUnset(v string) string {
	if v == "" {
		return "unset"
	}
	return v
}

// setCodes adds to each row the codes of the findings about it.
func (d *Document) setCodes() {
	for _, f := range d.Findings {
		for _, i := range f.Rows {
			if r := &d.Rows[i]; !slices.Contains(r.Warnings, f.Code) && (len(f.Published) == 0) {
				r.Warnings = append(r.Warnings, f.Code)
			}
		}
	}
}
