package report

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"headroom/internal/lab"
)

// fixture reads a run of testdata: run.json and, a line each, repetitions.jsonl.
func fixture(t testing.TB, name string) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run lab.Run
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join("testdata", name, "repetitions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return run, func(yield func(lab.Repetition, error) bool) {
		decoder := json.NewDecoder(bytes.NewReader(lines))
		for {
			var rep lab.Repetition
			err := decoder.Decode(&rep)
			if err == io.EOF || !yield(rep, err) || err != nil {
				return
			}
		}
	}
}

func summarized(t testing.TB, name string) Summary {
	t.Helper()
	s, err := Summarize(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells) == 0 {
		t.Fatalf("the fixture %s has no cells", name)
	}
	return s
}
