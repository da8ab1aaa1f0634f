package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/safepath"
)

const changesSchema = "headroom/changes/v1"

type heading struct {
	Schema  string    `json:"schema"`
	ID      string    `json:"id"`
	Target  string    `json:"target"`
	Created time.Time `json:"created"`
	// Process that made it.
	Process int `json:"process,omitempty"`
}

// step is one change with all its spots.
type step struct {
	Seq    int       `json:"seq"`
	Time   time.Time `json:"time"`
	Factor string    `json:"factor"`
	Level  string    `json:"level"`
	// Boot is the machine's boot_id: what the kernel holds in memory is not there after another boot.
	Boot  string     `json:"boot,omitempty"`
	Spots []position `json:"spots"`
	// Companions are the spots that the kernel changes with these.
	Companions []position `json:"along,omitempty"`

	applied bool
	// effective is called by CheckInEffect; nil where the values are all there is to check.
	effective func(context.Context) error
}

// position is a spot with its value before and after.
type position struct {
	spot.Spot
	// Of is what the place is (spot.Identities).
	Of  string `json:"of,omitempty"`
	Old string `json:"old"`
	New string `json:"new,omitempty"`
}

// event is how a step ended, or that it was applied.
type event struct {
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	Did  string    `json:"did"`
}

// The ends of a step.
const (
	applied  = "applied"  // the new values were read back
	undone   = "undone"   // the old values were read back
	rebooted = "rebooted" // the machine was started again, and nothing of it outlived that
	accepted = "accepted" // the user keeps the present value
	replaced = "lost"     // what was changed is not there any more
)

// record is the file of a journal, with what its lines say.
type record struct {
	path string
	// file is locked; it is nil before the journal is opened and after it is closed.
	file *os.File
	head heading
	// open are the changes that are not undone, in the order in which they were made.
	open []*step
	seq  int
	// damaged are unreadable lines before the last one.
	damaged []string
	atStep  func(step string)
}

// Create makes a journal in a folder, which is made if it is not there. The id must be unique in it, and fit for a file
// name.
func Create(dir, id string, t host.Target) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	r := &record{path: filepath.Join(dir, id+suffix), atStep: func(string) {},
		head: heading{Schema: changesSchema, ID: id, Target: t.Name(), Created: time.Now().UTC(), Process: os.Getpid()}}
	// It appears under its name with its lock and heading: without them another process would take it for one that was
	// left.
	building := filepath.Join(dir, "."+id+".new")
	f, err := claim(building)
	if err != nil {
		return nil, err
	}
	r.file = f
	if err := r.append(r.head); err != nil {
		return nil, errors.Join(err, safepath.Unlock(f), os.Remove(building))
	}
	if err := linux.RenameNew(building, r.path); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.path, err), safepath.Unlock(f), os.Remove(building))
	}
	return newJournal(r, t), safepath.SyncFolder(dir)
}

// claim opens an empty file that no other process works on, and locks it. A file that a killed process left here is
// useless: nothing is changed before a journal has its name. Pending looks at such files under the same lock, and may
// remove this one before it is locked, so it is tried again for a while.
func claim(path string) (*os.File, error) {
	for end := time.Now().Add(claimLimit); ; time.Sleep(writersPause) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return nil, err
		}
		if err = safepath.Lock(f, path); err == nil {
			err = f.Truncate(0)
		}
		if err == nil {
			return f, nil
		}
		err = errors.Join(fmt.Errorf("%s: %w", path, err), safepath.Unlock(f))
		if again := errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist); !again ||
			time.Now().After(end) {
			return nil, err
		}
	}
}

// claimLimit is much longer than it takes to make a journal, or to see that no process makes it.
const claimLimit = time.Second

// Open are the factors whose changes are not undone, in the order in which they were made.
func (j *Journal) Open() []string { return j.record.factors() }

func (r *record) factors() []string {
	var names []string
	for _, s := range r.open {
		names = append(names, s.Factor)
	}
	return names
}

// Close ends the work with the journal. The file is removed when nothing of it is left to undo.
func (j *Journal) Close() error {
	if j.record.file == nil {
		return nil
	}
	var err error
	if len(j.record.open) == 0 && len(j.record.damaged) == 0 {
		if err = j.locker.release(); err == nil {
			err = j.record.remove()
		}
	}
	return errors.Join(err, j.record.close())
}

// Leave ends the work with the journal and keeps its file and its locks for recovery.
func (j *Journal) Leave() error { return j.record.close() }

func (r *record) close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return safepath.Unlock(f)
}

func (r *record) remove() error {
	r.atStep("remove the journal")
	return errors.Join(os.Remove(r.path), safepath.SyncFolder(filepath.Dir(r.path)))
}

// begin writes a step down, before anything of it is done.
func (r *record) begin(next *step) error {
	r.atStep("record change " + next.Factor)
	if err := r.append(next); err != nil {
		return err
	}
	r.seq++
	r.open = append(r.open, next)
	return nil
}

// append writes a line and flushes it. A line that could not be written leaves nothing of it behind, so that the next
// one is whole.
func (r *record) append(line any) error {
	if r.file == nil {
		return errors.New("the journal is closed")
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	size, err := r.file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = r.file.Write(append(data, '\n'))
	}
	if err == nil {
		r.atStep("flush the journal")
		err = r.file.Sync()
	}
	if err != nil {
		return errors.Join(&lab.Error{What: "can't write the journal " + r.path, Err: err}, r.file.Truncate(size))
	}
	return nil
}

func (r *record) note(s *step, did string) error {
	r.atStep("record " + did + " " + s.Factor)
	return r.append(event{Seq: s.Seq, Time: time.Now().UTC(), Did: did})
}

const suffix = ".changes"

// idOf is the id of a journal by the name of its file.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), suffix) }
