package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

func knowledge(t *testing.T) *diff.Knowledge {
	t.Helper()
	k, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// params reads "rw=randread bs=4k".
func params(text string) map[string]string {
	out := map[string]string{}
	for p := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(p, "=")
		out[name] = value
	}
	return out
}

// run has one cell for each text of parameters, with values of read.iops.
func run(id, load string, values ...float64) Run {
	return Run{
		Run:   lab.Run{ID: id, Source: lab.Measured, Status: lab.Complete},
		Name:  id,
		Cells: []Cell{cell("randread", load, values...)},
	}
}

func cell(job, load string, values ...float64) Cell {
	c := Cell{Job: job, Engine: "fio", Params: params(load), N: len(values), Values: map[string][]Value{}}
	for i, v := range values {
		c.Values["read.iops"] = append(c.Values["read.iops"],
			Value{Value: v, Repetition: i + 1, Boot: "b", Block: i + 1})
	}
	return c
}

const reads = "rw=randread bs=4k iodepth=32 direct=1 ioengine=libaio"

// noisy are n values around a level.
func noisy(r *rand.Rand, n int, level, spread float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * math.Exp(spread*r.NormFloat64())
	}
	return out
}

func only(t *testing.T, d Document) ComparedMetric {
	t.Helper()
	if len(d.Cells) != 1 {
		t.Fatalf("%d numbers, want one: %+v", len(d.Cells), d.Cells)
	}
	return d.Cells[0]
}

func TestVerdicts(t *testing.T) {
	know := knowledge(t)
	for _, c := range []struct {
		name, metric string
		base, next   []float64
		verdict      Verdict
		why          string
	}{
		{"clearly slower", "read.iops", []float64{100, 101, 99, 100, 100.5}, []float64{60, 61, 59.5, 60, 60.2},
			Slower, "by 39% at least"},
		{"clearly faster", "read.iops", []float64{60, 61, 59.5, 60, 60.2}, []float64{100, 101, 99, 100, 100.5},
			Faster, "at least"},
		{"the same", "read.iops", []float64{1000, 1001, 999, 1000, 1000.5, 999.5},
			[]float64{1001, 1000, 1000.2, 999.8, 1000, 1001}, Same, "within 3%"},
		{"a difference within the margin", "read.iops", []float64{1000, 1001, 999, 1000, 1000.5, 999.5},
			[]float64{1019, 1020, 1019.5, 1020.5, 1019, 1020}, Same, "2% faster, within the margin of 3%"},
		{"too noisy", "read.iops", []float64{100, 110, 95, 105}, []float64{101, 93, 108, 99}, Undecided,
			"more repetitions, those above 1.5%"},
		{"measured once", "read.iops", []float64{100}, []float64{50}, Undecided,
			"one repetition says nothing of the spread"},
		{"a longer latency", "read.latency.mean", []float64{1e-3, 1.01e-3, 0.99e-3, 1e-3},
			[]float64{2e-3, 2.01e-3, 1.99e-3, 2e-3}, Worse, "at least"},
		{"a shorter latency", "read.latency.mean", []float64{2e-3, 2.01e-3, 1.99e-3, 2e-3},
			[]float64{1e-3, 1.01e-3, 0.99e-3, 1e-3}, Better, "at least"},
	} {
		t.Run(c.name, func(t *testing.T) {
			load := reads
			if c.metric != "read.iops" {
				load += " rate_iops=500"
			}
			base, next := run("BASE", load, c.base...), run("NEXT", load, c.next...)
			for _, r := range []*Run{&base, &next} {
				r.Cells[0].Values = map[string][]Value{c.metric: r.Cells[0].Values["read.iops"]}
			}
			got := only(t, Compare(know, base, []Run{next}, steady()))
			if got.Verdict != c.verdict || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s (%s), want %s (%s)", got.Verdict, got.Why, c.verdict, c.why)
			}
		})
	}
}

// steady has other sessions of every load be known, which hardly differ.
func steady() Options {
	return Options{Others: func(Run, Cell, string) [][]float64 {
		return slices.Repeat([][]float64{{1000}, {1000.5}, {999.5}}, 5)
	}}
}

