package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// A warning that could have turned the verdict makes a row incomparable, and says what it would be; a smaller one is a
// caveat with its size.
func TestDisturbancesAreWeighed(t *testing.T) {
	warned := func(code string, most float64) lab.RepeatedWarning {
		return lab.RepeatedWarning{Warning: lab.Warning{Code: code, Text: code, Taints: []string{"*"}, MostError: most},
			Repetitions: 6}
	}
	// The two are 20% apart, and boots tell how far each scatters.
	base, slower := bootsOf("BASE", 100, 101, 102, 99, 98, 100), bootsOf("NEXT", 80, 81, 82, 79, 78, 80)
	for _, c := range []struct {
		name      string
		ofBase    []lab.RepeatedWarning
		ofNext    []lab.RepeatedWarning
		load      string
		want      Verdict
		caveats   int
		mostError float64
	}{
		{name: "nothing", want: Slower},
		{name: "others took 5% of what the slower one did", ofNext: []lab.RepeatedWarning{warned("other-load", 0.05)},
			want:    Slower,
			caveats: 1, mostError: 0.05},
		{name: "others took 30%", ofNext: []lab.RepeatedWarning{warned("other-load", 0.3)}, want: Incomparable},
		{name: "others took 30% of the faster one: it would be faster still",
			ofBase: []lab.RepeatedWarning{warned("other-load", 0.3)}, want: Slower, caveats: 1, mostError: 0.3},
		{name: "by an unknown amount", ofNext: []lab.RepeatedWarning{warned("other-load", 0)}, want: Incomparable},
		{name: "by an unknown amount, on the faster side", ofBase: []lab.RepeatedWarning{warned("generator-bound", 0)},
			want: Slower, caveats: 1},
		{name: "a trend either way on the faster side", ofBase: []lab.RepeatedWarning{warned("drifting", 0.3)},
			want: Incomparable},
		{name: "the same on both sides", ofBase: []lab.RepeatedWarning{warned("generator-bound", 0)},
			ofNext: []lab.RepeatedWarning{warned("generator-bound", 0)}, want: Slower, caveats: 1},
		{name: "two that add up", ofNext: []lab.RepeatedWarning{warned("other-load", 0.1), warned("cpu-steal", 0.12)},
			want: Incomparable},
		{name: "no number of the storage", ofNext: []lab.RepeatedWarning{warned("page-cache", 0)}, want: Incomparable},
		{name: "of the spread", ofNext: []lab.RepeatedWarning{warned("wide-interval", 0)}, want: Slower},
		{name: "worth knowing", ofNext: []lab.RepeatedWarning{warned("busy-before", 0)}, want: Slower},
		{name: "an unknown code", ofNext: []lab.RepeatedWarning{warned("from-elsewhere", 0)},
			want: Incomparable},
	} {
		a, b := base, slower
		a.Cells, b.Cells = []Cell{base.Cells[0]}, []Cell{slower.Cells[0]}
		a.Cells[0].Warnings, b.Cells[0].Warnings = c.ofBase, c.ofNext
		d := Compare(knowledge(t), a, []Run{b}, Options{})
		got := only(t, d)
		if got.Verdict != c.want || len(got.Caveats) != c.caveats {
			t.Errorf("%s: %s (%s), %d caveats", c.name, got.Verdict, got.Why, len(got.Caveats))
			continue
		}
		if c.caveats > 0 && got.Caveats[0].MostError != c.mostError {
			t.Errorf("%s: %+v", c.name, got.Caveats)
		}
		spoiled := len(c.ofNext) > 0 && (c.ofNext[0].Code == "page-cache" || c.ofNext[0].Code == "from-elsewhere")
		if turned := c.want == Incomparable && !spoiled; turned != (got.Would != nil) ||
			turned != (d.New[0].Doubtful == 1) || turned && got.Change != nil {
			t.Errorf("%s: change %v, would be %v, %d doubtful", c.name, got.Change, got.Would, d.New[0].Doubtful)
		}
		if c.want == Incomparable && len(got.Reasons) == 0 {
			t.Errorf("%s: no reason", c.name)
		}
		if anyway := only(t, Compare(knowledge(t), a, []Run{b}, Options{Anyway: true})); anyway.Verdict != Slower ||
			anyway.Would != nil || anyway.Anyway != (c.want == Incomparable) {
			t.Errorf("%s: with Anyway %s, marked %t", c.name, anyway.Verdict, anyway.Anyway)
		}
	}
}

