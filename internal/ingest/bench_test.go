package ingest

import (
	"context"
	"io/fs"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/ingesttest"
)

// compressing compresses raw bytes as the store does, and discards them.
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

// BenchmarkImport imports fio documents of about 40 KB, with raw bytes compressed as in the store. Making the documents
// is not counted: as many as fit into 16 MB are made in advance, and reused with different bytes at their end.
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
		if _, err := Import(context.Background(), sources(names...), nil, open(), sink); err != nil {
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

// opened returns an opener that returns the documents one after the other.
func opened(docs [][]byte) func() Opener {
	return func() Opener {
		next := 0
		return func(string) (fs.File, error) {
			next++
			return ingesttest.File("run.json", docs[next-1]), nil
		}
	}
}

// Thousands of documents of one load are one cell with as many repetitions.
func TestImportOfManyDocuments(t *testing.T) {
	const n = 2000
	tree, sink := ingesttest.NewTree(n, 7), newCompressing(t)
	run, err := Import(t.Context(), sources(tree.Names()...), nil, tree.Open, sink)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 1 || run.Repetitions != n || sink.repetitions != n {
		t.Errorf("%d cells of %d repetitions, and %d were saved, want 1 of %d", len(run.Cells), run.Repetitions,
			sink.repetitions, n)
	}
}
