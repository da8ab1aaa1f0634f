package ingest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestAllResultsOfOneText puts the texts of any two tools into one file, and texts twice. All results of both are
// repetitions then, or the import names what it left out.
func TestAllResultsOfOneText(t *testing.T) {
	texts, firsts := map[string]string{}, []string{} // a text of each tool is put behind all others
	for _, folder := range []string{"text", "dd", "hdparm", "ioping", "kbench", "kubestr-text", "yabs", "sysbench",
		"pgbench", "elbencho", "dbench", "iperf-text", "netperf-text", "perftest-text", "sockperf-text",
		"crystaldiskmark", "kdiskmark"} {
		names, err := filepath.Glob("testdata/" + folder + "/*.txt")
		if err != nil || len(names) == 0 {
			t.Fatal(folder, err)
		}
		firsts = append(firsts, strings.TrimPrefix(names[0], "testdata/"))
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[strings.TrimPrefix(name, "testdata/")] = string(decode(bytes.ReplaceAll(text, []byte("\r"), nil)))
		}
	}
	read := func(text string) (values []map[string]float64, left bool) {
		sink := &collected{}
		run, err := Import(t.Context(), []Source{{Name: "a.txt"}}, nil,
			fstest.MapFS{"a.txt": {Data: []byte(text), Mode: 0o644}}.Open, sink)
		for _, w := range run.Warnings {
			left = left || w.Code == "import-left-out" || w.Code == "import-duplicate"
		}
		for _, r := range sink.repetitions {
			values = append(values, r.Values)
		}
		return values, left || err != nil
	}
	alone := map[string]int{}
	for name, text := range texts {
		values, _ := read(text)
		alone[name] = len(values)
	}
	for first, a := range texts {
		for _, second := range firsts {
			b := texts[second]
			got, left := read(a + "\n" + b)
			// A log of dbench has fio's output, and its summary repeats the figures.
			repeats := strings.Contains(first+second, "dbench/") &&
				(strings.Contains(a, "(groupid=") || strings.Contains(b, "(groupid="))
			if want := alone[first] + alone[second]; len(got) != want && !left && !repeats {
				t.Errorf("%s and %s: %d results, want %d", first, second, len(got), want)
			}
		}
	}
}
