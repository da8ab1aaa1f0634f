package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Records returns the paths of the files in a folder, sorted by name, that were left by processes and may be acted on;
// wanted selects names. Trust reports whether a file may be acted on. One that it rejects is left unread, and its error
// is among the errors, unless a process is using the file. A missing folder has no records.
func Records(dir string, wanted func(name string) bool, trust func(path string) error) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	errs := []error{err}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !wanted(e.Name()) {
			continue
		}
		if err := trust(path); err == nil {
			paths = append(paths, path)
		} else if !Locked(path) {
			errs = append(errs, err)
		}
	}
	return paths, errors.Join(errs...)
}

// SyncFolder flushes the names in a folder, so that they survive a power failure.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
