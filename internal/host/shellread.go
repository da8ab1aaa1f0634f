package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// shellFiles reads through the shell, for hosts without SFTP: small images with another server than OpenSSH's. Each
// call starts at least one process on the host, so a snapshot of facts takes many times as long. Several files are read
// in one round trip.
type shellFiles struct{ s *Shell }

func (f *shellFiles) close(time.Duration) {}

// readScript prints each file, then a line with the mark, the status and the error message of cat. Its first argument
// is the mark.
const readScript = `m=$1; shift
exec 4>&1
for f; do
	e=$(cat -- "$f" 2>&1 >&4)
	printf '\n%s %s %s\n' "$m" "$?" "$e"
done`

func (f *shellFiles) readMany(ctx context.Context, names []string) (map[string]File, error) {
	mark := randomHex(16)
	out, err := f.s.Run(ctx, append([]string{"sh", "-c", readScript, "sh", mark}, names...)...)
	if err != nil {
		return nil, err
	}
	return readFrames(mark, out.Stdout, names)
}

// readFrames parses the output of readScript.
func readFrames(mark string, printed []byte, names []string) (map[string]File, error) {
	files := make(map[string]File, len(names))
	for _, name := range names {
		data, rest, ok := bytes.Cut(printed, []byte("\n"+mark+" "))
		status, rest, whole := bytes.Cut(rest, []byte("\n"))
		if !ok || !whole {
			return nil, fmt.Errorf("what the host printed ends before %s", name)
		}
		file := File{Data: data}
		if code, printed, _ := strings.Cut(string(status), " "); code != "0" {
			file = File{Err: &fs.PathError{Op: "open", Path: name, Err: causeOf(printed)}}
		}
		files[name], printed = file, rest
	}
	return files, nil
}

// causeOf parses the cause from the end of a tool's error message in the C locale; the messages of GNU and BusyBox
// begin differently.
//
//	cat: /nowhere: No such file or directory
//	cat: can't open '/root/x': Permission denied
func causeOf(printed string) error {
	printed = strings.TrimSpace(printed)
	for _, errno := range []syscall.Errno{syscall.ENOENT, syscall.EACCES, syscall.EPERM, syscall.EISDIR,
		syscall.ENOTDIR, syscall.EINVAL, syscall.EIO, syscall.ELOOP} {
		if strings.HasSuffix(strings.ToLower(printed), errno.Error()) {
			return errno
		}
	}
	if printed == "" {
		printed = "it can't be read"
	}
	return errors.New(printed)
}

// runScript runs a script about one file.
func (f *shellFiles) runScript(script string, args ...string) ([]byte, error) {
	out, err := f.s.Run(context.Background(), append([]string{"sh", "-c", script, "sh"}, args...)...)
	if err != nil {
		return nil, err
	}
	if out.ExitCode != 0 {
		return nil, causeOf(string(out.Stderr))
	}
	return out.Stdout, nil
}

func (f *shellFiles) read(name string) ([]byte, error) {
	return f.runScript(`cat -- "$1"`, name)
}

// fetchScript prints the size of a file, and the file. If the size is more than the second argument, it prints only as
// many bytes of either end as the third argument.
const fetchScript = `[ -e "$1" ] || { echo 'No such file or directory' >&2; exit 1; }
n=$(wc -c <"$1") || exit
echo "$n"
if [ "$n" -le "$2" ]; then cat -- "$1"; else head -c "$3" -- "$1" && tail -c "$3" -- "$1"; fi`

func (f *shellFiles) fetch(name string) ([]byte, error) {
	printed, err := f.runScript(fetchScript, name, strconv.Itoa(MaxFetched), strconv.Itoa(maxEnd))
	if err != nil {
		return nil, err
	}
	first, data, _ := bytes.Cut(printed, []byte("\n"))
	size, err := strconv.ParseInt(string(bytes.TrimSpace(first)), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("wc printed %q, where a number is due", first)
	}
	if size <= MaxFetched || len(data) != 2*maxEnd {
		return data, nil
	}
	return joinEnds(path.Base(name), size, bytes.Clone(data[:maxEnd]), data[maxEnd:])
}

// sizeScript prints the total size of the files that exist.
const sizeScript = `n=0; for f; do if [ -f "$f" ]; then s=$(wc -c <"$f") && n=$((n+s)); fi; done; echo "$n"`

func (f *shellFiles) size(names []string) (int64, error) {
	printed, err := f.runScript(sizeScript, names...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(bytes.TrimSpace(printed)), 10, 64)
}

func (f *shellFiles) tail(name string, n int64) ([]byte, error) {
	return f.runScript(`tail -c "$2" -- "$1"`, name, strconv.FormatInt(n, 10))
}

func (f *shellFiles) readLink(name string) (string, error) {
	to, err := f.runScript(
		`t=$(readlink -- "$1"; echo .) || exit; [ -L "$1" ] || { ls -d -- "$1" >/dev/null && echo "Invalid argument" >&2; exit 1; }; printf %s "${t%??}"`, name)
	return string(to), err
}

// statScript prints the type and permissions (st_mode of stat(2), in hexadecimal), the size, the modification time, the
// owner and the group.
const (
	statScript  = `stat -L -c '%f %s %Y %u %g' -- "$1"`
	lstatScript = `stat -c '%f %s %Y %u %g' -- "$1"`
)

func (f *shellFiles) stat(name string) (fs.FileInfo, error) { return f.statWith(statScript, name) }

func (f *shellFiles) lstat(name string) (fs.FileInfo, error) {
	info, err := f.statWith(lstatScript, name)
	return owned{info, &syscall.Stat_t{Uid: info.user, Gid: info.group}}, err
}

