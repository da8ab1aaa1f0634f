package ingest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
	"github.com/headroom/headroom/internal/unpack"
)

// TestAllResultsOfOneText puts the texts of any two tools into one file, and texts twice. All results of both are then
// repetitions, or the import names those that it left out.
func TestAllResultsOfOneText(t *testing.T) {
	texts, firsts := map[string]string{}, []string{} // a text of each tool is appended to all others
	for _, folder := range []string{"text", "fio", "iperf3", "dd", "hdparm", "ioping", "kbench", "kubestr-text",
		"yabs", "sysbench", "pgbench", "elbencho", "dbench", "iperf-text", "netperf-text", "perftest-text",
		"sockperf-text", "neper", "crystaldiskmark", "kdiskmark"} {
		fixtures := golden.Fixtures(t, "testdata/"+folder+"/*.txt", 1)
		firsts = append(firsts, slices.Sorted(maps.Keys(fixtures))[0])
		for name, text := range fixtures {
			texts[name] = string(unpack.Text([]byte(strings.ReplaceAll(text, "\r", ""))))
		}
	}
	read := func(text string) (results, left int) {
		sink := &collected{}
		run, err := Import(t.Context(), []Source{{Name: "a.txt"}}, nil,
			fstest.MapFS{"a.txt": {Data: []byte(text), Mode: 0o644}}.Open, sink)
		for _, w := range run.Warnings {
			if w.Code == "import-left-out" || w.Code == "import-duplicate" {
				left++
			}
		}
		if err != nil {
			left++
		}
		return len(sink.repetitions), left
	}
	alone, leftAlone := map[string]int{}, map[string]int{}
	for name, text := range texts {
		alone[name], leftAlone[name] = read(text)
	}
	for first, a := range texts {
		for _, second := range firsts {
			b := texts[second]
			got, left := read(a + "\n" + b)
			// A log of dbench has fio's output, and its summary repeats the figures.
			repeats := strings.Contains(first+second, "/dbench/") &&
				(strings.Contains(a, "(groupid=") || strings.Contains(b, "(groupid="))
			named := left > leftAlone[first]+leftAlone[second]
			// A repeated document is the same test: fio prints one at intervals (--status-interval).
			repeats = repeats || a == b && regexp.MustCompile(`"(?:fio )?version"`).MatchString(a)
			if want := alone[first] + alone[second]; got != want && !named && !repeats {
				t.Errorf("%s and %s: %d results, want %d", first, second, got, want)
			}
		}
	}
}

// TestBothFormsOfAResultCountOnce reads the output of fio with --output-format=normal,json, and a second run as text
// below it.
func TestBothFormsOfAResultCountOnce(t *testing.T) {
	both, another := fixture(t, "fio/fio-3.33-normal-and-json.txt"), fixture(t, "text/fio-3.33-randrw-normal.txt")
	for name, c := range map[string]struct {
		text []byte
		want int
	}{
		"one run":  {both, 1},
		"two runs": {slices.Concat(both, another), 2},
	} {
		run, got, err := importMap(t, map[string][]byte{"r.txt": c.text}, "r.txt")
		if err != nil {
			t.Fatal(err)
		}
		if len(got.repetitions) != c.want {
			t.Errorf("%s: %d repetitions, want %d", name, len(got.repetitions), c.want)
		}
		if !slices.ContainsFunc(run.Warnings, func(w lab.Warning) bool { return w.Code == "import-duplicate" }) {
			t.Errorf("%s: nothing says that a result was left out: %+v", name, run.Warnings)
		}
	}
}
