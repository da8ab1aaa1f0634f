package ingesttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestDocumentsDiffer(t *testing.T) {
	docs := NewDocuments(3)
	first := bytes.Clone(docs.Next())
	second := bytes.Clone(docs.Next())
	again := NewDocuments(3).Next()
	if !json.Valid(first) || !json.Valid(second) {
		t.Fatal("a document is not JSON")
	}
	if bytes.Equal(first, second) {
		t.Error("two documents are the same")
	}
	if !bytes.Equal(first, again) {
		t.Error("the same seed made another document")
	}
	if n := len(first); n < 35_000 || n > 45_000 {
		t.Errorf("a document has %d bytes, want about 40,000", n)
	}
	if !bytes.Contains(first, []byte(`"error" : 0,`)) || bytes.Contains(second, []byte(`"groupid" : 7`)) {
		t.Error("codes were changed")
	}
}

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	if err := NewDocuments(1).WriteFiles(dir, 3); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "run0000?.json"))
	if err != nil || len(names) != 3 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	data, err := os.ReadFile(names[2])
	if err != nil || !json.Valid(data) {
		t.Errorf("%s is not JSON: %v", names[2], err)
	}
}
