package factstest

import (
	"io/fs"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/collect"
)

// Looked is a file system that records which files were accessed.
type Looked struct {
	fstest.MapFS
	At map[string]bool
}

func (l Looked) Open(name string) (fs.File, error) { l.At[name] = true; return l.MapFS.Open(name) }

func (l Looked) Stat(name string) (fs.FileInfo, error) {
	l.At[name] = true
	return l.MapFS.Stat(name)
}

func (l Looked) Lstat(name string) (fs.FileInfo, error) {
	l.At[name] = true
	return l.MapFS.Lstat(name)
}

func (l Looked) ReadFile(name string) ([]byte, error) {
	l.At[name] = true
	return l.MapFS.ReadFile(name)
}

func (l Looked) ReadDir(name string) ([]fs.DirEntry, error) {
	l.At[name] = true
	return l.MapFS.ReadDir(name)
}

// TextFiles makes a file system of a few small files.
func TextFiles(texts map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range texts {
		all[collect.PathInFS(name)] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
	}
	return all
}

// Files makes a machine of a few files.
func Files(texts map[string]string) collect.Reader { return collect.Reader{FS: TextFiles(texts)} }
