// Package commits finds the commits between two commits of a git tree, and builds each in a private folder.
//
// The user's working tree, index, HEAD and branches are never changed. A commit is checked out into a separate worktree
// (git worktree add --detach), which is removed from git's list as soon as it is built: the result is a plain folder,
// so the user's repository has at most one additional worktree, and only during a build.
//
// The folder of a run, built/RUN in the store:
//
//	made.json        the repository, on disk before the first worktree is made; what locks the folder is at work on it
//	3f2a9c01b7de/    a commit: a worktree while it is built, then the built tree
//	3f2a9c01b7de.built   marks one that was built; its time is when it was last used
//	tree             a link to the commit that is measured
//
// Commits without a mark are useless and are removed, by the run itself or after a crash.
package commits
