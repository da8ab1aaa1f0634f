package stages_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/ingest"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/stages"
)

const (
	page      = "../load/fio/testdata/text/nfs-over-rdma-report.txt"
	ram       = "ram"
	onePath   = "tcp single"
	twoPaths  = "tcp multipath"
	twoByRDMA = "rdma multipath"
)

// kept is a sink that keeps repetitions.
type kept struct{ repetitions []lab.Repetition }

func (k *kept) Raw(string, []byte) error { return nil }
func (k *kept) Repetition(r lab.Repetition) error {
	k.repetitions = append(k.repetitions, r)
	return nil
}

func (k *kept) all() iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		for _, r := range k.repetitions {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func links(t *testing.T, text string) ceiling.Links {
	t.Helper()
	l, err := ceiling.ParseLinks(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// report is the whole NFS over RDMA report: imported in stages, set beside each other as its two tables do, over its
// links, and beside its tables.
func report(t *testing.T) stages.Document {
	t.Helper()
	k := &kept{}
	run, err := ingest.Import(context.Background(), []ingest.Source{{Name: page}},
		[]string{ram, onePath, twoPaths, twoByRDMA},
		func(name string) (fs.File, error) { return os.Open(name) }, k)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := reference.BuiltInTables("nfs-rdma-report")
	if err != nil {
		t.Fatal(err)
	}
	d, err := stages.Make(run, k.all(), stages.Options{
		Against: []stages.Against{{Stage: twoPaths, Of: onePath}, {Stage: twoByRDMA, Of: twoPaths}},
		Links: map[string]ceiling.Links{onePath: links(t, "QDR"), twoPaths: links(t, "2xQDR"),
			twoByRDMA: links(t, "2xQDR")},
		Published: tables,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// rowOf is the row of a load in a stage.
func rowOf(t *testing.T, d stages.Document, stage, title string) stages.Row {
	t.Helper()
	for _, r := range d.Rows {
		if r.Stage == stage && r.Title == title {
			return r
		}
	}
	t.Fatalf("no %s in %s", title, stage)
	return stages.Row{}
}

// Each figure of the report's tables is recomputed to its last digit. Operations are cut off. Bandwidths are rounded or
// cut off, but for four, for which KiB/s were divided by 1000, or taken for kB/s. Gbit/s and per cent were made of the
// bandwidths as they are printed, the former with a converter's 0.00838861: with that they are the same in every digit.
// What they ought to be instead is tested below.
func TestTheReportsTablesAreRecomputed(t *testing.T) {
	d := report(t)
	tables, err := reference.BuiltInTables("nfs-rdma-report")
	if err != nil {
		t.Fatal(err)
	}
	slips := map[string]float64{"IPoIB single randread Q1T1 8k": 1000.0 / 1024,
		"IPoIB single randread Q8T8 1M": 1000.0 / 1024,
		"RDMA con=2 randwrite Q1T1 8k":  1024.0 / 1000, "RDMA con=2 randread Q1T1 8k": 1024.0 / 1000}
	figures := 0
	agree := map[stages.Agreement]int{}
	for i, table := range d.Published {
		bandwidth := map[int]float64{} // as printed, by row
		for _, p := range table.Rows {
			if p.Row == nil {
				t.Fatalf("%s: no load has the figures of %q", table.Name, p.Label)
			}
			r := d.Rows[*p.Row]
			for _, f := range p.Figures {
				figures++
				agree[f.Agrees]++
				printed, err := strconv.ParseFloat(f.Published, 64)
				if err != nil {
					t.Fatal(err)
				}
				var ours []float64 // candidates, in full
				want := stages.Measured
				switch f.Column {
				case "IOPS":
					ours = []float64{math.Floor(r.IOPS)}
				case "MiB/s":
					bandwidth[*p.Row] = printed
					v := r.Bandwidth / (1 << 20)
					if slip, ok := slips[p.Label]; ok {
						v, want = v*slip, stages.Differs
					}
					scale := math.Pow10(decimalsOf(f.Published))
					ours = []float64{math.Round(v*scale) / scale, math.Floor(v*scale) / scale}
				case "Gbit/s":
					want = stages.Derived
					ours = []float64{bandwidth[*p.Row] * 0.00838861}
				case "efficiency %":
					want = stages.Derived
					ours = []float64{100 * bandwidth[*p.Row] / bandwidth[r.Efficiency[0].Row]}
				}
				same := func(v float64) bool {
					return strconv.FormatFloat(v, 'f', decimalsOf(f.Published), 64) == f.Published
				}
				if !slices.ContainsFunc(ours, same) {
					t.Errorf("%s, %q: %s is printed as %s, recomputed as %v", table.Name, p.Label,
						f.Column, f.Published, ours)
				}
				if f.Agrees != want {
					t.Errorf("%s, %q: %s %s is said to agree: %q, want %q", table.Name, p.Label, f.Column,
						f.Published, f.Agrees, want)
				}
			}
		}
		if len(table.Rows) != len(tables[i].Rows) {
			t.Errorf("%s has %d rows", table.Name, len(table.Rows))
		}
	}
	if figures != 120 || agree[stages.Measured] != 64 || agree[stages.Derived] != 48 || agree[stages.Differs] != 8 {
		t.Errorf("%d figures, want 36 rows of 3 and 12 efficiencies; %v", figures, agree)
	}
}

func decimalsOf(text string) int {
	_, after, _ := strings.Cut(text, ".")
	return len(after)
}

// What the tables ought to say, out of fio's lines alone.
func TestTheFiguresOfTheReport(t *testing.T) {
	d := report(t)
	for _, c := range []struct {
		stage, title       string
		mebibytes, gigabit float64
		percent            float64
	}{
		{onePath, "randread 8k q1", 84469.05 / 1024, 0.691970, 0},
		{twoPaths, "randread 8k q1", 82204.63 / 1024, 0.673420, 97.3192},
		{twoByRDMA, "randread 8k q1", 128103.58 / 1024, 1.049425, 155.8350},
		{twoPaths, "randread 8k q8 x8", 393720.42 / 1024, 3.225358, 237.9781},
		{twoByRDMA, "randread 8k q8 x8", 1828.98, 15.342596, 475.6867},
		{onePath, "randread 1m q8 x8", 371507.20 / 1024, 3.043387, 0},
		{twoPaths, "randread 1m q1 x8", 808895.33 / 1024, 6.626471, 217.7334},
		{twoByRDMA, "randread 1m q1 x8", 3633.37, 30.478917, 459.9570},
		{twoPaths, "randwrite 8k q1", 616809.41 / 1024, 5.052903, 110.2941},
		{twoByRDMA, "randwrite 8k q1", 782675.37 / 1024, 6.411677, 126.8910},
		{twoPaths, "randwrite 8k q8 x8", 4207.57, 35.295655, 126.4488},
		{twoByRDMA, "randwrite 8k q8 x8", 5349.23, 44.872594, 127.1335},
		{twoPaths, "randwrite 1m q1 x8", 4232.42, 35.504112, 135.7925},
		{twoByRDMA, "randwrite 1m q1 x8", 6476.16, 54.325968, 153.0132},
	} {
		r := rowOf(t, d, c.stage, c.title)
		if math.Abs(r.Bandwidth/(1<<20)-c.mebibytes) > 1e-6 || math.Abs(r.Bandwidth*8/1e9-c.gigabit) > 1e-6 {
			t.Errorf("%s in %s: %g MiB/s, %g Gbit/s", c.title, c.stage, r.Bandwidth/(1<<20), r.Bandwidth*8/1e9)
		}
		switch {
		case c.percent == 0 && len(r.Efficiency) == 0:
		case len(r.Efficiency) != 1 || math.Abs(100*r.Efficiency[0].Ratio-c.percent) > 1e-4:
			t.Errorf("%s in %s: %+v, want %g%%", c.title, c.stage, r.Efficiency, c.percent)
		}
	}
	if len(d.Rows) != 22 {
		t.Errorf("%d rows", len(d.Rows))
	}
}

// found are the findings of a code, as "label or load: text".
func findings(d stages.Document, code string) []stages.Finding {
	return slices.DeleteFunc(slices.Clone(d.Findings), func(f stages.Finding) bool { return f.Code != code })
}

// about are the rows of findings of a code: "randread 1m q1 x8 in tcp multipath".
func about(d stages.Document, code string) []string {
	var all []string
	for _, f := range findings(d, code) {
		for _, i := range f.Rows {
			all = append(all, d.Rows[i].Title+" in "+d.Rows[i].Stage)
		}
	}
	slices.Sort(all)
	return all
}

func expectAbout(t *testing.T, d stages.Document, code string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := about(d, code); !slices.Equal(got, want) {
		t.Errorf("%s is about\n  %s\nwant\n  %s", code, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// The report calls all reads by RDMA randwrite and all writes by RDMA randread, and 1M loads Q8T8 that ran at a depth
// of 1.
func TestMislabelledRows(t *testing.T) {
	d := report(t)
	got := map[string]string{}
	rows := 0
	for _, f := range findings(d, "label-differs") {
		rows += len(f.Published)
		label := d.Published[f.Published[0].Table].Rows[f.Published[0].Row].Label
		_, what, _ := strings.Cut(f.Text, ": ")
		got[label] = what
		for _, p := range f.Published {
			if d.Published[p.Table].Rows[p.Row].Label != label {
				t.Errorf("%q is about %q too", label, d.Published[p.Table].Rows[p.Row].Label)
			}
		}
	}
	want := map[string]string{
		"IPoIB con=2 randread Q8T8 1M":  "iodepth was 1, not 8",
		"IPoIB con=2 randwrite Q8T8 1M": "iodepth was 1, not 8",
		"RDMA con=2 randwrite Q1T1 8k":  "rw was randread, not randwrite",
		"RDMA con=2 randwrite Q8T8 8k":  "rw was randread, not randwrite",
		"RDMA con=2 randwrite Q8T8 1M":  "rw was randread, not randwrite, iodepth was 1, not 8",
		"RDMA con=2 randread Q1T1 8k":   "rw was randwrite, not randread",
		"RDMA con=2 randread Q8T8 8k":   "rw was randwrite, not randread",
		"RDMA con=2 randread Q8T8 1M":   "rw was randwrite, not randread, iodepth was 1, not 8",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || rows != 10 {
		t.Errorf("%d rows, %q\nwant %q", rows, got, want)
	}
}

// One path was measured at a depth of 8 for each job, two paths at a depth of 1; RDMA and two paths are alike.
func TestPairsAtDifferentDepths(t *testing.T) {
	d := report(t)
	expectAbout(t, d, "unlike-pair", "randread 1m q1 x8 in tcp multipath", "randwrite 1m q1 x8 in tcp multipath")
	for _, f := range findings(d, "unlike-pair") {
		if !strings.Contains(f.Text, "iodepth 1 against 8") || !strings.Contains(f.Text, "%") {
			t.Errorf("without figures: %s", f.Text)
		}
	}
	e := rowOf(t, d, twoPaths, "randread 1m q1 x8").Efficiency[0]
	if len(e.Unlike) != 1 || e.Unlike[0] != (stages.Difference{Param: "iodepth", Value: "1", Other: "8"}) {
		t.Errorf("%+v", e)
	}
}

// Six of the nine writes over the network have maxima that their links can't carry, none of one job has; no read has.
func TestSamplesAboveTheLinks(t *testing.T) {
	d := report(t)
	expectAbout(t, d, "maxima-above-ceiling",
		"randwrite 8k q8 x8 in tcp single", "randwrite 1m q8 x8 in tcp single", "randwrite 8k q8 x8 in tcp multipath",
		"randwrite 1m q1 x8 in tcp multipath",
		"randwrite 8k q8 x8 in rdma multipath", "randwrite 1m q1 x8 in rdma multipath")
	for _, f := range findings(d, "maxima-above-ceiling") {
		for _, want := range []string{"the 8 jobs", "need not be of one moment", "no direct=1", "page cache", "QDR",
			"GB/s"} {
			if !strings.Contains(f.Text, want) {
				t.Errorf("nothing of %q: %s", want, f.Text)
			}
		}
	}
	s := rowOf(t, d, onePath, "randwrite 1m q8 x8").Samples
	if s == nil || *s != (lab.Samples{Min: 316 << 20, Max: 16376 << 20, Count: 156, Jobs: 8}) {
		t.Errorf("samples %+v", s)
	}
	expectAbout(t, d, "samples-above-ceiling")
	expectAbout(t, d, "above-ceiling")
}

// Reads by RDMA come to 95% of one port, though there are two.
func TestReadsAtOnePort(t *testing.T) {
	d := report(t)
	expectAbout(t, d, "at-one-of-several", "randread 1m q1 x8 in rdma multipath")
	if f := findings(d, "at-one-of-several"); len(f) != 1 ||
		!strings.Contains(f[0].Text, "3.81 GB/s are 95% of the ceiling of one of 2 links") {
		t.Errorf("%+v", f)
	}
}

// Four bandwidths of the report are in no unit at all, and what was made of them is off by as much.
func TestFiguresInTheWrongUnit(t *testing.T) {
	d := report(t)
	texts := ""
	for _, f := range findings(d, "published-differs") {
		texts += f.Text + "\n"
	}
	for _, want := range []string{
		`"IPoIB single randread Q1T1 8k" has the figures of randread 8k q1 in tcp single, but prints MiB/s 80.5 for 82.5 (-2.4%, what comes of taking KiB/s for kB/s)`,
		`MiB/s 354.3 for 362.8 (-2.3%, what comes of taking KiB/s for kB/s)`,
		`MiB/s 128.103 for 125.101 (+2.4%, what comes of dividing by 1000 where it is 1024)`,
		`MiB/s 782.675 for 764.331 (+2.4%, what comes of dividing by 1000 where it is 1024)`,
		`efficiency % 99.7515528 for 97.3192 (+2.5%, which follows from a figure of the table)`,
		`efficiency % 159.5305106 for 155.8350`,
	} {
		if !strings.Contains(texts, want) {
			t.Errorf("nothing of %q in\n%s", want, texts)
		}
	}
	if n := strings.Count(texts, "\n"); n != 6 {
		t.Errorf("%d rows, want 4 with a wrong bandwidth and 2 of one path's heirs:\n%s", n, texts)
	}
}
