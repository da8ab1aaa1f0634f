package store

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func exampleRun(id string) lab.Run {
	return lab.Run{
		ID: id, Status: lab.Running, Source: lab.Measured, Suite: "quick", Version: "test",
		Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Targets: []lab.RunTarget{
			{Role: "storage", Target: "local", Place: lab.Place{Kind: lab.Directory, Path: "/srv"}}},
		Arms: []lab.Arm{{ID: "only", Role: "storage"}},
		Cells: []lab.Cell{{ID: "randread-1", Arm: "only", Job: "randread", Engine: "fio",
			Params: map[string]string{"rw": "randread"}}},
	}
}

func exampleRepetition(number int) lab.Repetition {
	return lab.Repetition{
		Cell: "randread-1", Number: number, Block: number, Position: 1,
		Start:  time.Date(2026, 11, 20, 12, number, 0, 0, time.UTC),
		Values: map[string]float64{"read.iops": 1000 + float64(number)},
		Latency: map[string]lab.Histogram{"read": {Nanoseconds: []int64{1000, 2000},
			Counts: []uint64{3, uint64(number)}}},
		Raw:      []string{fmt.Sprintf("randread-1/%d/fio.json", number), fmt.Sprintf("randread-1/%d/empty", number)},
		Warnings: []lab.Warning{{Code: "short-run", Text: "it ran 3 s", Taints: []string{"*"}}},
	}
}

// add saves a repetition as a run does.
func add(w *Writer, number int) error {
	rep := exampleRepetition(number)
	return errors.Join(w.Raw(rep.Raw[0], fmt.Appendf(nil, "{\"n\": %d}\n", number)), w.Raw(rep.Raw[1], nil),
		w.Repetition(rep), w.Commit())
}

// save makes a whole run with n repetitions.
func save(t *testing.T, s *Store, id string, n int) *Bundle {
	t.Helper()
	w, err := s.Create(exampleRun(id))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		if err := add(w, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func numbersOf(t *testing.T, b *Bundle) []int {
	t.Helper()
	numbers := []int{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, rep.Number)
	}
	return numbers
}

func TestARunComesBackAsItWasSaved(t *testing.T) {
	s := Open(t.TempDir())
	b := save(t, s, "ABCDEFGH01", 3)
	want := exampleRun("ABCDEFGH01")
	want.Status = lab.Complete
	if !reflect.DeepEqual(b.Run, want) {
		t.Errorf("header\n%+v\nwant\n%+v", b.Run, want)
	}
	i := 0
	for rep, err := range b.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		i++
		want := exampleRepetition(i)
		if !reflect.DeepEqual(rep, want) {
			t.Errorf("repetition\n%+v\nwant\n%+v", rep, want)
		}
	}
	if i != 3 {
		t.Errorf("%d repetitions, want 3", i)
	}
	raw := map[string]string{}
	for f, err := range b.Raw() {
		if err != nil {
			t.Fatal(err)
		}
		raw[f.Name] = string(f.Data)
	}
	if len(raw) != 6 || raw["randread-1/2/fio.json"] != "{\"n\": 2}\n" {
		t.Errorf("raw files %q", raw)
	}
}

