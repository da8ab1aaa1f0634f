package store

import (
	"os"
	"path/filepath"
	"testing"
)

// A process that lists again and again reads each bundle once, also where no index can be written.
func TestMemoryStandsInForTheIndex(t *testing.T) {
	s := Open(t.TempDir())
	b := save(t, s, "MEM0000001", 2)
	save(t, s, "MEM0000002", 1)
	index := filepath.Join(s.Dir(), indexName)
	if err := os.RemoveAll(index); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(index, 0o755); err != nil { // nothing can be written in its place
		t.Fatal(err)
	}
	m := new(Memory)
	remembering := func() *Store { // a store is opened for each request
		s := Open(s.Dir())
		s.Remember(m)
		return s
	}
	before, err := remembering().List()
	if err != nil || len(before) != 2 {
		t.Fatalf("%d runs, %v", len(before), err)
	}
	head := filepath.Join(b.Dir(), headerName)
	info, err := os.Stat(head)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte("x"), text[1:]...)
	for _, now := range [][]byte{damaged, text} {
		if err := os.WriteFile(head, now, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(head, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if rows, err := remembering().List(); err != nil || len(rows) != 2 {
			t.Errorf("%d runs, %v: what has not changed is read again", len(rows), err)
		}
		if _, err := Open(s.Dir()).List(); (err == nil) != (string(now) == string(text)) {
			t.Errorf("without the memory: %v", err)
		}
	}
	if b, err = remembering().FindBundle("MEM0000001"); err != nil {
		t.Fatal(err)
	}
	if err := remembering().SetLabel(b, "another"); err != nil {
		t.Fatal(err)
	}
	for _, r := range must(remembering().List())(t) {
		if r.ID == "MEM0000001" && r.Label != "another" {
			t.Errorf("the label is %q", r.Label)
		}
	}
	if err := os.RemoveAll(b.Dir()); err != nil {
		t.Fatal(err)
	}
	if rows := must(remembering().List())(t); len(rows) != 1 {
		t.Errorf("%d runs after one was removed", len(rows))
	}
}

func must(rows []Row, err error) func(*testing.T) []Row {
	return func(t *testing.T) []Row {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
}
