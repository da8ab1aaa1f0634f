package guard

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/unit"
)

// How much of a device is read.
const (
	wholeUpTo  = 1 << 30  // a device up to this size is read whole
	endsLength = 16 << 20 // of a larger one, this much at each end
	pieceCount = 4096     // and pieces of the part between, each at a random place in its own stratum
	pieceSize  = 64 << 10
	readSize   = 1 << 20
	// timeForPieces ends the reading of pieces, but not before minPieces: a rotating disk reads a hundred a second.
	timeForPieces = 2 * time.Second
	minPieces     = 128
)

// Sample describes what was read of a device's contents.
type Sample struct {
	Bytes  int64 `json:"bytes"`  // read
	Places int   `json:"places"` // number of reads, for the density of the sample
	// Whole is set if every byte was read, or is known to be a hole of File.
	Whole bool `json:"whole"`
	// Holes is how many bytes were not read because they are holes of File, the file under a loop device.
	Holes int64  `json:"holes,omitempty"`
	File  string `json:"file,omitempty"`
	// Gap is the longest extent that was not read, in bytes: longer data can't have been missed.
	Gap int64 `json:"gap"`
	// Misses is how likely it is that one extent of data was missed; none if the device was read whole.
	Misses []Miss `json:"misses,omitempty"`
	// Fill is the value of all bytes that were read, 0x00 or 0xFF.
	Fill byte `json:"fill"`
	// Data is set if other bytes were found, the first of them at DataAt. Ones is set if they begin with a whole piece
	// of FF.
	Data   bool  `json:"data"`
	DataAt int64 `json:"data_at,omitempty"`
	Ones   bool  `json:"ones,omitempty"`
}

// Miss is the probability that an extent of data of some length, at a random place, is between the pieces that were
// read.
type Miss struct {
	Length int64   `json:"length"` // bytes
	Chance float64 `json:"chance"`
}

// missLengths are the lengths of data for which the probability is computed.
func missLengths() []int64 { return []int64{64 << 10, 1 << 20, 100 << 20, 1 << 30} }

// String describes how much was read: "all 512 MiB", "3.00 MiB; the other 99.9 GiB are holes of /srv/image", "289 MiB
// in 4131 places, at most 1.31 MiB apart".
func (s Sample) String() string {
	read := unit.Bytes(float64(s.Bytes))
	switch {
	case s.Whole && s.Holes > 0:
		return fmt.Sprintf("%s; the other %s are holes of %s", read, unit.Bytes(float64(s.Holes)), s.File)
	case s.Whole:
		return "all " + read
	}
	return fmt.Sprintf("%s in %d places, at most %s apart", read, s.Places, unit.Bytes(float64(s.Gap)))
}

// extent is a contiguous range of a device, in bytes.
type extent struct{ at, length int64 }

