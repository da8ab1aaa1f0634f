package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/lab"
)

// progressName is the file with the progress of an active run. It is not exported.
const progressName = "progress.json"

// Progress tells others who look at the run how far it has come. It is not flushed: it is useless after a crash.
func (w *Writer) Progress(p lab.Progress) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(w.dir, "."+progressName+".*.tmp") // a new file: no link of another user
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // does nothing once renamed
	_, err = next.Write(append(data, '\n'))
	if err := errors.Join(err, next.Chmod(0o644), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), filepath.Join(w.dir, progressName))
}

// removeProgress removes what a run that has ended said of its progress.
func removeProgress(dir string) error {
	if err := os.Remove(filepath.Join(dir, progressName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Progress returns how far an active run has come. It reports false for a run that is not active, or has not saved it.
func (b *Bundle) Progress() (lab.Progress, bool) {
	var p lab.Progress
	if !b.Active() {
		return p, false
	}
	data, err := readHead(filepath.Join(b.dir, progressName))
	return p, err == nil && json.Unmarshal(data, &p) == nil
}
