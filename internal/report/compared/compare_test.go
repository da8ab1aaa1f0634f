package compared

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/golden"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// comparedRun makes a run of the given jobs, with eight repetitions each, whose spread is the job's noise.
func comparedRun(id, name string, jobs []comparedJob, known map[string]string) compare.Run {
	r := compare.Run{Name: name, Run: lab.Run{ID: id, Label: name, Suite: "talos", Status: lab.Complete,
		Source:  lab.Measured,
		Created: time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)}}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		r.Facts = append(r.Facts, lab.Fact{Key: key, Value: known[key]})
	}
	r.Conditions = []compare.Condition{{Name: "kernel", Text: known["kernel.release"]},
		{Name: "how often", Text: "8 repetitions"}}
	for _, j := range jobs {
		c := compare.Cell{Job: j.name, Engine: "fio", Params: map[string]string{"direct": "1", "ioengine": "libaio"},
			Levels: map[string]string{},
			Role:   "storage", Target: "local", N: 8, Values: map[string][]compare.Value{}, Warnings: j.warnings}
		for p := range strings.FieldsSeq(j.params) {
			key, value, _ := strings.Cut(p, "=")
			c.Params[key] = value
		}
		for _, metric := range slices.Sorted(maps.Keys(j.levels)) {
			for i, step := range []float64{0.2, -1.1, 0.5, 1.3, -0.8, 0.1, -0.4, 0.6} {
				c.Values[metric] = append(c.Values[metric], compare.Value{Value: j.levels[metric] * (1 + j.noise*step),
					Repetition: i + 1, Boot: name, Block: i + 1})
			}
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

type comparedJob struct {
	name, params string
	levels       map[string]float64
	noise        float64
	warnings     []lab.RepeatedWarning
}

// comparison compares a base with two others, such that every verdict occurs.
func comparison(t testing.TB) compare.Document {
	t.Helper()
	reads := func(iops float64) map[string]float64 { return map[string]float64{"read.iops": iops} }
	cached := lab.RepeatedWarning{Warning: lab.Warning{Code: "page-cache", Taints: []string{"read.*"},
		Text: "40% of what fio read came from this machine's memory: fio read 10.0 GiB, the disk only 6.00 GiB; add " +
			"direct=1"}, Repetitions: 8}
	busy := lab.RepeatedWarning{Warning: lab.Warning{Code: "other-load", Taints: []string{"*"},
		Text: "1.20 GiB passed through nvme0n1 beside the 4.50 GiB that fio moved; stop that, or read these numbers " +
			"as shared", MostError: 0.21}, Repetitions: 8}
	debian := []comparedJob{
		{"randread_jobs4", "rw=randread bs=4k iodepth=128 numjobs=4", reads(1.71e6), 0.004, nil},
		{"read", "rw=read bs=1m iodepth=16", map[string]float64{"read.bandwidth": 6.9 * (1 << 30), "read.iops": 7065},
			0.003, nil},
		{"randrw", "rw=randrw bs=4k iodepth=32", map[string]float64{"read.iops": 90e3, "write.iops": 90e3}, 0.006, nil},
		{"logwrite", "rw=write bs=4k iodepth=1 fdatasync=1",
			map[string]float64{"write.iops": 12.1e3, "sync.latency.mean": 60e-6}, 0.04, nil},
		{"paced", "rw=randread bs=4k iodepth=1 rate_iops=500",
			map[string]float64{"read.latency.mean": 80e-6, "read.latency.p99": 190e-6}, 0.01, nil},
		{"seqread-1m", "rw=read bs=1m iodepth=8", reads(6500), 0.003, nil},
		{"cached", "rw=read bs=4k iodepth=1", reads(50e3), 0.01, nil},
		{"busy", "rw=randread bs=16k iodepth=4", reads(120e3), 0.01, nil},
		{"only-debian", "rw=randwrite bs=8k iodepth=1", map[string]float64{"write.iops": 60e3}, 0.01, nil},
	}
	talos := []comparedJob{
		{"randread_jobs4", "rw=randread bs=4k iodepth=128 numjobs=4", reads(0.68e6), 0.006, nil},
		{"read", "rw=read bs=1024k iodepth=16", map[string]float64{"read.bandwidth": 6.91 * (1 << 30),
			"read.iops": 7075}, 0.003, nil},
		{"randrw", "rw=randrw bs=4k iodepth=32", map[string]float64{"read.iops": 60e3, "write.iops": 61e3}, 0.006, nil},
		{"logwrite", "rw=write bs=4k iodepth=1 fdatasync=1",
			map[string]float64{"write.iops": 11.85e3, "sync.latency.mean": 63e-6}, 0.04, nil},
		{"paced", "rw=randread bs=4k iodepth=1 rate_iops=500",
			map[string]float64{"read.latency.mean": 120e-6, "read.latency.p99": 290e-6}, 0.01, nil},
		{"seqread-1m", "rw=read bs=1m iodepth=1", reads(2500), 0.003, nil},
		{"cached", "rw=read bs=4k iodepth=1", reads(90e3), 0.01, []lab.RepeatedWarning{cached}},
		{"busy", "rw=randread bs=16k iodepth=4", reads(95e3), 0.01, []lab.RepeatedWarning{busy}},
	}
	flatcar := debian[:2]
	facts := map[string]string{"kernel.release": "6.12.9", "kernel.cmdline": "quiet",
		"kernel.config.IOMMU_DEFAULT_DMA_STRICT": "n",
		"kernel.config.INIT_ON_ALLOC_DEFAULT_ON": "n", "sysctl.vm.dirty_ratio": "20"}
	others := maps.Clone(facts)
	others["kernel.config.IOMMU_DEFAULT_DMA_STRICT"], others["kernel.config.INIT_ON_ALLOC_DEFAULT_ON"] = "y", "y"
	others["kernel.cmdline"] = "quiet slab_nomerge"
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	return compare.Compare(knowledge, comparedRun("DEBIANDEBI", "debian", debian, facts),
		[]compare.Run{comparedRun("TALOSTALOS", "talos", talos, others), comparedRun("FLATCARFLA", "flatcar", flatcar,
			facts)}, compare.Options{Others: func(_ compare.Run, c compare.Cell, _ string) [][]float64 {
			five := [][]float64{{1000}, {1002}, {998}, {1001}, {999}}
			if c.Job == "randrw" {
				return five // so few values suggest something, and prove nothing
			}
			return slices.Repeat(five, 3)
		}})
}

func writtenComparison(t testing.TB, d compare.Document, format string, o report.Options) string {
	t.Helper()
	return rendertest.Written(t, Runs(d, o), format, o.Options)
}

func TestPublishedComparison(t *testing.T) {
	d := comparison(t)
	for _, v := range compare.Verdicts() {
		known := []compare.Verdict{compare.Faster, compare.Better, compare.Agrees} // in other goldens
		if !slices.Contains(known, v) && d.New[0].Counts[v] == 0 {
			t.Errorf("nothing is %s", v)
		}
	}
	rendertest.Golden(t, "compare.json", rounded(t, d))
}

// rounded returns the JSON of a document with six digits a number: the last digits differ between processors.
func rounded(t *testing.T, d compare.Document) string {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(":|[\[,])(-?[0-9][0-9.e+-]*)`).ReplaceAllStringFunc(string(data),
		func(number string) string {
			from := strings.IndexAny(number, "-0123456789")
			v, err := strconv.ParseFloat(number[from:], 64)
			if err != nil {
				return number // within a text
			}
			return number[:from] + strconv.FormatFloat(v, 'g', 6, 64)
		})
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// The example in the docs is the program's real output.
func TestCompareDocs(t *testing.T) {
	const page = "../../../docs/howto/compare.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	d := comparison(t)
	d.New = d.New[:1]
	printed := strings.TrimSpace(writtenComparison(t, d, "table", report.Options{Options: render.Options{Width: 100}}))
	before, rest, found := strings.Cut(string(text), "```text\n")
	example, after, closed := strings.Cut(rest, "\n```")
	if !found || !closed {
		t.Fatal("no example in " + page)
	}
	if golden.Update() {
		if err := os.WriteFile(page, []byte(before+"```text\n"+printed+"\n```"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if example != printed {
		t.Errorf("the example in %s is not what is printed; UPDATE_GOLDEN=1 writes it again:\n%s", page, printed)
	}
}

// No line is wider than the terminal, and the deciding interval and every verdict are shown.
func TestCompareFitsTheTerminal(t *testing.T) {
	d := comparison(t)
	for width := 80; width <= 200; width += 4 {
		text := writtenComparison(t, d, "table", report.Options{Options: render.Options{Width: width}})
		for line := range strings.Lines(text) {
			if n := prose.Columns(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns in a terminal of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"-60.2% [", "slower", "worse", "same", "undecided", "incomparable !"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q", width, want)
			}
		}
	}
}

// Colour adds no information to the text.
func TestCompareColourIsASecondSignal(t *testing.T) {
	d := comparison(t)
	coloured := writtenComparison(t, d, "table",
		report.Options{Options: render.Options{Width: 120, Colour: prose.Key("").Own}})
	if !strings.Contains(coloured, "\x1b[31mslower\x1b[0m") {
		t.Error("slower is not red")
	}
	for _, code := range []string{"0", "1", "2", "31", "32", "33"} {
		coloured = strings.ReplaceAll(coloured, "\x1b["+code+"m", "")
	}
	if plain := writtenComparison(t, d, "table", report.Options{Options: render.Options{Width: 120}}); coloured !=
		plain {
		t.Errorf("without its colours it is\n%s\nwant\n%s", coloured, plain)
	}
}

func TestTextForest(t *testing.T) {
	ratio := func(lo, mid, hi float64) *compare.ComparedMetric {
		return &compare.ComparedMetric{Margin: 0.03,
			Change: &compare.Change{RatioEstimate: stat.RatioEstimate{Ratio: mid, Bounds: stat.BoundsOf(lo, hi)}}}
	}
	rows := []*compare.ComparedMetric{ratio(0.5, 0.6, 0.7), ratio(0.99, 1, 1.01), ratio(0.1, 1.2, 9),
		ratio(math.Exp(-2), 0.15, 0.16)}
	a := newRatioScale(rows)
	for i, want := range []string{
		"      ──●─  ┊            ",
		"            ●            ",
		"<─────────────●─────────>",
	} {
		if got := a.draw(rows[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	// An arrow shows on which side an estimate is beyond the scale.
	if got := a.draw(rows[3]); strings.Contains(got, "●") || !strings.HasPrefix(got, "<") {
		t.Errorf("%q shows an estimate that is beyond the scale", got)
	}
}

func TestChangeText(t *testing.T) {
	for ratio, want := range map[float64]string{0.398: "-60.2%", 1: "0.0%", 0.99999: "0.0%", 1.019: "+1.9%",
		2.5: "+150%", 12.34: "12.3x", 0.0024: "0.0024x"} {
		if got := report.ChangeText(ratio); got != want {
			t.Errorf("%v: %s, want %s", ratio, got, want)
		}
	}
	for c, want := range map[float64]string{0.95: "95%", 0.9937: "99.3%", 0.99965: "99.96%", 0.75: "75%"} {
		if got := report.Confidence(c); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}

// The JSON has the interval, and the text what more repetitions would tell.
func TestIntervalOfTwoRepetitions(t *testing.T) {
	jobs := []comparedJob{{"reads", "rw=randread bs=4k", map[string]float64{"read.iops": 1000}, 0.1, nil}}
	few := func(id, name string) compare.Run {
		r := comparedRun(id, name, jobs, nil)
		c := &r.Cells[0]
		c.N, c.Values["read.iops"] = 2, c.Values["read.iops"][:2]
		return r
	}
	base, next := few("BASEBASEBA", "debian"), few("NEXTNEXTNE", "talos")
	next.Cells[0].Values["read.iops"][1].Value = 300
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := compare.Compare(knowledge, base, []compare.Run{next}, compare.Options{})
	change := d.Cells[0].Change
	if !change.Known() || change.Informative() {
		t.Fatalf("[%g, %g], want an interval that says nothing", *change.Lo, *change.Hi)
	}
	for _, format := range []string{"table", "html", "markdown"} {
		text := writtenComparison(t, d, format, report.Options{Options: render.Options{Width: 160}})
		if strings.Contains(text, "]x") || !strings.Contains(text, report.ChangeText(change.Ratio)) {
			t.Errorf("%s has the interval [%g, %g]:\n%s", format, *change.Lo, *change.Hi, text)
		}
		if !strings.Contains(text, "more repetitions") {
			t.Errorf("%s does not say how many more repetitions would tell:\n%s", format, text)
		}
	}
}

func TestNotesThatBeginAlikeAreOne(t *testing.T) {
	row := func(job string, notes ...string) *compare.ComparedMetric {
		return &compare.ComparedMetric{Job: job, Unit: lab.PerSecond, Metric: "read.iops", Notes: notes}
	}
	var got []string
	for _, w := range notesOf([]*compare.ComparedMetric{row("a", "in doubt: x", "in doubt: y"),
		row("b", "in doubt: x", "something else")}) {
		for _, text := range w.Texts {
			got = append(got, w.Code+": "+text.Text+" ["+text.About+"]")
		}
	}
	want := "In doubt: x [all]|In doubt: y [a IOPS]|note: something else [b IOPS]"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAMeanWithoutAnIntervalIsNoAnswer(t *testing.T) {
	d := comparison(t)
	n := d.New[0]
	if text := compareHeadline(&d, &n); !strings.Contains(text, "; mean latency 1.25x [") {
		t.Error(text)
	}
	n.Means = []compare.Mean{{Of: "latency", Cells: 4, RatioEstimate: stat.RatioEstimate{Ratio: 0.77}}}
	if text := compareHeadline(&d, &n); strings.Contains(text, "mean") {
		t.Error(text)
	}
}
