package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

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

// Resumable refuses a run of another store, one that other users can have written, and an imported one that the user
// has not accepted. Resuming a run carries out the commands in its header.
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
			" was imported, and going on with it carries out what came with it"}
	}
	return nil
}
