package guard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// sparse is a device of any size that contains a single byte value except for some extents. It does not record reads.
type sparse struct {
	size int64
	fill byte
	data map[int64][]byte
	// broken is where reading fails; 0 for nowhere.
	broken int64
}

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	if at >= s.size {
		return 0, io.EOF
	}
	if s.broken > 0 && at <= s.broken && s.broken < at+int64(len(p)) {
		return 0, errors.New("input/output error")
	}
	n := int(min(int64(len(p)), s.size-at))
	clear(p[:n])
	if s.fill != 0 {
		for i := range p[:n] {
			p[i] = s.fill
		}
	}
	for start, data := range s.data {
		if from, to := max(start, at), min(start+int64(len(data)), at+int64(n)); from < to {
			copy(p[from-at:to-at], data[from-start:])
		}
	}
	return n, nil
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestSample(t *testing.T) {
	long := bytes.Repeat([]byte("abcd"), 2<<20)
	for name, c := range map[string]struct {
		device sparse
		ones   bool
		data   bool
		at     int64
	}{
		"blank":                   {device: sparse{size: 3 << 20}},
		"FF where nobody says so": {device: sparse{size: 3<<20 + 512, fill: 0xff}, data: true},
		"blank, FF":               {device: sparse{size: 3<<20 + 512, fill: 0xff}, ones: true},
		"blank, not 00 or FF":     {device: sparse{size: 1 << 20, fill: 0x55}, data: true},
		"last byte": {device: sparse{size: 3<<20 + 512, data: map[int64][]byte{3<<20 + 511: {1}}},
			data: true, at: 3<<20 + 511},
		"FF among zeros": {device: sparse{size: 3 << 20,
			data: map[int64][]byte{1 << 20: bytes.Repeat([]byte{0xff}, 1<<20)}}, data: true, at: 1 << 20},
		"zeros among FF": {device: sparse{size: 3 << 20, fill: 0xff,
			data: map[int64][]byte{2 << 20: make([]byte, 1<<20)}}, ones: true, data: true, at: 2 << 20},
		"large, blank": {device: sparse{size: 2 << 30}},
		"large, last byte": {device: sparse{size: 2 << 30, data: map[int64][]byte{2<<30 - 1: {1}}},
			data: true, at: 2<<30 - 1},
		"large, 8 MiB in the middle": {device: sparse{size: 2 << 30, data: map[int64][]byte{1 << 30: long}},
			data: true, at: -1},
		"large, at a landmark": {device: sparse{size: 8 << 40, data: map[int64][]byte{2 << 40: []byte("XFSB")}},
			data: true, at: 2 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sample(context.Background(), c.device, c.device.size, c.ones, seeded())
			if err != nil {
				t.Fatal(err)
			}
			if got.Data != c.data || c.data && c.at >= 0 && got.DataAt != c.at {
				t.Errorf("got %+v", got)
			}
			if !got.Data && (got.Whole != (c.device.size <= wholeUpTo) || got.Fill != c.device.fill) {
				t.Errorf("got %+v", got)
			}
			if got.Data && (got.DataAt < 0 || got.DataAt >= c.device.size) {
				t.Errorf("data outside of the device: %+v", got)
			}
		})
	}
}

// TestSampleGap checks that no extent of data longer than the gap is missed, wherever it is.
func TestSampleGap(t *testing.T) {
	const size = 5 << 30
	blank, err := sample(context.Background(), sparse{size: size}, size, false, seeded())
	if err != nil || blank.Gap > 3*(size/pieceCount) || blank.Gap < pieceSize {
		t.Fatalf("gap %d, %v", blank.Gap, err)
	}
	data := bytes.Repeat([]byte("x"), int(blank.Gap)+1)
	draw := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		at := draw.Int64N(size - int64(len(data)))
		got, err := sample(context.Background(), sparse{size: size, data: map[int64][]byte{at: data}},
			size, false, seeded())
		if err != nil || !got.Data {
			t.Errorf("%d bytes at %d were not seen: %+v, %v", len(data), at, got, err)
		}
	}
}