// Two sessions tell nothing of a third, however well the repetitions of each agree.
func TestTwoSessionsAreNoMoreThanTwo(t *testing.T) {
	know := knowledge(t)
	base, next := run("BASE", reads, 100, 101, 99, 100, 100.5), run("NEXT", reads, 80, 81, 79.5, 80, 80.2)
	others := func(levels ...float64) Options {
		return Options{Others: func(Run, Cell, string) [][]float64 {
			var sessions [][]float64
			for _, l := range levels {
				sessions = append(sessions, []float64{l})
			}
			return sessions
		}}
	}
	for _, c := range []struct {
		name    string
		options Options
		verdict Verdict
		why     string
	}{
		{"nothing else is known", Options{}, Differs, "slower by 19% at least in these two sessions"},
		{"too little else is known", others(slices.Repeat([]float64{100, 100.5, 99.5}, 4)...), Differs,
			"slower by 19% at least in these two sessions"},
		{"others hardly differ", steady(), Slower, "by 19% at least"},
		{"others differ as far", others(slices.Repeat([]float64{100, 80, 120, 95, 105}, 3)...), Undecided,
			"20% slower in these two sessions; 15 others of this load spread so far that it may be chance"},
	} {
		if got := only(t, Compare(know, base, []Run{next}, c.options)); got.Verdict != c.verdict || got.Why != c.why {
			t.Errorf("%s: %s, %s; want %s, %s", c.name, got.Verdict, got.Why, c.verdict, c.why)
		}
	}
	// Of two boots or more on each side, what boots differ by is in the interval.
	for _, r := range []*Run{&base, &next} {
		for i := range r.Cells[0].Values["read.iops"] {
			r.Cells[0].Values["read.iops"][i].Boot = fmt.Sprint(r.ID, i)
		}
	}
	if got := only(t, Compare(know, base, []Run{next}, Options{})); got.Verdict != Slower {
		t.Errorf("five boots on each side: %s, %s", got.Verdict, got.Why)
	}
}

// Whatever the values are: swapping the sides inverts the ratio and the verdict, a run does not differ from itself, the
// order of the repetitions does not matter, and a wider margin never makes a difference of what was the same.
func TestProperties(t *testing.T) {
	inverse := map[Verdict]Verdict{Faster: Slower, Slower: Faster, Same: Same, Undecided: Undecided}
	r := rand.New(rand.NewPCG(1, 2))
	know := knowledge(t)
	seen := map[Verdict]int{}
	for range 30 {
		spread := []float64{0.002, 0.01, 0.1}[r.IntN(3)]
		ratio := []float64{1, 1.02, 1.3, 0.7}[r.IntN(4)]
		base := run("BASE", reads, noisy(r, 1+r.IntN(9), 1000, spread)...)
		next := run("NEXT", reads, noisy(r, 1+r.IntN(9), 1000*ratio, spread)...)
		there, back := only(t, Compare(know, base, []Run{next}, steady())),
			only(t, Compare(know, next, []Run{base}, steady()))
		seen[there.Verdict]++
		if back.Verdict != inverse[there.Verdict] || math.Abs(there.Change.Ratio*back.Change.Ratio-1) > 1e-9 {
			t.Fatalf("%s %v, swapped %s %v", there.Verdict, there.Change.Ratio, back.Verdict, back.Change.Ratio)
		}
		if self := only(t, Compare(know, base, []Run{base}, steady())); self.Verdict != Same &&
			self.Verdict != Undecided {
			t.Fatalf("a run against itself is %s", self.Verdict)
		}
		shuffled := run("NEXT", reads)
		values := slices.Clone(next.Cells[0].Values["read.iops"])
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		shuffled.Cells[0].Values["read.iops"], shuffled.Cells[0].N = values, len(values)
		other := only(t, Compare(know, base, []Run{shuffled}, steady()))
		if other.Verdict != there.Verdict || other.Change.Ratio != there.Change.Ratio {
			t.Fatalf("in another order %s %v, before %s %v", other.Verdict, other.Change.Ratio, there.Verdict,
				there.Change.Ratio)
		}
		wide := only(t, Compare(know, base, []Run{next}, Options{Others: steady().Others, Margin: 0.1}))
		if there.Verdict == Same && wide.Verdict != Same || there.Verdict == Undecided && wide.Verdict != Undecided &&
			wide.Verdict != Same {
			t.Fatalf("%s with a margin of 3%%, %s with 10%%", there.Verdict, wide.Verdict)
		}
	}
	for v := range inverse {
		if seen[v] == 0 {
			t.Errorf("no case was %s: %v", v, seen)
		}
	}
}