// ReadSample samples a device on another machine, in the way that Inspect samples one of this machine, until it finds
// data. It does not check who uses the device. The result is Whole only for a device that is small enough to be read
// whole at once.
func ReadSample(ctx context.Context, device io.ReaderAt, size int64) (Sample, error) {
	return sample(ctx, device, size, false, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
}

// ReadAll reads a device on another machine from an offset to its end, until it finds data. The part before the offset
// was found blank. It calls tell for each piece.
func ReadAll(ctx context.Context, device io.ReaderAt, from, size int64, tell func(Progress)) (Sample, error) {
	r := &sampler{device: device, buffer: make([]byte, readSize), size: size, seen: []extent{{0, from}}}
	for at := from; at < size && !r.found.Data; at += readSize {
		if err := r.read(ctx, extent{at, min(readSize, size-at)}); err != nil {
			return r.finish(), err
		}
		tell(Progress{Done: min(size, at+readSize), Read: min(size, at+readSize), Size: size})
	}
	return r.finish(), nil
}

// sample reads a device until it finds data or has read enough. Up to 1 GiB it reads everything. Of a larger device it
// reads both ends, where labels and tables are; then the landmarks, where a new file system writes even when empty;
// then one random piece in each of 4096 equal strata, in an order that covers the device evenly whenever time runs out.
// erasedOnes is true if the device returns FF for erased blocks.
//
// It can miss data. It can't miss an extent longer than Gap, a signature, or a quick format of the usual kinds whose
// headers were wiped. So it serves to refuse a device with data quickly; ReadAll proves one empty.
func sample(ctx context.Context, device io.ReaderAt, size int64, erasedOnes bool, draw *rand.Rand) (Sample, error) {
	r := &sampler{device: device, buffer: make([]byte, readSize), size: size, erasedOnes: erasedOnes}
	if size <= wholeUpTo {
		err := r.read(ctx, extent{0, size})
		return r.finish(), err
	}
	for _, e := range []extent{{0, endsLength}, {size - endsLength, endsLength}} {
		if err := r.read(ctx, e); err != nil || r.found.Data {
			return r.finish(), err
		}
	}
	start := time.Now()
	for i, e := range pieces(size, draw) {
		if i >= minPieces && time.Since(start) > timeForPieces {
			break
		}
		if err := r.read(ctx, e); err != nil || r.found.Data {
			return r.finish(), err
		}
	}
	return r.finish(), nil
}

// pieces are the extents to read between the ends, in order: landmarks, then strata.
func pieces(size int64, draw *rand.Rand) []extent {
	var list []extent
	for _, at := range landmarks(size) {
		if at >= endsLength && at+pieceSize <= size-endsLength {
			list = append(list, extent{at, pieceSize})
		}
	}
	stratum := (size - 2*endsLength) / pieceCount
	for i := range pieceCount {
		at := endsLength + int64(reverse12(i))*stratum
		if spare := (stratum - pieceSize) / pieceSize; spare > 0 {
			at += draw.Int64N(spare+1) * pieceSize
		}
		list = append(list, extent{(at + pieceSize - 1) / pieceSize * pieceSize, pieceSize})
	}
	return list
}

// reverse12 reverses the bits of a number below 4096. Reading places in the order 0, 2048, 1024, 3072, … (a van der
// Corput sequence) leaves gaps of about equal size after any number of them.
func reverse12(i int) int {
	r := 0
	for range 12 {
		r = r<<1 | i&1
		i >>= 1
	}
	return r
}

// landmarks are places where file systems keep copies of their headers and their first structures, on the bare device
// and in a partition that begins at 1 MiB, as all do today.
//
//   - ext4 (sparse_super): backups in block groups 1 and the powers of 3, 5 and 7, of 128 MiB with blocks of 4 KiB.
//     Source: the kernel's Documentation/filesystems/ext4.
//   - btrfs: copies at 64 MiB and 256 GiB. Source: btrfs-dev-docs, on-disk format.
//   - XFS: allocation groups, of at most 1 TiB, at least four. Source: mkfs.xfs(8), agcount.
//   - the middle, where NTFS had its copy of the MFT.
func landmarks(size int64) []int64 {
	const group = 128 << 20
	var places []int64
	add := func(at int64) { places = append(places, at, at+1<<20) }
	add(64 << 20)
	add(256 << 30)
	add(group)
	for _, base := range []int64{3, 5, 7} {
		for n := base; n < size/group; n *= base {
			add(n * group)
		}
	}
	for i := int64(1); i < 4; i++ {
		add(size / 4 * i / pieceSize * pieceSize)
	}
	for at := int64(1 << 40); at < size; at += 1 << 40 {
		add(at)
	}
	return places
}

// sampler reads extents and records what it found.
type sampler struct {
	device io.ReaderAt
	buffer []byte
	size   int64
	// erasedOnes is set if FF throughout also counts as blank.
	erasedOnes bool
	found      Sample
	seen       []extent
}

// read reads an extent; it stops at the first data.
func (r *sampler) read(ctx context.Context, e extent) error {
	for done := int64(0); done < e.length; {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := r.buffer[:min(int64(len(r.buffer)), e.length-done)]
		at := e.at + done
		if err := readFull(r.device, p, at); err != nil {
			return err
		}
		r.check(p, at)
		r.seen = append(r.seen, extent{at, int64(len(p))})
		if r.found.Data {
			return nil
		}
		done += int64(len(p))
	}
	r.found.Places++
	return nil
}

// check determines whether a piece is data: anything but a single repeated byte, the same as in all pieces before it.
func (r *sampler) check(p []byte, at int64) {
	if len(r.seen) == 0 && r.erasedOnes && p[0] == 0xff {
		r.found.Fill = 0xff
	}
	if p[0] == r.found.Fill && same(p) {
		return
	}
	first := slices.IndexFunc(p, func(b byte) bool { return b != r.found.Fill })
	r.found.Data, r.found.DataAt = true, at+int64(first)
	r.found.Ones = ones(p[first:])
}

// ones reports whether data begin with a block of FF.
func ones(p []byte) bool {
	p = p[:min(len(p), 512)]
	return p[0] == 0xff && same(p)
}

// finish completes the sample with sums and gaps.
func (r *sampler) finish() Sample {
	slices.SortFunc(r.seen, func(a, b extent) int { return cmp.Compare(a.at, b.at) })
	end := int64(0)
	var gaps []int64
	for _, e := range append(slices.Clone(r.seen), extent{r.size, 0}) {
		if e.at > end {
			gaps = append(gaps, e.at-end)
			r.found.Gap = max(r.found.Gap, e.at-end)
		}
		r.found.Bytes += max(0, e.at+e.length-max(end, e.at))
		end = max(end, e.at+e.length)
	}
	r.found.Whole = r.found.Bytes == r.size
	for _, length := range missLengths() {
		if !r.found.Whole && length <= r.size {
			r.found.Misses = append(r.found.Misses, Miss{length, missing(gaps, length, r.size)})
		}
	}
	return r.found
}

// missing returns the probability that an extent of data is completely in one of the gaps between the extents that were
// read, if each place on the device is equally likely: a gap has room for it at gap-length+1 of the size-length+1
// places where it can begin.
func missing(gaps []int64, length, size int64) float64 {
	places := int64(0)
	for _, gap := range gaps {
		places += max(0, gap-length+1)
	}
	return float64(places) / float64(size-length+1)
}