func TestSampleFailsOnWhatItCannotRead(t *testing.T) {
	if _, err := sample(context.Background(), sparse{size: 4 << 20, broken: 3 << 20}, 4<<20, false, seeded()); err ==
		nil {
		t.Error("a broken sector went unseen")
	}
	if _, err := sample(context.Background(), sparse{size: 2 << 20}, 4<<20, false, seeded()); err == nil ||
		!strings.Contains(err.Error(), "0x200000") {
		t.Errorf("a device that ends early: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sample(ctx, sparse{size: 4 << 20}, 4<<20, false, seeded()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestPieces checks that every part of the device is sampled evenly, whenever time ends the reading.
func TestPieces(t *testing.T) {
	for _, size := range []int64{wholeUpTo + 512, 7681501126656, 20 << 40} {
		list := pieces(size, seeded())
		strata := list[len(list)-pieceCount:]
		stratum := (size - 2*endsLength) / pieceCount
		if marks := len(list) - pieceCount; size > 1<<40 && marks < 20 || marks > minPieces {
			t.Errorf("%d landmarks", marks)
		}
		for _, e := range list {
			if e.at < 0 || e.at+e.length > size || e.at%pieceSize != 0 {
				t.Fatalf("size %d: piece %+v", size, e)
			}
		}
		for _, n := range []int{16, 64, 256, pieceCount} {
			seen := map[int64]bool{}
			for _, e := range strata[:n] {
				seen[(e.at-endsLength)/stratum*int64(n)/pieceCount] = true
			}
			if len(seen) != n {
				t.Errorf("size %d: the first %d pieces lie in %d parts", size, n, len(seen))
			}
		}
	}
}

// TestMarks writes each signature at its places, on devices of even and odd sizes.
func TestMarks(t *testing.T) {
	if len(signaturePatterns()) == 0 {
		t.Fatal("no marks")
	}
	for _, size := range []int64{64 << 20, 64<<20 + 3*512, 100<<20 + 7*4096} {
		for _, m := range signaturePatterns() {
			places := m.at(size)
			for _, at := range []int64{places[0], places[len(places)-1]} {
				found, err := findSignatures(sparse{size: size, data: map[int64][]byte{at: m.magic}}, size)
				if err != nil {
					t.Fatal(err)
				}
				ok := false
				for _, s := range found {
					ok = ok || s.What == m.what && s.Offset == at
				}
				if !ok {
					t.Errorf("size %d: %s at %#x was not found: %v", size, m.what, at, found)
				}
			}
		}
		if found, err := findSignatures(sparse{size: size}, size); err != nil || len(found) > 0 {
			t.Errorf("a blank device has %v, %v", found, err)
		}
	}
	for _, size := range []int64{512, 1024, 7 << 10} {
		if found, err := findSignatures(sparse{size: size}, size); err != nil || len(found) > 0 {
			t.Errorf("a blank device of %d bytes has %v, %v", size, found, err)
		}
	}
}

func TestAtariTable(t *testing.T) {
	const size = 64 << 20
	entry := func(s string) []byte {
		return append(make([]byte, atariEntries), s+strings.Repeat("\x00", 512-atariEntries-len(s))...)
	}
	for text, want := range map[string]bool{
		"\x01GEM\x00\x00\x00\x02\x00\x00\x40\x00":                                                 true,
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x81BGM\x00\x00\x00\x02\x00\x00\x40\x00": true,
		"\x00GEM\x00\x00\x00\x02\x00\x00\x40\x00":                                                 false, // not active
		"\x01G-M\x00\x00\x00\x02\x00\x00\x40\x00":                                                 false,
		// longer than the device
		"\x01GEM\x00\x00\x00\x02\x00\x02\x00\x00": false,
		"": false,
	} {
		if got := atariTable(entry(text), size); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
