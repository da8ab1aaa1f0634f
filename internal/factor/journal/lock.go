package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Holder is the run that has locked a setting.
type Holder struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
	// Host and Process of the headroom that carries the run out. Its machine need not be the one with the setting.
	Host    string `json:"host"`
	Process int    `json:"process"`
	// Journal is the file there with the old values.
	Journal string `json:"journal"`
}

// Held is the error of a setting that another run has locked.
type Held struct {
	Holder
	// Lock is the path of the lock, on the target of that name: the target that has the setting, or this machine.
	Lock, Target string
	// Dead is true if no process carries the run out any more, so that its recovery has to be asked for.
	Dead bool
}

func (h *Held) Error() string {
	return fmt.Sprintf("run %s has been changing it since %s: %s", h.ID, h.Started.Local().Format(time.DateTime),
		h.Command)
}

// Lock keeps other runs from changing settings until the journal is closed: runs of any store and of any user, on the
// machine that has the settings. If another run has locked any of them, it locks none and returns a *Held. The lock of
// a killed run is removed only by the recovery of that run: the setting is still changed.
func (j *Journal) Lock(ctx context.Context, settings ...scheme.Setting) error {
	return j.locker.lock(ctx, settings)
}

// locker locks settings for a journal.
type locker struct {
	writer *writer
	// at is where the locks are: on the machine that has the settings. Other machines and containers do not see the
	// memory of a container, so its locks are here.
	at     host.Target
	holder Holder
	// locked are the keys of the spots that are locked, and unsure is set when locks can be there that are not among
	// them: a killed headroom's.
	locked map[string]bool
	unsure bool
	// namespaces are the numbers of the target's, by their kinds.
	namespaces map[string]string
}

func newLocker(r *record, w *writer) *locker {
	at := w.target
	if _, container := at.(host.SharesKernel); container {
		at = host.NewLocal(filepath.Dir(r.path))
	}
	name, _ := os.Hostname() // an error here would help no user
	path, err := filepath.Abs(r.path)
	if err != nil {
		path = r.path
	}
	return &locker{writer: w, at: at, locked: map[string]bool{}, namespaces: map[string]string{},
		holder: Holder{ID: r.head.ID, Started: r.head.Created.Truncate(time.Second), Host: name,
			Process: r.head.Process, Journal: path}}
}

func (l *locker) lock(ctx context.Context, settings []scheme.Setting) error {
	factors := map[string]string{}
	var spots []spot.Spot
	for _, s := range settings {
		for _, p := range without(slices.Concat(s.Spots, s.Companions), nil) {
			if p.Kind == spot.OnceDone || l.locked[p.Key()] {
				continue
			}
			if _, twice := factors[p.Key()]; !twice {
				factors[p.Key()] = s.Factor
				spots = append(spots, p)
			}
		}
	}
	if len(spots) == 0 {
		return nil
	}
	names, err := l.names(ctx, spots)
	if err != nil {
		return l.writer.unreachable(err)
	}
	for tries := 1; ; tries++ {
		l.writer.atStep("lock settings")
		made, locks, err := l.take(ctx, names)
		if err != nil {
			return err
		}
		missing, other := l.sort(names, locks)
		switch {
		case other == nil && missing < 0:
			for _, s := range spots {
				l.locked[s.Key()] = true
			}
			return nil
		case other == nil && tries < maxTries:
			continue // another run had it until now
		}
		err = l.remove(ctx, made)
		if other == nil {
			return errors.Join(&lab.Error{What: factors[spots[missing].Key()] + " can't be locked against other runs",
				Target: host.RemoteName(l.writer.target),
				Hints:  []string{"a folder in memory that can be written to is needed there: /run or /dev/shm"}}, err)
		}
		is := l.stateOf(*other)
		if err == nil && (is == orphaned && tries < maxTries || is == abandoned && tries < killedAfter) {
			continue // it may be ending: a run removes its locks, then its journal
		}
		name := factors[spots[slices.Index(names, filepath.Base(other.path))].Key()]
		return errors.Join(l.refuse(name, *other, is), err)
	}
}

