package outliers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// samples are of so many targets, with so many repetitions each, of which the second has a share of what the others
// have. All are slower in the second repetition.
func samples(targets, repetitions int, share float64) []Sample {
	r := rand.New(rand.NewPCG(1, 2))
	var all []Sample
	for i := range targets {
		s := Sample{Role: fmt.Sprintf("node-%d", i+1), Cell: "read", Metric: "read.iops", Better: lab.Higher,
			Values: map[int]float64{}}
		for n := 1; n <= repetitions; n++ {
			v := 1000 * math.Exp(0.01*r.NormFloat64())
			if n == 2 {
				v /= 2
			}
			if i == 1 {
				v *= share
			}
			s.Values[n] = v
		}
		all = append(all, s)
	}
	return all
}

func TestFind(t *testing.T) {
	d := Find(samples(12, 4, 0.82))
	if len(d.Found) != 1 || d.Found[0].Role != "node-2" || !d.Found[0].Worse || d.Claims != 12 ||
		d.Found[0].Typical == "node-2" {
		t.Fatalf("%+v", d)
	}
	d.Found[0].Explain([]Difference{{Fact: "pci.link.width", About: "nvme0", Value: "2", Typical: "4", Alike: new(10)}},
		10)
	if text := d.Found[0].Text; !strings.Contains(text, "node-2: read.iops of read is") ||
		!strings.Contains(text, "less than the median of the 11 others") ||
		!strings.Contains(text,
			"its pci.link.width of nvme0 is 2, 4 on "+d.Found[0].Typical+" and 10 of the 10 others") {
		t.Error(text)
	}
	if d := Find(samples(12, 3, 1.3)); len(d.Found) != 1 || d.Found[0].Worse {
		t.Errorf("%+v", d)
	}
	if d := Find(samples(12, 3, 0.99)); len(d.Found) != 0 || d.Lacking || !strings.Contains(d.Text, "none is sure") {
		t.Errorf("%+v", d)
	}
}

// What a run found is said of that run alone, until two others and three quarters of all agree.
func TestOtherRuns(t *testing.T) {
	alike, unlike, otherSide := samples(12, 4, 0.8), samples(12, 4, 1), samples(12, 4, 1.3)
	for name, c := range map[string]struct {
		others  [][]Sample
		expect  OtherRuns
		heading string
	}{
		"none": {nil, OtherRuns{}, "was not like the others while they were measured"},
		"one":  {[][]Sample{alike}, OtherRuns{Runs: 1, Alike: 1}, "was not like"},
		"two": {[][]Sample{alike, alike}, OtherRuns{Runs: 2, Alike: 2, Lasting: true},
			"is not like the others:"},
		"two of three": {[][]Sample{alike, unlike, alike}, OtherRuns{Runs: 3, Alike: 2}, "was not like"},
		"three of four": {[][]Sample{alike, unlike, alike, alike}, OtherRuns{Runs: 4, Alike: 3, Lasting: true},
			"is not like"},
		"on the other side": {[][]Sample{otherSide, otherSide}, OtherRuns{Runs: 2}, "was not like"},
		"without it":        {[][]Sample{alike[2:], alike[:2], nil}, OtherRuns{}, "was not like"},
	} {
		d := Find(samples(12, 4, 0.82))
		d.AddOtherRuns(c.others)
		if got := d.Found[0].OtherRuns; got != c.expect || !strings.Contains(d.Text, c.heading) {
			t.Errorf("%s: %+v, %s", name, got, d.Text)
		}
		if printed := strings.Contains(d.Found[0].Text, fmt.Sprintf("so it was in %d of %d other run", c.expect.Alike,
			c.expect.Runs)); printed != (c.expect.Runs > 0) {
			t.Errorf("%s: %s", name, d.Found[0].Text)
		}
	}
}

func TestTooFew(t *testing.T) {
	if d := Find(samples(2, 9, 0.5)); d != nil {
		t.Errorf("of two: %+v", d)
	}
	d := Find(samples(12, 1, 0.5))
	if len(d.Found) != 0 || !d.Lacking || d.MinTargets != 2 || !strings.Contains(d.Text, "--repeat 2") {
		t.Errorf("%+v", d)
	}
	if d := Find(samples(12, 2, 0.5)); len(d.Found) != 1 || d.Found[0].Role != "node-2" || !d.Assumed {
		t.Errorf("two repetitions, one half as fast: %+v", d)
	}
	if d := Find(samples(12, 2, 1)); len(d.Found) != 0 || !strings.Contains(d.Text, "Two repetitions can't show") {
		t.Errorf("two repetitions, all alike: %+v", d)
	}
}

// Where levels last for many repetitions none is named, and the text says why.
func TestRepetitionsThatAreAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	all := samples(20, 10, 1)
	for i := range all {
		slow := r.Float64() < 0.3
		for n := 1; n <= 10; n++ {
			if r.Float64() < 0.15 {
				slow = !slow
			}
			if slow {
				all[i].Values[n] *= 0.85
			}
		}
	}
	if d := Find(all); len(d.Found) != 0 || d.Correlation < 0.5 ||
		!strings.Contains(d.Text, "Neighbouring repetitions are alike") {
		t.Errorf("%+v", d)
	}
}

// What a target lacks is no reason to name another.
func TestATargetWithoutResult(t *testing.T) {
	all := samples(12, 4, 0.82)
	all[4].Values = map[int]float64{}
	if d := Find(all); len(d.Found) != 1 || d.Found[0].Role != "node-2" {
		t.Errorf("%+v", d)
	}
}

// A target that measured 0 has no ratio to the others, and is named before all else.
func TestTargetsThatStandStill(t *testing.T) {
	for name, c := range map[string]struct {
		stands func(target, repetition int) bool
		better lab.Better
		want   string // what the answer begins with
		zeros  []int
	}{
		"each time": {func(target, _ int) bool { return target == 4 }, lab.Higher,
			"node-5 measured 0 of read.iops of read in 4 of 4 repetitions. 1 of 12 targets was not like", []int{4}},
		"once": {func(target, repetition int) bool { return target == 4 && repetition == 3 }, lab.Higher,
			"node-5 measured 0 of read.iops of read in 1 of 4 repetitions. 1 of 12 targets was not like", []int{1}},
		"five of them": {func(target, _ int) bool { return target > 4 && target < 10 }, lab.Higher,
			"node-6 measured 0 of read.iops of read in 4 of 4 repetitions, node-7 measured 0", []int{4, 4, 4, 4, 4}},
		"all":            {func(int, int) bool { return true }, lab.Higher, "Of 12 targets none", nil},
		"less is better": {func(target, _ int) bool { return target == 4 }, lab.Lower, "1 of 12 targets was", nil},
		"none":           {func(int, int) bool { return false }, lab.Higher, "1 of 12 targets was not like", nil},
	} {
		all := samples(12, 4, 0.82)
		for i := range all {
			all[i].Better = c.better
			for n := range all[i].Values {
				if c.stands(i, n) {
					all[i].Values[n] = 0
				}
			}
		}
		d := Find(all)
		var zeros []int
		for _, o := range d.Outages {
			zeros = append(zeros, o.Zero)
		}
		if !strings.HasPrefix(d.Text, c.want) || !slices.Equal(zeros, c.zeros) {
			t.Errorf("%s: %+v: %s", name, d.Outages, d.Text)
		}
		if len(c.zeros) > mostOutages && !strings.Contains(d.Text, "and 2 more (--json has all of them). ") {
			t.Errorf("%s: %s", name, d.Text)
		}
	}
}
