package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// storeHints are what to try when the store could not be written to or read. An error that has such a hint already gets
// no other.
func (p errorPrinter) storeHints(err error) []string {
	s, failed := p.store()
	path := pathOf(err)
	if failed != nil || path == "" {
		return nil
	}
	if rel, outside := filepath.Rel(s.Dir(), path); outside != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil
	}
	if e, ok := errors.AsType[*lab.Error](err); ok && strings.Contains(strings.Join(e.Hints, "\n"), "--store") {
		return nil
	}
	const elsewhere = "keep runs elsewhere: --store DIR"
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return []string{"the file system of the store " + s.Dir() + " is full: headroom list shows the runs, " +
			"headroom rm RUN deletes one", elsewhere}
	case errors.Is(err, unix.EROFS):
		return []string{"the file system of the store " + s.Dir() + " is mounted read-only", elsewhere}
	case errors.Is(err, fs.ErrPermission):
		return []string{"the owner of the store " + s.Dir() + " can: run headroom as that user", elsewhere}
	}
	return nil
}

// pathOf is the file that an error is about; empty where it names none.
func pathOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Path
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.New
	}
	return ""
}
