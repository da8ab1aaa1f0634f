package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/linux"
)

// remoteFiles reads files of another machine by absolute path. Errors are fs.ErrNotExist, fs.ErrPermission or others
// about the file; errConnectionLost means that the connection is gone.
type remoteFiles interface {
	open(name string) (fs.File, error)
	read(name string) ([]byte, error)
	// readMany reads several files, as close to one point in time as possible.
	readMany(ctx context.Context, names []string) (map[string]File, error)
	// fetch reads a file like Job.Fetch, and size adds up the sizes of files like Job.Size.
	fetch(name string) ([]byte, error)
	size(names []string) (int64, error)
	// tail returns at most the last n bytes.
	tail(name string, n int64) ([]byte, error)
	list(name string) ([]fs.DirEntry, error)
	stat(name string) (fs.FileInfo, error)
	lstat(name string) (fs.FileInfo, error)
	readLink(name string) (string, error)
	// close waits this long for the server to end before it kills it.
	close(patience time.Duration)
}

// files returns the reader of the host's files: SFTP, or the shell if there is no SFTP.
func (s *Shell) files(ctx context.Context) (remoteFiles, *link, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == nil {
		if !s.plain {
			l.files = openSFTP(l)
		}
		if l.files == nil {
			l.files = &shellFiles{s}
		}
		if s.rewrite != nil {
			l.files = &relocated{l.files, s.rewrite}
		}
	}
	return l.files, l, nil
}

// drop closes a reader of files, so that the next use opens another.
func (l *link) drop(f remoteFiles) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files == f {
		f.close(closeTimeout)
		l.files = nil
	}
}

// reading runs an operation that only reads, and repeats it if the connection was lost meanwhile.
func reading[T any](ctx context.Context, s *Shell, do func(remoteFiles) (T, error)) (T, error) {
	for attempt := 0; ; attempt++ {
		f, l, err := s.files(ctx)
		if err != nil {
			var none T
			return none, err
		}
		v, err := do(f)
		if !errors.Is(err, errConnectionLost) || attempt == maxAttempts {
			return v, err
		}
		l.drop(f)
	}
}

// ReadFiles reads many files at once.
func (s *Shell) ReadFiles(ctx context.Context, paths ...string) (map[string]File, error) {
	return reading(ctx, s, func(f remoteFiles) (map[string]File, error) { return f.readMany(ctx, paths) })
}

// shellFS is the host's file system as an fs.FS.
type shellFS struct{ s *Shell }

func retried[T any](f shellFS, op, name string, do func(remoteFiles, string) (T, error)) (T, error) {
	var none T
	if !fs.ValidPath(name) {
		return none, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	v, err := reading(context.Background(), f.s, func(r remoteFiles) (T, error) { return do(r, path.Join("/", name)) })
	if err != nil {
		return none, &fs.PathError{Op: op, Path: name, Err: unwrapPathError(err)}
	}
	return v, nil
}

// unwrapPathError removes the path from an error that already names it.
func unwrapPathError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (f shellFS) Open(name string) (fs.File, error) {
	return retried(f, "open", name, remoteFiles.open)
}
func (f shellFS) ReadFile(name string) ([]byte, error) {
	return retried(f, "open", name, remoteFiles.read)
}
func (f shellFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return retried(f, "open", name, remoteFiles.list)
}

// Stat adds to a device its number, in a *syscall.Stat_t, if the host has stat(1): the name alone does not identify a
// device.
func (f shellFS) Stat(name string) (fs.FileInfo, error) {
	info, err := retried(f, "stat", name, remoteFiles.stat)
	if err != nil || info.Mode()&fs.ModeDevice == 0 {
		return info, err
	}
	out, err := f.s.Run(context.Background(), "stat", "-L", "-c", "%t %T", "--", path.Join("/", name))
	if major, minor, ok := parseNumber(string(out.Stdout)); err == nil && ok {
		d := device{info, new(syscall.Stat_t)}
		linux.SetDevice(d.stat, major, minor)
		return d, nil
	}
	return info, nil
}

// parseNumber parses the number of a device, major and minor in hexadecimal.
//
//	7 0
//	103 1
func parseNumber(printed string) (major, minor uint32, ok bool) {
	n, err := fmt.Sscanf(printed, "%x %x", &major, &minor)
	return major, minor, n == 2 && err == nil
}

// device is the information about a device.
type device struct {
	fs.FileInfo
	stat *syscall.Stat_t
}

func (d device) Sys() any { return d.stat }

// owned is the information of Lstat about a file: its *syscall.Stat_t has the owner and the group, and nothing else.
type owned struct {
	fs.FileInfo
	stat *syscall.Stat_t
}

func (o owned) Sys() any { return o.stat }

func (f shellFS) Lstat(name string) (fs.FileInfo, error) {
	return retried(f, "lstat", name, remoteFiles.lstat)
}
func (f shellFS) ReadLink(name string) (string, error) {
	return retried(f, "readlink", name, remoteFiles.readLink)
}

func byName(entries []fs.DirEntry) []fs.DirEntry {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// openFolder is an open folder. Its entries were read when it was opened.
type openFolder struct {
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (d *openFolder) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openFolder) Close() error               { return nil }
func (d *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("is a directory")}
}

func (d *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.entries) {
		n = len(d.entries)
	}
	next := d.entries[:n]
	d.entries = d.entries[n:]
	return next, nil
}

// named is the information about a file, under the requested name.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }
