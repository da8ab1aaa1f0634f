package facts

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

// tree is a file system made of nodes that may stand at several places. fstest.MapFS looks at every file to list one
// folder, which is too slow for a machine with thousands of disks.
type tree struct {
	root *treeNode
	// looked counts every question, and every name of a listing.
	looked *atomic.Int64
}

type treeNode struct {
	names map[string]*treeNode // a folder
	link  string
	data  string
}

func newTree() tree { return tree{&treeNode{names: map[string]*treeNode{}}, new(atomic.Int64)} }

func (t tree) put(name string, n *treeNode) {
	at := t.root
	parts := strings.Split(collect.PathInFS(name), "/")
	for _, p := range parts[:len(parts)-1] {
		next := at.names[p]
		if next == nil {
			next = &treeNode{names: map[string]*treeNode{}}
			at.names[p] = next
		}
		at = next
	}
	at.names[parts[len(parts)-1]] = n
}

func (t tree) file(name, data string) { t.put(name, &treeNode{data: data + "\n"}) }

func (t tree) link(name, to string) { t.put(name, &treeNode{link: to}) }

// find walks to a node, through links, and through one at the end if last says so.
func (t tree) find(op, name string, last bool) (*treeNode, error) {
	t.looked.Add(1)
	at, done, rest := t.root, "/", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "." || part == "" {
			continue
		}
		next := at.names[part]
		if next == nil || links > collect.MaxLinks {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		if next.link != "" && (len(rest) > 0 || last) {
			links++
			to := next.link
			if !path.IsAbs(to) {
				to = path.Join(done, to)
			}
			at, done, rest = t.root, "/", append(strings.Split(collect.PathInFS(to), "/"), rest...)
			continue
		}
		at, done = next, path.Join(done, part)
	}
	return at, nil
}

func (t tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	return &treeFile{treeInfo{path.Base(name), n}, strings.NewReader(n.data)}, nil
}

func (t tree) ReadFile(name string) ([]byte, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	return []byte(n.data), nil
}

func (t tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name, true)
	return treeInfo{path.Base(name), n}, err
}

func (t tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.find("lstat", name, false)
	return treeInfo{path.Base(name), n}, err
}

func (t tree) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.link == "" {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.link, nil
}

func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if n.names == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	var entries []fs.DirEntry
	for name, child := range n.names {
		entries = append(entries, fs.FileInfoToDirEntry(treeInfo{name, child}))
	}
	t.looked.Add(int64(len(entries)))
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

type treeInfo struct {
	name string
	node *treeNode
}

func (i treeInfo) Name() string { return i.name }

func (i treeInfo) Size() int64 { return int64(len(i.node.data)) }

func (i treeInfo) ModTime() time.Time { return time.Time{} }

func (i treeInfo) IsDir() bool { return i.Mode().IsDir() }

func (i treeInfo) Sys() any { return nil }

func (i treeInfo) Mode() fs.FileMode {
	switch {
	case i.node.link != "":
		return fs.ModeSymlink | 0o777
	case i.node.names != nil:
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
