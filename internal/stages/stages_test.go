package stages

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
)

func sequence(reps []lab.Repetition, err error) iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		for _, r := range reps {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(lab.Repetition{}, err)
		}
	}
}

// measured is a run whose stages were each measured with some loads, in blocks.
func measured(blocks int, loads map[string][]map[string]string, order ...string) (lab.Run, []lab.Repetition) {
	run := lab.Run{ID: "7KQ4M2X9TD"}
	var reps []lab.Repetition
	for i, stage := range order {
		run.Stages = append(run.Stages, lab.Stage{Name: stage})
		run.Arms = append(run.Arms, lab.Arm{ID: stage, Levels: map[string]string{lab.StageLevel: stage}})
		for n, params := range loads[stage] {
			id := fmt.Sprintf("%s-%d", stage, n)
			run.Cells = append(run.Cells, lab.Cell{ID: id, Arm: stage, Job: "job", Engine: "fio", Params: params})
			direction := strings.TrimPrefix(params["rw"], "rand")
			for b := 1; b <= blocks; b++ {
				noise := 1 + 0.3*float64(b%3) // the same in all stages
				reps = append(reps, lab.Repetition{Cell: id, Number: b, Block: b, Values: map[string]float64{
					direction + ".iops": 1000 * float64(i+1) * noise, direction + ".bandwidth": 4096e3 * float64(i+1) *
						noise * (1 + 0.001*float64(b%2))}})
			}
		}
	}
	return run, reps
}

func load(rw, bs, depth string) map[string]string {
	return map[string]string{"rw": rw, "bs": bs, "iodepth": depth, "direct": "1"}
}

