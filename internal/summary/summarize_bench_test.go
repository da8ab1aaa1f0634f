//go:build bench

package summary

import (
	"runtime"
	"testing"

	figures "github.com/headroom/headroom/internal/testing/figure"
)

// Ten thousand repetitions are 100 MB; what is kept of them must not be.
func TestSummarizeKeepsLittle(t *testing.T) {
	const repetitions, bins = 10_000, 400
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := many(t, repetitions, bins)
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	figures.Record(t, figures.Figure{Name: "report/summarize/kept", Unit: "B", Center: float64(kept), N: repetitions,
		Better: figures.Lower, Text: "memory that is kept of 10,000 repetitions of 100 MB"})
	if kept > 5<<20 {
		t.Errorf("%d bytes are kept of %d repetitions", kept, repetitions)
	}
	runtime.KeepAlive(s)
}
