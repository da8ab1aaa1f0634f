package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/text/encoding/unicode"

	"github.com/headroom/headroom/internal/lab"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sources returns the named files, each complete and without a stage.
func sources(names ...string) []Source {
	all := make([]Source, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

// importMap imports the named files of a map.
func importMap(t *testing.T, files map[string][]byte, names ...string) (lab.Run, *collected, error) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, data := range files {
		tree[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	sink := &collected{}
	run, err := Import(context.Background(), sources(names...), nil, tree.Open, sink)
	return run, sink, err
}

// TestBadFiles checks that the error names each kind of bad file and the position, and that nothing is imported.
func TestBadFiles(t *testing.T) {
	whole := fixture(t, "fio/fio-3.33-jsonplus-3jobs-group.json")
	cases := []struct {
		name, data string
		want       []string
	}{
		{"empty.json", "", []string{"empty.json: this file is empty"}},
		{"sysctl.txt", "net.ipv4.tcp_window_scaling = 0\nvm.swappiness = 60\n",
			[]string{"sysctl.txt: this describes a machine", "headroom doctor reads it"}},
		{"notes.txt", "The disk is slow today.\n", []string{"notes.txt: nothing in it looks like the results"}},
		{"cut.json", string(whole[:len(whole)/2]), []string{"cut.json: ", "cut off at byte 18643"}},
		{"damaged.json", strings.Replace(string(whole), `"iops" : 14677`, `"iops" : 14x677`, 1),
			[]string{"damaged.json: ", "byte", "iops"}},
		{"command.txt", "$ fio --name=a --rw=read --size=1m\n$ ls\n",
			[]string{"command.txt: line 1: expected fio's output below this command"}},
		{"cdm.txt", "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n[Read]\n SEQ 1MiB (Q= 8, T= 1): fast MB/s [ 1 " +
			"IOPS] < 2 us>\n",
			[]string{"cdm.txt: line 3: expected a row as", "fast MB/s"}},
		{"cdm6.txt", "CrystalDiskMark 6.0.2 x64 (C) 2007-2018 hiyohiyo\n   Sequential Read :  ---\n",
			[]string{"cdm6.txt: expected rows", "Sequential Read : 505.825 MB/s"}},
		{"cdm6rows.txt", "CrystalDiskMark 6.0.2 x64 (C) 2007-2018 hiyohiyo\n   Random Read 4KiB (Q=  8,T= 8) :  1,231 MB/s\n",
			[]string{"cdm6rows.txt: line 2: expected a row", "1,231"}},
		{"clusterbuster-report.json", `{"metadata": {"kind": "clusterbusterResults",` + "\n" + ` "workload": oops}`,
			[]string{"line 2, column 14 (byte 59): expected JSON"}},
		{"uperf/clusterbuster-report.json",
			`{"metadata": {"kind": "clusterbusterResults", "workload": "uperf"}, "Results": {"worker_results": [{}]}}`,
			[]string{`workload "uperf"`}},
		{"failed/clusterbuster-report.json",
			`{"Status": "Fail", "metadata": {"kind": "clusterbusterResults"}, "Results": {}}`,
			[]string{`status is "Fail"`}},
		{"kubestr.json", `{"size": "1Gi", "storageClass": {}, "fioConfig": ""}`, []string{`expected a "result"`}},
		{"dbench.txt", "= Dbench Summary =\nnothing\n", []string{"dbench.txt: expected lines as"}},
		{"old.json.gz", "\x1f\x8b\x08\x00\x00", []string{"old.json.gz: this compressed file is cut off or damaged"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, sink, err := importMap(t, map[string][]byte{c.name: []byte(c.data)}, c.name)
			if err == nil {
				t.Fatalf("no error; imported %d repetitions", len(sink.repetitions))
			}
			if lab.KindOf(err) != lab.Usage {
				t.Errorf("kind %v, want Usage: %v", lab.KindOf(err), err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error: %v", want, err)
				}
			}
			if strings.Count(err.Error(), c.name) != 1 {
				t.Errorf("the file should be named once: %v", err)
			}
		})
	}
}

// TestAllBadFilesAtOnce checks that the error lists the bad files and how many more there are, and that nothing is
// passed on after the first.
func TestAllBadFilesAtOnce(t *testing.T) {
	files := map[string][]byte{"good.json": fixture(t, "fio/fio-3.33-steadystate.json")}
	names := []string{"missing.json"}
	for i := range 25 {
		name := "bad" + string(rune('a'+i)) + ".txt"
		files[name] = []byte("nothing here, " + name)
		names = append(names, name)
	}
	_, sink, err := importMap(t, files, append(names, "good.json")...)
	e, ok := errors.AsType[*lab.Error](err)
	if !ok || e.Kind != lab.Usage {
		t.Fatalf("want a lab.Usage error, got %v", err)
	}
	for _, want := range []string{"26 files can't be imported", "missing.json: file does not exist",
		"bada.txt: nothing", "and 6 more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "bady.txt") {
		t.Error("the error lists more than it should")
	}
	if len(e.Hints) != 2 || !strings.Contains(e.Hints[1], "CrystalDiskMark") {
		t.Errorf("the hints should list the formats: %q", e.Hints)
	}
	if len(sink.repetitions) > 0 {
		t.Errorf("%d repetitions reached the sink after a bad file", len(sink.repetitions))
	}
}

func TestDirectoryNamesWhatItLeftOut(t *testing.T) {
	run, sink, err := importMap(t, map[string][]byte{
		"d/a.json": fixture(t, "fio/fio-3.33-steadystate.json"), "d/plot.png": []byte("\x89PNG"),
		"d/.hidden.json":                    []byte("{"),
		"d/x.tmp/clusterbuster-report.json": []byte("{"),
	}, "d")
	if err != nil {
		t.Fatal(err)
	}
	if len(sink.repetitions) != 1 {
		t.Errorf("%d repetitions, want 1", len(sink.repetitions))
	}
	if w := warning(run, "import-left-out"); !strings.Contains(w, "3 files or directories") ||
		!strings.Contains(w, "d/plot.png") {
		t.Errorf("the warning is %q", w)
	}
	if _, _, err := importMap(t, map[string][]byte{"d/plot.png": []byte("\x89PNG")}, "d"); lab.KindOf(err) !=
		lab.Usage {
		t.Errorf("a directory without results should be an error, got %v", err)
	}
	damaged := map[string][]byte{"d/a.json": fixture(t, "fio/fio-3.33-steadystate.json"),
		"d/b.json": []byte(`{"fio version" : "fio-3.33", "jobs" : [`)}
	if _, _, err := importMap(t, damaged, "d"); err == nil || !strings.Contains(err.Error(), "d/b.json: ") {
		t.Errorf("a damaged document below a directory should be an error that names it, got %v", err)
	}
}

func warning(run lab.Run, code string) string {
	for _, w := range run.Warnings {
		if w.Code == code {
			return w.Text
		}
	}
	return ""
}

// TestSameFileTwice checks that a copy is not a repetition, while files with different times are.
func TestSameFileTwice(t *testing.T) {
	doc := fixture(t, "fio/fio-3.33-steadystate.json")
	later := bytes.Replace(doc, []byte(`"timestamp_ms" : 1`), []byte(`"timestamp_ms" : 2`), 1)
	if bytes.Equal(doc, later) {
		t.Fatal("the fixture has no timestamp_ms")
	}
	run, sink, err := importMap(t, map[string][]byte{"a.json": doc, "copy.json": doc, "b.json": later}, "a.json",
		"copy.json", "a.json", "b.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(sink.repetitions) != 2 || len(sink.raw) != 2 || run.Repetitions != 2 {
		t.Errorf("%d repetitions and %d raw files of %d, want 2", len(sink.repetitions), len(sink.raw), run.Repetitions)
	}
	if w := warning(run, "import-duplicate"); !strings.HasPrefix(w, "2 files were given twice") {
		t.Errorf("the warning is %q", w)
	}
}

// TestEncodings checks that a report has the same numbers in every encoding, and that its bytes are kept unchanged.
func TestEncodings(t *testing.T) {
	plain := fixture(t, "crystaldiskmark/8.0.4.txt")
	_, want, err := importMap(t, map[string][]byte{"r.txt": plain}, "r.txt")
	if err != nil {
		t.Fatal(err)
	}
	utf16 := func(e unicode.Endianness) []byte {
		data, err := unicode.UTF16(e, unicode.UseBOM).NewEncoder().Bytes(plain)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ data, raw []byte }{
		"mark":          {append([]byte("\xef\xbb\xbf"), plain...), nil},
		"crlf":          {bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")), nil},
		"little endian": {utf16(unicode.LittleEndian), nil},
		"big endian":    {utf16(unicode.BigEndian), nil},
		"gzip":          {packed.Bytes(), plain},
	} {
		t.Run(name, func(t *testing.T) {
			_, got, err := importMap(t, map[string][]byte{"r.txt": c.data}, "r.txt")
			if err != nil {
				t.Fatal(err)
			}
			if len(got.repetitions) != len(want.repetitions) || len(got.repetitions) == 0 {
				t.Fatalf("%d repetitions, want %d", len(got.repetitions), len(want.repetitions))
			}
			for i := range want.repetitions {
				if !maps.Equal(got.repetitions[i].Values, want.repetitions[i].Values) {
					t.Errorf("repetition %d: %v, want %v", i, got.repetitions[i].Values, want.repetitions[i].Values)
				}
			}
			if c.raw == nil {
				c.raw = c.data
			}
			for _, raw := range got.raw {
				if raw != string(c.raw) {
					t.Error("the raw bytes are not those of the file")
				}
			}
		})
	}
}

// TestLargeFile reads a file much larger than the head, plain and compressed, between small ones.
func TestLargeFile(t *testing.T) {
	doc := fixture(t, "fio/fio-3.33-steadystate.json")
	large := append(bytes.Repeat([]byte("note: of no meaning\n"), 2000), doc...)
	large = append(large, bytes.Repeat([]byte("\n"), 1<<20)...)
	_, sink, err := importMap(t, map[string][]byte{"a.json": doc, "large.json": large, "c.json": append(doc, '\n')},
		"a.json", "large.json", "c.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(sink.repetitions) != 3 || sink.raw["00002/large.json"] != string(large) ||
		sink.raw["00003/c.json"] != string(doc)+"\n" {
		t.Errorf("%d repetitions of raw files of %d bytes", len(sink.repetitions), len(sink.raw["00002/large.json"]))
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Import(ctx, sources("testdata/fio"), nil, openFile, &collected{})
	if lab.KindOf(err) != lab.Cancelled {
		t.Errorf("want a lab.Cancelled error, got %v", err)
	}
}

// fullSink rejects everything, like a disk without space.
type fullSink struct{ err error }

func (s fullSink) Raw(string, []byte) error        { return nil }
func (s fullSink) Repetition(lab.Repetition) error { return s.err }

func TestSinkErrorEndsTheImport(t *testing.T) {
	full := errors.New("no space left on device")
	_, err := Import(context.Background(), sources("testdata/fio"), nil, openFile, fullSink{full})
	if !errors.Is(err, full) || lab.KindOf(err) != lab.Failure {
		t.Errorf("want the sink's error as it is, got %v", err)
	}
}

// TestCells checks that repetitions which differ only in per-repetition options share a cell.
func TestCells(t *testing.T) {
	doc := regexp.MustCompile(`(?m)^ *"filename" : .*\n`).ReplaceAllString(
		string(fixture(t, "fio/fio-3.33-steadystate.json")), "")
	with := func(option string) []byte {
		return []byte(strings.Replace(doc, `"job options" : {`, `"job options" : {`+option+`,`, 1))
	}
	cases := []struct {
		name, a, b string
		cells      int
	}{
		{"file name", `"filename": "/mnt/x/a"`, `"filename": "/mnt/y/b"`, 1},
		{"seed", `"randseed": "1"`, `"randseed": "2"`, 1},
		{"logs", `"write_lat_log": "a", "description": "first"`, `"write_lat_log": "b"`, 1},
		{"devices", `"filename": "/dev/sda"`, `"filename": "/dev/sdb"`, 2},
		{"rate", `"rate_iops": "100"`, `"rate_iops": "200"`, 2},
		{"further option", `"norandommap": "1"`, `"randseed": "1"`, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run, sink, err := importMap(t, map[string][]byte{"a": with(c.a), "b": with(c.b)}, "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Cells) != c.cells || len(sink.repetitions) != 2 {
				t.Errorf("%d cells of %d repetitions, want %d of 2", len(run.Cells), len(sink.repetitions), c.cells)
			}
			ids := map[string]bool{}
			for _, cell := range run.Cells {
				ids[cell.ID] = true
				for name := range perRepetition() {
					if _, ok := cell.Params[name]; ok {
						t.Errorf("cell %s has the per-repetition option %s", cell.ID, name)
					}
				}
				if !slices.ContainsFunc(run.Arms, func(a lab.Arm) bool { return a.ID == cell.Arm }) {
					t.Errorf("cell %s is in arm %q, which is not there", cell.ID, cell.Arm)
				}
			}
			if len(ids) != c.cells {
				t.Errorf("%d ids for %d cells", len(ids), c.cells)
			}
		})
	}
}

// TestAbsentStaysAbsent removes lines of a report and expects their values to be absent, not zero.
func TestAbsentStaysAbsent(t *testing.T) {
	lines := strings.Split(string(fixture(t, "text/fio-3.42-write-normal.txt")), "\n")
	_, whole, err := importMap(t, map[string][]byte{"all": []byte(strings.Join(lines, "\n"))}, "all")
	if err != nil {
		t.Fatal(err)
	}
	imported := 0
	for i := range lines {
		for j := i + 1; j <= len(lines); j += 3 {
			part := strings.Join(lines[:i], "\n") + "\n" + strings.Join(lines[j:], "\n")
			_, sink, err := importMap(t, map[string][]byte{"part": []byte(part)}, "part")
			if err != nil {
				if lab.KindOf(err) != lab.Usage {
					t.Fatal(err)
				}
				continue
			}
			imported++
			for _, r := range sink.repetitions {
				for metric, v := range r.Values {
					if v == 0 && whole.repetitions[0].Values[metric] != 0 {
						t.Errorf("without lines %d to %d, %s is 0", i+1, j, metric)
					}
				}
			}
		}
	}
	if imported < 100 {
		t.Errorf("only %d parts were imported", imported)
	}
}

func TestNothingGivenIsAnError(t *testing.T) {
	if _, err := Import(context.Background(), nil, nil, openFile, &collected{}); lab.KindOf(err) != lab.Usage {
		t.Errorf("want a lab.Usage error, got %v", err)
	}
}

// TestSniff tries importers in order, and checks that each fixture is recognised by its own importer.
func TestSniff(t *testing.T) {
	found := map[string]bool{}
	err := filepath.WalkDir("testdata", func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(filepath.ToSlash(name), "testdata/")
		folder, rest, _ := strings.Cut(rel, "/")
		if err != nil || d.IsDir() || folder == "golden" || folder == "fuzz" || strings.HasSuffix(name, ".log") {
			return err
		}
		want := map[string]string{"text": "fio-text"}[folder]
		if want == "" {
			want = folder
		}
		data := fixture(t, rel)
		imp := importerFor(Importers(), rest, data[:min(headSize, len(data))])
		if imp == nil || imp.Name != want {
			t.Errorf("%s went to %v, want %s", rel, imp, want)
		}
		found[want] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range Importers() {
		if !found[imp.Name] {
			t.Errorf("there is no fixture for %s", imp.Name)
		}
	}
}

// TestImpossibleValues checks that a negative latency is left out with a warning.
func TestImpossibleValues(t *testing.T) {
	doc := fixture(t, "fio/fio-3.33-steadystate.json")
	damaged := bytes.Replace(doc, []byte(`"99.000000" : `), []byte(`"99.000000" : -`), 1)
	if bytes.Equal(doc, damaged) {
		t.Fatal("the fixture has no such percentile")
	}
	_, sink, err := importMap(t, map[string][]byte{"a.json": damaged}, "a.json")
	if err != nil {
		t.Fatal(err)
	}
	rep := sink.repetitions[0]
	metric := lab.Latency(lab.Read, "p99")
	if v, ok := rep.Values[metric]; ok {
		t.Errorf("%s is %g", metric, v)
	}
	if _, ok := rep.Values[lab.Latency(lab.Read, "p95")]; !ok {
		t.Error("the other percentiles are gone too")
	}
	if !slices.ContainsFunc(rep.Warnings, func(w lab.Warning) bool {
		return w.Code == "import-disagrees" && w.Tainted(metric)
	}) {
		t.Errorf("no warning about it: %v", rep.Warnings)
	}
}

// TestWarnings checks the warnings of package validity about imported numbers, and that every warning has a list of
// taints, so that none is null in JSON.
func TestWarnings(t *testing.T) {
	for name, want := range map[string]string{
		"fio/fio-3.33-json-with-error-prefix.txt": "errors",
		"fio/fio-3.33-gtod_reduce-2jobs.json":     "gtod-reduce",
		"kdiskmark/3.2.0.txt":                     "",
		"clusterbuster/ci-bundle":                 "",
		"clusterbuster/summary.json":              "",
		"dbench/summaries.txt":                    "",
		"bench-fio/results":                       "",
	} {
		run, sink := importFiles(t, name)
		all := run.Warnings
		for _, r := range sink.repetitions {
			all = append(all, r.Warnings...)
		}
		found := want == ""
		for _, w := range all {
			found = found || w.Code == want
			if w.Taints == nil || w.Text == "" || w.Code == "" {
				t.Errorf("%s: a warning is incomplete: %+v", name, w)
			}
		}
		if !found {
			t.Errorf("%s: no warning %s among %v", name, want, all)
		}
	}
}
