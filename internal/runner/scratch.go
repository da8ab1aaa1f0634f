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

// inPlace says whether the file still has its name.
func (h *heldScratch) inPlace(name string) bool { return h.folder.Holds(filepath.Base(name), h.info) }

// filename is what loads are pointed at: the scratch file, the device, or nothing.
func (s *Session) filename() string {
	if s.Place.Kind == lab.Device {
		return s.Place.Resolved
	}
	return s.scratch
}

// passedFilename is filename as the load generator gets it: the descriptor of a file that is held open, wherever its
// path leads.
func (s *Session) passedFilename() string {
	if s.held == nil {
		return s.filename()
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.held.file.Fd())
}

// makeScratch makes the scratch file before a load does, where other users could take its name. It has its size, so
// that fio has no reason to make another one.
func (s *Session) makeScratch(ctx context.Context) error {
	if !s.dirAccess.Shared || s.scratchMade || s.SharedScratch != nil {
		return nil
	}
	if !s.dirAccess.Local {
		return s.makeRemoteScratch(ctx)
	}
	name := filepath.Base(s.scratch)
	folder, err := safepath.OpenFolder(s.Place.Path)
	if err != nil {
		return s.cantMake(err)
	}
	file, err := folder.Create(name)
	if err != nil {
		return s.cantMake(errors.Join(err, folder.Close()))
	}
	s.scratchMade = true
	s.held = &heldScratch{folder: folder, file: file}
	if s.held.info, err = file.Stat(); err == nil {
		err = file.Truncate(s.Scratch)
	}
	if err != nil {
		return s.cantMake(err)
	}
	if s.dirAccess.Unsafe == nil {
		return s.releaseScratch()
	}
	s.entrySteps = append(s.entrySteps, fmt.Sprintf("hold %s open, and hand it to fio as %s, because %s", s.scratch,
		s.passedFilename(), s.dirAccess.Unsafe))
	return nil
}

func (s *Session) cantMake(err error) error {
	e := &lab.Error{What: "can't make the scratch file " + s.scratch, Target: host.RemoteName(s.Target), Err: err}
	switch {
	case errors.Is(err, fs.ErrExist):
		e.Hints = []string{"somebody has put something under that name: look who, and remove it"}
	case errors.Is(err, syscall.ENOSPC):
		e.Hints = []string{"free some space, or take a smaller file with --size"}
	}
	return e
}

// makeScript makes a file of a size, for which nobody has taken the name. A POSIX shell makes it with O_EXCL
// (noclobber), and dd is on every machine that has one.
const makeScript = `umask 077; set -C; : >"$1" && exec dd if=/dev/null of="$1" bs=1 count=0 seek="$2"`

// makeRemoteScratch makes the scratch file on another machine.
func (s *Session) makeRemoteScratch(ctx context.Context) error {
	argv := []string{"sh", "-c", makeScript, "sh", s.scratch, strconv.FormatInt(s.Scratch, 10)}
	out, err := s.Target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't make the scratch file " + s.scratch, Target: host.RemoteName(s.Target),
			Output: lab.HeadLines(string(out.Stderr), 3)}
	}
	s.scratchMade = err == nil
	return err
}

// resetScratch removes what is left of a scratch file before it is made again.
func (s *Session) resetScratch(ctx context.Context) error {
	if !s.scratchMade {
		return nil
	}
	s.scratchMade, s.inode = false, 0
	_, err := workspace.RemoveScratch(ctx, s.Target, s.scratch)
	return err
}

// removeScratch deletes the session's scratch file. The space of one that is held is free afterwards, wherever its name
// is.
func (s *Session) removeScratch(ctx context.Context) error {
	if s.held == nil || s.SharedScratch != nil {
		err := s.releaseScratch()
		if s.scratch == "" || s.SharedScratch != nil {
			return err
		}
		_, failed := workspace.RemoveScratch(ctx, s.Target, s.scratch)
		return errors.Join(err, failed)
	}
	if err := workspace.Answers(ctx, s.Target, s.scratch); err != nil {
		return err
	}
	h := s.held
	s.held = nil
	err := h.file.Truncate(0)
	if h.inPlace(s.scratch) {
		_, failed := h.folder.Remove(filepath.Base(s.scratch))
		return errors.Join(failed, h.close())
	}
	return errors.Join(s.replaced(), err, h.close())
}

// openScratch opens a scratch file that is there already, where others could put something else under its name. It says
// whether it is the one that was held before, or the first.
func (s *Session) openScratch() (bool, error) {
	if s.dirAccess.Unsafe == nil || !s.dirAccess.Local || s.held != nil || s.layout.Kind != written {
		return true, nil
	}
	folder, err := safepath.OpenFolder(s.Place.Path)
	if err != nil {
		return false, err
	}
	file, err := folder.Open(filepath.Base(s.scratch))
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

// releaseScratch closes a scratch file that is held: what is open on a file system keeps it from being mounted again.
func (s *Session) releaseScratch() error {
	if s.held == nil {
		return nil
	}
	h := s.held
	s.inode, s.held = inode(h.info), nil
	return h.close()
}

// checkSameScratch refuses to go on where somebody has put something else under the name of a scratch file that is
// held. The load would not follow it, but what it leads to is nothing that was measured.
func (s *Session) checkSameScratch() error {
	if s.held == nil || s.held.inPlace(s.scratch) {
		return nil
	}
	return s.replaced()
}

func (s *Session) replaced() error {
	return &lab.Error{Kind: lab.Refused, What: "somebody has put something else in the place of " +
		s.scratch + ", or removed it",
		Hints: []string{s.dirAccess.Unsafe.Error() + ": find out who did that",
			"measure in a directory that nobody else can change: install -d -m 755 DIR"}}
}
