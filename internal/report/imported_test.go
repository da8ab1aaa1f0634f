package report_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/ingest"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/compared"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/report/varied"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/sweep"
)

// kept is a sink that keeps the repetitions.
type kept []lab.Repetition

func (*kept) Raw(string, []byte) error { return nil }

func (k *kept) Repetition(rep lab.Repetition) error {
	*k = append(*k, rep)
	return nil
}

func (k *kept) all() iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		for _, r := range *k {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// maxToWrite is the maximum size of a file: a separate fuzz target gives importers larger ones.
const maxToWrite = 16 << 10

// FuzzWriteWhatIsImported writes everything that an importer accepts in each format, compares it with itself, and reads
// it as stages.
func FuzzWriteWhatIsImported(f *testing.F) {
	imports := filepath.Join("..", "ingest", "testdata")
	added := 0
	err := filepath.WalkDir(imports, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "golden" || d.Name() == "fuzz") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if rel, _ := filepath.Rel(imports, name); len(data) <= maxToWrite {
			f.Add(filepath.ToSlash(rel), data)
			added++
		}
		return err
	})
	if err != nil || added == 0 {
		f.Fatalf("%d files to import, %v", added, err)
	}
	// A rate without operations, and operations without a rate.
	const job = "test: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, " +
		"ioengine=libaio, iodepth=16\nfio-3.33\ntest: (groupid=0, jobs=1): err= 0: pid=1234: Tue Jul 22 10:00:00 2025\n"
	f.Add("bandwidth.txt",
		[]byte(job+"   bw (  MiB/s): min= 2500, max= 2900, per=100.00%, avg=2717.12, stdev=50.11, samples=119\n"))
	f.Add("iops.txt", []byte(job+"   iops        : min= 2500, max= 2900, avg=2717.12, stdev=50.11, samples=119\n"))
	knowledge, err := diff.Load()
	if err != nil {
		f.Fatal(err)
	}
	scores, err := reference.BuiltInScores("iothreads-report")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !fs.ValidPath(name) || name == "." || len(data) > maxToWrite {
			return
		}
		var reps kept
		run, err := ingest.Import(context.Background(), []ingest.Source{{Name: name}}, nil,
			fstest.MapFS{name: {Data: data, Mode: 0o644}}.Open, &reps)
		if err != nil {
			return
		}
		run.ID = "7KQ4M2X9TD"
		for i := range run.Cells { // as the caller of an import does
			run.Cells[i].Warnings = append(run.Cells[i].Warnings, lab.Warning{Code: "few-repetitions",
				Taints: []string{"*"}, Text: "one repetition says nothing of the spread"})
		}
		s, err := summary.Of(run, reps.all())
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range runs.Formats() {
			var out bytes.Buffer
			if err := format.Write(&out, []summary.Run{s, s}, report.Options{}); err != nil || out.Len() == 0 {
				t.Errorf("%s: %d bytes, %v", format.Name, out.Len(), err)
			}
		}
		side := summary.Comparable(s, run, "imported", nil, false)
		other := side
		other.ID = "7KQ4M2X9TE"
		d := compare.Compare(knowledge, side, []compare.Run{other}, compare.Options{})
		for _, format := range render.Formats() {
			compared := compared.Runs(d, report.Options{})
			if err := format.Write(io.Discard, compared, render.Options{}); err != nil {
				t.Errorf("compared, %s: %v", format.Name, err)
			}
		}
		writeLevels(t, run, reps.all(), scores)
		writeAsStages(t, name, data, scores)
	})
}

// writeLevels writes the figures of merit over each factor of a run, with published ones.
func writeLevels(t *testing.T, run lab.Run, repetitions iter.Seq2[lab.Repetition, error], scores reference.Scores) {
	t.Helper()
	for _, factor := range sweep.Factors(run.Arms) {
		d, err := sweep.OfLevels(run, repetitions, sweep.By{Factor: factor})
		if err != nil {
			t.Errorf("by %s: %v", factor, err)
			continue
		}
		d.AddPublished(scores)
		for _, format := range render.Formats() {
			of := varied.Sweep(d, report.Options{})
			if err := format.Write(io.Discard, of, render.Options{}); err != nil {
				t.Errorf("by %s, %s: %v", factor, format.Name, err)
			}
		}
	}
}

// writeAsStages reads a file as one stage and again as another, if possible.
func writeAsStages(t *testing.T, name string, data []byte, scores reference.Scores) {
	t.Helper()
	again := "again/" + name
	files := fstest.MapFS{name: {Data: data, Mode: 0o644}, again: {Data: append(bytes.Clone(data), '\n'), Mode: 0o644}}
	var reps kept
	run, err := ingest.Import(context.Background(),
		[]ingest.Source{{Name: name, Stage: "one"}, {Name: again, Stage: "two"}}, nil, files.Open, &reps)
	if err != nil {
		return
	}
	run.ID = "7KQ4M2X9TD"
	writeLevels(t, run, reps.all(), scores)
	d, err := stages.Make(run, reps.all(), stages.Options{})
	for _, f := range render.Formats() {
		if err == nil {
			err = f.Write(io.Discard, staged.Stages(d, report.Options{}), render.Options{})
		}
	}
	if _, ofTheUser := errors.AsType[*lab.Error](err); err != nil && !ofTheUser {
		t.Errorf("as stages: %v", err)
	}
}
