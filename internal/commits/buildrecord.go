package commits

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/safepath"

	"golang.org/x/sys/unix"
)

const schema = "headroom/built/v1"

// buildRecord is the record in a run's folder.
type buildRecord struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`
	// Repository that worktrees are added to.
	Repository string `json:"repository"`
}

const (
	recordFile   = "made.json"
	link         = "tree"
	buildsSuffix = ".built" // marks a commit that was built
	movedSuffix  = ".aside" // where a built tree is while git removes its worktree
)

// take locks a folder; nil if another process holds it.
func take(dir string, tree Tree, terms Terms) (*Builds, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := safepath.Lock(f, dir); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = nil
		}
		return nil, errors.Join(err, f.Close())
	}
	if terms.AtStep == nil {
		terms.AtStep = func(string) {}
	}
	tree.mark = terms.Mark
	return &Builds{Terms: terms, tree: tree, dir: dir, lock: f}, nil
}

// write writes the record, so that another process that finds the folder knows whose worktrees are in it.
func (b *Builds) write() error {
	data, err := json.Marshal(buildRecord{Schema: schema, Run: b.Run, Repository: b.tree.Repository})
	if err != nil {
		return err
	}
	return writeSafely(filepath.Join(b.dir, recordFile), data)
}

// writeSafely writes a file and flushes it with its name, completely or not at all.
func writeSafely(path string, data []byte) error {
	building := path + ".new"
	f, err := os.Create(building)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(building, path); err != nil {
		return err
	}
	return safepath.SyncFolder(filepath.Dir(path))
}
