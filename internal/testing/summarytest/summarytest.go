// Package summarytest provides saved runs, for tests of code that processes runs.
package summarytest

import (
	"bytes"
	"embed"
	"encoding/json"
	"io"
	"iter"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

//go:embed testdata
var files embed.FS

// Names returns the names of all runs.
func Names() []string { return []string{"cutoff", "imported", "measured"} }

// Run reads a run of testdata: run.json and, a line each, repetitions.jsonl.
func Run(t testing.TB, name string) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	t.Helper()
	data, err := files.ReadFile("testdata/" + name + "/run.json")
	if err != nil {
		t.Fatal(err)
	}
	var run lab.Run
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	lines, err := files.ReadFile("testdata/" + name + "/repetitions.jsonl")
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
