package guard

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/linux"
)

// directReader reads a device without the page cache, for two reasons: the cache lacks data that another host wrote to
// a shared drive, or that was written here with O_DIRECT; and a sample of a large drive should not evict other pages.
type directReader struct {
	direct, plain *os.File
	bounce        []byte // aligned to pages, as O_DIRECT requires
}

const (
	bounceSize = 1 << 20
	alignment  = 4096 // the largest logical block that drives have
)

// newDirectReader opens the device behind an open file again, so that it is the same one even if the path now leads
// elsewhere. If the device refuses O_DIRECT, the reader uses the cache.
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

// descriptorPath returns a path to the file that is open as f. It contains the process ID, so it also works in a child
// process.
func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }

// release frees the resources of the reader. Nothing was written, so nothing can be lost.
func (r *directReader) release() {
	if r.direct != nil {
		_ = r.direct.Close()
	}
	_ = unix.Munmap(r.bounce)
}

// ReadAt reads whole aligned blocks and returns the requested part.
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
				// The end of a device whose size is no multiple of the alignment.
				n, err = r.plain.ReadAt(p[done:], at+int64(done))
				return done + n, err
			}
			return done, err
		}
		done += copy(p[done:], r.bounce[skip:n])
	}
	return done, nil
}

// chunk reads an extent that begins at a multiple of the alignment into the reader's buffer, where it is valid until
// the next read. The extent must fit into the buffer. An unaligned rest at the end of the device is returned as second.
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
