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

// event says what became of a step.
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

// Create makes a journal in a folder, which is made if it is not there. The id must be unique in it, and fit for a file
// name.
func Create(dir, id string, t host.Target) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	j := &Journal{path: filepath.Join(dir, id+suffix), target: t, atStep: func(string) {},
		head: heading{Schema: changesSchema, ID: id, Target: t.Name(), Created: time.Now().UTC(), Process: os.Getpid()}}
	// It appears under its name with its lock and heading: without them another process would take it for one that was
	// left.
	building := filepath.Join(dir, "."+id+".new")
	f, err := claim(building)
	if err != nil {
		return nil, err
	}
	j.file = f
	if err := j.append(j.head); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(building))
	}
	if err := linux.RenameNew(building, j.path); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", j.path, err), f.Close(), os.Remove(building))
	}
	return j, safepath.SyncFolder(dir)
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
		err = errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		if again := errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist); !again ||
			time.Now().After(end) {
			return nil, err
		}
	}
}

// claimLimit is much longer than it takes to make a journal, or to see that nobody makes it.
const claimLimit = time.Second

// Open are the factors whose changes are not undone, in the order in which they were made.
func (j *Journal) Open() []string {
	var names []string
	for _, s := range j.open {
		names = append(names, s.Factor)
	}
	return names
}

// Close ends the work with the journal. The file is removed when nothing of it is left to undo.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	var err error
	if len(j.open) == 0 && len(j.damaged) == 0 {
		if len(j.locked) > 0 || j.mayLock {
			ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
			err = j.unlock(ctx)
			cancel()
		}
		if err == nil {
			j.atStep("remove the journal")
			err = errors.Join(os.Remove(j.path), safepath.SyncFolder(filepath.Dir(j.path)))
		}
	}
	err = errors.Join(err, j.file.Close())
	j.file = nil
	return err
}

// Leave ends the work with the journal and keeps its file and its locks for recovery.
func (j *Journal) Leave() error {
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

// append writes a line and flushes it. A line that could not be written leaves nothing of it behind, so that the next
// one is whole.
func (j *Journal) append(line any) error {
	if j.file == nil {
		return errors.New("the journal is closed")
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	size, err := j.file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = j.file.Write(append(data, '\n'))
	}
	if err == nil {
		j.atStep("flush the journal")
		err = j.file.Sync()
	}
	if err != nil {
		return errors.Join(&lab.Error{What: "can't write the journal " + j.path, Err: err}, j.file.Truncate(size))
	}
	return nil
}

func (j *Journal) note(s *step, did string) error {
	j.atStep("record " + did + " " + s.Factor)
	return j.append(event{Seq: s.Seq, Time: time.Now().UTC(), Did: did})
}

// mark is in the arguments of every command that sets something.
func (j *Journal) mark() string { return "headroom-" + j.head.ID }

const suffix = ".changes"

// idOf is the id of a journal by the name of its file.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), suffix) }
