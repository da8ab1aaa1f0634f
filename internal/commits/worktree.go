package commits

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// pruneWorktree makes git remove a worktree, whether its folder still exists or not; the folder is deleted too.
func (b *Builds) pruneWorktree(ctx context.Context, path string) error {
	if !exists(b.tree.Repository) { // the whole repository was removed
		return nil
	}
	list, err := b.tree.worktrees(ctx)
	if err != nil || !slices.Contains(list, path) {
		return err
	}
	_, err = b.tree.shared().git(ctx, "worktree", "remove", "--force", "--force", path)
	return err
}

// Drop removes a built commit that is useless.
func (b *Builds) Drop(ctx context.Context, hash string) error {
	if !b.Has(hash) {
		return nil
	}
	return b.remove(ctx, hash)
}

// remove removes everything of a commit, its mark first.
func (b *Builds) remove(ctx context.Context, hash string) error {
	ctx = context.WithoutCancel(ctx)
	path := b.path(hash)
	b.AtStep("remove " + hash)
	if err := os.Remove(path + buildsSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if b.End != nil {
		if err := b.End(ctx, path); err != nil {
			return err
		}
	}
	// A build may leave read-only folders, which both git and rm fail to delete.
	for _, folder := range []string{path, path + movedSuffix} {
		if exists(folder) {
			if _, err := b.tree.target.Run(ctx, "chmod", "-R", "u+rwX", "--", folder); err != nil {
				return err
			}
		}
	}
	if err := b.pruneWorktree(ctx, path); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(path), os.RemoveAll(path+movedSuffix))
}

// hashes returns all commits in the folder, built or not.
func (b *Builds) hashes() ([]string, error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if name != link && name+".json" != recordFile && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// removeUnfinished removes commits that were not completely built, and finishes the rest. It returns the removed
// commits.
func (b *Builds) removeUnfinished(ctx context.Context) ([]string, error) {
	list, err := b.hashes()
	errs := []error{err}
	var removed []string
	for _, hash := range list {
		if b.Has(hash) && (exists(b.path(hash)) || exists(b.path(hash)+movedSuffix)) {
			errs = append(errs, b.finishBuild(ctx, hash))
			continue
		}
		err := b.remove(ctx, hash)
		if errs = append(errs, err); err == nil {
			removed = append(removed, hash)
		}
	}
	return removed, errors.Join(errs...)
}

// removeOldest removes the least recently used commits, if there are more than should be kept.
func (b *Builds) removeOldest(ctx context.Context) error {
	type used struct {
		hash string
		at   time.Time
	}
	list, err := b.hashes()
	if err != nil {
		return err
	}
	var all []used
	for _, hash := range list {
		if info, err := os.Stat(b.path(hash) + buildsSuffix); err == nil {
			all = append(all, used{hash, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(x, y used) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.hash, y.hash)) })
	for len(all) > max(1, b.Kept) {
		if err := b.remove(ctx, all[0].hash); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}

func (b *Builds) removeAll(ctx context.Context) error {
	list, err := b.hashes()
	errs := []error{err}
	for _, hash := range list {
		errs = append(errs, b.remove(ctx, hash))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	b.AtStep("remove the folder of built commits")
	return os.RemoveAll(b.dir)
}
