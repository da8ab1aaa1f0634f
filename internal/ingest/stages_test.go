package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/lab"
)

// page is the whole NFS over RDMA report: 22 command lines on one page, in four stages.
const page = "../../load/fio/testdata/text/nfs-over-rdma-report.txt"

func names() []string { return []string{"ram", "one path", "two paths", "rdma"} }

func importPage(t *testing.T, order []string, sources ...Source) (lab.Run, *collected, error) {
	t.Helper()
	for i := range sources {
		sources[i].Name = filepath.Join("testdata", filepath.FromSlash(sources[i].Name))
	}
	sink := &collected{}
	run, err := Import(context.Background(), sources, order, openFile, sink)
	return run, sink, err
}

// loads returns the loads of each stage, in their order.
func loads(run lab.Run) map[string][]string {
	all := map[string][]string{}
	for _, a := range run.Arms {
		for _, c := range run.Cells {
			if c.Arm == a.ID {
				s := a.Levels[lab.StageLevel]
				all[s] = append(all[s], strings.Join([]string{c.Params["rw"], c.Params["bs"], c.Params["iodepth"],
					c.Params["numjobs"]}, " "))
			}
		}
	}
	return all
}

// The stages of one page are distinguished by repeated loads. Importing the same lines with one source per stage gives
// the same stages.
func TestStagesOfAPage(t *testing.T) {
	inOrder, sink, err := importPage(t, names(), Source{Name: page})
	if err != nil {
		t.Fatal(err)
	}
	want := []lab.Stage{{Name: "ram", From: "nfs-over-rdma-report.txt, line 1"},
		{Name: "one path", From: "nfs-over-rdma-report.txt, line 14"},
		{Name: "two paths", From: "nfs-over-rdma-report.txt, line 35"},
		{Name: "rdma", From: "nfs-over-rdma-report.txt, line 56"}}
	if !slices.Equal(inOrder.Stages, want) {
		t.Errorf("stages %+v", inOrder.Stages)
	}
	if inOrder.Repetitions != 1 || len(inOrder.Cells) != 22 || len(sink.repetitions) != 22 {
		t.Errorf("%d cells of %d repetitions, %d in all", len(inOrder.Cells), inOrder.Repetitions,
			len(sink.repetitions))
	}
	got := loads(inOrder)
	for stage, want := range map[string]string{
		"ram": "randread 8k 1 1, randread 8k 8 8, randwrite 8k 1 1, randwrite 8k 8 8",
		"one path": "randread 8k 1 1, randread 8k 8 8, randread 1M 8 8, randwrite 8k 1 1, randwrite 8k 8 8, " +
			"randwrite 1M 8 8",
		"two paths": "randread 8k 1 1, randread 8k 8 8, randread 1M 1 8, randwrite 8k 1 1, randwrite 8k 8 8, " +
			"randwrite 1M 1 8",
		"rdma": "randread 8k 1 1, randread 8k 8 8, randread 1M 1 8, randwrite 8k 1 1, randwrite 8k 8 8, randwrite 1M " +
			"1 8",
	} {
		if strings.Join(got[stage], ", ") != want {
			t.Errorf("%s has %v", stage, got[stage])
		}
	}
	byLine, lined, err := importPage(t, nil, Source{Name: page, Stage: "ram", First: 1, Last: 12},
		Source{Name: page, Stage: "one path", First: 13, Last: 33},
		Source{Name: page, Stage: "two paths", First: 34, Last: 54},
		Source{Name: page, Stage: "rdma", First: 55, Last: 74})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(byLine.Stages, want) {
		t.Errorf("by line: stages %+v", byLine.Stages)
	}
	for i, r := range lined.repetitions {
		if o := sink.repetitions[i]; r.Cell != o.Cell || r.Number != o.Number ||
			r.Values["read.iops"] != o.Values["read.iops"] {
			t.Errorf("by line %s is %v, in order %s %v", r.Cell, r.Values, o.Cell, o.Values)
		}
	}
	whole, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	for _, name := range []string{"00001/", "00002/", "00003/", "00004/"} {
		kept += lined.raw[name+filepath.Base(page)]
	}
	if kept != string(whole) {
		t.Error("what was kept of the lines is not the page")
	}
}

