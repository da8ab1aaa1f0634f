package ingest

import (
	"context"
	"io/fs"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"

	"headroom/internal/ingest/ingesttest"
	"headroom/internal/lab"
)

// compressing does what the store does with raw bytes, and drops them.
type compressing struct {
	zstd        *zstd.Encoder
	out         counter
	repetitions int
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func newCompressing(t testing.TB) *compressing {
	t.Helper()
	c := &compressing{}
	enc, err := zstd.NewWriter(&c.out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		t.Fatal(err)
	}
	c.zstd = enc
	return c
}

func (c *compressing) Raw(_ string, data []byte) error {
	_, err := c.zstd.Write(data)
	return err
}

func (c *compressing) Repetition(lab.Repetition) error {
	c.repetitions++
	return nil
}

// BenchmarkImport imports documents of fio of about 40 KB, raw bytes compressed as the store does it. What it takes to
// make the documents is not counted: they are made before, as many as fit into 16 MB, and used in turn with other bytes at
// their end.
func BenchmarkImport(b *testing.B) {
	docs := ingesttest.NewDocuments(1)
	made := make([][]byte, 400)
	for i := range made {
		made[i] = append([]byte(nil), docs.Next()...)
	}
	open := opened(made)
	sink := newCompressing(b)
	b.SetBytes(int64(len(made[0])))
	b.ReportAllocs()
	for done := 0; done < b.N; done += len(made) {
		names := make([]string, min(len(made), b.N-done))
		for i := range names {
			names[i] = "run.json"
		}
		if _, err := Import(context.Background(), names, open(), sink); err != nil {
			b.Fatal(err)
		}
	}
	if err := sink.zstd.Close(); err != nil {
		b.Fatal(err)
	}
	if sink.repetitions != b.N {
		b.Fatalf("%d repetitions of %d documents", sink.repetitions, b.N)
	}
}

// opened makes openers that give out the documents one after the other.
func opened(docs [][]byte) func() Opener {
	return func() Opener {
		next := 0
		return func(string) (fs.File, error) {
			next++
			return ingesttest.File("run.json", docs[next-1]), nil
		}
	}
}

// TestMemoryIsFlat imports 500 documents and 5,000 and compares how much memory was in use at most.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds; run without -short")
	}
	small, large := peakHeap(t, 500), peakHeap(t, 5000)
	t.Logf("%.1f MB for 500 documents, %.1f MB for 5,000", float64(small)/1e6, float64(large)/1e6)
	if large > small+4<<20 {
		t.Errorf("memory grows with the number of files: %d bytes for 500, %d for 5,000", small, large)
	}
}

// peakHeap is the most memory in use that a look after every 100th repetition finds.
func peakHeap(t *testing.T, n int) uint64 {
	t.Helper()
	tree := ingesttest.NewTree(n, 7)
	sink := &watching{compressing: newCompressing(t)}
	run, err := Import(context.Background(), tree.Names(), tree.Open, sink)
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
