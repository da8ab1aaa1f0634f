package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/safepath"
)

// heldScratch is a scratch file that is open as long as it is used, where others can put something else under its name.
type heldScratch struct {
	folder *safepath.Folder
	file   *os.File
	info   fs.FileInfo
}

func (h *heldScratch) close() error { return errors.Join(h.file.Close(), h.folder.Close()) }

// inPlace reports whether the file still has its name.
func (h *heldScratch) inPlace(name string) bool { return h.folder.Holds(filepath.Base(name), h.info) }

// scratchFile is the file that the loads of a directory work on. One without a path is never made.
type scratchFile struct {
	target host.Target
	dir    string
	path   string
	size   int64
	// shared means that another session has laid it out, and removes it.
	shared bool
	// access is what other users can do in the directory.
	access workspace.Access
	// made means that it was made before the first load, because others can make names in the directory.
	made bool
	// held is the file where it is held open, and inode its number where it was.
	held  *heldScratch
	inode uint64
}

func newScratchFile(m Measurement) *scratchFile {
	f := &scratchFile{target: m.Target, dir: m.Place.Path, size: m.Scratch, shared: m.SharedScratch != nil}
	switch {
	case m.Place.Kind != lab.Directory:
	case f.shared:
		f.path = filepath.Join(f.dir, m.SharedScratch.Name)
	default:
		f.path = workspace.ScratchFile(f.dir, m.ownerName())
	}
	return f
}

// readAccess finds out what other users can do in the directory.
func (s *scratchFile) readAccess(ctx context.Context) (err error) {
	if s.path != "" {
		s.access, err = workspace.ReadAccess(ctx, s.target, s.dir)
	}
	return err
}

// passedName returns the name by which a load generator gets the file: the descriptor of a file that is held open,
// wherever its path leads.
func (s *scratchFile) passedName() string {
	if s.held == nil {
		return s.path
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.held.file.Fd())
}

// make makes the scratch file before a load does, where other users could take its name. It has its size, so that fio
// has no reason to make another one. A file that stays open is a step of the preparation.
func (s *scratchFile) make(ctx context.Context, p *preparation) error {
	if !s.access.Shared || s.made || s.shared {
		return nil
	}
	if !s.access.Local {
		return s.makeRemotely(ctx)
	}
	folder, err := safepath.OpenFolder(s.dir)
	if err != nil {
		return s.cantMake(err)
	}
	file, err := folder.Create(filepath.Base(s.path))
	if err != nil {
		return s.cantMake(errors.Join(err, folder.Close()))
	}
	s.made = true
	s.held = &heldScratch{folder: folder, file: file}
	if s.held.info, err = file.Stat(); err == nil {
		err = file.Truncate(s.size)
	}
	if err != nil {
		return s.cantMake(err)
	}
	if s.access.Unsafe == nil {
		return s.release()
	}
	p.did = append(p.did, fmt.Sprintf("hold %s open, and hand it to fio as %s, because %s", s.path, s.passedName(),
		s.access.Unsafe))
	return nil
}

func (s *scratchFile) cantMake(err error) error {
	e := &lab.Error{What: "can't make the scratch file " + s.path, Target: host.RemoteName(s.target), Err: err}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Hints = []string{"another user or program made a file with that name: find out which, and remove it"}
	case errors.Is(err, syscall.ENOSPC):
		e.Hints = []string{"free some space, or take a smaller file with --size"}
	}
	return e
}

// makeScript makes a file of a size, unless its name is taken. A POSIX shell makes it with O_EXCL (noclobber), and dd
// is on every machine that has one.
const makeScript = `umask 077; set -C; : >"$1" && exec dd if=/dev/null of="$1" bs=1 count=0 seek="$2"`

// makeRemotely makes the scratch file on another machine.
func (s *scratchFile) makeRemotely(ctx context.Context) error {
	argv := []string{"sh", "-c", makeScript, "sh", s.path, strconv.FormatInt(s.size, 10)}
	out, err := s.target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't make the scratch file " + s.path, Target: host.RemoteName(s.target),
			Output: lab.HeadLines(string(out.Stderr), 3)}
	}
	s.made = err == nil
	return err
}

// reset removes what is left of a scratch file before it is made again.
func (s *scratchFile) reset(ctx context.Context) error {
	if !s.made {
		return nil
	}
	s.made, s.inode = false, 0
	_, err := workspace.RemoveScratch(ctx, s.target, s.path)
	return err
}

// remove deletes the scratch file. The space of one that is held is free afterwards, wherever its name is.
func (s *scratchFile) remove(ctx context.Context) error {
	if s.held == nil || s.shared {
		err := s.release()
		if s.path == "" || s.shared {
			return err
		}
		_, failed := workspace.RemoveScratch(ctx, s.target, s.path)
		return errors.Join(err, failed)
	}
	if err := workspace.Answers(ctx, s.target, s.path); err != nil {
		return err
	}
	h := s.held
	s.held = nil
	err := h.file.Truncate(0)
	if h.inPlace(s.path) {
		_, failed := h.folder.Remove(filepath.Base(s.path))
		return errors.Join(failed, h.close())
	}
	return errors.Join(s.replaced(), err, h.close())
}

// open opens a scratch file that is there already, where others could put something else under its name. It reports
// whether it is the one that was held before, or the first.
func (s *scratchFile) open() (bool, error) {
	if s.access.Unsafe == nil || !s.access.Local || s.held != nil {
		return true, nil
	}
	folder, err := safepath.OpenFolder(s.dir)
	if err != nil {
		return false, err
	}
	file, err := folder.Open(filepath.Base(s.path))
	if err != nil {
		return false, errors.Join(err, folder.Close())
	}
	s.held = &heldScratch{folder: folder, file: file}
	if s.held.info, err = file.Stat(); err != nil {
		return false, err
	}
	now := inode(s.held.info)
	same := s.inode == 0 || s.inode == now
	s.inode = now
	return same, nil
}

// inode of a file. It outlasts a mount, which the number of its device does not.
func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// release closes a scratch file that is held: what is open on a file system keeps it from being mounted again.
func (s *scratchFile) release() error {
	if s.held == nil {
		return nil
	}
	h := s.held
	s.inode, s.held = inode(h.info), nil
	return h.close()
}

// checkSame fails where another user has put something else under the name of a scratch file that is held. Loads would
// still work on the held file, but it is no longer in the place under test.
func (s *scratchFile) checkSame() error {
	if s.held == nil || s.held.inPlace(s.path) {
		return nil
	}
	return s.replaced()
}

func (s *scratchFile) replaced() error {
	return &lab.Error{Kind: lab.Refused, What: "another user or program has replaced " +
		s.path + ", or removed it",
		Hints: []string{s.access.Unsafe.Error() + ": find out who did that",
			"measure in a directory that no other user can change: install -d -m 755 DIR"}}
}