// As many repetitions as the document asks for decide, as a rule. With a spread known from six values only, that is 4
// times in 5.
func TestTheRepetitionsAskedForDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	know := knowledge(t)
	asked, decided := 0, 0
	for range 40 {
		base, next := noisy(r, 6, 1000, 0.05), noisy(r, 6, 1000, 0.05)
		got := only(t, Compare(know, run("BASE", reads, base...), []Run{run("NEXT", reads, next...)}, Options{}))
		if got.Verdict != Undecided || got.More == 0 {
			continue
		}
		asked++
		base, next = append(base, noisy(r, got.More, 1000, 0.05)...), append(next, noisy(r, got.More, 1000, 0.05)...)
		if only(t, Compare(know, run("BASE", reads, base...), []Run{run("NEXT", reads, next...)}, Options{})).Verdict !=
			Undecided {
			decided++
		}
	}
	if asked < 20 || decided < asked*8/10 {
		t.Errorf("with as many more as asked for, %d of %d were decided", decided, asked)
	}
}

// What could have been detected is read off a line; it must be the one that stat draws.
func TestReachIsALine(t *testing.T) {
	for _, n := range [][2]int{{2, 2}, {3, 5}, {5, 5}, {8, 8}, {20, 30}} {
		p := newPower(0.99)
		for _, spread := range []float64{0.001, 0.05, 0.3} {
			got, want := p.reach(n[0], n[1]).at(spread), math.Log(stat.MinimumDetectable(spread, n[0], n[1], 0.99))
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("%v at a spread of %g: %g, want %g", n, spread, got, want)
			}
		}
	}
}

