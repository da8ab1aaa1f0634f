package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Abandoned is a run whose process was killed, with what it left on its targets.
type Abandoned struct {
	Run       lab.Run
	Leftovers lab.Leftovers
	dir       string
}

// Abandoned lists the runs that were cut off and not yet cleared. It removes the rests of bundles that were never
// finished, or were being deleted. What can't be trusted is left alone, and named in the error.
func (s *Store) Abandoned() ([]Abandoned, error) {
	entries, err := os.ReadDir(s.Folder.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	errs := []error{s.Folder.unreadable(err)}
	var found []Abandoned
	for _, e := range entries {
		dir := filepath.Join(s.Folder.runs(), e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			errs = append(errs, removeUnfinished(dir))
			continue
		}
		a, err := abandoned(dir)
		if errs = append(errs, err); a != nil {
			found = append(found, *a)
		}
	}
	return found, errors.Join(errs...)
}

// Active are the runs that a process is working on now. A run that can't be read is left out.
func (s *Store) Active() []*Bundle {
	ids, err := s.Folder.ids()
	if err != nil {
		return nil
	}
	var active []*Bundle
	for _, id := range ids {
		if !safepath.Locked(filepath.Join(s.Folder.runs(), id, activeName)) {
			continue
		}
		if b, err := s.Folder.bundle(id); err == nil {
			active = append(active, b)
		}
	}
	return active
}

// removeUnfinished removes a bundle that was never finished, or was being deleted.
func removeUnfinished(dir string) error {
	base := filepath.Base(dir)
	// A bundle that another process is making right now has its lock as the last step before the rename;
	// until then it is younger than any process that could have left it, so it is recognized by its age.
	if !strings.HasPrefix(base, ".removed-") && (!strings.HasPrefix(base, ".new-") || isBeingCreated(dir)) {
		return nil
	}
	if err := Trust(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// abandoned reads the leftovers of the run in a folder. It returns nil for a run that left none, or is active.
func abandoned(dir string) (*Abandoned, error) {
	name := filepath.Join(dir, activeName)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if safepath.Locked(name) {
		return nil, nil
	}
	for _, file := range []string{name, filepath.Join(dir, headerName)} {
		if err := Trust(file); err != nil {
			return nil, err
		}
	}
	run, err := readHeader(dir)
	if err != nil {
		return nil, err
	}
	damaged := func(what string) error {
		return &lab.Error{What: "damaged: " + name + " " + what,
			Hints: []string{"inspect it, and remove it by hand"}}
	}
	if run.ID != filepath.Base(dir) || !validID(run.ID) {
		return nil, damaged(fmt.Sprintf("is beside the header of run %q", run.ID))
	}
	a := Abandoned{Run: run, dir: dir}
	data, err := readHead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // its process has ended it meanwhile
	}
	if err != nil || json.Unmarshal(data, &a.Leftovers) != nil || a.Leftovers.Jobs == "" {
		a.Leftovers = leftoversOf(run) // cut off before it was written, or in the midst
	}
	if strange, found := invalidName(run.ID, a.Leftovers); found {
		return nil, damaged(fmt.Sprintf("names %q, which is nothing that run %s could have left", strange, run.ID))
	}
	return &a, nil
}

// invalidName finds a name among leftovers that headroom would not have given. Jobs, scratch files and folders of a run
// have its id in their names, and so does what it left on one of several targets: "headroom-ID.scratch",
// "headroom-ID-ROLE.work".
func invalidName(id string, left lab.Leftovers) (name string, found bool) {
	of := func(owner string) bool { return owner == id || strings.HasPrefix(owner, id+"-") }
	for _, part := range left.Parts("") {
		if !of(part.Jobs) || strings.ContainsAny(part.Jobs, "/\x00") {
			return part.Jobs, true
		}
		for _, name := range part.Tracers {
			if owner, begins := strings.CutPrefix(name, "headroom-"); !begins || !of(owner) ||
				strings.ContainsAny(name, "/\x00") {
				return name, true
			}
		}
		for suffix, names := range map[string][]string{".scratch": part.Scratch, ".work": part.Folders} {
			for _, name := range names {
				owner, begins := strings.CutPrefix(filepath.Base(name), "headroom-")
				owner, ends := strings.CutSuffix(owner, suffix)
				if !begins || !ends || !of(owner) || !filepath.IsAbs(name) || filepath.Clean(name) != name {
					return name, true
				}
			}
		}
	}
	return "", false
}

// leftoversOf returns what every run may leave, for a run without a record of it: jobs, on each of its targets.
func leftoversOf(run lab.Run) lab.Leftovers {
	left := lab.Leftovers{Jobs: run.ID}
	if run.Profile != nil {
		left.Tracers = []string{"headroom-" + run.ID + "-"}
	}
	for i, t := range run.Targets {
		part := left
		part.Target, part.Others = t.Target, nil
		if i == 0 {
			left.Target = t.Target
		}
		left = left.With(part)
	}
	return left
}

// Clear marks an abandoned run as interrupted, once what it left has been removed.
func (s *Store) Clear(a Abandoned) error {
	if err := removeUncommitted(a.dir); err != nil {
		return err
	}
	w := Writer{folder: s.Folder, saver: s.saver, dir: a.dir, run: a.Run}
	err := w.Update(func(r *lab.Run) {
		if r.Status == lab.Running {
			r.Status = lab.Interrupted
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(removeProgress(a.dir), os.Remove(filepath.Join(a.dir, activeName)))
}

// isBeingCreated reports whether a bundle under construction may still belong to a living process. Making one takes
// milliseconds, so a minute is beyond doubt.
func isBeingCreated(dir string) bool {
	if safepath.Locked(filepath.Join(dir, activeName)) {
		return true
	}
	var st unix.Stat_t
	var now unix.Timespec
	if unix.Stat(dir, &st) != nil || unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return true
	}
	return now.Sec-st.Mtim.Sec < 60
}
