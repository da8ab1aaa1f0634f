package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
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
	copied, err := elsewhere.ImportExport(&archive)
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
			Place: lab.Place{Kind: lab.Device, Path: "/dev/disk/by-id/nvme-MODEL_" + serial}}}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		w.Facts(host, Before, facts.Document{Schema: facts.DocumentSchema, Target: "local",
			Facts: append(secret, lab.Fact{Key: "sysctl.kernel.hostname", Value: host})}),
		w.Raw("read@"+host+"/1.json",
			[]byte(`{"hostname": "`+host+`", "filename": "/dev/disk/by-id/nvme-MODEL_`+serial+`"}`)),
		w.Repetition(lab.Repetition{Cell: "1", Number: 1, Command: []string{"fio",
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
	sent, err := elsewhere.ImportExport(&archive)
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