func TestIncomparable(t *testing.T) {
	know := knowledge(t)
	values := []float64{100, 101, 99, 100}
	base := func(load string) Run { return run("BASE", load, values...) }
	next := func(load string) Run { return run("NEXT", load, values...) }
	warned := func(r Run, w lab.RepeatedWarning) Run { r.Cells[0].Warnings = append(r.Cells[0].Warnings, w); return r }
	with := func(r Run, facts ...string) Run {
		for _, f := range facts {
			key, value, _ := strings.Cut(f, "=")
			r.Facts = append(r.Facts, lab.Fact{Key: key, Value: value})
		}
		return r
	}
	buffered := "rw=randread bs=4k direct=0 size=16g"
	tainted := lab.RepeatedWarning{Warning: lab.Warning{Code: "page-cache", Text: "half came from memory",
		Taints: []string{"read.*"}}}
	harmless := lab.RepeatedWarning{Warning: lab.Warning{Code: "store-on-device", Text: "the store is on it"}}
	few := lab.RepeatedWarning{Warning: lab.Warning{Code: "few-repetitions", Text: "too few", Taints: []string{"*"}}}
	rare, often := tainted, tainted
	rare.Repetitions, often.Repetitions = 1, 2
	for _, c := range []struct {
		name       string
		base, next Run
		codes      string
		says       string
	}{
		{"nothing", base(reads), next(reads), "", ""},
		{"another depth", base("rw=read bs=1m iodepth=8 direct=1"), next("rw=read bs=1m iodepth=1 direct=1"),
			"parameters", "iodepth 8 -> 1"},
		{"a depth that is the default", base("rw=read bs=1m iodepth=1 direct=1"), next("rw=read bs=1024k direct=1"), "",
			""},
		{"two parameters", base("rw=read bs=4k numjobs=4"), next("rw=read bs=8k numjobs=1"),
			"parameters", "bs 4k -> 8k, numjobs 4 -> 1"},
		{"another engine", base("rw=read ioengine=libaio"), next("rw=read ioengine=io_uring"),
			"parameters", "ioengine libaio -> io_uring"},
		{"a rate", base("rw=read rate_iops=500"), next("rw=read"), "parameters", "rate_iops 500 -> 0"},
		{"another size", base("rw=read size=1g"), next("rw=read size=10g"), "parameters", "size 1g -> 10g"},
		{"flushes", base("rw=write fsync=1"), next("rw=write"), "parameters", "fsync 1 -> 0"},
		{"by another name", base("readwrite=read blocksize=4k"), next("rw=read bs=4096"), "", ""},
		{"direct against buffered", base("rw=read direct=1"), next("rw=read buffered=1"), "direct", "page cache"},
		{"run time", base("rw=read runtime=10"), next("rw=read runtime=60"), "", ""},
		{"memory on one side", with(base(buffered), "memory.total=34359738368"),
			with(next(buffered), "memory.total=8589934592"),
			"memory", "fits into the memory of the base side only: 16.0 GiB of 32.0 GiB -> 16.0 GiB of 8.00 GiB"},
		{"memory without a page cache", with(base(reads+" size=16g"), "memory.total=34359738368"),
			with(next(reads+" size=16g"), "memory.total=8589934592"),
			"", ""},
		{"memory that holds neither", with(base(buffered), "memory.total=4294967296"),
			with(next(buffered), "memory.total=8589934592"),
			"", ""},
		{"fio across a break", with(base(reads+" openfiles=4"), "fio.version=fio-3.16"),
			with(next(reads+" openfiles=4"), "tool.fio.version=fio-3.33"),
			"fio-version", "before fio 3.26"},
		{"fio across a break of something else", with(base(reads), "fio.version=fio-2.21"),
			with(next(reads), "fio.version=fio-3.33"),
			"", ""},
		{"a tainting warning", warned(base(reads), tainted), next(reads),
			"warning", "page-cache on the base side: half came from memory"},
		{"on the other side", base(reads), warned(next(reads), tainted), "warning", "page-cache on the new side"},
		{"on both sides", warned(base(reads), tainted), warned(next(reads), tainted), "warning",
			"page-cache on both sides"},
		{"a repetition that stood still", base(reads), run("NEXT", reads, 100, 0, 99, 100),
			"zero", "0 of 4 are on the base side, 1 of 4 on the new side"},
		{"a warning that taints nothing", warned(base(reads), harmless), next(reads), "", ""},
		{"a warning of the spread", warned(base(reads), few), next(reads), "", ""},
		{"a warning of one repetition of four", warned(base(reads), rare), next(reads), "", ""},
		{"a warning of two repetitions of four", warned(base(reads), often), next(reads), "warning", "page-cache"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := only(t, Compare(know, c.base, []Run{c.next}, Options{}))
			var codes []string
			for _, r := range got.Reasons {
				codes = append(codes, r.Code)
			}
			if strings.Join(codes, " ") != c.codes || (got.Verdict == Incomparable) != (c.codes != "") ||
				!strings.Contains(got.Why, c.says) {
				t.Fatalf("%s: %v, %q; want %q, %q", got.Verdict, codes, got.Why, c.codes, c.says)
			}
			if c.codes == "" {
				return
			}
			if got.Change != nil {
				t.Errorf("a change of what is incomparable: %+v", got.Change)
			}
			anyway := only(t, Compare(know, c.base, []Run{c.next}, Options{Anyway: true}))
			if anyway.Verdict == Incomparable || !anyway.Anyway || len(anyway.Reasons) == 0 {
				t.Errorf("with Anyway: %s, anyway %v, reasons %v", anyway.Verdict, anyway.Anyway, anyway.Reasons)
			}
		})
	}
}

// Latency in whole microseconds is a break where it is short, and none for rates.
func TestFioBreakConcernsShortLatencies(t *testing.T) {
	for latency, want := range map[float64]Verdict{20e-6: Incomparable, 5e-3: Agrees} {
		base, next := run("BASE", reads+" rate_iops=500"), run("NEXT", reads+" rate_iops=500")
		for i, r := range []*Run{&base, &next} {
			r.Facts = []lab.Fact{{Key: "fio.version", Value: []string{"fio-2.21", "fio-3.33"}[i]}}
			c := &r.Cells[0]
			c.N = 5
			for j := range 5 {
				c.Values["read.latency.mean"] = append(c.Values["read.latency.mean"],
					Value{Value: latency * (1 + float64(j)/1e4)})
			}
		}
		if got := only(t, Compare(knowledge(t), base, []Run{next}, Options{})); got.Verdict != want {
			t.Errorf("%g s: %s (%s), want %s", latency, got.Verdict, got.Why, want)
		}
	}
}

