package outliers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// Deviation is a fact in which a few of many machines differ from the others.
type Deviation struct {
	// Kind, Fact and Name are as in diff.Difference: a thing is there or is not.
	Kind string `json:"kind"`
	Fact string `json:"fact"`
	Name string `json:"name"`
	// On are the machines. About names the thing that the fact belongs to on each of them, in their order; empty for
	// the machine as a whole.
	On    []string `json:"on"`
	About []string `json:"about,omitempty"`
	// Value is the value on these machines. Typical is the value on the SameCount others that agree. Machines is how
	// many have a known value. Each text is empty if there is no value.
	Value     string `json:"here"`
	Typical   string `json:"there"`
	SameCount int    `json:"alike"`
	Machines  int    `json:"machines"`
	// Weight orders, and Why is the mechanism; see diff.Difference. Slower is set if these are likely slower because of
	// it.
	Weight float64 `json:"weight"`
	Why    string  `json:"why"`
	Slower bool    `json:"slower,omitempty"`
}

// Machines finds by what a few of some machines are not like the others, the likeliest to matter first: values that
// more than half of them have, and others have otherwise. What nothing is known of is left out, and of two machines it
// is unknown which is the odd one. Facts may be made when they are asked for.
func Machines(knowledge *diff.Knowledge, names []string, of func(i int) []lab.Fact) []Deviation {
	found := []Deviation{}
	if len(names) < MinTargets {
		return found
	}
	typical := nearest(len(names), of)
	base := diff.Side{Name: names[typical], Facts: of(typical)}
	differing := map[string]*factDeviations{}
	unknown := map[string]map[int]bool{} // who does not know a fact
	for i := range names {
		if i == typical {
			continue
		}
		d := knowledge.Compare(diff.Side{Name: names[i], Facts: of(i)}, base)
		for _, n := range d.NotComparable {
			if unknown[n.Fact] == nil {
				unknown[n.Fact] = map[int]bool{}
			}
			unknown[n.Fact][i] = true
		}
		for _, one := range d.Differences {
			if one.Weight > diff.Unknown {
				addDifference(differing, one, i)
			}
		}
	}
	for _, d := range differing {
		found = append(found, d.deviations(names, typical, unknown[d.fact])...)
	}
	slices.SortFunc(found, func(a, b Deviation) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(len(a.On), len(b.On)),
			strings.Compare(a.Fact, b.Fact), strings.Compare(a.Typical, b.Typical), strings.Compare(a.Value, b.Value))
	})
	return found
}

// nearest is the machine whose values most others have too.
func nearest(n int, of func(i int) []lab.Fact) int {
	index := catalogue.NewIndex()
	type at struct{ key, about, value string }
	having := map[at]int{}
	each := func(i int, do func(at)) {
		for _, f := range of(i) {
			if d, known := index.Lookup(f.Key); f.Unknown == "" && known && d.Mark == catalogue.Setting &&
				!catalogue.Bulk(f.Key) {
				do(at{f.Key, f.About, f.Value})
			}
		}
	}
	for i := range n {
		each(i, func(a at) { having[a]++ })
	}
	best, most := 0, -1
	for i := range n {
		sum := 0
		each(i, func(a at) { sum += having[a] })
		if sum > most {
			best, most = i, sum
		}
	}
	return best
}

// factDeviations is what the most typical machine has, and others otherwise.
type factDeviations struct {
	kind, fact, name, there string
	weight                  float64
	why                     string
	about                   string
	others                  map[int]other
}

// other is the value of a machine that has it otherwise.
type other struct {
	value, about string
	slower       string
}

func addDifference(all map[string]*factDeviations, one diff.Difference, machine int) {
	id := one.Fact + "\x00" + one.B
	name, things := one.Name, [2]string{}
	if len(one.About) > 0 {
		var here, there []string
		for _, p := range one.About {
			here, there = append(here, p.A), append(there, p.B)
		}
		things = [2]string{strings.Join(here, ", "), strings.Join(there, ", ")}
	}
	if one.Kind == "thing" { // each is by itself there or not
		id, name = one.Fact+"\x00"+one.A+"\x00"+one.B, one.Fact
	}
	d := all[id]
	if d == nil {
		d = &factDeviations{kind: one.Kind, fact: one.Fact, name: name, there: one.B, about: things[1],
			others: map[int]other{}}
		all[id] = d
	}
	if one.Weight > d.weight {
		d.weight, d.why = one.Weight, one.Why
	}
	if was, twice := d.others[machine]; twice { // two things of it, each with a value
		d.others[machine] = other{was.value + ", " + one.A, was.about + ", " + things[0], was.slower}
		return
	}
	d.others[machine] = other{one.A, things[0], one.Slower}
}

// deviations are those who are not like more than half of the machines that know it.
func (d *factDeviations) deviations(names []string, typical int, unknown map[int]bool) []Deviation {
	by := map[string][]int{}
	known := 0
	for i := range names {
		value := d.there
		if o, differs := d.others[i]; differs {
			value = o.value
		} else if unknown[i] {
			continue
		}
		by[value] = append(by[value], i)
		known++
	}
	common := ""
	for value, who := range by {
		if 2*len(who) > known {
			common = value
		}
	}
	if 2*len(by[common]) <= known {
		return nil
	}
	slowest := "a" // the side of those who are not as the typical one
	if common != d.there {
		slowest = "b"
	}
	var all []Deviation
	for value, who := range by {
		if value == common {
			continue
		}
		u := Deviation{Kind: d.kind, Fact: d.fact, Name: d.name, Value: value, Typical: common,
			SameCount: len(by[common]),
			Machines:  known, Weight: d.weight, Why: d.why}
		for _, i := range who {
			o := d.others[i]
			if i == typical || o.value == "" && o.about == "" {
				o.about = d.about
			}
			u.On = append(u.On, names[i])
			if o.about != "" || d.about != "" {
				u.About = append(u.About, o.about)
			}
			u.Slower = u.Slower || slowest == "a" && o.slower == slowest
		}
		for _, i := range by[common] {
			u.Slower = u.Slower || slowest == "b" && value == d.there && d.others[i].slower == slowest
		}
		all = append(all, u)
	}
	return all
}
