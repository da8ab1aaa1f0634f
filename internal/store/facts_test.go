package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

func TestFactsSurviveExport(t *testing.T) {
	s := Open(t.TempDir())
	run := lab.Run{ID: NewID(), Status: lab.Running, Targets: []lab.RunTarget{{Role: "storage", Target: "local",
		Facts: []lab.Fact{{Key: "kernel.release", Value: "6.12"}}}}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	whole := facts.Document{Schema: facts.DocumentSchema, Target: "local", Taken: time.Unix(1e9, 0).UTC(),
		Facts: []lab.Fact{
			{Key: "kernel.release", Value: "6.12", Source: "/proc/sys/kernel/osrelease"},
			{Key: "disk.queue.scheduler", About: "nvme0n1", Value: "none"},
			{Key: "kernel.config.NUMA", Unknown: "permission denied"},
		}}
	if err := w.Facts("storage", Before, whole); err != nil {
		t.Fatal(err)
	}
	if err := w.Facts("../storage", After, whole); err == nil {
		t.Error("a role that leads out of the bundle was accepted")
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.Export(&archive); err != nil {
		t.Fatal(err)
	}
	if !IsExport(archive.Bytes()[:1024]) {
		t.Error("an export that begins with facts is not recognised")
	}
	elsewhere := Open(t.TempDir())
	copied, err := elsewhere.Imports.Read(&archive)
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := copied.Facts("storage", Before)
	if err != nil || !ok || len(got.Facts) != 3 || got.Facts[1] != whole.Facts[1] || !got.Taken.Equal(whole.Taken) {
		t.Errorf("got %+v, %v, %v", got, ok, err)
	}
	n := 0
	for f, err := range copied.EachFact("storage", Before) {
		if err != nil || f != whole.Facts[n] {
			t.Errorf("fact %d one by one: %+v, %v", n, f, err)
		}
		n++
	}
	if n != len(whole.Facts) {
		t.Errorf("%d facts one by one", n)
	}
	if _, ok, err := copied.Facts("storage", After); ok || err != nil {
		t.Errorf("a snapshot that was never taken: %v, %v", ok, err)
	}

	file := filepath.Join(copied.Dir(), "facts", "storage.before.json.zst")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := copied.Facts("storage", Before); err != nil || !ok || len(got.Facts) != 1 {
		t.Errorf("the header's facts don't stand in: %+v, %v, %v", got, ok, err)
	}
	if err := os.WriteFile(file, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := copied.Facts("storage", Before); err == nil {
		t.Error("a damaged snapshot was read")
	}
	for f, err := range copied.EachFact("storage", Before) {
		if err == nil {
			t.Errorf("a damaged snapshot has the fact %+v", f)
		}
	}
}

// TestExportRedacted sends a bundle away: no name is left in any file of it, and it can still be read.
func TestExportRedacted(t *testing.T) {
	s := Open(t.TempDir())
	const serial, host = "S6CKNN0T000002", "db-primary"
	secret := []lab.Fact{{Key: "host.name", Value: host}, {Key: "disk.serial", About: "nvme0n1", Value: serial},
		{Key: "nic.addresses", About: "eth0", Value: "192.0.2.17, fe80::1"}}
	run := lab.Run{ID: NewID(), Status: lab.Running, Label: "before on " + host,
		Targets: []lab.RunTarget{{Role: host, Target: "local", Facts: secret,
			Place: lab.Place{Kind: lab.Device, Path: "/dev/disk/by-id/nvme-MODEL_" + serial}}},
		Arms: []lab.Arm{{ID: "only", Role: host}}, Cells: []lab.Cell{{ID: "read", Arm: "only"}}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		w.Facts(host, Before, facts.Document{Schema: facts.DocumentSchema, Target: "local",
			Facts: append(secret, lab.Fact{Key: "sysctl.kernel.hostname", Value: host})}),
		w.Raw("read@"+host+"/1.json",
			[]byte(`{"hostname": "`+host+`", "filename": "/dev/disk/by-id/nvme-MODEL_`+serial+`"}`)),
		w.Repetition(lab.Repetition{Cell: "read", Number: 1, Command: []string{"fio",
			"--filename=/dev/disk/by-id/nvme-MODEL_" + serial}, Raw: []string{"read@" + host + "/1.json"},
			Values: map[string]float64{"read.iops": 1000}}),
		w.Commit(),
		w.Close(func(r *lab.Run) { r.Status = lab.Complete }),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Find(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.ExportRedacted(&archive); err != nil {
		t.Fatal(err)
	}
	elsewhere := Open(t.TempDir())
	sent, err := elsewhere.Imports.Read(&archive)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%+v", sent.Run)
	var named []string
	for rep, err := range sent.Repetitions() {
		if err != nil || rep.Values["read.iops"] != 1000 {
			t.Fatal(rep, err)
		}
		fmt.Fprintf(&text, "%+v", rep)
		named = append(named, rep.Raw...)
	}
	for raw, err := range sent.Raw() {
		if err != nil {
			t.Fatal(err)
		}
		text.Write(raw.Data)
		fmt.Fprintln(&text, raw.Name)
		if !slices.Contains(named, raw.Name) {
			t.Errorf("no repetition names %s: %q", raw.Name, named)
		}
	}
	// A role can be a name, too: that of a node.
	d, ok, err := sent.Facts(sent.Run.Targets[0].Role, Before)
	if err != nil || !ok || len(d.Facts) != len(secret)+1 {
		t.Fatal(ok, err, d)
	}
	files, err := filepath.Glob(filepath.Join(sent.Dir(), "facts", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	fmt.Fprintln(&text, files[0])
	fmt.Fprintf(&text, "%+v", d)
	for _, name := range []string{serial, host, "192.0.2.17", "fe80::1"} {
		if strings.Contains(text.String(), name) {
			t.Errorf("%s is still in the bundle", name)
		}
	}
	if n := strings.Count(text.String(), "hidden-"); n < 8 {
		t.Errorf("only %d names are hidden in\n%s", n, text.String())
	}
}

// packedBytes is what an encoder makes of a text, whatever its size.
func packedBytes(t *testing.T, text io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(factsWindow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(encoder, text); err != nil {
		t.Fatal(err)
	}
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// endless repeats a text without end.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// A snapshot of a few kilobytes that unpacks to more than one has is refused by all that read it, and by an import.
func TestFactsThatUnpackToTooMuch(t *testing.T) {
	const head, size = `{"schema":"` + facts.DocumentSchema + `","facts":[`, maxFacts + 1<<20
	for name, c := range map[string]struct{ begin, text, want string }{
		"blanks":          {"", " ", "unpacks to more than 32 MiB"},
		"blanks at facts": {head, " ", "unpacks to more than 32 MiB"},
		"empty facts":     {head, "{},", "more than 300000 facts"},
		"a long fact":     {head + `{"fact":"`, "a", "unpacks to more than 32 MiB"},
		"deep facts":      {head, `{"x":`, "depth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Open(t.TempDir())
			b := save(t, s, "ABCDEFGH01", 1)
			role := b.Run.Targets[0].Role
			file := filepath.Join(b.Dir(), filepath.FromSlash(factsName(role, Before)))
			text := io.LimitReader(&endless{text: strings.Repeat(c.text, 4096)}, size)
			bomb := packedBytes(t, io.MultiReader(strings.NewReader(c.begin), text))
			if err := os.WriteFile(file, bomb, 0o644); err != nil {
				t.Fatal(err)
			}
			_, _, whole := b.Facts(role, Before)
			var oneByOne error
			for _, err := range b.EachFact(role, Before) {
				oneByOne = err
			}
			_, imported := Open(t.TempDir()).Imports.Adopt(b.Dir())
			for how, err := range map[string]error{"Facts": whole, "EachFact": oneByOne, "Adopt": imported,
				"ExportRedacted": b.ExportRedacted(io.Discard)} {
				if err == nil || !strings.Contains(fmt.Sprint(err, errors.Unwrap(err)), c.want) {
					t.Errorf("%s: %v", how, err)
				}
			}
		})
	}
}

// A snapshot that could not be read again is not kept, and the bounds leave room for machines with 4,000 disks.
func TestFactsThatAreTooManyAreNotKept(t *testing.T) {
	w, err := Open(t.TempDir()).Create(exampleRun("ABCDEFGH01"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abandon(func(*lab.Run) {})
	d := facts.Document{Schema: facts.DocumentSchema, Facts: make([]lab.Fact, mostFacts)}
	if err := w.Facts("storage", Before, d); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
	d.Facts = append(d.Facts, lab.Fact{})
	if err := w.Facts("storage", Before, d); err == nil {
		t.Error("one more is kept")
	}
	d.Facts = []lab.Fact{{Value: strings.Repeat("a", maxFacts)}}
	if err := w.Facts("storage", Before, d); err == nil {
		t.Error("more text than can be read is kept")
	}
}

// What is written reads back as encoding/json has it, and what others write is read or refused.
func FuzzSnapshot(f *testing.F) {
	f.Add("6.12 <ü>\n\x00\xff\u2028", []byte(`{"schema":"headroom/facts/v1","facts":[{"fact":"a","more":[1]},{}]}`))
	f.Add("", []byte(`{"facts":null,"taken":"2026-11-28T08:00:00Z","schema":"headroom/facts/v1"}`))
	f.Fuzz(func(t *testing.T, value string, others []byte) {
		var text bytes.Buffer
		written := facts.Document{Schema: facts.DocumentSchema, Target: value, Facts: []lab.Fact{
			{Key: value, About: "a", Value: value, Source: value}, {Key: "b", Unknown: value}}}
		if err := writeDocument(&text, written); err != nil {
			t.Fatal(err)
		}
		var want facts.Document
		if err := json.Unmarshal(text.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		var got []lab.Fact
		keep := func(f lab.Fact) bool {
			got = append(got, f)
			return true
		}
		d, err := readSnapshot(bytes.NewReader(packedBytes(t, &text)), keep)
		if err != nil || d.Target != want.Target || !slices.Equal(got, want.Facts) {
			t.Errorf("%+v, %+v, %v; want %+v", d, got, err, want)
		}
		d, err = readSnapshot(bytes.NewReader(packedBytes(t, bytes.NewReader(others))), keep)
		if err == nil && d.Schema != facts.DocumentSchema {
			t.Errorf("it was read as %+v", d)
		}
	})
}
