package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// MaxFetched is the longest file of a job that is read whole: many times fio's result of thousands of jobs with all
// their latency bins. Without a bound a load generator decides how much memory headroom takes.
const MaxFetched = 64 << 20

// maxEnd is how much of either end of a longer file is read: its beginning says what went wrong first, and programs
// print their sums last.
const maxEnd = 1 << 20

// Cut is the error beside the two ends of a file that was too long to be read whole.
type Cut struct {
	Name string
	// Size of the whole file.
	Size int64
}

func (c *Cut) Error() string {
	return fmt.Sprintf("%s has %d bytes, and only the first and the last %d were read", c.Name, c.Size, maxEnd)
}

// joinEnds puts a line between the two ends of a file that says what is missing.
func joinEnds(name string, size int64, head, tail []byte) ([]byte, error) {
	data := fmt.Appendf(head, "\n[headroom left out %d bytes here]\n", size-int64(len(head)+len(tail)))
	return append(data, tail...), &Cut{Name: name, Size: size}
}

// fetchLocal reads a file of this machine as Fetch does.
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

// fetchFrom reads an open file of a known size as Fetch does.
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
		err = nil // it was made shorter meanwhile
	}
	return data[:got], err
}
