// Package commits finds the commits between two of a git tree, and builds each in a folder of headroom's own.
//
// The user's working tree, index, HEAD and branches are never touched. A commit is checked out into a worktree of its
// own (git worktree add --detach), which is taken from git's list as soon as it is built: what is left is a plain
// folder, so that the user's repository has at most one worktree more than before, and only while something is built.
//
// The folder of a run, built/RUN in the store:
//
//	made.json        the repository, on disk before the first worktree is made; what locks the folder is at work on it
//	3f2a9c01b7de/    a commit: a worktree while it is built, then the built tree
//	3f2a9c01b7de.built   marks one that was built; its time is when it was last used
//	tree             a link to the commit that is measured
//
// Whatever has no mark is of no use and is removed, by the run itself or after a crash.
package commits