// maxTries is how often settings are locked while other runs end.
const maxTries = 20

// killedAfter is the number of tries after which a lock without a process counts as one of a killed run. A run that
// ended normally may have removed its lock after the lock was listed.
const killedAfter = 3

// sort returns the index of the first name that this run has not locked, -1 if there is none, and the first lock of
// another run.
func (l *locker) sort(names []string, locks []lock) (missing int, other *lock) {
	own := map[string]bool{}
	for _, there := range locks {
		name := filepath.Base(there.path)
		switch {
		case !slices.Contains(names, name):
		case runOf(there.holder.ID) == runOf(l.holder.ID):
			own[name] = true
		case other == nil:
			other = &there
		}
	}
	return slices.IndexFunc(names, func(name string) bool { return !own[name] }), other
}

// runOf is the run that a journal belongs to: a run has one for each machine.
func runOf(id string) string {
	run, _, _ := strings.Cut(id, "-")
	return run
}

// state of a lock.
type state int

const (
	inUse      state = iota // its run continues
	elsewhere               // its run belongs to another machine; whether it continues is unknown
	abandoned               // its run was killed, or could not restore everything
	orphaned                // like abandoned, and the journal is gone
	unreadable              // its target is not a holder's JSON
)

// stateOf reports whether the run of a lock continues. A file that a lock names is opened only if the lock is this
// user's or root's: any other may name a device that must not be opened.
func (l *locker) stateOf(of lock) state {
	name, err := os.Hostname()
	var st unix.Stat_t
	switch {
	case of.holder.ID == "" || of.holder.Process < 1:
		return unreadable
	case err != nil || of.holder.Host != name:
		return elsewhere
	case l.isHere() && unix.Lstat(of.path, &st) == nil && (st.Uid == 0 || int(st.Uid) == os.Getuid()):
		if safepath.Locked(of.holder.Journal) {
			return inUse
		}
		if _, err := os.Stat(of.holder.Journal); err != nil {
			return orphaned
		}
		return abandoned
	case unix.Kill(of.holder.Process, 0) == unix.ESRCH:
		return abandoned
	}
	return inUse
}

// isHere reports whether the paths of locks are paths on this machine.
func (l *locker) isHere() bool {
	_, here := l.at.(host.LocalFiles)
	return here
}

// refuse returns the error of a factor that another run has locked, with what can be done about it.
func (l *locker) refuse(name string, other lock, is state) error {
	h := other.holder
	return &lab.Error{Kind: lab.Refused, What: name + " can't be changed", Target: host.RemoteName(l.writer.target),
		Err: &Held{Holder: h, Lock: other.path, Target: l.at.Name(), Dead: is != inUse && is != elsewhere},
		Hints: map[state][]string{
			inUse: {fmt.Sprintf("--wait waits until process %d has ended", h.Process)},
			elsewhere: {fmt.Sprintf("--wait waits until process %d on %s has ended; if it was killed, there: headroom "+
				"restore", h.Process, h.Host)},
			abandoned: {"it was killed, or could not put everything back: headroom restore --store " +
				filepath.Dir(filepath.Dir(h.Journal))},
			orphaned: {"its record of the old values is gone: " + h.Journal,
				"put back by hand what it has changed, then remove the lock: " + other.path},
			unreadable: {"the lock can't be read; if no run is active there, remove it: " + other.path},
		}[is]}
}

// Wait returns when the lock is gone or has another holder. The target is the machine with the lock.
func (h *Held) Wait(ctx context.Context, t host.Target) error {
	for {
		out, err := t.Run(ctx, "readlink", h.Lock)
		if err != nil {
			return err
		}
		var now Holder
		if out.ExitCode != 0 || json.Unmarshal(out.Stdout, &now) != nil || now.ID != h.ID {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(waitPause):
		}
	}
}

// waitPause is how often a lock is looked at: runs take seconds at least.
const waitPause = time.Second
