package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// MaxFetched is the size of the largest file of a job that is read whole: many times fio's result of thousands of jobs
// with all their latency bins. Without a limit, a load generator could make headroom use any amount of memory.
const MaxFetched = 64 << 20

// maxEnd is how much of either end of a longer file is read: the first error is at the beginning, and programs print
// their totals last.
const maxEnd = 1 << 20

// Cut is the error returned with the two ends of a file that was too long to be read whole.
type Cut struct {
	Name string
	// Size of the whole file.
	Size int64
}

func (c *Cut) Error() string {
	return fmt.Sprintf("%s has %d bytes, and only the first and the last %d were read", c.Name, c.Size, maxEnd)
}

// joinEnds joins the two ends of a file by a line that states how many bytes are missing.
func joinEnds(name string, size int64, head, tail []byte) ([]byte, error) {
	data := fmt.Appendf(head, "\n[headroom left out %d bytes here]\n", size-int64(len(head)+len(tail)))
	return append(data, tail...), &Cut{Name: name, Size: size}
}

// fetchLocal reads a file of this machine in the same way as Fetch.
func fetchLocal(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return fetchFrom(f, filepath.Base(path), info.Size())
}

// fetchFrom reads an open file of a known size in the same way as Fetch.
func fetchFrom(f io.ReaderAt, name string, size int64) ([]byte, error) {
	if size <= MaxFetched {
		return readSection(f, 0, size)
	}
	head, err := readSection(f, 0, maxEnd)
	if err != nil {
		return nil, err
	}
	tail, err := readSection(f, size-maxEnd, maxEnd)
	if err != nil {
		return nil, err
	}
	return joinEnds(name, size, head, tail)
}

func readSection(f io.ReaderAt, from, n int64) ([]byte, error) {
	data := make([]byte, n)
	got, err := io.ReadFull(io.NewSectionReader(f, from, n), data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the file was truncated meanwhile
	}
	return data[:got], err
}
