package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Folder is the folder of a store, by its path. It knows where the parts of a store lie, and which bundles there are.
type Folder string

// Changes returns the folder of the journals of changed settings and of boots.
func (f Folder) Changes() string { return filepath.Join(string(f), "changes") }

// Pods returns the folder of the records of pods and machines in clusters.
func (f Folder) Pods() string { return filepath.Join(string(f), "pods") }

// Built returns the folder of built commits, which has a folder for each run.
func (f Folder) Built() string { return filepath.Join(string(f), "built") }

// Writable returns an error if root must not write to the store. If other users could change one of its folders, a link
// in place of a file would have root write wherever they like, and the records of killed runs could not be trusted. A
// user who is not root can be led only to files of that user.
func (f Folder) Writable() error {
	if os.Geteuid() != 0 {
		return nil
	}
	parts := []string{f.runs(), f.Changes(), f.Pods(), f.Built()}
	if rootOwns(string(f)) != nil && safepath.CheckFolder(safepath.Local{}, string(f), 0) == nil {
		// In a folder like /tmp names must be taken before another user takes them.
		for _, dir := range parts {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return createError(string(f), err)
			}
		}
	}
	for _, dir := range parts {
		if err := rootOwns(dir); err != nil {
			return err
		}
	}
	return nil
}

// makeRuns makes the folder of bundles.
func (f Folder) makeRuns() error {
	if err := f.Writable(); err != nil {
		return err
	}
	if err := os.MkdirAll(f.runs(), 0o755); err != nil {
		return createError(string(f), err)
	}
	return nil
}

func (f Folder) runs() string { return filepath.Join(string(f), "runs") }

// ids lists the bundles in the store, sorted.
func (f Folder) ids() ([]string, error) {
	entries, err := os.ReadDir(f.runs())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			ids = append(ids, e.Name())
		}
	}
	return ids, f.unreadable(err)
}

// unreadable returns the error of a store whose runs can't be listed.
func (f Folder) unreadable(err error) error {
	if err == nil {
		return nil
	}
	e := &lab.Error{What: "can't read the store " + string(f), Err: err}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Hints = []string{"its owner can: run headroom as that user, or name another store with --store DIR"}
	case errors.Is(err, unix.ENOTDIR):
		e.Hints = []string{"a store is a folder: name another with --store DIR"}
	}
	return e
}

func (f Folder) bundle(id string) (*Bundle, error) {
	return OpenBundle(filepath.Join(f.runs(), id))
}

// has reports whether a run with this id is in the store.
func (f Folder) has(id string) bool {
	if run, arm := lab.CutArm(id); arm != "" {
		b, err := f.bundle(run)
		return err == nil && slices.Contains(b.Run.PartNames(), arm)
	}
	_, err := os.Stat(filepath.Join(f.runs(), id))
	return err == nil && id != ""
}

// remove deletes a run.
func (f Folder) remove(id string) error {
	if err := f.Writable(); err != nil {
		return err
	}
	// The rename makes the bundle vanish at once; a crash while its files are deleted leaves a hidden folder
	// that recovery removes.
	from, to := filepath.Join(f.runs(), id), filepath.Join(f.runs(), ".removed-"+id)
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if err := syncDir(f.runs()); err != nil {
		return err
	}
	return os.RemoveAll(to)
}

// Untrusted is the reason why nothing is done that a file of a store says, or why nothing is written to a store:
// another user could have written it, or could put something else in its place.
type Untrusted struct{ *safepath.Unsafe }

// Trust returns an error, an *Untrusted with the way out, if the content of a file or a folder must not be acted on. It
// and all folders on the way to it must belong to the user of this process or to root, and no other user may be able to
// write to them. Whoever restores settings, ends processes, removes folders or resumes a run by the content of a store
// asks first. Showing it needs no trust.
//
// A file that passes can't be changed between the check and its use, since no other user could.
func Trust(name string) error {
	return refusal("nothing is done that "+name+" says", name, safepath.Check(safepath.Local{}, name, os.Geteuid()))
}

// rootOwns returns an error if root must not write to a folder of a store.
func rootOwns(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return refusal("nothing is written to "+dir+" as root", dir, safepath.Check(safepath.Local{}, dir, 0))
}

func createError(dir string, err error) error {
	return &lab.Error{What: "can't make the store " + dir, Err: err, Hints: []string{"choose another with --store DIR"}}
}

// refusal makes an error for people of what safepath says of a name.
func refusal(what, name string, err error) error {
	unsafe, ok := errors.AsType[*safepath.Unsafe](err)
	if !ok {
		return err
	}
	e := &lab.Error{Kind: lab.Refused, What: what, Err: &Untrusted{unsafe},
		Hints: []string{fmt.Sprintf("whoever can write there could have headroom do anything as user %d",
			os.Geteuid())}}
	// A folder on the way has another owner for a reason: it may be the home of a user.
	if remedy := unsafe.Remedy; remedy != nil && (remedy[0] != "chown" || unsafe.Name == name) {
		e.Hints = append(e.Hints,
			"look at what is in there; where all of it is your own: "+lab.ShellQuote(unsafe.Remedy))
	}
	e.Hints = append(e.Hints, "or run headroom as the owner, or keep runs elsewhere: --store DIR; headroom import "+
		"takes a run there")
	return e
}

// Accept allows an imported run to be resumed, because the user wants it.
func (s *Store) Accept(b *Bundle) { s.accepted = append(s.accepted, b.Run.ID) }

// Resumable refuses a run of another store, a run that other users can have written, and an imported run that the user
// has not accepted. Resuming a run executes the commands in its header.
func (s *Store) Resumable(b *Bundle) error {
	if filepath.Dir(b.dir) != s.Folder.runs() {
		return &lab.Error{Kind: lab.Usage, What: b.dir + " is not in the store " + s.Dir(),
			Hints: []string{"import it first"}}
	}
	if err := Trust(filepath.Join(b.dir, headerName)); err != nil {
		return err
	}
	if b.Imported() && !slices.Contains(s.accepted, b.Run.ID) {
		return &lab.Error{Kind: lab.Refused, What: "run " + b.Run.ID +
			" was imported, and resuming it executes what came with it"}
	}
	return nil
}
