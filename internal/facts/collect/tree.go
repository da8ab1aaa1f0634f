package collect

import (
	"cmp"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Tree is a file system made of nodes that may stand at several places. fstest.MapFS looks at every file to list one
// folder, which is too slow for a machine with thousands of disks. No link leads out of it.
type Tree struct {
	Root *Node
	// Looked counts every question, and every name of a listing; nil for no counting.
	Looked *atomic.Int64
}

// Node is a file, a folder or a link.
type Node struct {
	Names map[string]*Node // a folder
	Data  string
	// Fill returns the names of a folder that is first read when it is asked for, and Read the data of such a file.
	// Both return the same each time.
	Fill func() (map[string]*Node, error)
	Read func() (string, error)
	link string
}

// NewTree returns an empty tree that counts the accesses to it.
func NewTree() Tree { return Tree{&Node{Names: map[string]*Node{}}, new(atomic.Int64)} }

// LinkTo returns a symbolic link.
func LinkTo(to string) *Node { return &Node{link: to} }

func (n *Node) folder() bool { return n.Names != nil || n.Fill != nil }

func (n *Node) names() (map[string]*Node, error) {
	if n.Fill != nil {
		return n.Fill()
	}
	return n.Names, nil
}

// Put places a node, and reports whether it could: what is below a file or a link has no place.
func (t Tree) Put(name string, n *Node) bool {
	at := t.Root
	parts := strings.Split(PathInFS(path.Clean("/"+name)), "/")
	for i, p := range parts {
		names, err := at.names()
		if err != nil || names == nil {
			return false
		}
		if i == len(parts)-1 {
			names[p] = n
			return true
		}
		if names[p] == nil {
			names[p] = &Node{Names: map[string]*Node{}}
		}
		at = names[p]
	}
	return false
}

// File places a file of one line.
func (t Tree) File(name, data string) { t.Put(name, &Node{Data: data + "\n"}) }

// Link places a symbolic link.
func (t Tree) Link(name, to string) { t.Put(name, LinkTo(to)) }

func (t Tree) look(n int) {
	if t.Looked != nil {
		t.Looked.Add(int64(n))
	}
}

// find walks to a node, through links, and through one at the end if last says so.
func (t Tree) find(op, name string, last bool) (*Node, error) {
	t.look(1)
	at, done, rest := t.Root, "/", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "." || part == "" {
			continue
		}
		names, err := at.names()
		if err != nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
		next := names[part]
		if next == nil || links > MaxLinks {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		if next.link != "" && (len(rest) > 0 || last) {
			links++
			to := next.link
			if !path.IsAbs(to) {
				to = path.Join(done, to)
			}
			at, done, rest = t.Root, "/", append(strings.Split(PathInFS(to), "/"), rest...)
			continue
		}
		at, done = next, path.Join(done, part)
	}
	return at, nil
}

// Open opens a file, through links.
func (t Tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	data, err := n.data(name)
	if err != nil {
		return nil, err
	}
	return &treeFile{treeInfo{path.Base(name), n}, strings.NewReader(data)}, nil
}

func (n *Node) data(name string) (string, error) {
	if n.Read == nil {
		return n.Data, nil
	}
	data, err := n.Read()
	if err != nil {
		return "", &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

// ReadFile is the data of a file.
func (t Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if n.folder() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	data, err := n.data(name)
	return []byte(data), err
}

// Stat describes what a name leads to.
func (t Tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name, true)
	return treeInfo{path.Base(name), n}, err
}

// Lstat describes what stands there, which may be a link.
func (t Tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.find("lstat", name, false)
	return treeInfo{path.Base(name), n}, err
}

// ReadLink is what a symbolic link holds.
func (t Tree) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.link == "" {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.link, nil
}

// ReadDir lists a folder.
func (t Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	names, err := n.names()
	if err != nil || names == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: cmp.Or(err, fs.ErrInvalid)}
	}
	entries := make([]fs.DirEntry, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		entries = append(entries, fs.FileInfoToDirEntry(treeInfo{name, names[name]}))
	}
	t.look(len(entries))
	return entries, nil
}

type treeInfo struct {
	name string
	node *Node
}

func (i treeInfo) Name() string { return i.name }

func (i treeInfo) Size() int64 { return int64(len(i.node.Data)) }

func (i treeInfo) ModTime() time.Time { return time.Time{} }

func (i treeInfo) IsDir() bool { return i.Mode().IsDir() }

func (i treeInfo) Sys() any { return nil }

func (i treeInfo) Mode() fs.FileMode {
	switch {
	case i.node.link != "":
		return fs.ModeSymlink | 0o777
	case i.node.folder():
		return fs.ModeDir | 0o755
	}
	return 0o444
}

type treeFile struct {
	info treeInfo
	io.Reader
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *treeFile) Close() error { return nil }

// Node is what stands at a path, without following a link at its end.
func (t Tree) Node(name string) (*Node, error) { return t.find("open", name, false) }

// Folder is the folder that a path leads to.
func (t Tree) Folder(name string) (*Node, error) {
	n, err := t.find("open", name, true)
	if err == nil && !n.folder() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return n, err
}
