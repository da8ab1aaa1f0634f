package commits

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Tree is a git tree of a target.
type Tree struct {
	target host.Target
	// Dir is the folder of the tree that was named, which determines HEAD. Repository is shared by all worktrees of the
	// tree.
	Dir, Repository string
	// mark is a variable in the environment of git, so that git can be found if its headroom was killed; empty for
	// none.
	mark string
}

// Commit is a commit of a tree.
type Commit struct {
	// Hash, abbreviated to at least twelve digits.
	Hash    string
	Subject string
}

// Open finds the tree that a folder is in.
func Open(ctx context.Context, t host.Target, dir string) (Tree, error) {
	tree := Tree{target: t, Dir: dir}
	repository, err := tree.git(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		var hints []string
		if e, ok := errors.AsType[*lab.Error](err); ok && strings.Contains(e.Output, "dubious ownership") {
			hints = []string{"the tree belongs to another user: measure as that user, or let git trust it (git " +
				"config --global --add safe.directory)"}
		}
		return Tree{}, &lab.Error{Kind: lab.Usage, What: dir + " is in no git tree", Err: err, Output: outputOf(err),
			Hints: append(hints, "name one with --tree")}
	}
	tree.Repository = repository
	return tree, nil
}

func outputOf(err error) string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.Output
	}
	return ""
}

// git runs git in the tree and returns its output, without the end of the last line. Variables that name another tree
// are removed, and no hook is run: both could affect files that are not headroom's.
func (t Tree) git(ctx context.Context, args ...string) (string, error) {
	argv := []string{"env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE", "-u", "GIT_PREFIX"}
	if t.mark != "" {
		argv = append(argv, t.mark)
	}
	argv = append(argv, "git", "-C", t.Dir, "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c",
		"maintenance.auto=false")
	out, err := t.target.Run(ctx, append(argv, args...)...)
	if err != nil {
		return "", err
	}
	if out.ExitCode != 0 {
		printed := strings.TrimSpace(string(out.Stderr))
		hint := []string(nil)
		if strings.Contains(printed, "No such file or directory") && strings.HasPrefix(printed, "env: ") {
			hint = []string{"install git"}
		}
		return "", &lab.Error{What: "git " + args[0] + " failed",
			Command: append([]string{"git", "-C", t.Dir}, args...), Output: printed, Hints: hint}
	}
	return strings.TrimSuffix(string(out.Stdout), "\n"), nil
}

// format of a commit in a log: the abbreviated hash, a space, the subject.
const format = "--format=%h %s"

// Between returns the commits of a range GOOD..BAD, as git interprets it, along the first parents, the oldest first,
// preceded by GOOD. A merge is one step with all changes of its branch.
func (t Tree) Between(ctx context.Context, good, bad string) ([]Commit, error) {
	var hashes []string
	for _, name := range []string{good, bad} {
		if strings.HasPrefix(name, "-") {
			return nil, &lab.Error{Kind: lab.Usage, What: name + " is the name of no commit"}
		}
		hash, err := t.git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s names no commit in %s", name, t.Dir),
				Output: outputOf(err), Hints: []string{"git log shows those that there are"}}
		}
		hashes = append(hashes, hash)
	}
	if _, err := t.git(ctx, "merge-base", "--is-ancestor", hashes[0], hashes[1]); err != nil {
		return nil, &lab.Error{Kind: lab.Usage,
			What:  fmt.Sprintf("%s did not come of %s, so that no commits lead from one to the other", bad, good),
			Hints: []string{fmt.Sprintf("git merge-base %s %s names the commit at which they parted", good, bad)}}
	}
	first, err := t.git(ctx, "log", "-1", "--no-show-signature", "--no-color", "--abbrev=12", format, hashes[0], "--")
	if err != nil {
		return nil, err
	}
	rest, err := t.git(ctx, "log", "--first-parent", "--reverse", "--no-show-signature", "--no-color", "--abbrev=12",
		format, hashes[0]+".."+hashes[1], "--")
	if err != nil {
		return nil, err
	}
	var all []Commit
	for line := range strings.Lines(first + "\n" + rest) {
		hash, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if hash != "" {
			all = append(all, Commit{Hash: hash, Subject: strings.ToValidUTF8(subject, "?")})
		}
	}
	return all, nil
}

// shared returns the tree with its repository as the folder, from which worktrees are added and removed: the folder
// that was named can itself be a worktree that no longer exists.
func (t Tree) shared() Tree {
	t.Dir = t.Repository
	return t
}

// worktrees returns the worktrees of the repository, as git lists them:
//
//	worktree /srv/src
//	HEAD 3f2a9c01b7de…
//	branch refs/heads/main
func (t Tree) worktrees(ctx context.Context) ([]string, error) {
	text, err := t.shared().git(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "worktree "); ok {
			list = append(list, filepath.Clean(path))
		}
	}
	return list, nil
}
