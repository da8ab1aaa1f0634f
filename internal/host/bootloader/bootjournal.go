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

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/safepath"
)

// BootJournal is the record of one experiment on the disk of the machine that headroom runs on. It is flushed before
// anything is written to the host. A lock on its file distinguishes it from the record of a killed process: the kernel
// releases the lock however the process ends. Its lines are JSON, one for each boot; the last complete line is valid.
// Only the user can read it: a record of Talos contains secrets.
//
//	{"schema":"headroom/boots/v1","id":"7KQ4M2X9TD","process":4711,"record":{"target":"ssh://root@db1","way":"grub",…}}
type BootJournal struct {
	path, id string
	file     *os.File // nil while no record is kept
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

// NewBootJournal sets the folder and name of the record of an experiment; nothing is written yet. Before and After are
// for Options.
func NewBootJournal(dir, id string) *BootJournal {
	return &BootJournal{path: filepath.Join(dir, id+journalSuffix), id: id, atStep: func(string) {}}
}

// AtStep makes the journal call f before every step of keeping and deleting the record, with the name of the step.
// Tests use it to end the process at each step.
func (k *BootJournal) AtStep(f func(step string)) { k.atStep = f }

// Held reports whether a record is kept, so that the host may not be running its default boot.
func (k *BootJournal) Held() bool { return k.file != nil }

// Before saves the record of a boot before anything is written to the host.
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
	// The file gets its name after it is locked and has its first line: otherwise another process would take it for a
	// leftover.
	building := filepath.Join(dir, "."+k.id+journalSuffix+".new")
	f, err := os.OpenFile(building, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = safepath.Lock(f, building); err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = linux.RenameNew(building, k.path)
	}
	if err != nil {
		return errors.Join(err, safepath.Unlock(f), os.Remove(building))
	}
	k.file = f
	return safepath.SyncFolder(dir)
}

// After deletes the record: the host runs its default boot.
func (k *BootJournal) After(Record) error {
	if k.file == nil {
		return nil
	}
	k.atStep("forget the record of a boot")
	err := errors.Join(os.Remove(k.path), safepath.SyncFolder(filepath.Dir(k.path)), safepath.Unlock(k.file))
	k.file = nil
	return err
}

// Close releases a record that is still kept, for another process to recover from.
func (k *BootJournal) Close() error {
	if k.file == nil {
		return nil
	}
	f := k.file
	k.file = nil
	return safepath.Unlock(f)
}

// Leftover is a kept record.
type Leftover struct {
	Path, ID string
	Record   Record
	// InUse is set while a living process uses it.
	InUse bool
}

// Pending lists the records in a folder. Trust reports whether a file may be acted on; one that it rejects is left
// unread, and its error is returned.
func Pending(dir string, trust func(name string) error) ([]Leftover, error) {
	// Files that were never completed are removed with the journals of settings.
	paths, err := safepath.Records(dir, func(name string) bool { return strings.HasSuffix(name, journalSuffix) }, trust)
	errs := []error{err}
	var found []Leftover
	for _, path := range paths {
		line, err := readJournal(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			errs = append(errs, err)
		default:
			found = append(found,
				Leftover{Path: path, ID: line.ID, Record: line.Record, InUse: safepath.Locked(path)})
		}
	}
	return found, errors.Join(errs...)
}

// Resume takes over a leftover record. It refuses one that another process uses.
func Resume(left Leftover) (*BootJournal, error) {
	f, err := os.OpenFile(left.Path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	switch err := safepath.Lock(f, left.Path); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errors.Join(&lab.Error{Kind: lab.Refused, What: "another process is starting " +
			left.Record.Target + " again"}, f.Close())
	case err != nil: // the previous holder of the lock may have removed the file
		return nil, errors.Join(err, safepath.Unlock(f))
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

// parseJournal parses the last complete line. A crash can leave an incomplete line, of a boot that had not begun.
func parseJournal(data []byte) (journalLine, error) {
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	last := data[bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n')+1:]
	var line journalLine
	if err := json.Unmarshal(last, &line); err != nil || line.Schema != bootsSchema || line.Record.Target == "" {
		return journalLine{}, errors.New("not a record of boots of this version")
	}
	return line, nil
}