func (f *shellFiles) statWith(script, name string) (status, error) {
	text, err := f.runScript(script, name)
	if err != nil {
		return status{}, err
	}
	return parseStatus(base(name), string(text))
}

// parseStatus parses the output of statScript.
//
//	81a4 4096 1763763960 0 0
//	61b0 0 1763763960 0 6
func parseStatus(name, text string) (status, error) {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return status{}, fmt.Errorf("stat printed %q, where five numbers are due", text)
	}
	mode, err1 := strconv.ParseUint(fields[0], 16, 32)
	size, err2 := strconv.ParseInt(fields[1], 10, 64)
	changed, err3 := strconv.ParseInt(fields[2], 10, 64)
	user, err4 := strconv.ParseUint(fields[3], 10, 32)
	group, err5 := strconv.ParseUint(fields[4], 10, 32)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return status{}, err
	}
	return status{name, size, modeOf(uint32(mode)), time.Unix(changed, 0), uint32(user), uint32(group)}, nil
}

// modeOf converts the mode of stat(2) to Go's.
func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & syscall.S_IFMT {
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	}
	for bit, as := range map[uint32]fs.FileMode{syscall.S_ISUID: fs.ModeSetuid, syscall.S_ISGID: fs.ModeSetgid,
		syscall.S_ISVTX: fs.ModeSticky} {
		if m&bit != 0 {
			mode |= as
		}
	}
	return mode
}

type status struct {
	name    string
	size    int64
	mode    fs.FileMode
	changed time.Time
	// user and group that own it.
	user, group uint32
}

func (s status) Name() string       { return s.name }
func (s status) Size() int64        { return s.size }
func (s status) Mode() fs.FileMode  { return s.mode }
func (s status) ModTime() time.Time { return s.changed }
func (s status) IsDir() bool        { return s.mode.IsDir() }
func (s status) Sys() any           { return nil }

// listScript prints the type of each entry as a letter, its name, and a zero byte. It starts no process per entry.
const listScript = `[ -d "$1" ] || { ls -d -- "$1" >/dev/null && echo 'Not a directory' >&2; exit 1; }
cd -- "$1" 2>/dev/null && [ -r . ] || { echo 'Permission denied' >&2; exit 1; }
for f in * .[!.]* ..?*; do
	if [ -L "$f" ]; then t=l; elif [ -d "$f" ]; then t=d; elif [ -f "$f" ]; then t=f; elif [ -b "$f" ]; then t=b; elif [ -c "$f" ]; then t=c; elif [ -p "$f" ]; then t=p; elif [ -S "$f" ]; then t=s; else continue; fi
	printf '%s%s\0' $t "$f"
done`

func (f *shellFiles) list(name string) ([]fs.DirEntry, error) {
	printed, err := f.runScript(listScript, name)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for entry := range bytes.SplitSeq(printed, []byte{0}) {
		if len(entry) < 2 {
			continue
		}
		entries = append(entries, listed{f, path.Join(name, string(entry[1:])), entry[0]})
	}
	return byName(entries), nil
}

// listed is an entry of a folder. Only its type is known until Info is called.
type listed struct {
	files  *shellFiles
	path   string
	letter byte
}

func (l listed) Name() string               { return path.Base(l.path) }
func (l listed) IsDir() bool                { return l.letter == 'd' }
func (l listed) Info() (fs.FileInfo, error) { return l.files.lstat(l.path) }
func (l listed) String() string             { return fs.FormatDirEntry(l) }
func (l listed) Type() fs.FileMode {
	return map[byte]fs.FileMode{'l': fs.ModeSymlink, 'd': fs.ModeDir, 'b': fs.ModeDevice,
		'c': fs.ModeDevice | fs.ModeCharDevice,
		'p': fs.ModeNamedPipe, 's': fs.ModeSocket}[l.letter]
}

// shellFile is an open file, read on demand. A read requests as many bytes as its buffer has room for.
type shellFile struct {
	files  *shellFiles
	path   string
	info   fs.FileInfo
	offset int64
}

func (f *shellFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *shellFile) Close() error               { return nil }

// Read reads from the current offset. A kernel file can return less than requested, so only an empty result is the end.
// From the beginning, exactly the requested bytes are read: the configuration space of a PCI device must not be read
// further.
func (f *shellFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	data, err := f.files.runScript(
		`exec <"$1" || exit; if [ "$2" = 1 ]; then dd bs="$3" count=1 2>/dev/null; else tail -c +"$2" | head -c "$3"; fi`, f.path, strconv.FormatInt(f.offset+1, 10), strconv.Itoa(len(p)))
	if err != nil {
		return 0, err
	}
	n := copy(p, data)
	f.offset += int64(n)
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadAt reads at an offset, with flags that count it in bytes: on a device, dd does not skip bytes by reading them.
func (f *shellFile) ReadAt(p []byte, at int64) (int, error) {
	data, err := f.files.runScript(`dd if="$1" bs=65536 iflag=skip_bytes,count_bytes skip="$2" count="$3" 2>/dev/null`,
		f.path, strconv.FormatInt(at, 10), strconv.Itoa(len(p)))
	if err != nil {
		return 0, err
	}
	n := copy(p, data)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *shellFiles) open(name string) (fs.File, error) {
	info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := f.list(name)
		return &openFolder{info, entries}, err
	}
	if _, err := f.runScript(`: <"$1"`, name); err != nil {
		return nil, err
	}
	return &shellFile{files: f, path: name, info: info}, nil
}