func TestExportAndImportGiveARunBackUnchanged(t *testing.T) {
	from, to := Open(t.TempDir()), Open(t.TempDir())
	b := save(t, from, "ABCDEFGH01", 3)
	var archive bytes.Buffer
	if err := b.Export(&archive); err != nil {
		t.Fatal(err)
	}
	if !IsExport(archive.Bytes()[:1024]) {
		t.Error("an export is not recognised")
	}
	back, err := to.Imports.Read(bytes.NewReader(archive.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if b.Imported() || !back.Imported() {
		t.Errorf("marked as imported: the run that was measured %t, the other %t", b.Imported(), back.Imported())
	}
	var again bytes.Buffer
	if err := back.Export(&again); err != nil || !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Errorf("the export of the imported run differs: %v", err)
	}
	if err := os.Remove(filepath.Join(back.Dir(), importedName)); err != nil {
		t.Fatal(err)
	}
	if before, after := tree(t, b.Dir()), tree(t, back.Dir()); !reflect.DeepEqual(before, after) {
		t.Errorf("before %v\nafter %v", keys(before), keys(after))
	}
	if _, err := to.Imports.Read(bytes.NewReader(archive.Bytes())); lab.KindOf(err) != lab.Usage ||
		!strings.Contains(err.Error(), "already") {
		t.Errorf("importing it twice: %v", err)
	}
	if half, err := filepath.Glob(filepath.Join(to.Folder.runs(), ".*")); err != nil || len(half) != 0 {
		t.Errorf("left behind: %v, %v", half, err)
	}
}

func TestAnArchiveFromElsewhereIsRefused(t *testing.T) {
	for name, entry := range map[string]tar.Header{
		"outside":   {Name: "ABCDEFGH01/../../evil", Typeflag: tar.TypeReg},
		"absolute":  {Name: "/etc/passwd", Typeflag: tar.TypeReg},
		"link":      {Name: "ABCDEFGH01/run.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"other":     {Name: "ABCDEFGH01/notes.txt", Typeflag: tar.TypeReg},
		"lowercase": {Name: "abcdefgh01/run.json", Typeflag: tar.TypeReg},
	} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		if err := errors.Join(w.WriteHeader(&entry), w.Close()); err != nil {
			t.Fatal(err)
		}
		s := Open(t.TempDir())
		if _, err := s.Imports.Read(&archive); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if ids, err := s.Folder.ids(); err != nil || len(ids) != 0 {
			t.Errorf("%s: left %v, %v", name, ids, err)
		}
	}
}

func TestRunsAreFoundByWhatPeopleCallThem(t *testing.T) {
	s := Open(t.TempDir())
	b := save(t, s, "ABCDEFGH01", 1)
	later := exampleRun("ABXXXXXXXX")
	later.Created = later.Created.Add(time.Hour)
	w, err := s.Create(later)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	if err := s.SetLabel(b, "before tuning"); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"ABCDEFGH01": "ABCDEFGH01", "abcd": "ABCDEFGH01", "ABX": "ABXXXXXXXX", "last": "ABXXXXXXXX",
		"before tuning": "ABCDEFGH01", b.Dir(): "ABCDEFGH01",
	} {
		if found, err := s.Find(ref); err != nil || found.Run.ID != want {
			t.Errorf("Find(%q) = %v, %v; want %s", ref, found, err, want)
		}
	}
	for ref, want := range map[string]string{"AB": "names 2 runs", "nothing": "no run is called",
		"./nowhere": "there is no run"} {
		if _, err := s.Find(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q): %v, want %q in it", ref, err, want)
		}
	}
	if got := s.ShortID("ABCDEFGH01"); got != "ABCD" {
		t.Errorf("short id %s", got)
	}
}

// A label that was typed for runs that were measured together names all of them, also where each has a word of its own
// behind it.
func TestALabelNamesRunsMeasuredTogether(t *testing.T) {
	s := Open(t.TempDir())
	for i, r := range []struct{ id, label, pair string }{
		{"ABCDEFGH01", "tuning new", "ABCDEFGH02"}, {"ABCDEFGH02", "tuning base", "ABCDEFGH02"},
		{"ABCDEFGH03", "stack 1", "ABCDEFGH03"}, {"ABCDEFGH04", "stack 2", "ABCDEFGH03"},
		{"ABCDEFGH05", "stack 1", "ABCDEFGH05"},
		{"ABCDEFGH06", "alone at last", ""},
	} {
		run := exampleRun(r.id)
		run.Label, run.Pair, run.Created = r.label, r.pair, run.Created.Add(time.Duration(i)*time.Hour)
		w, err := s.Create(run)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]string{"tuning": "ABCDEFGH01 ABCDEFGH02", "stack 2": "ABCDEFGH04"} {
		found, err := s.FindAll(ref)
		var ids []string
		for _, b := range found {
			ids = append(ids, b.Run.ID)
		}
		if err != nil || strings.Join(ids, " ") != want {
			t.Errorf("FindAll(%q) = %v, %v; want %s", ref, ids, err, want)
		}
	}
	for ref, want := range map[string]string{
		"stack": "names 3 runs", "stack 1": "names 2 runs", "alone": "no run is called", "": "an empty name",
	} {
		if _, err := s.FindAll(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FindAll(%q): %v, want %q in it", ref, err, want)
		}
	}
}

