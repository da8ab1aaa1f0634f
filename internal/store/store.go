// Package store keeps runs. A run is a bundle: one folder that holds everything, is complete after every
// saved repetition, and can be copied, mailed and read without this program. A file with a line for each bundle
// makes lists quick; it is rebuilt from them whenever it is missing or stale, so it is never the truth.
//
// A bundle:
//
//	run.json                    the header: lab.Run under "run", with a schema
//	repetitions/000001.jsonl    a segment: one lab.Repetition a line
//	raw/000001.tar.zst          what the load generator and the kernel printed, for the same segment
//	profiles/000001.json.zst    a profiled load: one profile.Load, not among the repetitions
//	active.json                 only while a run is active: what it would leave behind if it were killed now
//	progress.json               only while a run is active: how far it has come
//	imported                    only in a run that came from elsewhere; it is not exported
//
// A segment is one repetition when measuring and many when importing. Its raw archive is written first, and the
// rename of its .jsonl is the moment when it counts: a file without that partner is the rest of a crash and
// is ignored, then removed by the next recovery. Nothing in a finished bundle is changed but its label.
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// Store is a folder of bundles.
type Store struct {
	Folder  Folder
	Imports *Imports

	index *index
	saver *saver
	// accepted are the ids of imported runs that the user wants to resume.
	accepted []string
}

// Open returns the store in dir, which is made when something is first saved.
func Open(dir string) *Store {
	f := Folder(dir)
	return &Store{Folder: f, Imports: &Imports{folder: f}, index: &index{folder: f}, saver: &saver{func(string) {}}}
}

// AtStep has f called before every step of saving, with the step's name. It exists so that a test can end the
// process at each of them.
func (s *Store) AtStep(f func(step string)) { s.saver.atStep = f }

// Remember keeps the index in memory as well.
func (s *Store) Remember(m *Memory) { s.index.memory = m }

// Dir is the folder of the store.
func (s *Store) Dir() string { return string(s.Folder) }

// Len is how many runs there are, of which some may not be readable.
func (s *Store) Len() (int, error) {
	ids, err := s.Folder.ids()
	return len(ids), err
}

// Find returns the bundle that the user means by ref: an id or a unique prefix of one, a label, "last", or the
// path of a bundle's folder. A label never takes the place of another run's id, or of one as short as headroom shows
// it: who made the run may have chosen the label for that.
func (s *Store) Find(ref string) (*Bundle, error) {
	if ref == "" { // it would name every run without a label
		return nil, &lab.Error{Kind: lab.Usage, What: "an empty name names no run",
			Hints: []string{"headroom list shows the runs"}}
	}
	if strings.ContainsRune(ref, filepath.Separator) || ref == "." {
		if _, err := os.Stat(ref); errors.Is(err, fs.ErrNotExist) {
			if b, err := s.findPart(ref); b != nil || err != nil {
				return b, err
			}
		}
		switch info, err := os.Stat(ref); {
		case errors.Is(err, fs.ErrNotExist):
			hint := "headroom list shows the runs"
			if strings.HasPrefix(ref, "reference:") {
				hint = "published results are named so in headroom compare only; headroom references show shows one"
			}
			return nil, &lab.Error{Kind: lab.Usage, What: "there is no run in " + ref, Hints: []string{hint}}
		case err == nil && !info.IsDir():
			return nil, &lab.Error{Kind: lab.Usage, What: ref + " is a file, and a run is a folder",
				Hints: []string{"headroom import " + lab.ShellQuote([]string{ref}) + " makes a run of it"}}
		}
		return OpenBundle(ref)
	}
	if id := strings.ToUpper(ref); validID(id) && s.Folder.has(id) {
		return s.Folder.bundle(id)
	}
	if run, _ := lab.CutArm(ref); len(run) >= shortID && MayBeID(run) {
		if _, err := s.FindID(run); err == nil {
			return s.FindID(ref)
		}
	}
	rows, newest, damaged := s.index.list() // one damaged run must not hide the others
	if ref == lastRun {
		if len(rows) == 0 {
			if damaged != nil {
				return nil, damaged
			}
			return nil, &lab.Error{Kind: lab.Usage, What: "there is no run yet",
				Hints: []string{"measure one: headroom run quick DIR"}}
		}
		if newest != nil && filepath.Base(newest.dir) == rows[0].ID {
			return newest, nil
		}
		return s.Folder.bundle(rows[0].ID)
	}
	var labelled, prefixed []string
	for _, r := range rows {
		switch {
		case r.Label == ref:
			labelled = append(labelled, r.ID)
		case len(ref) >= 2 && strings.HasPrefix(r.ID, strings.ToUpper(ref)):
			prefixed = append(prefixed, r.ID)
		}
	}
	candidates := [][]string{labelled, prefixed}
	if len(ref) >= shortID {
		candidates = [][]string{prefixed, labelled}
	}
	for _, found := range candidates {
		switch len(found) {
		case 0:
			continue
		case 1:
			return s.Folder.bundle(found[0])
		default:
			return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q names %d runs: %s", ref, len(found),
				strings.Join(found, ", ")),
				Hints: []string{"name one of them by its id", "headroom list --label " + lab.ShellQuote([]string{ref}) +
					" shows them"}}
		}
	}
	if b, err := s.findPart(ref); b != nil || err != nil {
		return b, err
	}
	if damaged != nil && len(rows) == 0 {
		return nil, damaged // it may well be there
	}
	return nil, errors.Join(&lab.Error{Kind: lab.Usage, What: fmt.Sprintf("no run is called %q", ref),
		Hints: []string{"headroom list shows the runs; an id, the start of one, a label, last, or ./FOLDER names one, " +
			"RUN:ARM an arm of one"}},
		damaged)
}

