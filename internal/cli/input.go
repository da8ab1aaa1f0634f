package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"headroom/internal/lab"
)

// mostInput is the largest file that is read at once: suites, experiments, rules. The largest that people have are published
// tables and kernel configurations of some hundred kilobytes.
const mostInput = 8 << 20

// openInput opens a file that the user named, or a folder. Anything else may never end, or never begin: a pipe that nobody writes
// to can't even be opened. Pipes that the shell has opened (<(...), /dev/stdin) have a writer.
func openInput(name string) (*os.File, error) {
	if name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/") {
		return os.Open(name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("this is %s, and no file", nameOfKind(info.Mode()))}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func nameOfKind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// readInput reads a file of moderate size that the user named.
func readInput(name string) ([]byte, error) {
	f, err := openInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostInput+1))
	if err == nil && len(data) > mostInput {
		err = &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s is larger than %d MiB", name, mostInput>>20)}
	}
	return data, err
}
