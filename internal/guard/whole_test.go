package guard

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// sparseFile creates a file of a size with some bytes in it, which is read like a device.
func sparseFile(t *testing.T, size int64, data map[int64]string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "device"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for at, text := range data {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return f
}

// scanned reads a file of a size whole.
func scanned(ctx context.Context, f *os.File, size int64) (*scan, error) {
	r := &unreadRange{size: size}
	s := &scan{nextRange: r.next, stopped: make(chan struct{})}
	return s, s.run(ctx, func() (*directReader, error) { return newDirectReader(f, chunkSize) }, func() {})
}

// TestScanFindsTheFirstByte checks that the first of all data is reported, although several reads are in flight.
func TestScanFindsTheFirstByte(t *testing.T) {
	const size = 64<<20 + 3*512
	for name, data := range map[string]map[int64]string{
		"first byte":      {0: "x"},
		"last byte":       {size - 1: "x"},
		"in the odd tail": {size - 700: "x"},
		"at a seam":       {chunkSize - 1: "x", chunkSize: "y"},
		"many": {5<<20 + 77: "x", 5<<20 + 78: "y", 9 << 20: "z", 11 << 20: "z", 3 << 20: "first",
			size - 1: "z"},
	} {
		t.Run(name, func(t *testing.T) {
			want := int64(size)
			for at := range data {
				want = min(want, at)
			}
			s, err := scanned(context.Background(), sparseFile(t, size, data), size)
			if err != nil || s.data == nil || s.data.at != want {
				t.Errorf("got %+v, %v, want %d", s.data, err, want)
			}
		})
	}
	s, err := scanned(context.Background(), sparseFile(t, size, nil), size)
	if err != nil || s.data != nil || s.read.Load() != size || s.done.Load() != size {
		t.Errorf("blank: %+v, %v, read %d", s.data, err, s.read.Load())
	}
}

// TestScanStops checks that no more extents are handed out after data were found, or after an interruption.
func TestScanStops(t *testing.T) {
	const size = 256 << 20
	count := func(s *scan, then func(int64)) *atomic.Int64 {
		var handed atomic.Int64
		next := s.nextRange
		s.nextRange = func() (extent, bool, error) {
			then(handed.Add(1))
			return next()
		}
		return &handed
	}
	file := sparseFile(t, size, map[int64]string{2 << 20: "x"})
	open := func() (*directReader, error) { return newDirectReader(file, chunkSize) }

	s := &scan{nextRange: (&unreadRange{size: size}).next, stopped: make(chan struct{})}
	s.stop()
	handed := count(s, func(int64) {})
	if err := s.run(context.Background(), open, func() {}); err != nil || handed.Load() != 0 {
		t.Errorf("%v, and %d stretches were handed out after the end", err, handed.Load())
	}

	ctx, cancel := context.WithCancel(context.Background())
	s = &scan{nextRange: (&unreadRange{size: size, at: 4 << 20}).next, stopped: make(chan struct{})}
	handed = count(s, func(n int64) {
		if n == 5 {
			cancel()
		}
	})
	if err := s.run(ctx, open, func() {}); !errors.Is(err, context.Canceled) || handed.Load() != 5 || s.data != nil {
		t.Errorf("%v, and %d stretches were handed out, want 5", err, handed.Load())
	}
}

// TestScanFailsOnWhatItCannotRead checks that a device that is shorter than its size is not blank.
func TestScanFailsOnWhatItCannotRead(t *testing.T) {
	_, err := scanned(context.Background(), sparseFile(t, 4<<20, nil), 8<<20)
	if err == nil || !strings.Contains(err.Error(), "can't read") {
		t.Errorf("got %v", err)
	}
	s := &scan{nextRange: func() (extent, bool, error) { return extent{}, false, errors.New("no holes") },
		stopped: make(chan struct{})}
	err = s.run(context.Background(), func() (*directReader, error) {
		return newDirectReader(sparseFile(t, 4<<20, nil), chunkSize)
	}, func() {})
	if err == nil || err.Error() != "no holes" {
		t.Errorf("got %v", err)
	}
}

func TestFirstNot(t *testing.T) {
	zeros, full := make([]byte, 3<<20), bytes.Repeat([]byte{0xff}, 3<<20)
	for _, c := range []struct {
		p    []byte
		fill byte
		want int
	}{{nil, 0, -1}, {zeros, 0, -1}, {zeros, 0xff, 0}, {full, 0xff, -1}, {full, 0, 0},
		{append(zeros[:100:100], 1), 0, 100}, {[]byte{1, 0, 0}, 0, 0}, {[]byte{0}, 0, -1}} {
		if got := firstNot(c.p, c.fill); got != c.want {
			t.Errorf("%d bytes, %#x: got %d, want %d", len(c.p), c.fill, got, c.want)
		}
	}
}

// TestHoles checks that only the ranges between the extents of a file are skipped.
func TestHoles(t *testing.T) {
	const size = 64 << 20
	data := map[int64]string{0: "a", 5<<20 + 4095: "b", 40 << 20: strings.Repeat("c", 5<<20), size - 1: "d"}
	for _, offset := range []int64{0, 4096, 1 << 20, 512} {
		f := sparseFile(t, size, data)
		r := &unreadRange{size: size - offset - 8192, holes: &holes{file: f, name: f.Name(), offset: offset}}
		covered, end := int64(0), int64(0)
		var all []extent
		for {
			e, more, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			if e.at < end || e.at%alignment != 0 || e.length > chunkSize || e.at+e.length > r.size {
				t.Fatalf("offset %d: %+v after %d", offset, e, end)
			}
			end = e.at + e.length
			covered += e.length
			all = append(all, e)
		}
		for at, text := range data {
			for i := range int64(len(text)) {
				place := at + i - offset
				seen := place < 0 || place >= r.size
				for _, e := range all {
					seen = seen || e.at <= place && place < e.at+e.length
				}
				if !seen {
					t.Fatalf("offset %d: byte %d is passed over", offset, at+i)
				}
			}
		}
		if covered > 16<<20 {
			t.Errorf("offset %d: %d bytes are read for 5 MiB of data", offset, covered)
		}
	}
}

// TestMissing compares the formula with data at random places, on devices that were sampled like real ones.
func TestMissing(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int64{3 << 30, 40<<30 + 512} {
		r := &sampler{device: sparse{size: size}, buffer: make([]byte, readSize), size: size}
		for _, e := range append([]extent{{0, endsLength}, {size - endsLength, endsLength}},
			pieces(size, seeded())[:900]...) {
			if err := r.read(context.Background(), e); err != nil {
				t.Fatal(err)
			}
		}
		found := r.finish()
		if len(found.Misses) != len(missLengths()) {
			t.Fatalf("got %+v", found)
		}
		for _, m := range found.Misses {
			const tries = 20_000
			missed := 0
			for range tries {
				at := draw.Int64N(size - m.Length + 1)
				hit := false
				for _, e := range r.seen {
					if e.at < at+m.Length && at < e.at+e.length {
						hit = true
						break
					}
				}
				if !hit {
					missed++
				}
			}
			if got := float64(missed) / tries; got < m.Chance-0.02 || got > m.Chance+0.02 {
				t.Errorf("size %d: %d bytes are missed in %v of all cases, computed %v", size, m.Length, got, m.Chance)
			}
		}
		if first, last := found.Misses[0].Chance, found.Misses[3].Chance; first < 0.5 || last > first {
			t.Errorf("the chances make no sense: %+v", found.Misses)
		}
	}
}

// TestReadsOnes checks that only 010b in the lowest three bits of DLFEAT makes FF blank.
func TestReadsOnes(t *testing.T) {
	// from QEMU's emulated NVMe, whose erased blocks read as 00
	text, err := os.ReadFile("testdata/identify-namespace.hex")
	if err != nil {
		t.Fatal(err)
	}
	qemu, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil || qemu[33]&7 != 1 {
		t.Fatalf("%d bytes, %v", len(qemu), err)
	}
	qemu = append(qemu, make([]byte, identifyLength-len(qemu))...) // the rest is zero
	if readsOnes(qemu) {
		t.Error("QEMU's drive reads zeros")
	}
	for value, want := range map[byte]bool{0: false, 1: false, 2: true, 3: false, 6: false, 8: false, 0x0a: true,
		0x12: true, 0x1a: true, 0x19: false, 0xff: false} {
		data := bytes.Clone(qemu)
		data[33] = value
		if got := readsOnes(data); got != want {
			t.Errorf("DLFEAT %#x: got %v", value, got)
		}
	}
	if readsOnes(nil) || readsOnes(append(bytes.Repeat([]byte{0}, 33), 2)) {
		t.Error("an answer that was cut short was believed")
	}
}
