package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// idLength is how long the IDs of runs are.
const idLength = 10

// lastRun is the name of the run that was added last.
const lastRun = "last"

// CheckLabel refuses labels that would be mistaken for the name of another run: "last", and what could be an id as
// headroom shows it, in capitals and with four to ten characters. The same goes for an arm's name behind it.
func CheckLabel(label string) error {
	name := label
	if run, _ := lab.CutArm(label); run != "" {
		name = run
	}
	e := &lab.Error{Kind: lab.Usage}
	switch {
	case strings.EqualFold(name, lastRun):
		e.What, e.Hints = "the label "+lab.ShellQuote([]string{label})+" is the name of the last run",
			[]string{"choose another one: 'last before tuning'"}
	case len(name) >= shortID && len(name) <= idLength && hasIDLetters(name):
		e.What, e.Hints = "the label "+lab.ShellQuote([]string{label})+" could be the id of a run",
			[]string{"add a word, or write it in lower case"}
	default:
		return nil
	}
	return e
}

// FindID returns the bundle of an id, or of a unique prefix of one, with ":ARM" behind it for an arm. Labels and paths
// name none.
func (s *Store) FindID(ref string) (*Bundle, error) {
	id, arm, isPart := strings.Cut(ref, ":")
	if !MayBeID(id) {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q is not the id of a run", ref)}
	}
	ids, err := s.Folder.ids()
	if err != nil {
		return nil, err
	}
	id = strings.ToUpper(id)
	found := slices.DeleteFunc(ids, func(other string) bool { return !strings.HasPrefix(other, id) })
	if len(found) != 1 {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q is the start of %d ids", ref, len(found)),
			Hints: []string{"headroom list shows the runs"}}
	}
	b, err := s.Folder.bundle(found[0])
	if err != nil || !isPart {
		return b, err
	}
	return b.named(arm)
}

func validID(id string) bool { return len(id) == idLength && hasIDLetters(id) }

func hasIDLetters(id string) bool {
	return strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// MayBeID reports whether a text can be the ID of a run, or the start of one of at least two letters, in either case.
func MayBeID(text string) bool {
	return len(text) >= 2 && len(text) <= idLength && hasIDLetters(strings.ToUpper(text))
}
