package host

import (
	"context"
	"io/fs"
)

// relocated reads each file from another path than the requested one.
type relocated struct {
	remoteFiles
	rewrite func(path string) string
}

func (r *relocated) open(name string) (fs.File, error) { return r.remoteFiles.open(r.rewrite(name)) }
func (r *relocated) read(name string) ([]byte, error)  { return r.remoteFiles.read(r.rewrite(name)) }
func (r *relocated) fetch(name string) ([]byte, error) { return r.remoteFiles.fetch(r.rewrite(name)) }
func (r *relocated) size(names []string) (int64, error) {
	return r.remoteFiles.size(r.rewritten(names))
}
func (r *relocated) tail(name string, n int64) ([]byte, error) {
	return r.remoteFiles.tail(r.rewrite(name), n)
}
func (r *relocated) list(name string) ([]fs.DirEntry, error) {
	return r.remoteFiles.list(r.rewrite(name))
}
func (r *relocated) stat(name string) (fs.FileInfo, error) {
	return r.remoteFiles.stat(r.rewrite(name))
}
func (r *relocated) lstat(name string) (fs.FileInfo, error) {
	return r.remoteFiles.lstat(r.rewrite(name))
}
func (r *relocated) readLink(name string) (string, error) {
	return r.remoteFiles.readLink(r.rewrite(name))
}

// readMany returns the files by the names that were requested.
func (r *relocated) readMany(ctx context.Context, names []string) (map[string]File, error) {
	there := r.rewritten(names)
	read, err := r.remoteFiles.readMany(ctx, there)
	if err != nil {
		return nil, err
	}
	files := make(map[string]File, len(names))
	for i, name := range names {
		files[name] = read[there[i]]
	}
	return files, nil
}

func (r *relocated) rewritten(names []string) []string {
	there := make([]string, len(names))
	for i, name := range names {
		there[i] = r.rewrite(name)
	}
	return there
}