func TestMatching(t *testing.T) {
	v := []float64{100, 101, 99}
	base := Run{Run: lab.Run{ID: "BASE"}, Name: "base", Cells: []Cell{
		cell("seqread", "rw=read bs=1m iodepth=8 direct=1", v...),
		cell("randread", "rw=randread bs=4k iodepth=1 direct=1", v...),
		cell("randread", "rw=randread bs=4k iodepth=32 direct=1", v...),
		cell("randwrite", "rw=randwrite bs=4k iodepth=32 direct=1", v...),
		cell("never", "rw=trim bs=4k"),
	}}
	next := Run{Run: lab.Run{ID: "NEXT"}, Name: "next", Cells: []Cell{
		cell("4k-q32", "rw=randread bs=4096 iodepth=32 direct=1", v...), // another name
		cell("SEQ1M", "rw=read bs=1m iodepth=1 direct=1", v...),         // another name and depth
		cell("randread", "rw=randread bs=4k direct=1", v...),            // the same, by default
		cell("mixed", "rw=randrw bs=4k", v...),                          // nothing like it
	}}
	d := Compare(knowledge(t), base, []Run{next}, Options{})
	var got []string
	for _, c := range d.Cells {
		got = append(got, fmt.Sprintf("%s-q%s = %s %s %v", c.Job, c.Params["iodepth"], c.NewJob, c.Verdict, c.Notes))
	}
	want := []string{
		"seqread-q8 = SEQ1M incomparable [paired by parameters: it is SEQ1M in the other run]",
		"randread-q1 =  undecided []",
		"randread-q32 = 4k-q32 undecided [paired by parameters: it is 4k-q32 in the other run]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("paired\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var lonely []string
	for _, u := range d.Unmatched {
		lonely = append(lonely, u.Only+" "+u.Job)
	}
	if want := []string{"BASE randwrite", "BASE never", "NEXT mixed"}; !slices.Equal(lonely, want) {
		t.Errorf("without a partner %v, want %v", lonely, want)
	}
}

// Loads that do the same work are one load, whichever tool generated them and however they went to the storage; what
// differs is reported.
func TestMatchingByWork(t *testing.T) {
	v := []float64{100, 101, 99}
	other := func(job, params string) Cell {
		c := cell(job, params, v...)
		c.Engine = "diskspd"
		return c
	}
	base := Run{Run: lab.Run{ID: "BASE"}, Name: "base", Cells: []Cell{
		cell("RND4K-Q32T16-read", "rw=randread bs=4k iodepth=32 numjobs=16 direct=1 ioengine=libaio", v...),
		cell("RND4K-Q32T1-read", "rw=randread bs=4k iodepth=32 direct=1 ioengine=libaio", v...),
		cell("RND4K-Q1T1-read", "rw=randread bs=4k direct=1 ioengine=libaio", v...),
		cell("mix", "rw=randrw bs=4k iodepth=8 rwmixread=70 direct=1", v...),
		cell("even", "rw=randrw bs=4k iodepth=8 direct=1", v...),
	}}
	next := Run{Run: lab.Run{ID: "NEXT"}, Name: "next", Cells: []Cell{
		other("4K Q1", "rw=randread bs=4096 iodepth=1 numjobs=1"),
		other("RND4K-Q32T1-read", "rw=randread bs=4k iodepth=32 numjobs=1"),
		other("RND4K-Q32T16-read", "rw=randread bs=4k iodepth=32 numjobs=16"),
		other("5050", "rw=randrw bs=4k iodepth=8 rwmixread=50"),
		other("7030", "rw=randrw bs=4k iodepth=8 rwmixread=70"),
	}}
	next.Source, next.Format = lab.Imported, "crystaldiskmark"
	d := Compare(knowledge(t), base, []Run{next}, Options{})
	var got []string
	for _, c := range d.Cells {
		got = append(got, fmt.Sprintf("%s = %s %s", c.Job, c.NewJob, c.Verdict))
		if len(c.Reasons) != 1 || !strings.Contains(c.Reasons[0].Text, "engine fio -> diskspd") {
			t.Errorf("%s: %+v", c.Job, c.Reasons)
		}
	}
	want := []string{"RND4K-Q32T16-read =  incomparable", "RND4K-Q32T1-read =  incomparable",
		"RND4K-Q1T1-read = 4K Q1 incomparable", "mix = 7030 incomparable", "even = 5050 incomparable"}
	if !slices.Equal(got, want) || len(d.Unmatched) > 0 {
		t.Errorf("%q, want %q; %+v", got, want, d.Unmatched)
	}
}

// A pair that has no number in common has nothing to compare, and is listed.
func TestNoNumberInCommon(t *testing.T) {
	base, next := run("BASE", reads, 100, 101), run("NEXT", reads, 100, 101)
	next.Cells[0].Values = map[string][]Value{"elapsed": {{Value: 1}, {Value: 2}}}
	d := Compare(knowledge(t), base, []Run{next}, Options{})
	if len(d.Cells) != 0 || len(d.Unmatched) != 2 || d.New[0].Jobs != 0 {
		t.Errorf("%d numbers, %d without a partner, %d jobs", len(d.Cells), len(d.Unmatched), d.New[0].Jobs)
	}
}

// Of what a table of somebody else does not tell nothing is assumed, and it is reported.
func TestWhatAnImportDoesNotTell(t *testing.T) {
	v := []float64{100, 101, 99}
	base, next := run("BASE", reads, v...), run("NEXT", "rw=randread bs=4k", v...)
	next.Source, next.Format = lab.Imported, "fio-text"
	got := only(t, Compare(knowledge(t), base, []Run{next}, Options{}))
	if got.Verdict == Incomparable || !slices.Equal(got.Unchecked, []string{"direct", "iodepth", "ioengine"}) {
		t.Errorf("%s, unchecked %v", got.Verdict, got.Unchecked)
	}
}

// The boot is the unit where each side has two at least: many repetitions of two boots do not make many values.
func TestBootsAreTheUnit(t *testing.T) {
	side := func(id string, boots ...float64) Run {
		r := run(id, reads)
		for i, level := range boots {
			for j := range 20 {
				r.Cells[0].Values["read.iops"] = append(r.Cells[0].Values["read.iops"],
					Value{Value: level + float64(j)/100, Boot: fmt.Sprint(id, i)})
			}
		}
		r.Cells[0].N = len(r.Cells[0].Values["read.iops"])
		return r
	}
	got := only(t, Compare(knowledge(t), side("BASE", 1000, 1050), []Run{side("NEXT", 1040, 1100)}, Options{}))
	if got.Change.Per != perBoot || got.Change.N != 2 || got.Verdict != Undecided {
		t.Errorf("%s by %d %ss", got.Verdict, got.Change.N, got.Change.Per)
	}
	d := Compare(knowledge(t), side("BASE", 1000), []Run{side("NEXT", 1040, 1100)}, Options{})
	if c := only(t, d); c.Change.Per != perRepetition || len(d.Warnings) != 1 || d.Warnings[0].Code != "one-boot" {
		t.Errorf("one boot on a side: by %s, warnings %v", c.Change.Per, d.Warnings)
	}
}

// Nobody knows what changed between two runs that were not measured in turns.
func TestRunsOneAfterTheOther(t *testing.T) {
	codes := func(base, next Run) string {
		var list []string
		for _, w := range Compare(knowledge(t), base, []Run{next}, Options{}).Warnings {
			list = append(list, w.Code)
		}
		return strings.Join(list, " ")
	}
	base, next := run("BASE", reads, 100, 101, 99, 100), run("NEXT", reads, 90, 91, 89, 90)
	if got := codes(base, next); got != "one-after-the-other sessions-unknown" {
		t.Errorf("in one boot: %s", got)
	}
	if got := codes(base, base); got != "same-run" {
		t.Errorf("the same run: %s", got)
	}
	base.Pair, next.Pair = "P", "P"
	if got := codes(base, next); got != "" {
		t.Errorf("in turns: %s", got)
	}
}

// In one live comparison a drift that both sides share cancels out.
func TestPairsOfALiveComparison(t *testing.T) {
	var a, b []float64
	for i := range 12 {
		level := 1000 * math.Exp(-0.1*float64(i)) // the drive slows down all the time
		a, b = append(a, level*(1+float64(i%3)/1000)), append(b, 0.9*level*(1+float64(i%2)/1000))
	}
	base, next := run("BASE", reads, a...), run("NEXT", reads, b...)
	if got := only(t, Compare(knowledge(t), base, []Run{next}, Options{})); got.Verdict != Undecided {
		t.Errorf("unpaired: %s", got.Verdict)
	}
	base.Pair, next.Pair = "P", "P"
	got := only(t, Compare(knowledge(t), base, []Run{next}, Options{}))
	if got.Verdict != Slower || got.Change.Per != perPair || got.Change.N != 12 {
		t.Errorf("paired: %s by %d %ss", got.Verdict, got.Change.N, got.Change.Per)
	}
	base.Order, next.Order = "interleaved", "interleaved"
	if got := only(t, Compare(knowledge(t), base, []Run{next}, Options{})); got.Verdict != Undecided ||
		got.Change.Per == perPair {
		t.Errorf("stages one after the other: %s by %ss", got.Verdict, got.Change.Per)
	}
}

// The document decides pairs by the very numbers that the plan decided by, so that both say the same where values are
// all equal and the change is the margin itself.
func TestPairsAreDecidedAsTheyWereMeasured(t *testing.T) {
	for _, level := range []float64{1000, 1030, 1e6 / 3, 123457, 0.0021} {
		var logs []float64
		base, next := run("BASE", reads), run("NEXT", reads)
		for i := range 8 {
			base.Cells[0].Values["read.iops"] = append(base.Cells[0].Values["read.iops"],
				Value{Value: level, Block: i + 1})
			next.Cells[0].Values["read.iops"] = append(next.Cells[0].Values["read.iops"],
				Value{Value: level * 1.03, Block: i + 1})
			logs = append(logs, math.Log(level*1.03/level))
		}
		base.Pair, next.Pair = "P", "P"
		base.Cells[0].N, next.Cells[0].N = 8, 8
		want := stat.PairedChange(logs, DefaultAlpha)
		if got := only(t, Compare(knowledge(t), base, []Run{next}, Options{})); *got.Change.Lo != want.Lo ||
			*got.Change.Hi != want.Hi {
			t.Errorf("%g: %v to %v, measured as %v to %v", level, *got.Change.Lo, *got.Change.Hi, want.Lo, want.Hi)
		}
	}
}

// The more is compared, the surer each verdict must be.
func TestConfidenceIsSharedOut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	base, next := Run{Run: lab.Run{ID: "BASE"}}, Run{Run: lab.Run{ID: "NEXT"}}
	for i := range 10 {
		load := fmt.Sprintf("rw=randread bs=4k iodepth=%d", i+1)
		base.Cells = append(base.Cells, cell("j", load, noisy(r, 5, 1000, 0.01)...))
		next.Cells = append(next.Cells, cell("j", load, noisy(r, 5, 900, 0.01)...))
	}
	d := Compare(knowledge(t), base, []Run{next, next}, steady())
	if d.Comparisons != 20 || math.Abs(d.Confidence-0.9975) > 1e-12 || d.Cells[0].Change.Confidence != d.Confidence {
		t.Errorf("%d comparisons at %v, the first at %v", d.Comparisons, d.Confidence, d.Cells[0].Change.Confidence)
	}
	m := d.New[0].Means
	if len(m) != 1 || m[0].Cells != 10 || !m[0].Known() || !(*m[0].Lo < 0.9 && 0.9 < *m[0].Hi) ||
		*m[0].Hi-*m[0].Lo > 0.05 {
		t.Errorf("means %+v", m)
	}
}

