package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Leftover is a journal that no process works on: the process that made it was killed, or could not undo everything.
type Leftover struct {
	Path, ID, Target string
	// Factors whose changes are not undone, in the order in which they were made.
	Factors []string
}

// Pending lists the journals in a folder that no process works on, and removes those that were never finished. If trust
// returns an error for a journal, that one is not read, and the error is returned.
func Pending(dir string, trust func(name string) error) ([]Leftover, error) {
	paths, err := safepath.Records(dir, func(name string) bool {
		return isUnfinished(name) || strings.HasSuffix(name, suffix)
	}, trust)
	errs := []error{err}
	var found []Leftover
	for _, path := range paths {
		switch {
		case isUnfinished(filepath.Base(path)):
			errs = append(errs, removeUnfinished(path))
		case !safepath.Locked(path):
			r, err := read(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // its process has undone it all meanwhile
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			found = append(found, Leftover{Path: path, ID: r.head.ID, Target: r.head.Target, Factors: r.factors()})
		}
	}
	return found, errors.Join(errs...)
}

func isUnfinished(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".new")
}

// removeUnfinished removes a journal that a killed process did not finish making. Nothing was changed: that waits until
// a journal has its name.
func removeUnfinished(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = safepath.Unlock(f) }()
	switch err := safepath.Lock(f, path); {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, fs.ErrNotExist):
		return nil // another process makes it, or has just finished it
	case err != nil:
		return err
	}
	return os.Remove(path)
}

// Load opens a journal that was left, to undo it on its target. A journal that another process works on is refused.
func Load(path string, t host.Target) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	switch err := safepath.Lock(f, path); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errors.Join(&lab.Error{Kind: lab.Refused, What: "the changes of " + idOf(path) +
			" belong to another process that is still running"}, f.Close())
	case err != nil: // whoever held the lock until now may have undone it all and removed the file
		return nil, errors.Join(err, safepath.Unlock(f))
	}
	r, err := read(path)
	if err != nil {
		return nil, errors.Join(err, safepath.Unlock(f))
	}
	if name := t.Name(); r.head.Target != "" && name != r.head.Target {
		return nil, errors.Join(fmt.Errorf("%s is about %s, not %s", path, r.head.Target, name), safepath.Unlock(f))
	}
	r.file, r.atStep = f, func(string) {}
	j := newJournal(r, t)
	j.writer.unsure, j.locker.unsure = true, true
	return j, r.truncateUnfinished()
}

// truncateUnfinished removes a half-written last line, so that the next line is one.
func (r *record) truncateUnfinished() error {
	data, err := os.ReadFile(r.path)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole == len(data) {
		return nil
	}
	return errors.Join(r.file.Truncate(int64(whole)), r.file.Sync())
}

func read(path string) (*record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r.path = path
	if r.head.ID == "" {
		r.head.ID = idOf(path)
	}
	return r, nil
}

// parse reads the lines of a journal. A half-written last line is what a crash leaves: of a change, it was not begun;
// of anything else, it is done again.
func parse(data []byte) (*record, error) {
	r := &record{}
	if whole := bytes.LastIndexByte(data, '\n') + 1; whole < len(data) {
		data = data[:whole]
	}
	first := true
	for line := range bytes.Lines(data) {
		if first {
			first = false
			if err := json.Unmarshal(line, &r.head); err != nil || r.head.Schema != changesSchema {
				return nil, fmt.Errorf("not a journal of this version: %.60q", line)
			}
			continue
		}
		var both struct {
			step
			Did string `json:"did"`
		}
		if err := json.Unmarshal(line, &both); err != nil || both.Seq <= 0 || both.Did == "" && !both.whole() {
			r.damaged = append(r.damaged, strings.TrimSpace(string(line)))
			continue
		}
		r.seq = max(r.seq, both.Seq)
		r.replay(both.step, both.Did)
	}
	return r, nil
}

// whole reports whether the line of a change has enough to undo it.
func (s *step) whole() bool {
	if s.isOnce() {
		return s.Spots[0].Commands != nil && len(s.Spots[0].Commands.Undo) > 0
	}
	return len(s.Spots) > 0
}

// replay takes a line into account.
func (r *record) replay(s step, did string) {
	if did == "" {
		r.open = append(r.open, &s)
		return
	}
	for i, o := range r.open {
		if o.Seq != s.Seq {
			continue
		}
		if did == applied {
			o.applied = true
		} else {
			r.open = append(r.open[:i], r.open[i+1:]...)
		}
		return
	}
}
