package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"headroom/internal/lab"
)

// Abandoned is a run whose process was killed, with what it left on its targets.
type Abandoned struct {
	Run  lab.Run
	Left lab.Leftovers
	dir  string
}

// Abandoned lists the runs that were cut off and not yet cleared, and removes the rests of bundles that never came to
// be or were being deleted.
func (s *Store) Abandoned() ([]Abandoned, error) {
	half, err := filepath.Glob(filepath.Join(s.runs(), ".*"))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, dir := range half {
		base := filepath.Base(dir)
		// A bundle that another process is making right now has its lock as the last step before the rename;
		// until then it is younger than any process that could have left it, so it is told by the clock.
		if strings.HasPrefix(base, ".removed-") || strings.HasPrefix(base, ".new-") && !beingMade(dir) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	active, err := filepath.Glob(filepath.Join(s.runs(), "*", activeName))
	errs = append(errs, err)
	var found []Abandoned
	for _, name := range active {
		if locked(name) {
			continue
		}
		dir := filepath.Dir(name)
		run, err := readHeader(dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		a := Abandoned{Run: run, dir: dir}
		if data, err := os.ReadFile(name); err != nil || json.Unmarshal(data, &a.Left) != nil || a.Left.Jobs == "" {
			a.Left = anywhere(run) // cut off before it was written, or in the midst
		}
		found = append(found, a)
	}
	return found, errors.Join(errs...)
}

// anywhere is what can be looked for when nobody knows what was left: the jobs of the run, on each of its targets.
func anywhere(run lab.Run) lab.Leftovers {
	left := lab.Leftovers{Jobs: run.ID}
	for i, t := range run.Targets {
		if i == 0 {
			left.Target = t.Target
		}
		left = left.With(lab.Leftovers{Target: t.Target, Jobs: run.ID})
	}
	return left
}

// Clear marks an abandoned run as interrupted, once what it left has been removed.
func (s *Store) Clear(a Abandoned) error {
	if err := removeUncommitted(a.dir); err != nil {
		return err
	}
	w := Writer{store: s, dir: a.dir, run: a.Run}
	err := w.Update(func(r *lab.Run) {
		if r.Status == lab.Running {
			r.Status = lab.Interrupted
		}
	})
	if err != nil {
		return err
	}
	return os.Remove(filepath.Join(a.dir, activeName))
}

func locked(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// beingMade says whether a bundle under construction may still belong to a living process. Making one takes
// milliseconds, so a minute is beyond doubt.
func beingMade(dir string) bool {
	if locked(filepath.Join(dir, activeName)) {
		return true
	}
	var st unix.Stat_t
	var now unix.Timespec
	if unix.Stat(dir, &st) != nil || unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return true
	}
	return now.Sec-st.Mtim.Sec < 60
}