// A suite of eight cells against itself: at most one in twenty holds any verdict that something is faster or slower,
// with storage that jumps between two levels too.
func TestASuiteAgainstItself(t *testing.T) {
	jumpy := func(r *rand.Rand, n int) []float64 {
		values := noisy(r, n, 1000, 0.01)
		for i := range values {
			if r.IntN(2) == 0 {
				values[i] *= 0.85
			}
		}
		return values
	}
	for name, draw := range map[string]func(*rand.Rand, int) []float64{
		"normal": func(r *rand.Rand, n int) []float64 { return noisy(r, n, 1000, 0.01) }, "two modes": jumpy,
	} {
		r := rand.New(rand.NewPCG(9, 10))
		const suites, cells = 400, 8
		wrong := 0
		for i := range suites {
			differs := false
			for range cells {
				n := 3 + i%6
				s := sample{per: perRepetition, base: draw(r, n), next: draw(r, n)}
				d := s.change(newPower(stat.FamilyWise(DefaultAlpha, cells))).Decide(DefaultMargin)
				differs = differs || d == stat.Above || d == stat.Below
			}
			if differs {
				wrong++
			}
		}
		if wrong > suites/20 {
			t.Errorf("%s: %d of %d suites differ from themselves", name, wrong, suites)
		}
	}
}

