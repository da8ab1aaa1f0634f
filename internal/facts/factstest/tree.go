package factstest

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"headroom/internal/facts/collect"
)

// Tree is a file system made of nodes that may stand at several places. fstest.MapFS looks at every file to list one
// folder, which is too slow for a machine with thousands of disks.
type Tree struct {
	Root *Node
	// Looked counts every question, and every name of a listing.
	Looked *atomic.Int64
}

type Node struct {
	Names map[string]*Node // a folder
	link  string
	Data  string
}

func NewTree() Tree { return Tree{&Node{Names: map[string]*Node{}}, new(atomic.Int64)} }

func (t Tree) Put(name string, n *Node) {
	at := t.Root
	parts := strings.Split(collect.PathInFS(name), "/")
	for _, p := range parts[:len(parts)-1] {
		next := at.Names[p]
		if next == nil {
			next = &Node{Names: map[string]*Node{}}
			at.Names[p] = next
		}
		at = next
	}
	at.Names[parts[len(parts)-1]] = n
}

func (t Tree) File(name, data string) { t.Put(name, &Node{Data: data + "\n"}) }

func (t Tree) Link(name, to string) { t.Put(name, &Node{link: to}) }

// find walks to a node, through links, and through one at the end if last says so.
func (t Tree) find(op, name string, last bool) (*Node, error) {
	t.Looked.Add(1)
	at, done, rest := t.Root, "/", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "." || part == "" {
			continue
		}
		next := at.Names[part]
		if next == nil || links > collect.MaxLinks {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		if next.link != "" && (len(rest) > 0 || last) {
			links++
			to := next.link
			if !path.IsAbs(to) {
				to = path.Join(done, to)
			}
			at, done, rest = t.Root, "/", append(strings.Split(collect.PathInFS(to), "/"), rest...)
			continue
		}
		at, done = next, path.Join(done, part)
	}
	return at, nil
}

func (t Tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	return &treeFile{treeInfo{path.Base(name), n}, strings.NewReader(n.Data)}, nil
}

func (t Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	return []byte(n.Data), nil
}

func (t Tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name, true)
	return treeInfo{path.Base(name), n}, err
}

func (t Tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.find("lstat", name, false)
	return treeInfo{path.Base(name), n}, err
}

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

func (t Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if n.Names == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	var entries []fs.DirEntry
	for name, child := range n.Names {
		entries = append(entries, fs.FileInfoToDirEntry(treeInfo{name, child}))
	}
	t.Looked.Add(int64(len(entries)))
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
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
	case i.node.Names != nil:
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
