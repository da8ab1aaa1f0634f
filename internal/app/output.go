package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// OwnOutput reports whether a name given with --output means standard output.
func OwnOutput(name string) bool {
	return name == "" || name == "-" || filepath.Clean(name) == "/dev/stdout"
}

// WriteOutput writes a file that was named with --output. It appears whole or not at all, in the place of what had its
// name: what a link there leads to is not touched. A pipe or a terminal is written to as it is.
func (p *App) WriteOutput(ctx context.Context, name string, write func(io.Writer) error) error {
	stream, err := streamOf(name)
	switch {
	case err != nil:
	case stream != nil:
		err = errors.Join(write(stream), stream.Close())
	default:
		err = p.replace(ctx, name, write)
	}
	if err == nil {
		fmt.Fprintln(p.Stderr, "wrote "+name)
		return nil
	}
	if unsafe, ok := errors.AsType[*safepath.Unsafe](err); ok {
		return &lab.Error{Kind: lab.Refused,
			What:  fmt.Sprintf("can't write %s: %s, and root does not go where others may have it lead", name, unsafe),
			Hints: []string{"name the folder that it leads to"}}
	}
	if _, ok := errors.AsType[*lab.Error](err); ok {
		return err
	}
	return &lab.Error{What: "can't write " + name, Err: err}
}

func (p *App) replace(ctx context.Context, name string, write func(io.Writer) error) error {
	p.UnfinishedWork.Add(1) // a command that ends at once waits until the unfinished file is gone
	defer p.UnfinishedWork.Done()
	folder, err := safepath.OpenFolder(filepath.Dir(name))
	if err != nil {
		return err
	}
	whole := func(w io.Writer) error { return write(contextWriter{ctx, w}) }
	return errors.Join(folder.Write(filepath.Base(name), whole), folder.Close())
}

// contextWriter fails to write once the context is done.
type contextWriter struct {
	ctx context.Context
	to  io.Writer
}

func (u contextWriter) Write(data []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.to.Write(data)
}

// streamOf opens what is written to as it is: a pipe, a terminal, a descriptor by its name; nil for the name of a file.
func streamOf(name string) (*os.File, error) {
	descriptor := filepath.Clean(name) == "/dev/stderr" ||
		slices.Contains([]string{"/dev/fd", "/proc/self/fd"}, filepath.Dir(filepath.Clean(name)))
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && !descriptor {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const streams = fs.ModeNamedPipe | fs.ModeCharDevice | fs.ModeSocket
	switch {
	case descriptor:
		return os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	case info.Mode()&streams == 0 && info.Mode()&fs.ModeDevice != 0:
		return nil, &lab.Error{Kind: lab.Refused, What: name + " is a block device, and a report is for a file"}
	case info.Mode()&streams == 0:
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(opened, info) { // a link to elsewhere has come between
		return nil, errors.Join(fmt.Errorf("%s has changed", name), err, f.Close())
	}
	return f, nil
}
