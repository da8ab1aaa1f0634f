package commits

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/target"
)

// Terms of building.
type Terms struct {
	// Run is the ID of the run that measures.
	Run string
	// Build is the command that is run in the folder of a commit; empty where nothing is to be built.
	Build []string
	// Kept is how many built commits are kept at most.
	Kept int
	// Mark is a variable in the environment of all that is started, "NAME=value", by which it is found after a crash.
	Mark string
	// End ends what was started with that mark or works in this folder.
	End func(ctx context.Context, folder string) error
	// Trust says whether what is in a folder may be used, or others can have put it there.
	Trust func(name string) error
	// AtStep is called before each step that leaves something behind, with its name. It exists so that a test can end
	// the process there.
	AtStep func(step string)
}

// Builds are the built commits of one run.
type Builds struct {
	Terms
	tree Tree
	dir  string
	lock *os.File
	jobs int
}

const schema = "headroom/built/v1"

// buildRecord is the record of a folder.
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
	movedSuffix  = ".aside" // where a built tree is while git forgets its worktree
)

// Begin takes up the folder of a run below root, or makes it. What an earlier part of the run has built is in it; what
// it was about to build is removed.
func Begin(ctx context.Context, root string, tree Tree, terms Terms) (*Builds, error) {
	dir := filepath.Join(root, terms.Run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir) // as git lists worktrees
	if err != nil {
		return nil, err
	}
	if terms.Trust != nil {
		if err := terms.Trust(dir); err != nil {
			return nil, err
		}
	}
	b, err := take(dir, tree, terms)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, &lab.Error{Kind: lab.Refused, What: "another process builds commits in " + dir}
	}
	b.AtStep("record the repository")
	if err := b.write(); err != nil {
		return nil, errors.Join(err, b.lock.Close())
	}
	if _, err := b.removeUnfinished(ctx); err != nil {
		return nil, errors.Join(err, b.lock.Close())
	}
	return b, nil
}

// take locks a folder; nil where another process holds it.
func take(dir string, tree Tree, terms Terms) (*Builds, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	// The lock of a process that was killed just now can be held for a moment by a child that it had begun to start.
	for end := time.Now().Add(lockTimeout); ; time.Sleep(20 * time.Millisecond) {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			break
		}
		if time.Now().After(end) {
			return nil, f.Close()
		}
	}
	if terms.AtStep == nil {
		terms.AtStep = func(string) {}
	}
	tree.mark = terms.Mark
	return &Builds{Terms: terms, tree: tree, dir: dir, lock: f}, nil
}

const lockTimeout = 500 * time.Millisecond

// write the record, so that whoever finds the folder knows whose worktrees are in it.
func (b *Builds) write() error {
	data, err := json.Marshal(buildRecord{Schema: schema, Run: b.Run, Repository: b.tree.Repository})
	if err != nil {
		return err
	}
	return writeSafely(filepath.Join(b.dir, recordFile), data)
}

// writeSafely has a file whole on disk, with its name, or not at all.
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
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Link is the path that leads to the commit that was entered last.
func (b *Builds) Link() string { return filepath.Join(b.dir, link) }

// Has says whether a commit is built.
func (b *Builds) Has(hash string) bool { return exists(b.path(hash) + buildsSuffix) }