func TestMargins(t *testing.T) {
	o := Options{Margin: 0.03, Margins: map[string]float64{"read.latency.*": 0.1, "read.latency.p99": 0.2}}
	for metric, want := range map[string]float64{"read.iops": 0.03, "read.latency.mean": 0.1, "read.latency.p99": 0.2} {
		if got := o.margin(metric); got != want {
			t.Errorf("%s: %v, want %v", metric, got, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	all := []string{"read.iops", "read.bandwidth", "read.latency.mean", "read.latency.p99", "write.iops",
		"write.latency.mean",
		"sync.latency.mean", "cpu.user"}
	for _, c := range []struct{ load, measured, asked, want string }{
		{"rw=randread bs=4k", "read.iops read.bandwidth read.latency.mean", "", "read.iops"},
		{"rw=read bs=1m", "read.iops read.bandwidth", "", "read.bandwidth"},
		{"rw=randrw bs=4k", "read.iops write.iops", "", "read.iops write.iops"},
		{"rw=randread rate_iops=100", "read.iops read.latency.mean read.latency.p99", "",
			"read.latency.mean read.latency.p99"},
		{"rw=randwrite fdatasync=1", "write.iops write.latency.mean sync.latency.mean", "",
			"write.iops sync.latency.mean"},
		{"rw=randread", strings.Join(all, " "), "read.latency.*", "read.latency.mean read.latency.p99"},
		{"rw=randread", "read.iops cpu.user write.iops", "*", "read.iops write.iops cpu.user"},
		{"rw=randread", "read.iops", "nothing.like.it", ""},
	} {
		m := match{base: Cell{Params: params(c.load), Values: map[string][]Value{}}}
		for name := range strings.FieldsSeq(c.measured) {
			m.base.Values[name] = []Value{{Value: 1}}
		}
		m.next = m.base
		if got := strings.Join(metricsOf(m, strings.Fields(c.asked)), " "); got != c.want {
			t.Errorf("%s, asked %q: %s, want %s", c.load, c.asked, got, c.want)
		}
	}
}

func TestOtherDifferences(t *testing.T) {
	base, next := run("BASE", reads+" runtime=10", 100, 101, 99), run("NEXT", reads+" runtime=60", 100, 101, 99)
	base.Facts = []lab.Fact{{Key: "kernel.cmdline", Value: "quiet"}, {Key: "kernel.release", Value: "6.1.0"}}
	next.Facts = []lab.Fact{{Key: "kernel.cmdline", Value: "quiet iommu.strict=1"},
		{Key: "kernel.release", Value: "6.1.0"}}
	base.Targets = []lab.RunTarget{
		{Role: "storage", Place: lab.Place{Kind: lab.Directory, Path: "/a", Filesystem: "ext4"}}}
	next.Targets = []lab.RunTarget{
		{Role: "storage", Place: lab.Place{Kind: lab.Directory, Path: "/a", Filesystem: "xfs"}}}
	d := Compare(knowledge(t), base, []Run{next}, Options{})
	var got []string
	for _, x := range d.Differences {
		got = append(got, fmt.Sprintf("%s: %s -> %s, slower %s", x.Fact, x.Base, x.New, x.Slower))
	}
	for _, want := range []string{"run.filesystem: ext4 -> xfs, slower ",
		"kernel.cmdline.iommu.strict:  -> 1, slower new", "run.runtime: 10 -> 60, slower "} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q among %q", want, got)
		}
	}
	if !slices.IsSortedFunc(d.Differences, func(a, b Difference) int {
		return int(math.Copysign(1, b.Weight-a.Weight)) * boolInt(a.Weight != b.Weight)
	}) {
		t.Errorf("not by weight: %q", got)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// JSON has no word for what is not a number; the document must not need one.
func TestDocumentIsJSON(t *testing.T) {
	for _, values := range [][]float64{{}, {100}, {0, 0}, {100, 100}, {100, 101, 99, 98}} {
		d := Compare(knowledge(t), run("BASE", reads, 100, 101), []Run{run("NEXT", reads, values...)},
			Options{Anyway: true})
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("%v: %v", values, err)
		}
		if strings.Contains(string(data), "null") {
			t.Errorf("%v: %s", values, data)
		}
	}
}
