package staged

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/ingest"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// nowhere discards the raw files of an import, and keeps its repetitions.
type nowhere struct{ repetitions []lab.Repetition }

func (*nowhere) Raw(string, []byte) error { return nil }

func (n *nowhere) Repetition(r lab.Repetition) error {
	n.repetitions = append(n.repetitions, r)
	return nil
}

// stagesOfTheReport returns the stages of the NFS over RDMA report, compared as in its own tables.
func stagesOfTheReport(t *testing.T, o stages.Options) stages.Document {
	t.Helper()
	sink := &nowhere{}
	run, err := ingest.Import(context.Background(),
		[]ingest.Source{{Name: "../../../docs/examples/nfs-over-rdma.txt"}},
		[]string{"ram", "one path", "two paths", "rdma"}, func(name string) (fs.File, error) {
			return os.Open(name)
		}, sink)
	if err != nil {
		t.Fatal(err)
	}
	run.ID = "7KQ4M2X9TD"
	d, err := stages.Make(run, func(yield func(lab.Repetition, error) bool) {
		for _, r := range sink.repetitions {
			if !yield(r, nil) {
				return
			}
		}
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// asPublished returns the report's stages compared as published, over its ports of QDR InfiniBand, with its own tables.
func asPublished(t *testing.T) stages.Document {
	t.Helper()
	one, err := ceiling.ParseLinks("QDR")
	if err != nil {
		t.Fatal(err)
	}
	two := one
	two.N = 2
	published, err := reference.BuiltInTables("nfs-rdma-report")
	if err != nil {
		t.Fatal(err)
	}
	return stagesOfTheReport(t, stages.Options{Against: []stages.Against{{Stage: "two paths", Of: "one path"},
		{Stage: "rdma", Of: "two paths"}},
		Links:     map[string]ceiling.Links{"one path": one, "two paths": two, "rdma": two},
		Published: published})
}

// oddStages has a load without measurements, one with operations only, one 50 times faster, one in one stage only, and
// long names.
func oddStages() stages.Document {
	long := strings.Repeat("a stage with a long name, ", 8)
	share, lo, hi := 51.0, 48.0, 53.0
	row := func(stage, title, direction string, group int, iops, bandwidth float64) stages.Row {
		return stages.Row{Stage: stage, Title: title, Params: map[string]string{"rw": direction}, Direction: direction,
			Group: group, IOPS: iops, Bandwidth: bandwidth, N: 3}
	}
	d := stages.Document{Run: "7KQ4M2X9TD", Against: []stages.Against{{Stage: long, Of: "disk"}},
		Stages: []stages.Stage{{Stage: lab.Stage{Name: "disk"}}, {Stage: lab.Stage{Name: long},
			Links: "one link of 10 Gbit/s", Rate: 1.25e9}},
		Rows: []stages.Row{
			row("disk", "write 4k q1", "write", 0, 1000, 4096e3), row(long, "write 4k q1", "write", 0, 51e3, 51*4096e3),
			row("disk", "read 1m q8", "read", 1, 0, 0), row(long, "read 1m q8", "read", 1, 0, 0),
			row("disk", "flush", "sync", 2, 800, 0), row(long, "flush", "sync", 2, 15e3, 0),
			row("disk", strings.Repeat("randread-of-a-long-name-", 8), "read", 3, 64e3, 64e3*4096),
		}}
	d.Rows[1].Efficiency = []stages.Efficiency{{Of: "disk", Ratio: share, Bounds: stat.BoundsOf(lo, hi), Pairs: 6}}
	d.Rows[1].Warnings = []string{"above-ceiling"}
	d.Findings = []stages.Finding{{Warning: lab.Warning{Code: "above-ceiling", Text: "more than the link carries"},
		Rows: []int{1}, N: 3, Repetitions: 1}}
	return d
}

func writtenStages(t *testing.T, d stages.Document, width int) string {
	t.Helper()
	return rendertest.Written(t, Stages(d, report.Options{}), "table", render.Options{Width: width})
}

// No line is wider than the terminal, and a stage's share is shown before other figures.
func TestStagesFitTheTerminal(t *testing.T) {
	d := asPublished(t)
	for width := 60; width <= 200; width += 4 {
		text := writtenStages(t, d, width)
		for line := range strings.Lines(text) {
			if n := prose.Columns(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns in a terminal of %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"of one path", "of two paths", "(217.7%)", "3633.37"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
		alone := d
		alone.Published, alone.Findings = nil, slices.DeleteFunc(slices.Clone(d.Findings),
			func(f stages.Finding) bool { return len(f.Published) > 0 })
		text = writtenStages(t, alone, width)
		if left := strings.Contains(text, "Left out to save space: "); left == strings.Contains(text, "Gbit/s  ") {
			t.Errorf("%d columns: something was left out, %v, in\n%s", width, left, text)
		}
	}
}

// A table with comparable pairs has no marks except that its writes went to a cache, and lists what it was not asked.
func TestStagesWithoutFaults(t *testing.T) {
	d := stagesOfTheReport(t, stages.Options{Against: []stages.Against{{Stage: "rdma", Of: "two paths"}}})
	text := writtenStages(t, d, 100)
	if !strings.HasPrefix(text, "22 rows in 4 stages: 4 were answered by a cache\n") ||
		!strings.Contains(text, "To compare rates with what the links can") || strings.Contains(text, "!2") ||
		strings.Contains(text, "brackets") {
		t.Error(text)
	}
}

// The directions of a mixed load are distinguished, and a published row that can't be found does not count as right.
func TestStagesOfMixedLoads(t *testing.T) {
	one := 0
	d := stages.Document{Stages: []stages.Stage{{Stage: lab.Stage{Name: "a"}}}, Rows: []stages.Row{
		{Stage: "a", Title: "readwrite 50/50 4k q1", Params: map[string]string{"rw": "readwrite"}, Direction: "read",
			IOPS: 5, N: 3},
		{Stage: "a", Title: "readwrite 50/50 4k q1", Params: map[string]string{"rw": "readwrite"}, Direction: "write",
			Group: 1, IOPS: 4, N: 3},
	}, Published: []stages.Published{{Rows: []stages.PublishedRow{
		{Label: "found", Row: &one,
			Figures: []stages.Figure{{Column: "IOPS", Published: "5", Agrees: stages.Measured}}},
		{Label: "lost", Figures: []stages.Figure{{Column: "IOPS", Published: "7", Agrees: stages.Unknown}}},
	}}}}
	text := writtenStages(t, d, 100)
	for _, want := range []string{"readwrite 50/50 4k q1 read\n", "readwrite 50/50 4k q1 write\n",
		"of 2 rows published, 1 with figures that no load here has", "?7"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
	d.Published[0].Rows = d.Published[0].Rows[:1]
	if text := writtenStages(t, d, 100); !strings.Contains(text, "of 1 row published, all as measured") {
		t.Error(text)
	}
}

// A file for programs has each figure once.
func TestStagesInCSV(t *testing.T) {
	var b strings.Builder
	if err := render.CSV(&b, Stages(asPublished(t), report.Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "(217.7%)"); n != 1 {
		t.Errorf("a figure is there %d times", n)
	}
}