func (b *Builds) path(hash string) string { return filepath.Join(b.dir, hash) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Enter has the link lead to a commit, which is built if it isn't yet. An error that is an *Unbuilt says that this
// commit can't be built.
func (b *Builds) Enter(ctx context.Context, hash string) error {
	if !b.Has(hash) {
		if err := b.make(ctx, hash); err != nil {
			return err
		}
	}
	if b.Trust != nil {
		if err := b.Trust(b.path(hash)); err != nil {
			return err
		}
	}
	now := time.Now()
	if err := os.Chtimes(b.path(hash)+buildsSuffix, now, now); err != nil {
		return err
	}
	next := b.Link() + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(hash, next); err != nil {
		return err
	}
	if err := os.Rename(next, b.Link()); err != nil {
		return err
	}
	return b.removeOldest(ctx)
}

// make a commit: check it out, build it, and take its worktree from git's list.
func (b *Builds) make(ctx context.Context, hash string) error {
	path := b.path(hash)
	b.AtStep("add the worktree " + hash)
	// An interruption would leave half of a worktree; checking out does not take long.
	if _, err := b.tree.shared().git(context.WithoutCancel(ctx), "worktree", "add", "--detach", "--force",
		path, hash); err != nil {
		return errors.Join(err, b.remove(ctx, hash))
	}
	b.AtStep("build " + hash)
	if err := b.build(ctx, hash); err != nil {
		return errors.Join(err, b.remove(ctx, hash))
	}
	b.AtStep("mark as built " + hash)
	if err := writeSafely(path+buildsSuffix, nil); err != nil {
		return err
	}
	if err := b.finishBuild(context.WithoutCancel(ctx), hash); err != nil {
		return err
	}
	// What the build wrote is not to be written out under the load.
	_, err := b.tree.target.Run(ctx, "sync", "-f", path)
	return err
}

// finishBuild a built commit: git forgets its worktree, and the folder stays. A crash at any line of it leaves what
// settling again mends.
func (b *Builds) finishBuild(ctx context.Context, hash string) error {
	path := b.path(hash)
	if exists(filepath.Join(path, ".git")) {
		b.AtStep("put aside " + hash)
		if err := os.Rename(path, path+movedSuffix); err != nil {
			return err
		}
	}
	if !exists(path + movedSuffix) {
		return nil
	}
	b.AtStep("forget the worktree " + hash)
	if err := b.pruneWorktree(ctx, path); err != nil {
		return err
	}
	b.AtStep("take back " + hash)
	if err := os.RemoveAll(filepath.Join(path+movedSuffix, ".git")); err != nil {
		return err
	}
	return os.Rename(path+movedSuffix, path)
}

// pruneWorktree has git take a worktree from its list, whether its folder is still there or not; then that goes too.
func (b *Builds) pruneWorktree(ctx context.Context, path string) error {
	if !exists(b.tree.Repository) { // the whole repository is gone
		return nil
	}
	list, err := b.tree.worktrees(ctx)
	if err != nil || !slices.Contains(list, path) {
		return err
	}
	_, err = b.tree.shared().git(ctx, "worktree", "remove", "--force", "--force", path)
	return err
}

// Drop a built commit that is of no use.
func (b *Builds) Drop(ctx context.Context, hash string) error {
	if !b.Has(hash) {
		return nil
	}
	return b.remove(ctx, hash)
}

// remove all of a commit, its mark first.
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
	// A build may leave folders that nobody may write to; git and rm both stop at them.
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

// hashes of all commits in the folder, built or not.
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

// removeUnfinished removes what was not built to its end, and settles the rest. It returns the commits that were
// removed.
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

// removeOldest removes the commits that were used longest ago, where there are more than are to be kept.
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

// Close ends the work with the folder. What was built is kept for a run that will go on, and removed for any other.
func (b *Builds) Close(ctx context.Context, keep bool) error {
	if keep {
		return b.lock.Close()
	}
	return errors.Join(b.removeAll(ctx), b.lock.Close())
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

// Unbuilt is the error of a commit that can't be built.
type Unbuilt struct {
	Commit string
	// Reason is how the build ended, with the last lines of what it said.
	Reason string
}

func (e *Unbuilt) Error() string { return fmt.Sprintf("%s can't be built: %s", e.Commit, e.Reason) }

// inFolder goes to a folder ($1) and becomes the command, with its errors among its output, in the order in which both
// came.
const inFolder = `cd -- "$1" && shift && exec "$@" 2>&1`

// build a commit that is checked out.
func (b *Builds) build(ctx context.Context, hash string) error {
	if len(b.Build) == 0 {
		return nil
	}
	b.jobs++
	spec := target.JobSpec{ID: fmt.Sprintf("%s-build%d-%d", b.Run, os.Getpid(), b.jobs),
		Argv: slices.Concat([]string{"sh", "-c", inFolder, "sh", b.path(hash)}, b.Build), Env: []string{b.Mark}}
	job, err := b.tree.target.Start(ctx, spec)
	if err != nil {
		return err
	}
	after := context.WithoutCancel(ctx)
	select {
	case <-job.Done():
	case <-ctx.Done():
		err := job.Kill(after, 3*time.Second)
		return errors.Join(&lab.Error{Kind: lab.Cancelled, What: "stopped", Err: context.Cause(ctx)},
			err, job.Remove(after))
	}
	state, err := job.Poll(after)
	if err != nil {
		return err
	}
	printed, err := job.Tail(after, "stdout", 1<<16)
	if err = errors.Join(err, job.Remove(after)); err != nil || state.ExitCode == 0 && state.Signal == "" {
		return err
	}
	if full := unix.ENOSPC.Error(); strings.Contains(strings.ToLower(string(printed)), full) {
		return &lab.Error{What: "building " + hash + " failed: " + full, Command: b.Build,
			Hints: []string{"free some space, then go on with --resume; --keep-built keeps fewer commits"}}
	}
	how := fmt.Sprintf("exit status %d", state.ExitCode)
	if state.Signal != "" {
		how = "signal: " + state.Signal
	}
	return &Unbuilt{Commit: hash, Reason: lab.ShellQuote(b.Build) + " ended with " + how + quoted(string(printed))}
}

// quoted are the last lines of a text.
func quoted(text string) string {
	printed := prose.LastLines(text, func(string) bool { return false })
	if printed == "" {
		return ", and printed nothing"
	}
	return ": " + printed
}
