package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/lab"
)

// progressName is the file in which a run that goes on says how far it has come. It does not travel.
const progressName = "progress.json"

// Progress tells others who look at the run how far it has come. It is not flushed: nobody reads it after a crash.
func (w *Writer) Progress(p lab.Progress) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(w.dir, "."+progressName+".*.tmp") // a new file: no link of somebody else's
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

// Progress is how far the run has come, and whether it goes on and says so.
func (b *Bundle) Progress() (lab.Progress, bool) {
	var p lab.Progress
	if !b.Active() {
		return p, false
	}
	data, err := readHead(filepath.Join(b.dir, progressName))
	return p, err == nil && json.Unmarshal(data, &p) == nil
}
