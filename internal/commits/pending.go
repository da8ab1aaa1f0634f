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

// Leftover is the folder of a run that nobody works on.
type Leftover struct {
	// Run is the ID of the run, Repository where its worktrees come from.
	Run, Repository string
	dir             string
}

// Pending lists the folders below root that nobody works on. Trust says whether the record of one may be acted on; any
// other is left alone, unread, with that error.
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
			if !safepath.Locked(dir) { // else it is that of somebody who is at work
				errs = append(errs, err)
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, recordFile))
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(dir) // it was about to be made; one that holds anything has a record
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

// Recover removes what the run was about to build when it was cut off, or, unless it is to be kept, all that it has
// built. It returns the commits that were removed. A folder that a living process works on is left alone.
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
