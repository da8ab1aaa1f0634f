package app

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// maxInput is the largest file that is read at once: suites, experiments, rules. The largest that people have are
// published tables and kernel configurations of some hundred kilobytes.
const maxInput = 8 << 20

// OpenInput opens a file that the user named, or a folder. Anything else may never end, or never begin: a pipe without
// a writer can't even be opened. Pipes that the shell has opened (<(...), /dev/stdin) have a writer.
func OpenInput(name string) (*os.File, error) {
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

// maxProgram is the largest program that is copied to a target; a static fio with all engines has some ten megabytes.
const maxProgram = 512 << 20

// ReadInput reads a file of moderate size that the user named.
func ReadInput(name string) ([]byte, error) { return readUpTo(name, maxInput) }

// ReadProgram reads a program that the user named.
func ReadProgram(name string) ([]byte, error) { return readUpTo(name, maxProgram) }

func readUpTo(name string, most int64) ([]byte, error) {
	f, err := OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s is larger than %d MiB", name, most>>20)}
	}
	return data, err
}
