package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"

	"headroom/internal/facts/catalogue"
	"headroom/internal/lab"
)

// releasePath holds the running kernel's release.
const releasePath = "/proc/sys/kernel/osrelease"

// reader reads small files of one file system. Paths are absolute, as they stand in a fact's source.
type reader struct{ fsys fs.FS }

// bytes is a whole file.
func (r reader) bytes(name string) ([]byte, error) { return fs.ReadFile(r.fsys, inside(name)) }

func (r reader) open(name string) (fs.File, error) { return r.fsys.Open(inside(name)) }

func (r reader) stat(name string) (fs.FileInfo, error) { return fs.Stat(r.fsys, inside(name)) }

func (r reader) entries(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(r.fsys, inside(dir)) }

// readLink is what a symbolic link holds.
func (r reader) readLink(name string) (string, error) { return fs.ReadLink(r.fsys, inside(name)) }

// text is a file without the white space around it.
func (r reader) text(name string) (string, error) {
	data, err := r.bytes(name)
	return strings.TrimSpace(strings.Trim(string(data), "\x00")), err
}

// number is a file that holds one integer.
func (r reader) number(name string) (int64, error) {
	text, err := r.text(name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// exists says whether there is a file, also one that can't be read.
func (r reader) exists(name string) bool {
	_, err := r.stat(name)
	return err == nil
}

// names lists a folder; nil when it can't be read.
func (r reader) names(dir string) []string {
	entries, err := r.entries(dir)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// glob finds the paths that match a pattern, sorted.
func (r reader) glob(pattern string) []string {
	found, err := fs.Glob(r.fsys, inside(pattern))
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = "/" + found[i]
	}
	return found
}

// fact is a file's whole text as a fact.
func (r reader) fact(key, name string) lab.Fact { return r.first(key, name) }

// list is like fact for files whose emptiness says "none".
func (r reader) list(key, name string) lab.Fact {
	text, err := r.text(name)
	if err == nil && (text == "" || text == "(null)") {
		return known(key, catalogue.None, name)
	}
	return r.fact(key, name)
}

// wholeIn is a file that holds one whole number. What it holds instead is kept as the reason why nothing is known.
func (r reader) wholeIn(key, name string) lab.Fact {
	f := r.fact(key, name)
	if f.Unknown != "" {
		return f
	}
	if _, err := strconv.ParseInt(f.Value, 10, 64); err != nil {
		return unknown(key, name, "not a whole number: "+strconv.Quote(shortened(f.Value)))
	}
	return f
}

// hexadecimal is a file that holds one number as the SCSI layer writes it. Source: the kernel's
// drivers/scsi/scsi_sysfs.c (show_sdev_iostat).
//
//	/sys/class/block/sda/device/iotmo_cnt:      0x3
//	/sys/class/block/sda/device/iorequest_cnt:  0x1b4f2
//	/sys/class/block/sdb/device/iotmo_cnt:      0x0
func (r reader) hexadecimal(key, name string) lab.Fact {
	f := r.fact(key, name)
	if f.Unknown != "" {
		return f
	}
	digits, prefixed := strings.CutPrefix(f.Value, "0x")
	n, err := strconv.ParseInt(digits, 16, 64)
	if err != nil || !prefixed {
		return unknown(key, name, "not a hexadecimal number: "+strconv.Quote(shortened(f.Value)))
	}
	return whole(key, n, name)
}

// switchIn is a file that holds a flag.
func (r reader) switchIn(key, name string) lab.Fact {
	f := r.fact(key, name)
	if f.Unknown != "" {
		return f
	}
	if _, ok := catalogue.ParseFlag(f.Value); !ok {
		return unknown(key, name, "neither on nor off: "+strconv.Quote(shortened(f.Value)))
	}
	return f
}

// textIn is a file that holds one line of text.
func (r reader) textIn(key, name string) lab.Fact {
	return oneLiner(r.fact(key, name))
}

// oneLiner keeps the first line of a fact's value.
func oneLiner(f lab.Fact) lab.Fact {
	if f.Unknown != "" {
		return f
	}
	if f.Value = shortened(f.Value); f.Value == "" {
		f.Unknown = "the file holds nothing that can be printed"
	}
	return f
}

// first is the text of the first of several files that can be read and holds something; which one exists depends on
// the kind of device. When there is none the reason is the one that says most: that a file was there but closed.
func (r reader) first(key string, names ...string) lab.Fact {
	best := unknown(key, names[0], "no such file here")
	for i, name := range names {
		text, err := r.text(name)
		if err == nil && text != "" {
			return known(key, text, name)
		}
		f := unknown(key, name, "the file is empty")
		if err != nil {
			f = unknown(key, name, why(err))
		}
		if i == 0 || !errors.Is(err, fs.ErrNotExist) {
			best = f
		}
	}
	return best
}

// since is like fact, for a file that only newer kernels have.
func (r reader) since(key, name string, major, minor int) lab.Fact {
	f := r.fact(key, name)
	if f.Unknown == "" || r.exists(name) {
		return f
	}
	release, err := r.text(releasePath)
	if err != nil {
		return f
	}
	if a, b, ok := kernelVersion(release); ok && (a < major || a == major && b < minor) {
		f.Unknown = fmt.Sprintf("kernel too old: %d.%d or newer has it, this is %s", major, minor, release)
	}
	return f
}

// kernelVersion reads the first two numbers of a release: "6.18.44-fc", "5.10.0-33-arm64".
func kernelVersion(release string) (major, minor int, ok bool) {
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

// why turns an error of reading into the reason that a fact carries.
func why(err error) string {
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

// inside turns an absolute path into one of an fs.FS.
func inside(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}

// maxLinks is the number of symbolic links that Linux follows in one path, too.
const maxLinks = 40

// resolve follows every symbolic link in an absolute path. An fs.FS opens through links by itself but does not say
// where they lead, and in /sys that is the answer.
func (r reader) resolve(name string) (string, error) {
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
		info, err := fs.Lstat(r.fsys, inside(next))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: syscall.ELOOP}
		}
		to, err := r.readLink(next)
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

// linked is where a link of /sys/class leads. Those links lead straight to a folder of /sys/devices, so that one look
// is enough, where resolve looks at each part of the path.
func (r reader) linked(name string) string {
	to, err := r.readLink(name)
	if err != nil {
		full, err := r.resolve(name)
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
