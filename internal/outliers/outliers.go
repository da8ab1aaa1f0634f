// Package outliers finds which of many targets alike are not like the others: how far they are from the median of the
// others, how surely, and by what their machines differ. It is pure.
//
// A decision holds with a confidence that is shared out over the whole table, every target and every deciding metric of
// every cell (alpha / n), as in comparisons. What slows all targets in one repetition is removed first; then the level
// of a target is compared with the median of the levels of the others (stat.FromOthers).
package outliers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Alpha bounds the probability that any target is named wrongly, in the whole table. A target is named if its whole
// interval lies beyond Margin: smaller differences are common between machines of one kind.
const (
	Alpha  = 0.05
	Margin = 0.03
)

// MinTargets is how many targets there must be: of two, it is unknown which is the odd one.
const MinTargets = 3

// Sample has the values of one metric of one cell on one target, by repetition.
type Sample struct {
	Role   string
	Cell   string // without the role
	Metric string
	Better lab.Better
	Unit   lab.Unit
	Values map[int]float64
}

// Document is what was found.
type Document struct {
	// Targets are how many were compared with each other, and Claims how many decisions share Alpha.
	Targets int     `json:"targets"`
	Claims  int     `json:"claims"`
	Alpha   float64 `json:"alpha"`
	Margin  float64 `json:"margin"`
	// Found are the targets that are not like the others, the farthest first.
	Found []Outlier `json:"found"`
	// Outages are the targets on which a load stood still while it did something on others. A zero has no ratio to
	// anything.
	Outages []Outage `json:"outages,omitempty"`
	// MinTargets is how many repetitions of each it takes for any target to be named; Lacking says that there are
	// fewer.
	MinTargets int  `json:"fewest,omitempty"`
	Lacking    bool `json:"lacking,omitempty"`
	// Correlation is what the intervals allow for at most: how alike neighbouring repetitions are, by the upper limit
	// of its estimate. Widened is how many times wider than for independent repetitions they are for it. Assumed is set
	// where a target has two repetitions, which can't show it.
	Correlation float64 `json:"correlation,omitempty"`
	Widened     float64 `json:"widened,omitempty"`
	Assumed     bool    `json:"assumed,omitempty"`
	// Text is the answer in a sentence.
	Text string `json:"text"`
}

// Outlier is one metric by which a target is not like the others.
type Outlier struct {
	Role   string `json:"role"`
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	// Ratio to the others, and the interval that decides.
	Ratio      float64 `json:"ratio"`
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
	N          int     `json:"n"`
	Worse      bool    `json:"worse"`
	// OtherRuns say whether it is so at other times, too.
	OtherRuns OtherRuns `json:"other_runs"`
	// Typical is the target that is nearest to the median of all, and Differences are by what its machine differs, the
	// likeliest to matter first.
	Typical     string       `json:"typical"`
	Differences []Difference `json:"differences,omitempty"`
	// Text is all of it in words.
	Text string `json:"text"`
}

