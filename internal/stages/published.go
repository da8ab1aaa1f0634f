package stages

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
)

const (
	// roundingTolerance is how far a figure that follows from a rounded one may be from what was measured: figures of
	// four digits are cut off to within 0.1%.
	roundingTolerance = 1e-3
	// factorDigits is to how many digits converters print what a MiB/s is in Gbit/s (0.00838861), which tables are made
	// with.
	factorDigits = 6
)

// publish holds published tables against the rows.
func (d *Document) publish(tables []reference.Table) {
	for t, table := range tables {
		p := Published{Name: table.Name}
		lost := 0
		for _, row := range table.Rows {
			out := PublishedRow{Label: row.Label, Row: d.measuredAs(table, row)}
			if out.Row == nil {
				lost++
			}
			p.Rows = append(p.Rows, out)
		}
		for i, row := range table.Rows {
			p.Rows[i].Figures = d.figures(table, row, p.Rows, p.Rows[i].Row)
		}
		d.Published = append(d.Published, p)
		for i := range p.Rows {
			d.judge(table, p.Rows[i], Place{Table: t, Row: i})
		}
		if lost > 0 {
			d.Notes = append(d.Notes,
				fmt.Sprintf("rows of the published table%s whose figures no load here has, or several have: %d",
					named(table.Name), lost))
		}
	}
}

func named(table string) string {
	if table == "" {
		return ""
	}
	return fmt.Sprintf(" %q", table)
}

// measuredAs finds the row that has a published row's figures: the operations, and where these are not there or don't
// tell, the bandwidth. A label is what is in question, so it is not looked at. Nil where there is none, or more than
// one.
func (d *Document) measuredAs(table reference.Table, row reference.TableRow) *int {
	found := make([]int, len(d.Rows))
	for i := range found {
		found[i] = i
	}
	asked := false
	for _, quantity := range []string{"iops", "bandwidth"} {
		for c, column := range table.Columns {
			if column.Quantity != quantity || row.Figures[c] == "" || asked && len(found) == 1 {
				continue
			}
			found = slices.DeleteFunc(found, func(i int) bool {
				v, ok := d.Rows[i].in(column)
				return !ok || !agree(row.Figures[c], v)
			})
			asked = true
		}
	}
	if len(found) != 1 {
		return nil
	}
	return &found[0]
}

// in is a row's figure in the unit of a column.
func (r *Row) in(c reference.Column) (float64, bool) {
	v := r.Bandwidth
	if c.Quantity == "iops" {
		v = r.IOPS
	}
	return v / c.PerUnit, v > 0 && c.Quantity != "efficiency"
}

// agree reports whether a printed figure is v, rounded or cut off to as many decimals.
func agree(text string, v float64) bool {
	printed, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	_, decimals, _ := strings.Cut(text, ".")
	scale := math.Pow10(len(decimals))
	want, x := math.Round(printed*scale), v*scale
	return math.Round(x) == want || math.Floor(x) == want
}

// figures of a published row, each beside the one that was recomputed. rows are the rows of its table.
func (d *Document) figures(table reference.Table, row reference.TableRow, rows []PublishedRow, measured *int) []Figure {
	all := []Figure{}
	for c, column := range table.Columns {
		text := row.Figures[c]
		if text == "" {
			continue
		}
		f := Figure{Column: column.Title, Published: text, Agrees: Unknown}
		derived := d.derived(table, row, rows, measured, column)
		if v, ok := d.recomputed(measured, column, text); ok {
			f.Recomputed, f.Agrees = &v, Differs
			if agree(text, v) {
				f.Agrees = Measured
			}
		}
		if f.Agrees != Measured && slices.ContainsFunc(derived, func(v float64) bool { return agree(text, v) }) {
			f.Agrees = Derived
		}
		all = append(all, f)
	}
	return all
}

// recomputed is a figure out of what was measured, in the column's unit. Of several efficiencies it is the one nearest
// to what was printed: which stage a table's per cent are of, only its prose says.
func (d *Document) recomputed(measured *int, c reference.Column, text string) (float64, bool) {
	if measured == nil {
		return 0, false
	}
	r := &d.Rows[*measured]
	if c.Quantity != "efficiency" {
		return r.in(c)
	}
	printed, err := strconv.ParseFloat(text, 64)
	if err != nil || len(r.Efficiency) == 0 {
		return 0, false
	}
	e := slices.MinFunc(r.Efficiency, func(a, b Efficiency) int {
		far := func(e Efficiency) float64 { return math.Abs(e.Ratio/c.PerUnit - printed) }
		return cmp.Compare(far(a), far(b))
	})
	return e.Ratio / c.PerUnit, true
}

// derived are the figures that follow from the bandwidths that the table itself prints.
func (d *Document) derived(table reference.Table, row reference.TableRow, rows []PublishedRow, measured *int,
	c reference.Column) []float64 {
	own, per, ok := printedBandwidth(table, row)
	if !ok {
		return nil
	}
	if c.Bits {
		factor := per / c.PerUnit
		short, err := strconv.ParseFloat(strconv.FormatFloat(factor, 'g', factorDigits, 64), 64)
		if err != nil {
			short = factor // cannot be: FormatFloat wrote it
		}
		return []float64{own * factor, own * short}
	}
	if c.Quantity != "efficiency" || measured == nil {
		return nil
	}
	var all []float64
	for _, e := range d.Rows[*measured].Efficiency {
		for i, other := range rows {
			if other.Row == nil || *other.Row != e.Row {
				continue
			}
			if base, _, ok := printedBandwidth(table, table.Rows[i]); ok {
				all = append(all, own/base/c.PerUnit)
			}
		}
	}
	return all
}

