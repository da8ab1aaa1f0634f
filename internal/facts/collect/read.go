package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// ReleasePath holds the running kernel's release.
const ReleasePath = "/proc/sys/kernel/osrelease"

// Reader reads small files of one file system. Paths are absolute, as they stand in a fact's source.
type Reader struct{ FS fs.FS }

// Bytes is a whole file.
func (r Reader) Bytes(name string) ([]byte, error) { return fs.ReadFile(r.FS, PathInFS(name)) }

func (r Reader) Open(name string) (fs.File, error) { return r.FS.Open(PathInFS(name)) }

func (r Reader) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, PathInFS(name)) }

func (r Reader) Entries(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, PathInFS(dir)) }

// ReadLink is what a symbolic link holds.
func (r Reader) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, PathInFS(name)) }

// Text is a file without the white space around it.
func (r Reader) Text(name string) (string, error) {
	data, err := r.Bytes(name)
	return strings.TrimSpace(strings.Trim(string(data), "\x00")), err
}

// Number is a file that holds one integer.
func (r Reader) Number(name string) (int64, error) {
	text, err := r.Text(name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Exists reports whether a file exists, even if it can't be read.
func (r Reader) Exists(name string) bool {
	_, err := r.Stat(name)
	return err == nil
}

// Names lists a folder; nil when it can't be read.
func (r Reader) Names(dir string) []string {
	entries, err := r.Entries(dir)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Glob finds the paths that match a pattern, sorted.
func (r Reader) Glob(pattern string) []string {
	found, err := fs.Glob(r.FS, PathInFS(pattern))
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = "/" + found[i]
	}
	return found
}

// Fact is a file's whole text as a fact.
func (r Reader) Fact(key, name string) lab.Fact { return r.First(key, name) }

// List is like fact for files whose emptiness says "none".
func (r Reader) List(key, name string) lab.Fact {
	text, err := r.Text(name)
	if err == nil && (text == "" || text == "(null)") {
		return Known(key, catalogue.None, name)
	}
	return r.Fact(key, name)
}

// Whole is a file that holds one whole number. What it holds instead is kept as the reason why nothing is known.
func (r Reader) Whole(key, name string) lab.Fact {
	f := r.Fact(key, name)
	if f.Unknown != "" {
		return f
	}
	if _, err := strconv.ParseInt(f.Value, 10, 64); err != nil {
		return Unknown(key, name, "not a whole number: "+strconv.Quote(Shortened(f.Value)))
	}
	return f
}

// Hexadecimal is a file that holds one number as the SCSI layer writes it. Source: the kernel's
// drivers/scsi/scsi_sysfs.c (show_sdev_iostat).
//
//	/sys/class/block/sda/device/iotmo_cnt:      0x3
//	/sys/class/block/sda/device/iorequest_cnt:  0x1b4f2
//	/sys/class/block/sdb/device/iotmo_cnt:      0x0
func (r Reader) Hexadecimal(key, name string) lab.Fact {
	f := r.Fact(key, name)
	if f.Unknown != "" {
		return f
	}
	digits, prefixed := strings.CutPrefix(f.Value, "0x")
	n, err := strconv.ParseInt(digits, 16, 64)
	if err != nil || !prefixed {
		return Unknown(key, name, "not a hexadecimal number: "+strconv.Quote(Shortened(f.Value)))
	}
	return Whole(key, n, name)
}

// Flag is a file that holds a flag.
func (r Reader) Flag(key, name string) lab.Fact {
	f := r.Fact(key, name)
	if f.Unknown != "" {
		return f
	}
	if _, ok := catalogue.ParseFlag(f.Value); !ok {
		return Unknown(key, name, "neither on nor off: "+strconv.Quote(Shortened(f.Value)))
	}
	return f
}

// Line is a file that holds one line of text.
func (r Reader) Line(key, name string) lab.Fact {
	return OneLiner(r.Fact(key, name))
}

// OneLiner keeps the first line of a fact's value.
func OneLiner(f lab.Fact) lab.Fact {
	if f.Unknown != "" {
		return f
	}
	if f.Value = Shortened(f.Value); f.Value == "" {
		f.Unknown = "the file holds nothing that can be printed"
	}
	return f
}

// First returns the text of the first of several files that can be read and is not empty; which file exists depends on
// the kind of device. If there is none, it returns the most informative reason: that a file exists but can't be read.
func (r Reader) First(key string, names ...string) lab.Fact {
	best := Unknown(key, names[0], "no such file here")
	for i, name := range names {
		text, err := r.Text(name)
		if err == nil && text != "" {
			return Known(key, text, name)
		}
		f := Unknown(key, name, "the file is empty")
		if err != nil {
			f = Unknown(key, name, Why(err))
		}
		if i == 0 || !errors.Is(err, fs.ErrNotExist) {
			best = f
		}
	}
	return best
}

// Since is like fact, for a file that only newer kernels have.
func (r Reader) Since(key, name string, major, minor int) lab.Fact {
	f := r.Fact(key, name)
	if f.Unknown == "" || r.Exists(name) {
		return f
	}
	release, err := r.Text(ReleasePath)
	if err != nil {
		return f
	}
	if a, b, ok := KernelVersion(release); ok && (a < major || a == major && b < minor) {
		f.Unknown = fmt.Sprintf("kernel too old: %d.%d or newer has it, this is %s", major, minor, release)
	}
	return f
}

// KernelVersion reads the first two numbers of a release: "6.18.44-fc", "5.10.0-33-arm64".
func KernelVersion(release string) (major, minor int, ok bool) {
	first, rest, found := strings.Cut(release, ".")
	second := strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if !found || len(second) == 0 || rest[0] < '0' || rest[0] > '9' {
		return 0, 0, false
	}
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(second[0])
	return major, minor, err == nil
}

// Why turns an error of reading into the reason that a fact carries.
func Why(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied; root may read it"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file here"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return "the kernel answers: " + errno.Error()
	}
	return err.Error()
}

// PathInFS turns an absolute path into one of an fs.FS.
func PathInFS(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}

// MaxLinks is the number of symbolic links that Linux follows in one path, too.
const MaxLinks = 40

// Resolve follows every symbolic link in an absolute path. An fs.FS follows links when it opens a file, but does not
// return their targets, and in /sys the target is the answer.
func (r Reader) Resolve(name string) (string, error) {
	done, rest := "/", strings.Split(strings.Trim(path.Clean(name), "/"), "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		info, err := fs.Lstat(r.FS, PathInFS(next))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > MaxLinks {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		to, err := r.ReadLink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(to) {
			done = "/"
		}
		rest = append(strings.Split(strings.Trim(to, "/"), "/"), rest...)
	}
	return done, nil
}

// Linked is where a link of /sys/class leads. Those links lead straight to a folder of /sys/devices, so that one look
// is enough, where resolve looks at each part of the path.
func (r Reader) Linked(name string) string {
	to, err := r.ReadLink(name)
	if err != nil {
		full, err := r.Resolve(name)
		if err != nil || full == name {
			return ""
		}
		return full
	}
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(path.Dir(name), to)
}

// atOnce is how many things are read at the same time: over a network each waits for answers, and requests that go
// together take less of both machines' time.
const atOnce = 16

// Spread calls a function for each of n things, several at a time, and puts the answers in order. The reading of one
// file of /sys is a handful of system calls or requests, and a machine with thousands of disks has a hundred thousand
// such files.
func Spread[T any](n int, read func(i int) []T) []T {
	found := make([][]T, n)
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(n, atOnce) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				found[i] = read(i)
			}
		})
	}
	done.Wait()
	return slices.Concat(found...)
}
