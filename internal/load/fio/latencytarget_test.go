package fio

import (
	"strings"
	"testing"
)

// The depth that fio found for a latency_target is in its text and in its JSON.
func TestLatencyTarget(t *testing.T) {
	for text, want := range map[string][2]int64{
		"     latency   : target=200000, window=200000, percentile=90.00%, depth=3\n": {200000, 3},
		"     latency   : target=0, window=0, percentile=100.00%, depth=32\n":         {0, 32},
	} {
		blocks, _, err := ParseText(strings.NewReader("lt: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 27 22:24:32 2026\n" +
			"  read: IOPS=7852, BW=30.7MiB/s (32.2MB/s)(6344KiB/202msec)\n" + text))
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%d blocks, %v", len(blocks), err)
		}
		if j := blocks[0].Document.Jobs[0]; [2]int64{j.LatencyTarget, j.LatencyDepth} != want {
			t.Errorf("%q: %d, %d", text, j.LatencyTarget, j.LatencyDepth)
		}
	}
	documents, err := ParseBytes([]byte(`{"fio version": "fio-3.33", "jobs": [{"jobname": "lt", "groupid": 0, "error": 0,
		"read": {"total_ios": 8, "io_bytes": 32768}, "latency_depth": 1, "latency_target": 200000}]}`))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	if j := documents[0].Jobs[0]; j.LatencyTarget != 200000 || j.LatencyDepth != 1 {
		t.Errorf("%d, %d", j.LatencyTarget, j.LatencyDepth)
	}
}