// Difference is a fact of an outlier that others have otherwise.
type Difference struct {
	Fact  string `json:"fact"`
	About string `json:"about,omitempty"`
	// Value and Typical are the values, of the outlier and of the typical target. Alike is how many of the others have
	// it as the typical one; nil where that is not known.
	Value   string `json:"here"`
	Typical string `json:"there"`
	Alike   *int   `json:"alike,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Find holds targets against each other. It is nil where there are too few of them.
func Find(samples []Sample) *Document {
	type at struct{ cell, metric string }
	var order []at
	tables := map[at][]Sample{}
	roles := map[string]bool{}
	for _, s := range samples {
		key := at{s.Cell, s.Metric}
		if tables[key] == nil {
			order = append(order, key)
		}
		tables[key] = append(tables[key], s)
		roles[s.Role] = true
	}
	d := &Document{Targets: len(roles), Alpha: Alpha, Margin: Margin, Found: []Outlier{}}
	if d.Targets < MinTargets {
		return nil
	}
	for _, key := range order {
		if len(tables[key]) >= MinTargets {
			d.Claims += len(tables[key])
		}
	}
	confidence := stat.FamilyWise(Alpha, d.Claims)
	known := false
	for _, key := range order {
		table := tables[key]
		if len(table) < MinTargets {
			continue
		}
		d.Outages = append(d.Outages, outages(table)...)
		compared := stat.FromOthers(aligned(table), confidence)
		d.setDependence(compared)
		nearest := typical(table, compared.Changes)
		for i, c := range compared.Changes {
			known = known || c.Known()
			if beyond(c) != 0 {
				d.Found = append(d.Found, found(table[i], c, nearest, measured(compared.Changes)))
			}
		}
	}
	d.MinTargets = stat.MinFromOthers
	d.Lacking = !known
	slices.SortStableFunc(d.Found, func(a, b Outlier) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio)), math.Abs(math.Log(a.Ratio)))
	})
	d.Text = d.outageText() + d.answer()
	return d
}

// beyond says on which side the whole interval lies beyond the margin: -1 below, 1 above, 0 on neither.
func beyond(c stat.Change) int {
	switch {
	case !c.Known():
		return 0
	case c.Hi < 1/(1+Margin):
		return -1
	case c.Lo > 1+Margin:
		return 1
	}
	return 0
}

// aligned returns the values of the targets by repetition, in the order of measurement; NaN for a missing value.
// Repetitions that too few targets have are left out.
func aligned(table []Sample) [][]float64 {
	have := map[int]int{}
	for _, s := range table {
		for number := range s.Values {
			have[number]++
		}
	}
	maps.DeleteFunc(have, func(_, targets int) bool { return targets < MinTargets })
	numbers := slices.Sorted(maps.Keys(have))
	rows := make([][]float64, len(table))
	for i, s := range table {
		rows[i] = make([]float64, len(numbers))
		for t, number := range numbers {
			v, ok := s.Values[number]
			if !ok {
				v = math.NaN()
			}
			rows[i][t] = v
		}
	}
	return rows
}

// typical is the target that is nearest to the median of the others.
func typical(table []Sample, changes []stat.Change) string {
	role, nearest := "", math.Inf(1)
	for i, c := range changes {
		if distance := math.Abs(math.Log(c.Ratio)); distance < nearest {
			nearest, role = distance, table[i].Role
		}
	}
	return role
}

// measured is how many have a ratio.
func measured(changes []stat.Change) int {
	n := 0
	for _, c := range changes {
		if !math.IsNaN(c.Ratio) {
			n++
		}
	}
	return n
}

// setDependence keeps the strongest correlation among the tables.
func (d *Document) setDependence(c stat.OthersCompared) {
	if c.Widened <= d.Widened {
		return
	}
	d.Correlation, d.Widened, d.Assumed = c.Correlation, c.Widened, c.Assumed
}

func found(s Sample, c stat.Change, typical string, of int) Outlier {
	o := Outlier{Role: s.Role, Cell: s.Cell, Metric: s.Metric, Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi,
		Confidence: c.Confidence, N: c.N, Typical: typical}
	o.Worse = (c.Ratio < 1) == (s.Better == lab.Higher)
	word := map[bool]string{true: "lower", false: "higher"}[c.Ratio < 1]
	if s.Better == lab.Higher {
		word = map[bool]string{true: "less", false: "more"}[c.Ratio < 1]
	}
	least, most := share(c.Lo), share(c.Hi)
	if c.Ratio < 1 {
		least, most = most, least
	}
	o.Text = fmt.Sprintf("%s: %s of %s is %s %s than the median of %s [%s to %s, n=%d]", s.Role, s.Metric, s.Cell,
		unit.Percent(share(c.Ratio)), word, against(of), unit.Percent(least), unit.Percent(most), c.N)
	return o
}

// against names those whose median a target is compared with, where so many were measured.
func against(targets int) string {
	if targets <= stat.MaxAgainstAll {
		return fmt.Sprintf("all %d", targets)
	}
	return fmt.Sprintf("the %d others", targets-1)
}

// share is how much of the others' value lies between.
func share(ratio float64) float64 { return math.Abs(ratio - 1) }

// Explain adds by what an outlier's machine differs.
func (o *Outlier) Explain(differences []Difference, others int) {
	o.Differences = differences
	var parts []string
	for _, d := range differences {
		name := d.Fact
		if d.About != "" {
			name += " of " + d.About
		}
		text := fmt.Sprintf("its %s is %s, %s on %s", name, orNothing(d.Value), orNothing(d.Typical), o.Typical)
		if d.Alike != nil {
			text += fmt.Sprintf(" and %d of the %d others", *d.Alike, others)
		}
		parts = append(parts, text)
	}
	if len(parts) > 0 {
		o.Text += "; " + strings.Join(parts, "; ")
	}
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// answer is what was found in a sentence.
func (d *Document) answer() string {
	names := map[string]bool{}
	for _, o := range d.Found {
		names[o.Role] = true
	}
	switch {
	case d.Lacking:
		return fmt.Sprintf("Of %d targets none can be compared with the others yet: it takes %d repetitions of each "+
			"(--repeat %d).", d.Targets, d.MinTargets, d.MinTargets)
	case len(names) == 0:
		return fmt.Sprintf("Of %d targets none is sure to be more than %s from the median of the others (%d "+
			"decisions share an error of %s).%s",
			d.Targets, unit.Percent(d.Margin), d.Claims, unit.Percent(d.Alpha), d.dependence())
	case len(names) == 1:
		return fmt.Sprintf("1 of %d targets %s", d.Targets, d.when("is", "was"))
	}
	return fmt.Sprintf("%d of %d targets %s", len(names), d.Targets, d.when("are", "were"))
}

// when returns text about whether the outliers are always so, or were in this run, as far as is known.
func (d *Document) when(is, was string) string {
	if !slices.ContainsFunc(d.Found, func(o Outlier) bool { return !o.OtherRuns.Lasting }) {
		return is + " not like the others:"
	}
	return was + " not like the others while they were measured. Whether that lasts one run can't tell: run it again " +
		"at other times, until three runs are alike:"
}

// muchWider is the factor from which on wider intervals are mentioned.
const muchWider = 2

// dependence says why small differences are not found: repetitions resemble their neighbours.
func (d *Document) dependence() string {
	switch {
	case d.Assumed:
		return " Two repetitions can't show whether they depend on each other, so the intervals assume that they do; " +
			"three or more are narrower."
	case d.Widened >= muchWider:
		return fmt.Sprintf(" Neighbouring repetitions are alike (correlation up to %.2g), so intervals are up to "+
			"%.2g times wider than for independent ones; more repetitions, farther apart, find smaller differences.",
			d.Correlation, d.Widened)
	}
	return ""
}

// Outage is a target on which a load stood still.
type Outage struct {
	Role string `json:"role"`
	lab.Outage
}

// outages are the targets that measured 0 of a metric of which more is better, where others have figures.
func outages(table []Sample) []Outage {
	var out []Outage
	for _, s := range table {
		o := Outage{s.Role, lab.Outage{Cell: s.Cell, Title: s.Cell, Metric: s.Metric, N: len(s.Values)}}
		for _, v := range s.Values {
			if v == 0 && s.Better == lab.Higher {
				o.Zero++
			}
		}
		if o.Zero > 0 {
			out = append(out, o)
		}
	}
	if len(out) == len(table) {
		return nil // the load does nothing anywhere
	}
	return out
}

// mostOutages is how many are named.
const mostOutages = 3

// outageText names the targets on which a load stood still, in a sentence; empty where there are none.
func (d *Document) outageText() string {
	var parts []string
	for i, o := range d.Outages {
		if i == mostOutages {
			parts = append(parts, fmt.Sprintf("%d more (--json has all of them)", len(d.Outages)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s measured 0 of %s of %s in %d of %s", o.Role, o.Metric, o.Cell, o.Zero,
			prose.Count(o.N, "repetition")))
	}
	if len(parts) == 0 {
		return ""
	}
	return prose.List(parts) + ". "
}

// OtherRuns is the evidence of other saved runs of the same suite about an outlier. That run alone can't distinguish a
// target that is slow during the run from one that is always slow: on shared storage a level can last an hour.
type OtherRuns struct {
	// Runs is the number of runs in which the target was measured together with others of this table.
	Runs int `json:"runs"`
	// Alike are how many of these runs there are in which it would have been named, too, with the same confidence and
	// on the same side.
	Alike int `json:"alike"`
	// Lasting is set if enough of them agree: the target is always different, and not only during this run.
	Lasting bool `json:"lasting"`
}

// A lasting difference was seen in two other runs at least, and in three quarters of all. Where a target has a
// different level in each run, slow in one of five, two others agree by chance in one of 25 at most, and three of four
// in one of 37.
const (
	minAlike   = 2
	alikeShare = 0.75
)

// AddOtherRuns looks for the outliers in other saved runs of the suite, each with its samples of the same targets in
// the same places.
func (d *Document) AddOtherRuns(others [][]Sample) {
	// of each run, by cell and metric: the changes by role
	tables := make([]map[[2]string]map[string]stat.Change, len(others))
	for k := range tables {
		tables[k] = map[[2]string]map[string]stat.Change{}
	}
	for i := range d.Found {
		o := &d.Found[i]
		at := [2]string{o.Cell, o.Metric}
		for k, samples := range others {
			if _, compared := tables[k][at]; !compared {
				tables[k][at] = changesOf(samples, o)
			}
			if c, measured := tables[k][at][o.Role]; measured {
				o.OtherRuns.Runs++
				if side := beyond(c); side < 0 && o.Ratio < 1 || side > 0 && o.Ratio > 1 {
					o.OtherRuns.Alike++
				}
			}
		}
		r := &o.OtherRuns
		r.Lasting = r.Alike >= minAlike && float64(r.Alike) >= alikeShare*float64(r.Runs)
		if r.Runs > 0 {
			o.Text += fmt.Sprintf("; so it was in %d of %s", r.Alike, otherRuns(r.Runs))
		}
	}
	d.Text = d.answer()
}

func otherRuns(n int) string {
	if n == 1 {
		return "1 other run"
	}
	return fmt.Sprintf("%d other runs", n)
}

// changesOf are how targets stood to the others in the metric of an outlier, by role; none where too few were measured.
func changesOf(samples []Sample, o *Outlier) map[string]stat.Change {
	var table []Sample
	for _, s := range samples {
		if s.Cell == o.Cell && s.Metric == o.Metric {
			table = append(table, s)
		}
	}
	if len(table) < MinTargets {
		return nil
	}
	byRole := map[string]stat.Change{}
	for i, c := range stat.FromOthers(aligned(table), o.Confidence).Changes {
		if !math.IsNaN(c.Ratio) {
			byRole[table[i].Role] = c
		}
	}
	return byRole
}
