package kube

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Record is what was made in a cluster, or is about to be. It is on disk before.
type Record struct {
	// Target that it was made for, by its name.
	Target string `json:"target"`
	// Session is in the names and labels of all that was made.
	Session string `json:"session"`
	// Server is the address of the API, Context and Kubeconfig how it was reached.
	Server     string `json:"server"`
	Context    string `json:"context,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Namespace  string `json:"namespace"`
	// Pods, Claims and Machines by name. The secret and the job of a machine have its name.
	Pods     []string `json:"pods,omitempty"`
	Claims   []string `json:"claims,omitempty"`
	Machines []string `json:"machines,omitempty"`
	// Many is true for the pods of a set, which are looked for by their label.
	Many bool `json:"many,omitempty"`
}

// kinds returns the kinds of the objects that the record names, as kubectl takes them.
func (r Record) kinds() string {
	if len(r.Machines) > 0 {
		return "vm,pvc,secret,job"
	}
	return "pod,pvc"
}

// Names returns the names of the pods and machines.
func (r Record) Names() []string { return slices.Concat(r.Pods, r.Machines) }

// sessionRecord are the record of what is made together, and the file that keeps it. The pods of a set share them.
type sessionRecord struct {
	mu      sync.Mutex
	journal *journal
	record  Record
}

// add returns when it is on disk that objects are about to be made.
func (n *sessionRecord) add(made ...objects) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, o := range made {
		if !slices.Contains(n.record.Pods, o.pod) {
			n.record.Pods = append(n.record.Pods, o.pod)
		}
		if o.claim != "" && !slices.Contains(n.record.Claims, o.claim) {
			n.record.Claims = append(n.record.Claims, o.claim)
		}
	}
	return n.journal.save(n.record)
}

// objects are the names of what is made for one pod. The claim is the same for all that take its place.
type objects struct{ pod, claim string }

const recordSuffix = ".pod.json"

// keysSuffix ends the name of the folder beside a record that has the keys of a machine.
const keysSuffix = ".keys"

// journal keeps the record of a target that is open. It is locked while its headroom lives.
type journal struct {
	path string
	file *os.File
}

// newJournal makes the file of a record. Until something is written to it, it says that nothing was made.
func newJournal(folder, session string) (*journal, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, session+recordSuffix)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{path, f}
	if err := safepath.Lock(f, path); err != nil {
		return nil, errors.Join(err, j.remove())
	}
	return j, nil
}

// save returns when the record is on disk. It is written beside the old one, so that a crash leaves one of both; the
// lock goes with it.
func (j *journal) save(r Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := safepath.Lock(f, f.Name()); err != nil {
		return errors.Join(err, safepath.Unlock(f))
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync()); err == nil {
		err = os.Rename(j.path+".new", j.path)
	}
	if err != nil {
		return errors.Join(err, safepath.Unlock(f))
	}
	old := j.file
	j.file = f
	return errors.Join(safepath.Unlock(old), safepath.SyncFolder(filepath.Dir(j.path)))
}

// remove removes the record: nothing of it is left in the cluster.
func (j *journal) remove() error { return errors.Join(os.Remove(j.path), safepath.Unlock(j.file)) }

// release keeps the record for whoever looks after it later.
func (j *journal) release() error { return safepath.Unlock(j.file) }

// Leftover is a record whose headroom is gone.
type Leftover struct {
	Record Record
	file   *journal
}

// Pending takes the records of headrooms that were killed, or that could not clear up. Each must be given back: with
// Remove, or Release. If trust returns an error for a record, that one is not read, and the error is returned.
func Pending(folder string, trust func(name string) error) ([]Leftover, error) {
	paths, err := safepath.Records(folder, func(name string) bool { return strings.HasSuffix(name, recordSuffix) },
		trust)
	errs := []error{err}
	var left []Leftover
	for _, path := range paths {
		l, err := openLeftover(path)
		if err != nil {
			errs = append(errs, err)
		}
		if l != nil {
			left = append(left, *l)
		}
	}
	return left, errors.Join(errs...)
}

// openLeftover is nil for a record that is in use, or of nothing.
func openLeftover(path string) (*Leftover, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &journal{path, f}
	if err := safepath.Lock(f, path); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			err = nil // its headroom lives, and may have written a newer one
		}
		return nil, errors.Join(err, safepath.Unlock(f))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Join(err, safepath.Unlock(f))
	}
	if len(data) == 0 {
		return nil, Leftover{file: j}.Remove() // killed before anything was made
	}
	l := &Leftover{file: j}
	if l.Record, err = readRecord(data); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), safepath.Unlock(f))
	}
	return l, nil
}

// readRecord reads what keep wrote.
//
//	{
//	  "target": "kube:pod?class=fast",
//	  "session": "k3v9x2qa",
//	  …
func readRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, err
	}
	if r.Namespace == "" || r.Session == "" {
		return Record{}, errors.New("it does not say what was made, and where")
	}
	return r, nil
}

// Remove removes the record, and the keys of a machine that is gone.
func (l Leftover) Remove() error {
	return errors.Join(os.RemoveAll(strings.TrimSuffix(l.file.path, recordSuffix)+keysSuffix), l.file.remove())
}

// Release leaves the record for later.
func (l Leftover) Release() error { return l.file.release() }

// newSessionRecord begins the record of a session.
func (c *cluster) newSessionRecord(folder string, o Options, session string) (*sessionRecord, error) {
	j, err := newJournal(folder, session)
	if err != nil {
		return nil, &lab.Error{What: "can't note what is about to be made in the cluster", Target: o.Name, Err: err}
	}
	return &sessionRecord{journal: j, record: Record{Target: o.Name, Session: session, Server: c.config.Host,
		Context: o.Context, Kubeconfig: o.Kubeconfig, Namespace: c.namespace}}, nil
}

// newSession draws what tells the objects of one target from those of another.
func newSession() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails, says its documentation
	return hex.EncodeToString(b)
}