// Ambiguous input is refused, with what was found.
func TestStagesAreNotGuessed(t *testing.T) {
	for name, c := range map[string]struct {
		order   []string
		sources []Source
		want    []string
	}{
		"too few names": {names()[:3], []Source{{Name: page}},
			[]string{"3 stages were named, and 4 were found", "4. from nfs-over-rdma-report.txt, line 56 (6 loads)",
				"name as many"}},
		"too many names": {append(names(), "vm"), []Source{{Name: page}},
			[]string{"5 stages were named, and 4 were found", "--stage 'NAME="}},
		"the same file": {nil, []Source{{Name: "text/nfs-over-rdma-ipoib.txt", Stage: "one"},
			{Name: "text/nfs-over-rdma-ipoib.txt", Stage: "two"}},
			[]string{`nothing was read for the stage "two"`, "byte for byte"}},
		"lines that are not there": {nil, []Source{{Name: page, Stage: "one", First: 70, Last: 200}},
			[]string{"expected lines 70 to 200, found 74 lines"}},
		"lines without results": {nil, []Source{{Name: page, Stage: "one", First: 13, Last: 14}},
			[]string{"line 14: expected fio's output below this command"}},
	} {
		_, _, err := importPage(t, c.order, c.sources...)
		if lab.KindOf(err) != lab.Usage {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := err.Error()
		if e, ok := errors.AsType[*lab.Error](err); ok {
			text += strings.Join(e.Hints, " ")
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: nothing of %q in %s", name, w, text)
			}
		}
	}
}

// Another host's prompt begins a stage, even with new loads. Another file of the same stage does not, and a load that a
// named stage already has is its next repetition.
func TestWhatBeginsAStage(t *testing.T) {
	one := func(host, bs string) string {
		return "root@" + host + ":/srv# fio --name=a --rw=read --bs=" + bs +
			"\n  read: IOPS=5, BW=20.0KiB/s (20.5kB/s)(20.0KiB/1000msec)\n"
	}
	sink := &collected{}
	tree := fstest.MapFS{
		"page": {Data: []byte(one("server", "4k") + one("client", "8k") + one("client", "16k") + one("client", "8k"))},
		"a":    {Data: []byte(one("client", "4k"))}, "b": {Data: []byte(one("client", "4k") + "\n")},
		"c": {Data: []byte(one("client", "8k"))}}
	run, err := Import(context.Background(), []Source{{Name: "page"}}, []string{"x", "y", "z"}, tree.Open, sink)
	if err != nil {
		t.Fatal(err)
	}
	if got := loads(run); len(got["x"]) != 1 || len(got["y"]) != 2 || len(got["z"]) != 1 {
		t.Errorf("%v", got)
	}
	run, err = Import(context.Background(), []Source{{Name: "a", Stage: "x"}, {Name: "b", Stage: "x"},
		{Name: "c", Stage: "y"}}, nil, tree.Open, &collected{})
	if err != nil || run.Repetitions != 2 || len(run.Cells) != 2 || len(run.Stages) != 2 {
		t.Errorf("%+v, %v", run, err)
	}
}

func TestLinesAreCut(t *testing.T) {
	for _, c := range []struct {
		text        string
		first, last int
		want        string
	}{
		{"a\nb\nc\n", 1, 1, "a\n"}, {"a\nb\nc\n", 2, 3, "b\nc\n"}, {"a\nb\nc", 3, 3, "c"}, {"a\nb\nc", 1, 3, "a\nb\nc"},
		{"a\r\nb\r\n", 2, 2, "b\r\n"},
	} {
		got, err := Source{Name: "x", First: c.first, Last: c.last}.cut([]byte(c.text))
		if err != nil || string(got) != c.want {
			t.Errorf("lines %d to %d of %q: %q, %v", c.first, c.last, c.text, got, err)
		}
	}
	if _, err := (Source{Name: "x", First: 1, Last: 9}).cut([]byte("a\nb\n")); err == nil ||
		!strings.Contains(err.Error(), "found 2 lines") {
		t.Errorf("more lines than there are: %v", err)
	}
}

// For any page there are either as many stages as names, none of them empty, or a usage error.
func FuzzStages(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(page)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, 4, 0, 0)
	f.Add(data, 1, 14, 33)
	f.Fuzz(func(t *testing.T, data []byte, stages, first, last int) {
		if len(data) > 1<<20 || stages < 1 || stages > len(names()) || first < 0 || last < first ||
			first == 0 && last > 0 {
			return
		}
		sink := &collected{}
		order := names()[:stages]
		run, err := Import(context.Background(), []Source{{Name: "page.txt", First: first, Last: last}}, order,
			fstest.MapFS{"page.txt": {Data: data}}.Open, sink)
		if err != nil {
			if lab.KindOf(err) != lab.Usage {
				t.Errorf("not an error of the user's: %v", err)
			}
			return
		}
		holdsTogether(t, run, sink)
		got := loads(run)
		for _, name := range order {
			if len(got[name]) == 0 {
				t.Errorf("stage %s is empty", name)
			}
		}
		if len(got) != stages || len(run.Stages) != stages {
			t.Errorf("%d stages of %d: %v", len(got), stages, run.Stages)
		}
	})
}
