package ingest

import (
	"context"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/lab"
)

// seeds adds every fixture in a folder.
func seeds(f *testing.F, folder string, add func(name string, data []byte)) {
	f.Helper()
	n := 0
	err := filepath.WalkDir("testdata", func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(name), "testdata/")
		if err != nil || d.IsDir() || !strings.HasPrefix(rel, folder) || strings.HasPrefix(rel, "golden/") ||
			strings.HasPrefix(rel, "fuzz/") {
			return err
		}
		n++
		add(rel, fixture(f, rel))
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	if n == 0 {
		f.Fatalf("there are no fixtures in %s", folder)
	}
}

// FuzzImport imports any bytes under any name with the importer that recognises them. The result is either a usage
// error or a consistent run.
func FuzzImport(f *testing.F) {
	seeds(f, "", func(name string, data []byte) { f.Add(name, data) })
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if !fs.ValidPath(name) || name == "." || len(data) > 1<<20 {
			return
		}
		sink := &collected{}
		run, err := Import(context.Background(), sources(name), nil,
			fstest.MapFS{name: {Data: data, Mode: 0o644}}.Open, sink)
		if err != nil {
			if lab.KindOf(err) != lab.Usage {
				t.Errorf("not an error of the user's: %v", err)
			}
			return
		}
		holdsTogether(t, run, sink)
	})
}

func holdsTogether(t *testing.T, run lab.Run, sink *collected) {
	t.Helper()
	counts := map[string]int{}
	for _, r := range sink.repetitions {
		if counts[r.Cell]++; counts[r.Cell] != r.Number {
			t.Errorf("repetition %d of %s comes as number %d", r.Number, r.Cell, counts[r.Cell])
		}
		for metric, v := range r.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s is %v", metric, v)
			}
		}
	}
	if len(counts) != len(run.Cells) {
		t.Errorf("%d cells have repetitions, the run has %d", len(counts), len(run.Cells))
	}
	for _, c := range run.Cells {
		if counts[c.ID] == 0 {
			t.Errorf("cell %q has no repetitions", c.ID)
		}
		if !slices.ContainsFunc(run.Arms, func(a lab.Arm) bool { return a.ID == c.Arm }) {
			t.Errorf("cell %q is in arm %q, which is not there", c.ID, c.Arm)
		}
	}
	roles := map[string]bool{}
	for _, target := range run.Targets {
		if target.Role == "" || roles[target.Role] {
			t.Errorf("role %q is empty or given twice", target.Role)
		}
		roles[target.Role] = true
	}
	for _, a := range run.Arms {
		if !roles[a.Role] {
			t.Errorf("arm %q is of role %q, which is not there", a.ID, a.Role)
		}
	}
}

func FuzzDiskMark(f *testing.F) {
	for _, folder := range []string{"crystaldiskmark/", "kdiskmark/"} {
		seeds(f, folder, func(_ string, data []byte) { f.Add(string(data)) })
	}
	f.Fuzz(func(t *testing.T, text string) {
		reports, err := parseDiskMark(text)
		if err != nil {
			return
		}
		for _, r := range reports {
			for _, row := range r.rows {
				size := row.measurement("diskspd").params["bs"]
				if row.section.direction == "" || row.block < 0 || (row.block > 0) != (size != "") {
					t.Errorf("a row without direction, or with the wrong block size %q: %+v", size, row)
				}
			}
		}
	})
}

func FuzzClusterBuster(f *testing.F) {
	seeds(f, "clusterbuster/", func(_ string, data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseCB(data)
		if err != nil {
			return
		}
		for _, w := range r.workers {
			for _, res := range w.results {
				if len(res.fio) == 0 {
					t.Errorf("%s of %s is empty", res.key, w.name)
				}
			}
		}
		_ = r.base(file{path: "a/b"}, 1)
	})
}