// The run that was added last is the first of the list: one that was measured long ago and has just been imported.
func TestWhatWasAddedLastIsLast(t *testing.T) {
	s, elsewhere := Open(t.TempDir()), Open(t.TempDir())
	sent := save(t, elsewhere, "ABCDEFGH01", 1)
	w, err := s.Create(exampleRun("ABCDEFGH02"))
	if err != nil {
		t.Fatal(err)
	}
	err = w.Close(func(r *lab.Run) { r.Created, r.Added = r.Created.AddDate(-5, 0, 0), r.Created.Add(time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, "ABCDEFGH03", 1)
	if b, err := s.Find("last"); err != nil || b.Run.ID != "ABCDEFGH02" {
		t.Errorf("the last is %v, %v", b, err)
	}
	if _, err := s.Imports.Adopt(sent.Dir()); err != nil {
		t.Fatal(err)
	}
	// Of one from elsewhere the mark tells, whatever its header says.
	mark := filepath.Join(s.Dir(), "runs", "ABCDEFGH01", importedName)
	if err := os.Chtimes(mark, time.Time{}, exampleRun("").Created.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.Dir(), indexName)); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Find("last"); err != nil || b.Run.ID != "ABCDEFGH01" {
		t.Errorf("the last is %v, %v", b, err)
	}
}

func TestTheIndexIsRebuilt(t *testing.T) {
	s := Open(t.TempDir())
	save(t, s, "ABCDEFGH01", 2)
	index := filepath.Join(s.Dir(), indexName)
	check := func(what string, want ...string) {
		t.Helper()
		rows, err := s.List()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var ids []string
		for _, r := range rows {
			ids = append(ids, fmt.Sprint(r.ID, " ", r.Repetitions, " ", r.Label, " ", r.Status))
		}
		if !reflect.DeepEqual(ids, want) {
			t.Errorf("%s: %q, want %q", what, ids, want)
		}
	}
	check("new", "ABCDEFGH01 2  complete")
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	check("missing", "ABCDEFGH01 2  complete")
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"this is no line of an index", string(whole[:len(whole)/2]), ""} {
		if err := os.WriteFile(index, []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		check("damaged", "ABCDEFGH01 2  complete")
		if again, err := os.ReadFile(index); err != nil || !bytes.Equal(again, whole) {
			t.Errorf("the index is %q, %v; want %q", again, err, whole)
		}
	}
	if err := errors.Join(os.Remove(index), os.Mkdir(index, 0o755)); err != nil {
		t.Fatal(err)
	}
	check("it can't be written", "ABCDEFGH01 2  complete")
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find("ABCDEFGH01")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetLabel(b, "x"); err != nil {
		t.Fatal(err)
	}
	check("stale", "ABCDEFGH01 2 x complete")
	save(t, s, "ABCDEFGH02", 1)
	check("one more", "ABCDEFGH01 2 x complete", "ABCDEFGH02 1  complete")
	if err := s.Remove("ABCDEFGH01"); err != nil {
		t.Fatal(err)
	}
	check("one less", "ABCDEFGH02 1  complete")
	if left, err := filepath.Glob(filepath.Join(s.Folder.runs(), ".new-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A row that comes from the index is the one that was read from the bundle.
func TestRowsOfTheIndexAreThoseOfTheBundles(t *testing.T) {
	s := Open(t.TempDir())
	run := exampleRun("ABCDEFGH01")
	run.Label, run.Pair, run.Format = "a \"label\"\nof two lines", "ABCDEFGH01", "fio"
	run.Created, run.Added = run.Created.Add(123456789), run.Created.Add(time.Hour)
	run.Experiment = &lab.Experiment{Kind: "sweep", Factors: []lab.VariedFactor{{Factor: "queue:scheduler"}}}
	run.NFS = &lab.NFS{Client: "local"}
	run.Arms[0].Levels = map[string]string{lab.StageLevel: "one path"}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(func(*lab.Run) {}) //nolint:errcheck // the run goes on while it is listed
	read, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.List()
	if err != nil || !reflect.DeepEqual(kept, read) {
		t.Errorf("from the index\n%+v, %v\nfrom the bundle\n%+v", kept, err, read)
	}
	if len(read) != 1 || read[0].Stage != "one path" || !read[0].Added.Equal(run.Added) ||
		read[0].Status != lab.Running {
		t.Errorf("from the bundle\n%+v", read)
	}
}

func TestShortIDs(t *testing.T) {
	s := Open(t.TempDir())
	for _, id := range []string{"ABCDEFGH01", "ABCDEFGH02", "ABCDX00000", "K000000000", "KZZZZZZZZZ"} {
		save(t, s, id, 0)
	}
	shortID := s.ShortIDs()
	for id, want := range map[string]string{
		"ABCDEFGH01": "ABCDEFGH01", "ABCDEFGH02": "ABCDEFGH02", "ABCDX00000": "ABCDX", "K000000000": "K000",
		"KZZZZZZZZZ": "KZZZ", "ABCDEFGH99": "ABCDEFGH9", "ZZZZZZZZZZ": "ZZZZ", "0000000000": "0000", "abc": "abc",
	} {
		if got := shortID(id); got != want {
			t.Errorf("ShortIDs()(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestADamagedBundleIsNamedAndHidesNoOther(t *testing.T) {
	s := Open(t.TempDir())
	save(t, s, "ABCDEFGH01", 1)
	bad := save(t, s, "ABCDEFGH02", 2)
	records := filepath.Join(bad.Dir(), "repetitions", "000002.jsonl")
	if err := os.WriteFile(records, []byte("{\"cell\": \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var seen int
	var failure error
	for _, err := range bad.Repetitions() {
		if err != nil {
			failure = err
			break
		}
		seen++
	}
	if seen != 1 || failure == nil || !strings.Contains(failure.Error(), "000002.jsonl, line 1") {
		t.Errorf("%d repetitions, then %v", seen, failure)
	}
	if err := os.WriteFile(filepath.Join(bad.Dir(), "run.json"), []byte("{\n\"schema\": 5\n}"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err := s.List()
	if len(rows) == 0 || rows[0].ID != "ABCDEFGH01" && rows[len(rows)-1].ID != "ABCDEFGH01" {
		t.Errorf("the good run is hidden: %v", rows)
	}
	if err == nil || !strings.Contains(err.Error(), "run.json, line 2") {
		t.Errorf("the damage is not named: %v", err)
	}
	for _, ref := range []string{"ABCDEFGH01", "abcdefgh01", "last"} {
		if b, err := s.Find(ref); err != nil || b.Run.ID != "ABCDEFGH01" {
			t.Errorf("Find(%q) beside a damaged run: %v, %v", ref, b, err)
		}
	}
}

func TestANewerBundleIsRefusedWithAdvice(t *testing.T) {
	s := Open(t.TempDir())
	b := save(t, s, "ABCDEFGH01", 1)
	name := filepath.Join(b.Dir(), "run.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(data, []byte(headerSchema), []byte("headroom/bundle/v9"), 1),
		0o644); err != nil {
		t.Fatal(err)
	}
	_, err = OpenBundle(b.Dir())
	var e *lab.Error
	if !errors.As(err, &e) || len(e.Hints) == 0 || !strings.Contains(err.Error(), "bundle/v9") {
		t.Errorf("%v", err)
	}
}

// A file that was cut off in the midst of being written says nothing; the jobs are then looked for on every target of
// the run.
func TestLeftoversThatCannotBeRead(t *testing.T) {
	s := Open(t.TempDir())
	run := exampleRun("ABCDEFGH01")
	run.Targets = []lab.RunTarget{{Role: "a", Target: "local"}, {Role: "b", Target: "ssh://db1"},
		{Role: "c", Target: "local"}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AnnounceLeftovers(lab.Leftovers{Target: "local", Jobs: "ABCDEFGH01-a",
		Scratch: []string{"/srv/headroom-ABCDEFGH01-a.scratch"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Abandon(func(*lab.Run) {}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(s.Folder.runs(), "ABCDEFGH01", activeName)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]string{
		len(whole):     `{"target":"local","jobs":"ABCDEFGH01-a","scratch":["/srv/headroom-ABCDEFGH01-a.scratch"]}`,
		len(whole) / 2: `{"target":"local","jobs":"ABCDEFGH01","others":[{"target":"ssh://db1","jobs":"ABCDEFGH01"}]}`,
		0:              `{"target":"local","jobs":"ABCDEFGH01","others":[{"target":"ssh://db1","jobs":"ABCDEFGH01"}]}`,
	} {
		if err := os.WriteFile(name, whole[:length], 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := s.Abandoned()
		if err != nil || len(found) != 1 {
			t.Fatalf("%d bytes: %v, %v", length, found, err)
		}
		if got, err := json.Marshal(found[0].Leftovers); err != nil || string(got) != want {
			t.Errorf("%d bytes: %s, %v, want %s", length, got, err, want)
		}
	}
}

func TestOnlyOneProcessHoldsARun(t *testing.T) {
	s := Open(t.TempDir())
	w, err := s.Create(exampleRun("ABCDEFGH01"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Find("ABCDEFGH01")
	if err != nil {
		t.Fatal(err)
	}
	if b.Run.Status != lab.Running || !b.Active() {
		t.Errorf("a run that goes on shows as %s", b.Run.Status)
	}
	if _, err := s.Resume(b); lab.KindOf(err) != lab.Refused {
		t.Errorf("resumed while it goes on: %v", err)
	}
	if found, err := s.Abandoned(); err != nil || len(found) != 0 {
		t.Errorf("taken for abandoned: %v, %v", found, err)
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	if b.Active() {
		t.Error("still active after its end")
	}
}

func FuzzBundleFiles(f *testing.F) {
	f.Add([]byte(`{"schema":"headroom/bundle/v1","run":{"id":"ABCDEFGH01"}}`),
		[]byte("{\"cell\":\"a\",\"number\":1}\n{"))
	f.Add([]byte(`{`), []byte("\n\n"))
	f.Fuzz(func(t *testing.T, runJSON, records []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"run.json": runJSON, "repetitions/000001.jsonl": records} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b, err := OpenBundle(dir)
		if err != nil {
			return
		}
		for _, err := range b.Repetitions() {
			if err != nil && !strings.Contains(err.Error(), "000001.jsonl") {
				t.Errorf("%v does not name the file", err)
			}
		}
	})
}

// tree reads all files below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func keys(m map[string]string) []string {
	var list []string
	for k, v := range m {
		list = append(list, fmt.Sprint(k, ":", len(v)))
	}
	return list
}
