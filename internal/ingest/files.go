package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Opener opens a file or directory that the user named. A directory must be an fs.ReadDirFile, as those of os.Open are.
type Opener func(name string) (fs.File, error)

// maxDepth bounds the depth of directories below a named one.
const maxDepth = 16

// file is one file of results.
type file struct {
	// name identifies the file for the user. path is its position in a tree: slashes, from the directory that the user
	// gave (itself included), or just the file's own name.
	name, path string
	// data in UTF-8 without a byte order mark. The buffer is reused for the next file.
	data []byte
	// before is how many lines of the file precede data, if the user asked for some of its lines only.
	before int
}

// files walks over everything the user named.
type files struct {
	open Opener
	// read handles one file; given is true if the user named it, false if it was found in a directory.
	read func(f fs.File, name, path string, given bool) error
	// skip handles entries of a directory that are left out.
	skip func(name string)
}

// walk visits name. read handles errors of single files; an error that walk returns ends the import.
func (w *files) walk(name string) error {
	name = strings.TrimSuffix(path.Clean(name), "/")
	return w.visit(name, path.Base(name), true, 0)
}

func (w *files) visit(name, rel string, given bool, depth int) error {
	f, err := w.open(name)
	if err != nil {
		return w.read(unreadable{err}, name, rel, given)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return w.read(unreadable{err}, name, rel, given)
	case !info.IsDir():
		if m := info.Mode(); m&(fs.ModeDevice|fs.ModeSocket) != 0 {
			return w.read(unreadable{fmt.Errorf("this is a %s, not a file of results", kind(m))}, name, rel, given)
		}
		return w.read(f, name, rel, given)
	}
	dir, ok := f.(fs.ReadDirFile)
	if !ok || depth > maxDepth {
		return w.read(unreadable{errors.New("this directory can't be listed")}, name, rel, given)
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return w.read(unreadable{err}, name, rel, given)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		below := path.Join(name, e.Name())
		if leftOut(e) {
			w.skip(below)
			continue
		}
		if err := w.visit(below, path.Join(rel, e.Name()), false, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func kind(m fs.FileMode) string {
	if m&fs.ModeSocket != 0 {
		return "socket"
	}
	return "device"
}

// leftOut reports whether an entry below a directory is skipped: hidden files, links (they could form a cycle), and
// files that ClusterBuster marks as failed or unfinished.
func leftOut(e fs.DirEntry) bool {
	n := e.Name()
	return strings.HasPrefix(n, ".") || e.Type()&fs.ModeSymlink != 0 ||
		e.IsDir() && (strings.HasSuffix(n, ".FAIL") || strings.HasSuffix(n, ".tmp"))
}

// unreadable represents a file that could not be opened, so that its error is listed with those of other files.
type unreadable struct{ err error }

func (u unreadable) Stat() (fs.FileInfo, error) { return nil, u.err }
func (u unreadable) Read([]byte) (int, error)   { return 0, u.err }
func (u unreadable) Close() error               { return nil }
