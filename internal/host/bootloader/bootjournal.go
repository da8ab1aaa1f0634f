package bootloader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/safepath"
)

// BootJournal is the record of one experiment on the disk of the machine that headroom runs on, flushed before anything
// is put on the host. A lock on its file, which the kernel lets go when the process ends in any way, tells it from
// one that a killed process has left. Its lines are JSON, one for each boot, of which the last whole one counts. Only
// the user may read it: a record of Talos holds secrets.
//
//	{"schema":"headroom/boots/v1","id":"7KQ4M2X9TD","process":4711,"record":{"target":"ssh://root@db1","way":"grub",…}}
type BootJournal struct {
	path, id string
	file     *os.File // nil while nothing is kept
	atStep   func(step string)
}

const (
	bootsSchema   = "headroom/boots/v1"
	journalSuffix = ".boots"
)

type journalLine struct {
	Schema  string `json:"schema"`
	ID      string `json:"id"`
	Process int    `json:"process"`
	Record  Record `json:"record"`
}

// NewBootJournal says in which folder the record of an experiment is kept; nothing is written yet. Before and After are
// for Options.
func NewBootJournal(dir, id string) *BootJournal {
	return &BootJournal{path: filepath.Join(dir, id+journalSuffix), id: id, atStep: func(string) {}}
}

// AtStep has f called before every step of keeping and forgetting, with its name. It exists so that a test can end the
// process at each.
func (k *BootJournal) AtStep(f func(step string)) { k.atStep = f }

// Held says whether a host may not run as it starts by itself.
func (k *BootJournal) Held() bool { return k.file != nil }

// Before keeps what is about to be put on the host.
func (k *BootJournal) Before(r Record) error {
	k.atStep("keep the record of a boot")
	err := k.append(r)
	if err != nil {
		return &lab.Error{Kind: lab.Refused, What: "can't keep what is about to be put on the host, so it is not " +
			"restarted", Target: r.Target, Err: err}
	}
	k.atStep("restart")
	return nil
}

func (k *BootJournal) append(r Record) error {
	text, err := json.Marshal(journalLine{bootsSchema, k.id, os.Getpid(), r})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if k.file != nil {
		_, err = k.file.Write(text)
		return errors.Join(err, k.file.Sync())
	}
	dir := filepath.Dir(k.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// It appears under its name with its lock and first line: without them another process would take it for one that
	// was left.
	building := filepath.Join(dir, "."+k.id+journalSuffix+".new")
	f, err := os.OpenFile(building, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = linux.RenameNew(building, k.path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(building))
	}
	k.file = f
	return safepath.SyncFolder(dir)
}

// After forgets the record: the host runs as it starts by itself.
func (k *BootJournal) After(Record) error {
	if k.file == nil {
		return nil
	}
	k.atStep("forget the record of a boot")
	err := errors.Join(os.Remove(k.path), safepath.SyncFolder(filepath.Dir(k.path)), k.file.Close())
	k.file = nil
	return err
}

// Close lets go of what is still kept, for another process to put right.
func (k *BootJournal) Close() error {
	if k.file == nil {
		return nil
	}
	f := k.file
	k.file = nil
	return f.Close()
}

// Leftover is a record that is kept.
type Leftover struct {
	Path, ID string
	Record   Record
	// InUse is set while a living process works on it.
	InUse bool
}

// Pending lists the records in a folder. Trust says whether one may be acted on; any other is left alone, unread, with
// that error.
func Pending(dir string, trust func(name string) error) ([]Leftover, error) {
	// What was never finished being made goes with the journals of settings.
	paths, err := safepath.Records(dir, func(name string) bool { return strings.HasSuffix(name, journalSuffix) }, trust)
	errs := []error{err}
	var found []Leftover
	for _, path := range paths {
		line, err := readJournal(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // forgotten meanwhile
		case err != nil:
			errs = append(errs, err)
		default:
			found = append(found, Leftover{Path: path, ID: line.ID, Record: line.Record,
				InUse: inUse(path, line.Process)})
		}
	}
	return found, errors.Join(errs...)
}

// Resume goes on with a record that was left. One that another process works on is refused.
func Resume(left Leftover) (*BootJournal, error) {
	f, err := os.OpenFile(left.Path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	switch err := safepath.Lock(f, left.Path); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errors.Join(&lab.Error{Kind: lab.Refused, What: "another process is starting " +
			left.Record.Target + " again"}, f.Close())
	case err != nil: // whoever held the lock until now may have removed the file
		return nil, errors.Join(err, f.Close())
	}
	return &BootJournal{path: left.Path, id: left.ID, file: f, atStep: func(string) {}}, nil
}

func readJournal(path string) (journalLine, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return journalLine{}, err
	}
	line, err := parseJournal(data)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return line, err
}

// parseJournal finds the last whole line. A half-written one is what a crash leaves: of a boot that was not begun.
func parseJournal(data []byte) (journalLine, error) {
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	last := data[bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n')+1:]
	var line journalLine
	if err := json.Unmarshal(last, &line); err != nil || line.Schema != bootsSchema || line.Record.Target == "" {
		return journalLine{}, errors.New("not a record of boots of this version")
	}
	return line, nil
}

// lockTimeout is how long the lock of a dead process is waited for, which a child can hold that it had begun to start.
const lockTimeout = 5 * time.Second

func inUse(path string, process int) bool {
	for end := time.Now().Add(lockTimeout); ; time.Sleep(20 * time.Millisecond) {
		if !safepath.Locked(path) {
			return false
		}
		if time.Now().After(end) || !errors.Is(unix.Kill(process, 0), unix.ESRCH) {
			return true
		}
	}
}