// What is measured in the same blocks is compared with each other block by block: what drifts meets both.
func TestEfficiencyOfBlocks(t *testing.T) {
	run, reps := measured(6, map[string][]map[string]string{"a": {load("read", "4k", "1")},
		"b": {load("read", "4k", "1")}}, "a", "b")
	d, err := Make(run, sequence(reps, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 2 || len(d.Against) != 1 || d.Against[0] != (Against{"b", "a"}) || d.Rows[1].N != 6 {
		t.Fatalf("%+v", d)
	}
	e := d.Rows[1].Efficiency[0]
	if math.Abs(e.Ratio-2) > 1e-9 || e.Lo == nil || *e.Hi-*e.Lo > 1e-6 || e.Pairs != 6 || e.Row != 0 ||
		e.Metric != "read.bandwidth" {
		t.Errorf("%+v", e)
	}
}

// Loads that are alike in everything go together, then those of one kind where it is clear which belong together.
// The share is that of the two figures beside it, which are medians, and means of pairs are others.
func TestSharesAgreeWithTheFiguresBesideThem(t *testing.T) {
	run, reps := measured(6, map[string][]map[string]string{"a": {load("read", "4k", "1")},
		"b": {load("read", "4k", "1")}}, "a", "b")
	for i := range reps {
		if reps[i].Cell == "b-0" && reps[i].Block == 5 {
			reps[i].Values["read.bandwidth"] *= 1.5
		}
	}
	d, err := Make(run, sequence(reps[:len(reps)-1], nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := d.Rows[1].Efficiency[0]
	if math.Abs(e.Ratio*d.Rows[0].Bandwidth/d.Rows[1].Bandwidth-1) > 1e-9 || e.Pairs != 5 || *e.Lo > e.Ratio ||
		*e.Hi < e.Ratio {
		t.Errorf("%g of %g is called %g, %+v", d.Rows[1].Bandwidth, d.Rows[0].Bandwidth, e.Ratio, e)
	}
}

func TestWhatGoesTogether(t *testing.T) {
	run, reps := measured(1, map[string][]map[string]string{
		"a": {load("randread", "8k", "1"), load("randread", "8k", "8"), load("randread", "1M", "8"),
			load("randwrite", "4096", "1"),
			load("read", "64k", "1"), load("read", "64k", "2")},
		"b": {load("randread", "8k", "1"), load("randread", "8k", "8"), load("randread", "1024k", "1"),
			{"rw": "randwrite", "bs": "4k", "direct": "1"},
			load("read", "64k", "4")},
	}, "a", "b")
	d, err := Make(run, sequence(reps, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range d.Rows {
		for _, e := range r.Efficiency {
			words := r.Title + " of " + d.Rows[e.Row].Title
			for _, u := range e.Unlike {
				words += ", " + u.Param
			}
			got = append(got, words)
		}
	}
	want := []string{"randread 8k q1 of randread 8k q1", "randread 8k q8 of randread 8k q8",
		"randread 1024k q1 of randread 1m q8, iodepth",
		"randwrite 4k q1 of randwrite 4096 q1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Loads of one kind, depth and number of jobs go together over all stages, whatever else differs, which is reported;
// where a stage has two of them it is not clear which.
func TestWhatDoesTheSameWorkGoesTogether(t *testing.T) {
	with := func(params map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			params[more[i]] = more[i+1]
		}
		return params
	}
	run, reps := measured(1, map[string][]map[string]string{
		"memory": {with(load("randread", "4k", "1"), "direct", "0"), with(load("randread", "4k", "32"), "direct", "0"),
			load("write", "1m", "1")},
		"nfs": {with(load("randread", "4k", "1"), "ioengine", "libaio"),
			with(load("randread", "4k", "32"), "ioengine", "libaio"), with(load("write", "1m", "1"), "size", "1g"),
			with(load("write", "1m", "1"), "size", "2g")},
		"guest": {with(load("randread", "4k", "1"), "ioengine", "io_uring"),
			with(load("randread", "4k", "32"), "ioengine", "io_uring")},
	}, "memory", "nfs", "guest")
	d, err := Make(run, sequence(reps, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range d.Rows {
		for _, e := range r.Efficiency {
			words := r.Stage + ": " + r.Title + " of " + d.Rows[e.Row].Stage
			for _, u := range e.Unlike {
				words += ", " + u.Param
			}
			got = append(got, words)
		}
	}
	want := []string{"nfs: randread 4k q1 of memory, direct, ioengine", "guest: randread 4k q1 of nfs, ioengine",
		"nfs: randread 4k q32 of memory, direct, ioengine", "guest: randread 4k q32 of nfs, ioengine"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	titles := map[string]int{}
	for i, r := range d.Rows {
		if r.Direction == "read" && (i == 0 || d.Rows[i-1].Group != r.Group) {
			titles[r.Title]++
		}
	}
	if titles["randread 4k q1"] != 1 || titles["randread 4k q32"] != 1 {
		t.Errorf("headings: %v", titles)
	}
}

// Writes one at a time that take far less than reads of the same size were answered by a cache, which of a load without
// direct=1 is the page cache; at a depth, or as fast as reads they say nothing.
func TestWritesThatACacheAnswers(t *testing.T) {
	for _, c := range []struct {
		name        string
		read, write map[string]string
		rates       [2]float64
		found       bool
	}{
		{"of the report", load("randread", "8k", "1"), load("randwrite", "8k", "1"), [2]float64{10526, 69905}, true},
		{"as fast", load("randread", "8k", "1"), load("randwrite", "8k", "1"), [2]float64{10526, 20000}, false},
		{"at a depth", load("randread", "8k", "8"), load("randwrite", "8k", "8"), [2]float64{10526, 69905}, false},
		{"through the page cache", map[string]string{"rw": "randread", "bs": "8k"},
			map[string]string{"rw": "randwrite", "bs": "8k"}, [2]float64{10526, 69905}, true},
		{"each flushed", load("randread", "8k", "1"), map[string]string{"rw": "randwrite", "bs": "8192", "fsync": "1"},
			[2]float64{10526, 69905}, true},
		{"another size", load("randread", "64k", "1"), load("randwrite", "8k", "1"), [2]float64{10526, 69905}, false},
	} {
		run := lab.Run{ID: "7KQ4M2X9TD", Stages: []lab.Stage{{Name: "nfs"}},
			Arms: []lab.Arm{{ID: "a", Levels: map[string]string{lab.StageLevel: "nfs"}}}}
		var reps []lab.Repetition
		for i, params := range []map[string]string{c.read, c.write} {
			id := fmt.Sprint(i)
			run.Cells = append(run.Cells, lab.Cell{ID: id, Arm: "a", Job: "job", Engine: "fio", Params: params})
			reps = append(reps, lab.Repetition{Cell: id, Number: 1,
				Values: map[string]float64{[]string{"read", "write"}[i] + ".iops": c.rates[i]}})
		}
		d, err := Make(run, sequence(reps, nil), Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Code == "writes-by-cache" })
		if at >= 0 != c.found {
			t.Errorf("%s: %+v", c.name, d.Findings)
		} else if c.found && (!strings.Contains(d.Findings[at].Text, "takes 14.3") ||
			!strings.Contains(d.Findings[at].Text, "a read 95.0") ||
			d.Rows[d.Findings[at].Rows[0]].Direction != "write" ||
			strings.Contains(d.Findings[at].Text, "page cache") != (c.name == "through the page cache")) {
			t.Errorf("%s: %s", c.name, d.Findings[at].Text)
		}
	}
}

// Samples second by second are looked at, and what the run was known to have goes along where it taints a number.
func TestWarningsGoAlong(t *testing.T) {
	run, reps := measured(2, map[string][]map[string]string{"a": {{"rw": "write", "bs": "1M"}}}, "a")
	for i := range reps {
		reps[i].Series = []lab.Series{{Metric: "write.bandwidth", Interval: 1, Values: []float64{1e6, 5e9}}}
	}
	l, err := ceiling.ParseLinks("QDR")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]ceiling.Links{"a": l}
	d, err := Make(run, sequence(reps, nil), Options{Links: links, Warnings: []lab.CellWarning{
		lab.Warning{Code: "stalls", Text: "it stood still", Taints: []string{"*"}}.In("a-0", 1, 2),
		lab.Warning{Code: "latency-clipped", Text: "too high",
			Taints: []string{"write.latency.*"}}.In("a-0", 0, 0),
		lab.Warning{Code: "at-one-of-several", Text: "of the facts", Taints: []string{}}.In("a-0", 2, 2),
		lab.Warning{Code: "few-repetitions", Text: "too few", Taints: []string{"*"}}.In("", 0, 0),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Rows[0].Warnings, []string{"stalls", "at-one-of-several", "samples-above-ceiling"}) ||
		len(d.Findings) != 4 {
		t.Errorf("%q, %+v", d.Rows[0].Warnings, d.Findings)
	}
	if f := d.Findings[3]; f.Repetitions != 2 || f.N != 2 || !strings.Contains(f.Text, "no direct=1") {
		t.Errorf("%+v", f)
	}
}

// A published row is found by its figures, whatever it is called; what several loads have, or none, is not judged.
func TestPublishedRowsAreFoundByTheirFigures(t *testing.T) {
	run, reps := measured(1,
		map[string][]map[string]string{"a": {load("randread", "8k", "1"), load("randwrite", "8k", "1")},
			"b": {load("randread", "8k", "1")}}, "a", "b")
	tables, err := reference.ParseTables("t.csv", strings.NewReader(
		"label,kB/s,IOPS,of a %\nanything,,2600,200.0\nrandread 8k Q1T4,,2600,199\ntwice,,1300,\nnowhere,77,,\nby "+
			"bytes,10660,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Make(run, sequence(reps, nil), Options{Published: tables})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Published[0].Rows {
		text := p.Label + ":"
		if p.Row != nil {
			text += " " + d.Rows[*p.Row].Title + " in " + d.Rows[*p.Row].Stage
		}
		for _, f := range p.Figures {
			text += " " + string(f.Agrees)
		}
		got = append(got, text)
	}
	want := []string{"anything: randread 8k q1 in b measured measured",
		"randread 8k Q1T4: randread 8k q1 in b measured no", "twice: unknown", "nowhere: unknown",
		"by bytes: randread 8k q1 in b measured"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	texts := ""
	for _, f := range d.Findings {
		texts += f.Code + ": " + f.Text + "\n"
	}
	if !strings.Contains(texts, "numjobs was 1, not 4") || !strings.Contains(texts, "of a % 199 for 200 (-0.5%)") ||
		strings.Count(texts, "\n") != 2 {
		t.Error(texts)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "2") {
		t.Errorf("notes %q", d.Notes)
	}
}

func TestLabels(t *testing.T) {
	r := &Row{Params: map[string]string{"rw": "randread", "bs": "8k", "iodepth": "1", "numjobs": "8"}}
	for label, want := range map[string]string{
		"randread 8k q1 x8":   "",
		"RandRead Q1T8 8KiB":  "",
		"read":                "",
		"RDMA":                "",
		"8192B random, con=2": "",
		"write":               "rw was read, not write",
		"read 4K":             "bs was 8k, not 4k",
		"Q8T8":                "iodepth was 1, not 8",
		"seq Q1T1":            "numjobs was 8, not 1",
		"randrw 1M Q32T16": "rw was randread, not randrw; bs was 8k, not 1m; iodepth was 1, not 32; numjobs was " +
			"8, not 16",
	} {
		if got := strings.Join(mislabelled(label, r), "; "); got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
	unknown := &Row{Partial: true, Params: map[string]string{"rw": "randread"}}
	if got := mislabelled("randread 8k Q1T8", unknown); len(got) > 0 {
		t.Errorf("of a load of which the rw alone is known: %q", got)
	}
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		text string
		v    float64
		want bool
	}{
		{"3633.3", 3633.37, true}, {"3633.4", 3633.37, true}, {"3633.5", 3633.37, false}, {"6476", 6476.16, true},
		{"128.103", 125.101, false}, {"128.103", 128.103, true},
	} {
		if agree(c.text, c.v) != c.want {
			t.Errorf("%s for %v: %v", c.text, c.v, !c.want)
		}
	}
}

func TestOf(t *testing.T) {
	run, reps := measured(1, map[string][]map[string]string{"a/b": {load("read", "4k", "1")},
		"c": {load("read", "4k", "1")}}, "a/b", "c")
	if a, err := Of(run, "c/a/b"); err != nil || a != (Against{"c", "a/b"}) {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := Of(run, " a/b / c "); err != nil || a != (Against{"a/b", "c"}) {
		t.Errorf("%+v, %v", a, err)
	}
	for _, text := range []string{"c", "c/c", "c/d", ""} {
		if _, err := Of(run, text); lab.KindOf(err) != lab.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
	for name, o := range map[string]Options{
		"a stage that is not there": {Against: []Against{{"d", "c"}}},
		"a link of none":            {Links: map[string]ceiling.Links{"d": {N: 1, Rate: 1}}},
	} {
		if _, err := Make(run, sequence(reps, nil), o); lab.KindOf(err) != lab.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Make(lab.Run{Arms: []lab.Arm{{ID: "all"}}}, sequence(nil, nil), Options{}); lab.KindOf(err) !=
		lab.Usage || !strings.Contains(err.Error(), "has no stages") {
		t.Errorf("without stages: %v", err)
	}
	broken := errors.New("can't be read")
	if _, err := Make(run, sequence(reps, broken), Options{}); !errors.Is(err, broken) {
		t.Errorf("of what can't be read: %v", err)
	}
	if _, err := Make(run, sequence([]lab.Repetition{{Cell: "other"}}, nil), Options{}); err == nil {
		t.Error("a cell that is not there")
	}
}

// TestWhatIsNotStated checks loads whose source does not state the block size. They do not get fio's default, and
// results of one job stand beside each other.
func TestWhatIsNotStated(t *testing.T) {
	row := func(stage, job string, partial bool, params map[string]string) *Row {
		return &Row{Stage: stage, Job: job, Direction: "write", Partial: partial, Params: params}
	}
	unnamed := row("a", "seqwrite", true, map[string]string{"rw": "write"})
	whole := row("b", "seqwrite", false, map[string]string{"rw": "write"})
	if unnamed.Named() || !whole.Named() || unnamed.parameter("bs") != "" || whole.parameter("bs") != "4k" {
		t.Errorf("%q and %q", unnamed.parameter("bs"), whole.parameter("bs"))
	}
	if got := unlike(unnamed, row("b", "seqwrite", true, unnamed.Params)); len(got) > 0 {
		t.Errorf("two results of one job are unlike: %v", got)
	}
	if got := unlike(unnamed, row("b", "other", true, unnamed.Params)); len(got) != 1 || got[0].Param != "job" {
		t.Errorf("results of two jobs: %v", got)
	}
	if unnamed.kind() == row("b", "other", true, unnamed.Params).kind() || unnamed.kind() == whole.kind() {
		t.Errorf("%q is of the kind of other loads", unnamed.kind())
	}
}
