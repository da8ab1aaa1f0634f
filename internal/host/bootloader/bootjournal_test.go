package bootloader

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestARecordIsKeptUntilItsHostIsBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "changes")
	k := NewBootJournal(dir, "RUN1")
	if k.Held() {
		t.Error("something is held before the first boot")
	}
	for _, config := range []string{"first", "second"} {
		if err := k.Before(Record{Target: "talos://10.5.0.2", Method: talosName, Config: config}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "RUN1.boots")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	left, err := Pending(dir, anyFile)
	if err != nil || len(left) != 1 || !left[0].InUse || left[0].Record.Config != "second" || left[0].ID != "RUN1" {
		t.Fatalf("%+v, %v", left, err)
	}
	if _, err := Resume(left[0]); lab.KindOf(err) != lab.Refused {
		t.Errorf("taken up while it is in use: %v", err)
	}
	if err := NewBootJournal(dir, "RUN1").Before(Record{Target: "x"}); err == nil {
		t.Error("a record was replaced by another experiment's")
	}
	if err := k.Close(); err != nil { // like the end of a process
		t.Fatal(err)
	}
	// A crash in the middle of a line.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"schema":"headroom/boots/v1","record":{"target":"tal`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err = Pending(dir, anyFile); err != nil || len(left) != 1 || left[0].InUse ||
		left[0].Record.Config != "second" {
		t.Fatalf("%+v, %v", left, err)
	}
	next, err := Resume(left[0])
	if err != nil || !next.Held() {
		t.Fatal(err)
	}
	if err := next.After(left[0].Record); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || next.Held() {
		t.Errorf("the record is still there: %v", err)
	}
	if left, err := Pending(dir, anyFile); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestWhatIsNoRecordIsSaid(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "{}\n", "no JSON\n", `{"schema":"headroom/boots/v2","record":{"target":"x"}}` +
		"\n"} {
		if err := os.WriteFile(filepath.Join(dir, "RUN1.boots"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if left, err := Pending(dir, anyFile); err == nil || len(left) != 0 {
			t.Errorf("%q: %v, %v", text, left, err)
		}
	}
}

func FuzzKept(f *testing.F) {
	f.Add([]byte(`{"schema":"headroom/boots/v1","id":"7KQ4M2X9TD","process":4711,"record":{"target":"ssh://root@db1","way":"grub","cmdline":"ro quiet","release":"6.1"}}` + "\n{\"sch"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if line, err := parseJournal(data); err == nil && line.Record.Target == "" {
			t.Error("a record of nothing")
		}
	})
}

// anyFile trusts every file: the checks of trust have their own tests.
func anyFile(string) error { return nil }
