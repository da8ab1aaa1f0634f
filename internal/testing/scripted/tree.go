package scripted

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree is the file system of a machine, entirely in memory: writes to /proc/sys/vm or /dev have no other effect.
type tree struct {
	mu   sync.Mutex
	root *node
	next uint64
	born time.Time
}

// node is a file, a folder, a link or a device.
type node struct {
	mode   fs.FileMode
	data   []byte
	size   int64 // of a file whose content is not used
	link   string
	number uint64 // of a device
	inode  uint64
	names  map[string]*node
	err    error         // why it can't be read
	now    func() string // returns the current content, in place of data
	set    func(old, written string) (string, error)
}

func newTree() *tree {
	t := &tree{born: time.Now()}
	t.root = t.make(fs.ModeDir | 0o755)
	return t
}

func (t *tree) make(mode fs.FileMode) *node {
	t.next++
	n := &node{mode: mode, inode: t.next}
	if mode.IsDir() {
		n.names = map[string]*node{}
	}
	return n
}

// maxLinks is how many links Linux follows in one path.
const maxLinks = 40

// find walks to a node through links; through one at the end only if last is set. It also returns the node's own path.
// The common case without links is fast, since a snapshot reads thousands of files.
func (t *tree) find(name string, last bool) (*node, string, error) {
	at := t.root
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." {
			continue
		}
		next := at.names[part]
		switch {
		case part == ".." || next != nil && next.mode&fs.ModeSymlink != 0:
			return t.follow(name, last)
		case !at.mode.IsDir():
			return nil, "", syscall.ENOTDIR
		case next == nil:
			return nil, "", fs.ErrNotExist
		}
		at = next
	}
	return at, path.Join("/", name), nil
}

// follow is find if there are links or parent folders on the path.
func (t *tree) follow(name string, last bool) (*node, string, error) {
	at, done, rest := t.root, "/", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			rest, at, done = append(strings.Split(done, "/"), rest...), t.root, "/"
			continue
		}
		if !at.mode.IsDir() {
			return nil, "", syscall.ENOTDIR
		}
		next := at.names[part]
		if next == nil {
			return nil, "", fs.ErrNotExist
		}
		if next.mode&fs.ModeSymlink == 0 || !last && len(rest) == 0 {
			at, done = next, strings.TrimSuffix(done, "/")+"/"+part
			continue
		}
		if links++; links > maxLinks {
			return nil, "", syscall.ELOOP
		}
		to := next.link
		if !path.IsAbs(to) {
			to = done + "/" + to
		}
		rest, at, done = append(strings.Split(to, "/"), rest...), t.root, "/"
	}
	return at, done, nil
}

// put sets a node at a path, and makes its folders.
func (t *tree) put(name string, n *node) {
	dir := t.folder(path.Dir(path.Clean(name)))
	dir.names[path.Base(name)] = n
}

// folder makes a folder, and those above it.
func (t *tree) folder(name string) *node {
	if name = path.Clean(name); name == "/" || name == "." {
		return t.root
	}
	if n, _, err := t.find(name, true); err == nil && n.mode.IsDir() {
		return n
	}
	n := t.make(fs.ModeDir | 0o755)
	t.folder(path.Dir(name)).names[path.Base(name)] = n
	return n
}

// text returns the content of a file.
func (t *tree) text(name string) ([]byte, error) {
	t.mu.Lock()
	n, _, err := t.find(name, true)
	t.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case n.err != nil:
		return nil, n.err
	case n.mode.IsDir():
		return nil, syscall.EISDIR
	case n.now != nil: // unlocked, because it may look at other files
		return []byte(n.now()), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(n.data), nil
}

// write changes a file, for a file of the kernel by the kernel's rule, and creates a missing file.
func (t *tree) write(name string, text []byte) error {
	t.mu.Lock()
	n, _, err := t.find(name, true)
	if err != nil && (strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/")) {
		t.mu.Unlock()
		return err
	}
	if err != nil {
		n = t.make(0o644)
		t.put(name, n)
	}
	old, set, closed := string(n.data), n.set, n.err
	t.mu.Unlock()
	switch {
	case closed != nil:
		return closed
	case n.mode.IsDir():
		return syscall.EISDIR
	case n.mode&fs.ModeDevice != 0:
		return nil // the content of a device is never read
	case n.now != nil:
		return fs.ErrPermission
	}
	value := string(text)
	if strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/") {
		old, value = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(value, "\n")
		if set == nil {
			set = chooseBracketed
		}
		if value, err = set(old, value); err != nil {
			return err
		}
		value += "\n"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n.data, n.size = []byte(value), int64(len(value))
	return nil
}

// chooseBracketed accepts a value as the kernel does: in a file that lists the choices, "none [mq-deadline]", it moves
// the brackets, and refuses other values.
func chooseBracketed(old, written string) (string, error) {
	words := strings.Fields(old)
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "[") })
	if at < 0 {
		return written, nil
	}
	words[at] = strings.Trim(words[at], "[]")
	to := slices.Index(words, written)
	if to < 0 {
		return "", syscall.EINVAL
	}
	words[to] = "[" + words[to] + "]"
	return strings.Join(words, " "), nil
}

// remove deletes a file, a link or a whole folder, and reports whether it existed.
func (t *tree) remove(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir, _, err := t.find(path.Dir(name), true)
	if err != nil || !dir.mode.IsDir() || dir.names[path.Base(name)] == nil {
		return false
	}
	delete(dir.names, path.Base(name))
	return true
}

// stat returns the metadata of a file.
func (t *tree) stat(name string, last bool) (fs.FileInfo, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, _, err := t.find(name, last)
	if err != nil {
		return nil, err
	}
	return t.info(path.Base(name), n), nil
}

func (t *tree) info(name string, n *node) fileInfo {
	return fileInfo{name: name, mode: n.mode, size: max(n.size, int64(len(n.data))), time: t.born, number: n.number,
		inode: n.inode}
}

func (t *tree) list(name string) ([]fs.DirEntry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, _, err := t.find(name, true)
	switch {
	case err != nil:
		return nil, err
	case n.err != nil:
		return nil, n.err
	case !n.mode.IsDir():
		return nil, syscall.ENOTDIR
	}
	var entries []fs.DirEntry
	for name, n := range n.names {
		entries = append(entries, fs.FileInfoToDirEntry(t.info(name, n)))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

type fileInfo struct {
	name          string
	mode          fs.FileMode
	size          int64
	time          time.Time
	number, inode uint64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.time }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }

// Sys returns the owner and numbers of the file: root owns everything.
func (i fileInfo) Sys() any { return &syscall.Stat_t{Rdev: i.number, Ino: i.inode, Size: i.size} }

// openFile is an open file, with its content at that time.
type openFile struct {
	io.Reader
	info    fs.FileInfo
	entries []fs.DirEntry
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

func (f *openFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(f.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.entries) {
		n = len(f.entries)
	}
	next := f.entries[:n]
	f.entries = f.entries[n:]
	return next, nil
}

// device makes the node of a block device.
func (t *tree) device(number string) *node {
	n := t.make(fs.ModeDevice | 0o660)
	var major, minor uint32
	for i, part := range strings.SplitN(number, ":", 2) {
		v := uint32(0)
		for _, c := range part {
			v = v*10 + uint32(c-'0')
		}
		if i == 0 {
			major = v
		} else {
			minor = v
		}
	}
	n.number = unix.Mkdev(major, minor)
	return n
}
