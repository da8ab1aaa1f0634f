package guard

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/linux"
)

// directReader reads a device past the page cache: what another host wrote to a shared drive, or what was written past
// the cache here, would not be in it, and a sample of a large drive should not push other pages out.
type directReader struct {
	direct, plain *os.File
	bounce        []byte // aligned to pages, as O_DIRECT demands
}

const (
	bounceSize = 1 << 20
	alignment  = 4096 // the largest logical block that drives have
)

// newDirectReader opens the device behind an open file once more, so that it is the same one whatever the path leads to
// by now. Where the device refuses O_DIRECT, it reads through the cache.
func newDirectReader(held *os.File, size int) (*directReader, error) {
	bounce, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	r := &directReader{plain: held, bounce: bounce}
	r.direct, err = os.OpenFile(descriptorPath(held), os.O_RDONLY|linux.Direct, 0)
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, errors.Join(err, unix.Munmap(bounce))
	}
	return r, nil
}

// descriptorPath names what an open file has open. With the process ID in it, it is also right in a child process.
func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }

// release gives back what the reader took. Nothing was written, so nothing can be lost.
func (r *directReader) release() {
	if r.direct != nil {
		_ = r.direct.Close()
	}
	_ = unix.Munmap(r.bounce)
}

// ReadAt reads whole aligned blocks and hands out the part that was asked for.
func (r *directReader) ReadAt(p []byte, at int64) (int, error) {
	if r.direct == nil {
		return r.plain.ReadAt(p, at)
	}
	done := 0
	for done < len(p) {
		from := (at + int64(done)) / alignment * alignment
		skip := int(at + int64(done) - from)
		want := min(len(r.bounce), (skip+len(p)-done+alignment-1)/alignment*alignment)
		n, err := r.direct.ReadAt(r.bounce[:want], from)
		if n <= skip {
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.EINVAL) {
				// The end of a device that is no multiple of the alignment.
				n, err = r.plain.ReadAt(p[done:], at+int64(done))
				return done + n, err
			}
			return done, err
		}
		done += copy(p[done:], r.bounce[skip:n])
	}
	return done, nil
}

// chunk reads a stretch that begins at a multiple of the alignment into the reader's own memory, where it is good until
// the next read. The stretch is no longer than that memory; what is left of it at the end of an odd device is read in
// the second piece.
func (r *directReader) chunk(e extent) (first, second []byte, err error) {
	whole := int(e.length / alignment * alignment)
	if r.direct == nil {
		whole = 0
	}
	if rest := int(e.length) - whole; rest > 0 {
		second = make([]byte, rest)
		if err := readFull(r, second, e.at+int64(whole)); err != nil {
			return nil, nil, err
		}
	}
	if whole > 0 {
		first = r.bounce[:whole]
		err = readFull(r.direct, first, e.at)
	}
	return first, second, err
}