// printedBandwidth is the bandwidth that a row prints in bytes, with how many B/s are one of its unit.
func printedBandwidth(table reference.Table, row reference.TableRow) (figure, per float64, ok bool) {
	for i, c := range table.Columns {
		if c.Quantity != "bandwidth" || c.Bits || row.Figures[i] == "" {
			continue
		}
		v, err := strconv.ParseFloat(row.Figures[i], 64)
		return v, c.PerUnit, err == nil && v > 0
	}
	return 0, 0, false
}

// judge points out what is wrong with a published row: its label, and figures that are not those that were measured.
func (d *Document) judge(table reference.Table, p PublishedRow, at Place) {
	if p.Row == nil {
		return
	}
	r := &d.Rows[*p.Row]
	if words := mislabelled(p.Label, r); len(words) > 0 {
		d.add(Finding{Rows: []int{*p.Row}, Published: []Place{at},
			Warning: lab.Warning{Code: "label-differs", Taints: []string{}, Text: fmt.Sprintf(
				"the row called %q has the figures of %s in %s: %s", p.Label, r.Title, r.Stage,
				strings.Join(words, ", "))}})
	}
	var words []string
	for _, f := range p.Figures {
		if f.Recomputed == nil || f.Agrees == Measured {
			continue
		}
		printed, err := strconv.ParseFloat(f.Published, 64)
		if off := printed / *f.Recomputed - 1; err == nil &&
			(f.Agrees == Differs || math.Abs(off) > roundingTolerance) {
			c := table.Columns[slices.IndexFunc(table.Columns, func(c reference.Column) bool {
				return c.Title == f.Column
			})]
			words = append(words, fmt.Sprintf("%s %s for %s (%+.1f%%%s)", f.Column, f.Published,
				decimals(*f.Recomputed, f.Published), 100*off, slip(c, f)))
		}
	}
	if len(words) > 0 {
		d.add(Finding{Rows: []int{*p.Row}, Published: []Place{at},
			Warning: lab.Warning{Code: "published-differs", Taints: []string{}, Text: fmt.Sprintf(
				"the row called %q has the figures of %s in %s, but prints %s", p.Label, r.Title, r.Stage,
				strings.Join(words, ", "))}})
	}
}

// decimals prints a figure with as many decimals as another has, four at most.
func decimals(v float64, like string) string {
	_, after, _ := strings.Cut(like, ".")
	return strconv.FormatFloat(v, 'f', min(len(after), 4), 64)
}

// slip names the slip that explains a figure; empty where none does.
func slip(c reference.Column, f Figure) string {
	if f.Agrees == Derived {
		return ", which follows from a figure of the table"
	}
	if c.Quantity != "bandwidth" || c.Bits {
		return ""
	}
	switch v := *f.Recomputed; {
	case agree(f.Published, v*1024/1000):
		return ", what comes of dividing by 1000 where it is 1024"
	case agree(f.Published, v*1000/1024):
		return ", what comes of taking KiB/s for kB/s"
	}
	return ""
}

// What labels call a load: "randread", "Q8T8" as CrystalDiskMark does, "q8 x8" as headroom does, "8k".
var (
	labelOperation = prose.Pattern(`(?i)\b(rand)?(read|write|rw|trim)\b`)
	labelDepth     = prose.Pattern(`(?i)\bq(\d{1,6})(?:t\d{1,6})?\b`)
	labelJobs      = prose.Pattern(`(?i)\b(?:q\d{1,6}t|t|x)(\d{1,6})\b`)
	labelBlock     = prose.Pattern(`(?i)\b(\d{1,6}[km])(?:i?b)?\b`)
)

// mislabelled says in words what a label says otherwise than what was run. What it does not say does not count against
// it, nor does what is not known of the load.
func mislabelled(label string, r *Row) []string {
	var words []string
	differ := func(what, printed, ran string) {
		if printed != "" && ran != "" && reference.Plain(printed) != reference.Plain(ran) {
			words = append(words, fmt.Sprintf("%s was %s, not %s", what, ran, printed))
		}
	}
	if m := labelOperation().FindStringSubmatch(label); m != nil {
		rw := r.parameter("rw")
		printed := strings.ToLower(m[1] + m[2])
		if m[1] == "" {
			rw = strings.TrimPrefix(rw, "rand") // "read" alone says nothing of the order
		}
		differ("rw", printed, rw)
	}
	for _, p := range []struct {
		param   string
		pattern *regexp.Regexp
	}{{"bs", labelBlock()}, {"iodepth", labelDepth()}, {"numjobs", labelJobs()}} {
		if m := p.pattern.FindStringSubmatch(label); m != nil {
			differ(p.param, strings.ToLower(m[1]), r.parameter(p.param))
		}
	}
	return words
}