// FindAll is Find for commands that take several runs: a label that runs have which were measured together (the stages
// of one measurement, the sides of a live comparison) names all of them, in the order in which they began. It may be
// the label that was typed, which each of such runs has with another word behind it: "tuning base" and "tuning new".
func (s *Store) FindAll(ref string) ([]*Bundle, error) {
	b, err := s.Find(ref)
	if err == nil {
		return []*Bundle{b}, nil
	}
	if ref == "" {
		return nil, err
	}
	rows, _ := s.List() // whatever is damaged, Find has said so
	labelled := func(fits func(Row) bool) []Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !fits(r) })
	}
	found := labelled(func(r Row) bool { return r.Label == ref })
	if len(found) == 0 {
		found = labelled(func(r Row) bool {
			word, ok := strings.CutPrefix(r.Label, ref+" ")
			return ok && r.Pair != "" && !strings.Contains(word, " ")
		})
	}
	if len(found) == 0 {
		return nil, err
	}
	if slices.ContainsFunc(found, func(r Row) bool { return r.Pair == "" || r.Pair != found[0].Pair }) {
		return nil, &lab.Error{Kind: lab.Usage,
			What: fmt.Sprintf("%q names %d runs, which were not measured together", ref, len(found)),
			Hints: []string{"name them by their ids", "headroom list --label " + lab.ShellQuote([]string{ref}) +
				" shows them"}}
	}
	slices.SortStableFunc(found, func(a, b Row) int { return a.Created.Compare(b.Created) })
	var bundles []*Bundle
	for _, r := range found {
		b, err := s.Folder.bundle(r.ID)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}

// Has reports whether a run with this id is in the store.
func (s *Store) Has(id string) bool { return s.Folder.has(id) }

// Remove deletes a run.
func (s *Store) Remove(id string) error { return s.Folder.remove(id) }

// shortID is how long the starts of ids are at least by which runs are called.
const shortID = 4

// ShortID is the shortest start of id, of at least four characters, that no other run in the store shares.
func (s *Store) ShortID(id string) string { return s.ShortIDs()(id) }

// ShortIDs is ShortID for many: the store is read once.
func (s *Store) ShortIDs() func(id string) string {
	ids, err := s.Folder.ids()
	return func(id string) string {
		if err != nil {
			return id
		}
		arm := ""
		if run, of := lab.CutArm(id); of != "" {
			id, arm = run, ":"+of
		}
		at, _ := slices.BinarySearch(ids, id)
		n := shortID
		for _, other := range ids[max(at-1, 0):min(at+2, len(ids))] { // those before and after it share most
			if other != id {
				n = max(n, sharedStart(id, other)+1)
			}
		}
		return id[:min(n, len(id))] + arm
	}
}

// sharedStart is how many bytes two texts begin with in common.
func sharedStart(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// headerSchema names the format of run.json in a bundle. A newer one is refused with advice.
const headerSchema = "headroom/bundle/v1"

type header struct {
	Schema string  `json:"schema"`
	Run    lab.Run `json:"run"`
}

func readHeader(dir string) (lab.Run, error) {
	name := filepath.Join(dir, headerName)
	data, err := readHead(name)
	if err != nil {
		return lab.Run{}, unreadableRun(dir, err)
	}
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return lab.Run{}, &lab.Error{What: "damaged: " + name + describeJSONError(data, err), Err: err,
			Hints: []string{"the repetitions are in repetitions/ beside it, one JSON object a line, and what was " +
				"printed is in raw/"}}
	}
	if h.Schema != headerSchema {
		return lab.Run{},
			&lab.Error{What: fmt.Sprintf("%s has schema %q; this headroom reads %q", name, h.Schema, headerSchema),
				Hints: []string{"use the headroom that wrote it, or a newer one"}}
	}
	if h.Run.ID == "" {
		return lab.Run{}, &lab.Error{What: "damaged: " + name + " names no run"}
	}
	lab.Brief(h.Run.Warnings)
	for _, c := range h.Run.Cells {
		lab.Brief(c.Warnings)
	}
	return h.Run, nil
}

func unreadableRun(dir string, err error) error {
	return &lab.Error{What: "can't read the run in " + dir, Err: err,
		Hints: []string{"a run is a folder with a run.json"}}
}

// maxHeader is the largest header: one of ten thousand cells and a thousand targets has some tens of megabytes.
const maxHeader = 256 << 20

// openHead does not wait: the file could be a pipe that another user has put there.
func openHead(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// readHead reads a header's file, which must be a plain one: a bundle from elsewhere may hold anything.
func readHead(name string) ([]byte, error) {
	f, err := openHead(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxHeader) {
		err = fmt.Errorf("it is no plain file of at most %d MiB", maxHeader>>20)
	}
	if err != nil {
		return nil, err
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // of facts, so that to grow to it takes long
	_, err = data.ReadFrom(io.LimitReader(f, maxHeader))
	return data.Bytes(), err
}

// describeJSONError returns the line and the byte of a JSON error in data.
func describeJSONError(data []byte, err error) string {
	offset := int64(-1)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	} else if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = e.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return ""
	}
	return fmt.Sprintf(", line %d (byte %d)", 1+strings.Count(string(data[:offset]), "\n"), offset)
}
