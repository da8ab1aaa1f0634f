package ingest

import (
	"bytes"
	"compress/gzip"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

const cbKata = "clusterbuster/ci-bundle/fio-kata-0000-1P/clusterbuster-report.json"

// TestIOThreads reads the option in the spellings that ClusterBuster accepts.
func TestIOThreads(t *testing.T) {
	cases := map[string]string{
		"clusterbuster --workload=fio --vm-block-multiqueue=4":                         "4",
		"clusterbuster --vm-block-multiqueue 8 --vm-cores 2":                           "8",
		"clusterbuster --vmblockmultiq=2":                                              "2",
		"clusterbuster --vmblockmultiqueue=2":                                          "2",
		"clusterbuster --vm_block_multiqueue=16":                                       "16",
		"clusterbuster --vm-block-multiqueue=4 --vm-block-multiqueue=6":                "6",
		"clusterbuster --vm-block-multiqueue=4 --vm-block-multiqueue=0":                "",
		"clusterbuster --vm-block-multiqueue=0":                                        "",
		"clusterbuster --vm-block-multiqueue":                                          "",
		"clusterbuster --vm-block-multiqueues=4 --vm-block=4 --vm-block-multiqueue=no": "",
		"clusterbuster": "",
	}
	for line, want := range cases {
		if got := ioThreads(strings.Fields(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestWorkersAreAddedUp compares the sum over workers with ClusterBuster's summary of the same report.
func TestWorkersAreAddedUp(t *testing.T) {
	_, raw := importFiles(t, cbKata)
	_, summary := importFiles(t, "clusterbuster/summary.json")
	if len(raw.repetitions) != 2 || len(summary.repetitions) != 2 {
		t.Fatalf("%d and %d repetitions, want 2 and 2", len(raw.repetitions), len(summary.repetitions))
	}
	for i, sum := range summary.repetitions {
		for metric, want := range sum.Values {
			if !strings.HasSuffix(metric, ".iops") && !strings.HasSuffix(metric, ".bandwidth") {
				continue
			}
			if got := raw.repetitions[i].Values[metric]; math.Abs(got/want-1) > 0.002 {
				t.Errorf("%s of %s: %g from the workers, %g from the summary", metric, sum.Cell, got, want)
			}
		}
	}
}

// TestWorkersApart checks the warning that a worker started late.
func TestWorkersApart(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name   string
		second time.Duration
		warns  bool
	}{{"together", 100 * time.Millisecond, false}, {"half", 5 * time.Second, true},
		{"one after the other", 11 * time.Second, true}} {
		w, warns := apart([]span{{at, at.Add(10 * time.Second)}, {at.Add(c.second), at.Add(10*time.Second + c.second)}},
			2)
		if warns != c.warns {
			t.Errorf("%s: warned %v (%s)", c.name, warns, w.Text)
		}
	}
	// And with a complete report: the second worker's documents are an hour later.
	parts := strings.SplitN(string(fixture(t, cbKata)), `"clusterbuster-fio-0-client-1"`, 2)
	if len(parts) != 2 {
		t.Fatal("the fixture has no second worker")
	}
	late := parts[0] + `"clusterbuster-fio-0-client-1"` + strings.ReplaceAll(parts[1], `"timestamp_ms": 17952`,
		`"timestamp_ms": 17953`)
	_, sink, err := importMap(t, map[string][]byte{"clusterbuster-report.json": []byte(late)},
		"clusterbuster-report.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sink.repetitions {
		if len(r.Warnings) == 0 || r.Warnings[0].Code != "workers-apart" || !r.Warnings[0].Tainted(lab.IOPS(lab.Read)) {
			t.Errorf("%s has warnings %v", r.Cell, r.Warnings)
		}
	}
}

// TestPackedReport reads a report that is compressed as ClusterBuster does it.
func TestPackedReport(t *testing.T) {
	_, want := importFiles(t, cbKata)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(fixture(t, cbKata)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	run, got, err := importMap(t, map[string][]byte{"r/clusterbuster-report.json.gz": packed.Bytes()}, "r")
	if err != nil {
		t.Fatal(err)
	}
	if run.Format != "clusterbuster" || len(got.repetitions) != len(want.repetitions) {
		t.Fatalf("%d repetitions by %s, want %d", len(got.repetitions), run.Format, len(want.repetitions))
	}
	for i := range want.repetitions {
		if !maps.Equal(got.repetitions[i].Values, want.repetitions[i].Values) {
			t.Errorf("repetition %d has other values than the plain report's", i)
		}
	}
}
