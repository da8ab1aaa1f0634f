package commits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/safepath"
)

// Leftover is the folder of a run that no process uses.
type Leftover struct {
	// Run is the ID of the run, Repository is the repository of its worktrees.
	Run, Repository string
	dir             string
}

// Pending lists the folders below root that no process uses. Trust reports whether the record of one may be acted on;
// one that it rejects is left unread, and its error is returned.
func Pending(root string, trust func(name string) error) ([]Leftover, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	errs := []error{err}
	var found []Leftover
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if err := trust(filepath.Join(dir, recordFile)); err != nil {
			if !safepath.Locked(dir) { // otherwise a process is using it
				errs = append(errs, err)
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, recordFile))
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(dir) // it was about to be created; one with contents has a record
			continue
		}
		var m buildRecord
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err == nil && m.Run != e.Name() {
			err = fmt.Errorf("it is of run %q", m.Run)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(dir, recordFile), err))
			continue
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, Leftover{Run: m.Run, Repository: m.Repository, dir: dir})
	}
	return found, errors.Join(errs...)
}

// Recover removes the commits that the run was about to build when it was interrupted, or, unless keep is set, all that
// it has built. It returns the removed commits. A folder that a living process uses is left unchanged.
func (l Leftover) Recover(ctx context.Context, t host.Target, keep bool, terms Terms) ([]string, error) {
	terms.Run = l.Run
	b, err := take(l.dir, Tree{target: t, Repository: l.Repository}, terms)
	if b == nil || err != nil {
		return nil, err
	}
	removed, err := b.removeUnfinished(ctx)
	if err != nil || keep {
		return removed, errors.Join(err, b.Close(ctx, true))
	}
	list, err := b.hashes()
	return append(removed, list...), errors.Join(err, b.Close(ctx, false))
}