// What others took makes rates lower and latencies higher, so that the other side of a latency's verdict is the one
// that could turn.
func TestDisturbedLatencies(t *testing.T) {
	warned := []lab.RepeatedWarning{
		{Warning: lab.Warning{Code: "other-load", Text: "others", Taints: []string{"*"}, MostError: 0.3}}}
	base, next := bootsOf("BASE", 100, 101, 102, 99, 98, 100), bootsOf("NEXT", 80, 81, 82, 79, 78, 80)
	for side, want := range []Verdict{Incomparable, Better} {
		a, b := latencies(base), latencies(next)
		if side == 0 {
			a.Cells[0].Warnings = warned
		} else {
			b.Cells[0].Warnings = warned
		}
		got := only(t, Compare(knowledge(t), a, []Run{b}, Options{Metrics: []string{"read.latency.p99"}}))
		if got.Verdict != want {
			t.Errorf("others on side %d: %s (%s), want %s", side, got.Verdict, got.Why, want)
		}
	}
}

// A caveat says of which side it can explain how much.
func TestCaveatsSayHowMuch(t *testing.T) {
	base, next := bootsOf("BASE", 100, 101, 102, 99, 98, 100), bootsOf("NEXT", 80, 81, 82, 79, 78, 80)
	next.Cells[0].Warnings = []lab.RepeatedWarning{
		{Warning: lab.Warning{Code: "other-load", Text: "1 GiB of others", Taints: []string{"*"}, MostError: 0.05}}}
	got := only(t, Compare(knowledge(t), base, []Run{next}, Options{}))
	if text := got.Caveats[0].Text; !strings.Contains(text, "1 GiB of others") ||
		!strings.Contains(text, "at most 5.0% of the new side") {
		t.Error(text)
	}
}

// bootsOf is a run whose values were measured in a boot each.
func bootsOf(id string, values ...float64) Run {
	r := run(id, reads, values...)
	for metric := range r.Cells[0].Values {
		for i := range r.Cells[0].Values[metric] {
			r.Cells[0].Values[metric][i].Boot = id + string(rune('a'+i))
		}
	}
	return r
}

// latencies is the run with the values as latencies in milliseconds.
func latencies(r Run) Run {
	c := r.Cells[0]
	var values []Value
	for _, v := range c.Values["read.iops"] {
		v.Value = v.Value / 1e3
		values = append(values, v)
	}
	c.Values = map[string][]Value{"read.latency.p99": values}
	r.Cells = []Cell{c}
	if len(values) == 0 || math.IsNaN(values[0].Value) {
		panic("no values")
	}
	return r
}

// What a comparison says of two runs can be looked up like any other warning.
func TestWarningsOfComparisonsAreExplained(t *testing.T) {
	weights := validity.Weights()
	for _, code := range []string{"same-run", "one-boot", "boots-unknown", "one-after-the-other", "running",
		"carry-over", "rhythm", "sessions-unknown"} {
		if weights[code] != validity.Note {
			t.Errorf("%s: weight %q", code, weights[code])
		}
	}
}

// A number that others may have moved is in no mean, though it is undecided and not incomparable.
func TestWhatOthersMovedIsInNoMean(t *testing.T) {
	quiet, moved := run("BASE", reads, 100, 101, 102, 99, 98, 100), run("NEXT", reads, 80, 120, 90, 110, 100, 95)
	quiet.Cells = append(quiet.Cells, cell("second", "rw=write bs=4k", 100, 101, 102, 99, 98, 100))
	moved.Cells = append(moved.Cells, cell("second", "rw=write bs=4k", 80, 120, 90, 110, 100, 95))
	cells := func() int {
		d := Compare(knowledge(t), quiet, []Run{moved}, Options{})
		if len(d.New[0].Means) == 0 {
			return 0
		}
		return d.New[0].Means[0].Cells
	}
	if n := cells(); n != 2 {
		t.Fatalf("the mean is of %d", n)
	}
	for most, want := range map[float64]int{0.02: 2, 0.3: 1, 0: 1} {
		moved.Cells[0].Warnings = []lab.RepeatedWarning{
			{Warning: lab.Warning{Code: "other-load", Text: "others", Taints: []string{"*"}, MostError: most}}}
		if n := cells(); n != want {
			t.Errorf("others took %g: the mean is of %d, want %d", most, n, want)
		}
	}
}
