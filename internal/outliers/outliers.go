// Package outliers says which of many targets alike are not like the others: how far they are from the median of the others, how surely, and by what their
// machines differ. It is pure.
//
// A decision holds with a confidence that is shared out over the whole table, every target and every deciding metric of every cell (alpha / n), as in
// comparisons. Values are taken as ratios to the median of the other targets in the same repetition: what came upon all of them at that time is in none.
package outliers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/stat"
	"headroom/internal/unit"
)

// Alpha bounds the probability that any target is named wrongly, in the whole table. A target is named whose whole interval lies beyond Margin: what machines
// of one kind differ by as a rule is no news.
const (
	Alpha  = 0.05
	Margin = 0.03
)

// Fewest is how many targets there must be: of two, nobody can say which is the odd one.
const Fewest = 3

// Sample is what one metric of one cell was on one target, by repetition.
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
	// Targets are how many were held against each other, and Claims how many decisions share Alpha.
	Targets int     `json:"targets"`
	Claims  int     `json:"claims"`
	Alpha   float64 `json:"alpha"`
	Margin  float64 `json:"margin"`
	// Found are the targets that are not like the others, the farthest first.
	Found []Outlier `json:"found"`
	// Fewest is how many repetitions of each it takes for any target to be named; Lacking says that there are fewer.
	Fewest  int  `json:"fewest,omitempty"`
	Lacking bool `json:"lacking,omitempty"`
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
	// Typical is the target that is nearest to the median of all, and Differences are by what its machine differs, the likeliest to matter first.
	Typical     string       `json:"typical"`
	Differences []Difference `json:"differences,omitempty"`
	// Text is all of it in words.
	Text string `json:"text"`
}

// Difference is a fact of an outlier that others have otherwise.
type Difference struct {
	Fact  string `json:"fact"`
	About string `json:"about,omitempty"`
	// Here and There are the values, of the outlier and of the typical target. Alike is how many of the others have it as the typical one; nil where
	// that is not known.
	Here  string `json:"here"`
	There string `json:"there"`
	Alike *int   `json:"alike,omitempty"`
	Why   string `json:"why,omitempty"`
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
	if d.Targets < Fewest {
		return nil
	}
	for _, key := range order {
		if len(tables[key]) >= Fewest {
			d.Claims += len(tables[key])
		}
	}
	confidence := stat.FamilyWise(Alpha, d.Claims)
	known := false
	for _, key := range order {
		if table := tables[key]; len(table) >= Fewest {
			changes, typical := hold(table, confidence)
			for i, c := range changes {
				known = known || c.Known()
				if c.Known() && (c.Hi < 1/(1+Margin) || c.Lo > 1+Margin) {
					d.Found = append(d.Found, found(table[i], c, typical, len(table)))
				}
			}
		}
	}
	const most = 100
	d.Fewest = stat.FewestFromRest(d.Targets, confidence, most)
	d.Lacking = !known
	slices.SortStableFunc(d.Found, func(a, b Outlier) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio)), math.Abs(math.Log(a.Ratio)))
	})
	d.Text = d.answer()
	return d
}

// hold holds the targets of one metric against each other, and says which is the nearest to the median of all.
func hold(table []Sample, confidence float64) (changes []stat.Change, typical string) {
	repetitions := map[int][]int{} // who has it
	for i, s := range table {
		for number := range s.Values {
			repetitions[number] = append(repetitions[number], i)
		}
	}
	ratios := make([][]float64, len(table))
	for number, who := range repetitions {
		if len(who) < Fewest {
			continue
		}
		slices.Sort(who)
		var values []float64
		for _, i := range who {
			values = append(values, table[i].Values[number])
		}
		for k, middle := range stat.MediansOfOthers(values) {
			if middle > 0 {
				ratios[who[k]] = append(ratios[who[k]], values[k]/middle)
			}
		}
	}
	for _, r := range ratios {
		slices.Sort(r) // a map has no order
	}
	nearest := math.Inf(1)
	for i, r := range ratios {
		if len(r) == 0 {
			continue
		}
		if distance := math.Abs(math.Log(stat.Median(r))); distance < nearest {
			nearest, typical = distance, table[i].Role
		}
	}
	return stat.FromRest(ratios, confidence), typical
}

func found(s Sample, c stat.Change, typical string, of int) Outlier {
	o := Outlier{Role: s.Role, Cell: s.Cell, Metric: s.Metric, Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi, Confidence: c.Confidence, N: c.N, Typical: typical}
	o.Worse = (c.Ratio < 1) == (s.Better == lab.Higher)
	word := map[bool]string{true: "lower", false: "higher"}[c.Ratio < 1]
	if s.Better == lab.Higher {
		word = map[bool]string{true: "less", false: "more"}[c.Ratio < 1]
	}
	least, most := share(c.Lo), share(c.Hi)
	if c.Ratio < 1 {
		least, most = most, least
	}
	o.Text = fmt.Sprintf("%s: %s of %s is %s %s than the median of %d targets [%s to %s, n=%d]", s.Role, s.Metric, s.Cell,
		unit.Percent(share(c.Ratio)), word, of, unit.Percent(least), unit.Percent(most), c.N)
	return o
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
		text := fmt.Sprintf("its %s is %s, %s on %s", name, orNothing(d.Here), orNothing(d.There), o.Typical)
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
	case d.Lacking && d.Fewest > 0:
		return fmt.Sprintf("Of %d targets none can be told from the others yet: it takes %d repetitions of each (--repeat %d), since %d decisions share an error of %s.",
			d.Targets, d.Fewest, d.Fewest, d.Claims, unit.Percent(d.Alpha))
	case len(names) == 0:
		return fmt.Sprintf("Of %d targets none is sure to be more than %s from the median of the others; of all %d decisions one or more are wrong with a probability of %s at most.",
			d.Targets, unit.Percent(d.Margin), d.Claims, unit.Percent(d.Alpha))
	case len(names) == 1:
		return fmt.Sprintf("1 of %d targets is not like the others:", d.Targets)
	}
	return fmt.Sprintf("%d of %d targets are not like the others:", len(names), d.Targets)
}
