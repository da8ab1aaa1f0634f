//go:build bench

package ingest

import (
	"context"
	"runtime"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/ingesttest"
)

// TestMemoryIsFlat compares the peak memory of importing 500 documents and 5,000.
func TestMemoryIsFlat(t *testing.T) {
	small, large := peakHeap(t, 500), peakHeap(t, 5000)
	figure.Record(t, figure.Figure{Name: "import/heap/500", Unit: "B", Center: float64(small), Better: figure.Lower,
		Text: "memory in use at most, importing 500 documents"})
	figure.Record(t, figure.Figure{Name: "import/heap/5000", Unit: "B", Center: float64(large), Better: figure.Lower,
		Text: "memory in use at most, importing 5,000 documents"})
	if large > small+4<<20 {
		t.Errorf("memory grows with the number of files: %d bytes for 500, %d for 5,000", small, large)
	}
}

// peakHeap returns the highest memory use, sampled after every 100th repetition.
func peakHeap(t *testing.T, n int) uint64 {
	t.Helper()
	tree := ingesttest.NewTree(n, 7)
	sink := &watching{compressing: newCompressing(t)}
	run, err := Import(context.Background(), sources(tree.Names()...), nil, tree.Open, sink)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 1 || run.Repetitions != n {
		t.Fatalf("%d cells of %d repetitions, want 1 of %d", len(run.Cells), run.Repetitions, n)
	}
	return sink.peak
}

type watching struct {
	*compressing
	peak uint64
}

func (w *watching) Repetition(rep lab.Repetition) error {
	if w.repetitions%100 == 99 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.peak = max(w.peak, m.HeapInuse+m.StackInuse)
	}
	return w.compressing.Repetition(rep)
}
