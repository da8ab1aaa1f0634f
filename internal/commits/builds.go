package commits

import (
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

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/safepath"
)

// Terms are the parameters of building.
type Terms struct {
	// Run is the ID of the run that measures.
	Run string
	// Build is the command to run in the folder of a commit; empty if nothing is to build.
	Build []string
	// Kept is the maximum number of built commits to keep.
	Kept int
	// Mark is a variable in the environment of all started processes, "NAME=value", by which they are found after a
	// crash.
	Mark string
	// End ends the processes that have the mark or work in this folder.
	End func(ctx context.Context, folder string) error
	// Trust returns an error if others could have created the contents of a folder.
	Trust func(name string) error
	// AtStep is called before each step that leaves files behind, with its name. Tests use it to end the process there.
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

// Begin opens the folder of a run below root, or creates it. Commits that an earlier part of the run has built are in
// it; unfinished builds are removed.
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
		return nil, errors.Join(err, safepath.Unlock(b.lock))
	}
	if _, err := b.removeUnfinished(ctx); err != nil {
		return nil, errors.Join(err, safepath.Unlock(b.lock))
	}
	return b, nil
}

// Link returns the path of the link to the current commit.
func (b *Builds) Link() string { return filepath.Join(b.dir, link) }

// Has reports whether a commit is built.
func (b *Builds) Has(hash string) bool { return exists(b.path(hash) + buildsSuffix) }

func (b *Builds) path(hash string) string { return filepath.Join(b.dir, hash) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Enter makes the link lead to a commit, which is built if needed. An error that is an *Unbuilt means that this commit
// can't be built.
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

// make makes a commit: it checks it out, builds it, and removes its worktree from git's list.
func (b *Builds) make(ctx context.Context, hash string) error {
	path := b.path(hash)
	b.AtStep("add the worktree " + hash)
	// An interruption would leave an incomplete worktree; checking out does not take long.
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
	// The files of the build must not be written back during the load.
	_, err := b.tree.target.Run(ctx, "sync", "-f", path)
	return err
}

// finishBuild finishes a built commit: git's list of worktrees drops it, and the folder stays. After a crash at any
// line, calling it again completes the work.
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

// Close ends the work with the folder. The built commits are kept for a run that will be resumed, and removed for any
// other.
func (b *Builds) Close(ctx context.Context, keep bool) error {
	if keep {
		return safepath.Unlock(b.lock)
	}
	return errors.Join(b.removeAll(ctx), safepath.Unlock(b.lock))
}

// Unbuilt is the error of a commit that can't be built.
type Unbuilt struct {
	Commit string
	// Reason is how the build ended, with the last lines of its output.
	Reason string
}

func (e *Unbuilt) Error() string { return fmt.Sprintf("%s can't be built: %s", e.Commit, e.Reason) }

// inFolder changes to a folder ($1) and executes the command, with its errors in its output, in their original order.
const inFolder = `cd -- "$1" && shift && exec "$@" 2>&1`

// build builds a commit that is checked out.
func (b *Builds) build(ctx context.Context, hash string) error {
	if len(b.Build) == 0 {
		return nil
	}
	b.jobs++
	spec := host.JobSpec{ID: fmt.Sprintf("%s-build%d-%d", b.Run, os.Getpid(), b.jobs),
		Argv: slices.Concat([]string{"sh", "-c", inFolder, "sh", b.path(hash)}, b.Build), Env: []string{b.Mark}}
	stop := func(after context.Context, job host.Job) error {
		return errors.Join(&lab.Error{Kind: lab.Cancelled, What: "stopped", Err: context.Cause(ctx)},
			job.Kill(after, 3*time.Second))
	}
	state, printed, err := host.RunJob(ctx, b.tree.target, spec, "stdout", stop)
	if err != nil || state.ExitCode == 0 && state.Signal == "" {
		return err
	}
	if full := unix.ENOSPC.Error(); strings.Contains(strings.ToLower(string(printed)), full) {
		return &lab.Error{What: "building " + hash + " failed: " + full, Command: b.Build,
			Hints: []string{"free some space, then continue with --resume; --keep-built keeps fewer commits"}}
	}
	how := fmt.Sprintf("exit status %d", state.ExitCode)
	if state.Signal != "" {
		how = "signal: " + state.Signal
	}
	return &Unbuilt{Commit: hash, Reason: lab.ShellQuote(b.Build) + " ended with " + how + quoted(string(printed))}
}

// quoted returns the last lines of a text.
func quoted(text string) string {
	printed := prose.LastLines(text, func(string) bool { return false })
	if printed == "" {
		return ", and printed nothing"
	}
	return ": " + printed
}

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
