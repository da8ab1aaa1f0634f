package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Files of a bundle.
const (
	headerName = "run.json"
	activeName = "active.json"
	// importedName marks a bundle that came from elsewhere. It does not travel.
	importedName = "imported"
)

// folders are the folders of a bundle. Bundles made before snapshots were kept apart have no "facts", and those made
// before loads were profiled no "profiles".
func folders() []string { return []string{"facts", "repetitions", "raw", "profiles"} }

// Bundle is a run for reading.
type Bundle struct {
	dir string
	Run lab.Run
	// arm is the name of an arm that is read as a run, and whole the bundle that the arm is in. A whole bundle has
	// neither.
	arm   string
	whole *Bundle
}

// OpenBundle reads the header of the bundle in dir. A run with the status running, whose lock no process holds, was
// killed, and is shown as interrupted.
func OpenBundle(dir string) (*Bundle, error) {
	run, err := readHeader(dir)
	if err != nil {
		return nil, err
	}
	b := &Bundle{dir: dir, Run: run}
	if run.Status == lab.Running && !b.Active() {
		b.Run.Status = lab.Interrupted
	}
	return b, nil
}

// Dir is the bundle's folder.
func (b *Bundle) Dir() string { return b.dir }

// Active reports whether a process is working on the run now.
func (b *Bundle) Active() bool {
	return safepath.Locked(filepath.Join(b.dir, activeName))
}

// Imported reports whether the run came from elsewhere, by Imports: others wrote all that is in it.
func (b *Bundle) Imported() bool {
	_, err := os.Lstat(filepath.Join(b.dir, importedName))
	return !errors.Is(err, fs.ErrNotExist)
}

// added returns when the run was added to the store. The mark of an imported run is as old as the import.
func (b *Bundle) added() time.Time {
	if info, err := os.Lstat(filepath.Join(b.dir, importedName)); err == nil {
		return info.ModTime()
	}
	if !b.Run.Added.IsZero() {
		return b.Run.Added
	}
	return b.Run.Created
}

// segments returns the numbers of the committed segments, ascending.
func (b *Bundle) segments() ([]int, error) { return segmentsOf(b.dir) }

func segmentsOf(dir string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "repetitions"))
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%06d.jsonl", &n); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Repetitions yields the repetitions in the order in which they were saved, one at a time. A damaged line ends the
// sequence with an error that names the file and the line; what came before it has been yielded.
func (b *Bundle) Repetitions() iter.Seq2[lab.Repetition, error] {
	if b.arm != "" {
		return b.repetitionsOfPart()
	}
	return func(yield func(lab.Repetition, error) bool) {
		segments, err := b.segments()
		if err != nil {
			yield(lab.Repetition{}, err)
			return
		}
		for _, n := range segments {
			if !readSegment(b.segment(n), yield) {
				return
			}
		}
	}
}

func readSegment(name string, yield func(lab.Repetition, error) bool) bool {
	f, err := os.Open(name)
	if err != nil {
		return yield(lab.Repetition{}, err) && false
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return true
		}
		var rep lab.Repetition
		if err == nil {
			err = json.Unmarshal(line, &rep)
		}
		if err != nil {
			return yield(lab.Repetition{}, &lab.Error{What: fmt.Sprintf("damaged: %s, line %d", name, number), Err: err,
				Hints: []string{"the raw output of the same repetitions is in raw/ beside it"}}) && false
		}
		lab.Brief(rep.Warnings) // older versions quoted without bound, and others may write what they want
		if !yield(rep, nil) {
			return false
		}
	}
}

// countRepetitions counts the lines of segments without reading what they say.
func (b *Bundle) countRepetitions(segments []int) (int, error) {
	total := 0
	for _, n := range segments {
		lines, err := countLines(b.segment(n))
		if err != nil {
			return 0, err
		}
		total += lines
	}
	return total, nil
}

// segment returns the path of a segment.
func (b *Bundle) segment(n int) string {
	return filepath.Join(b.dir, "repetitions", fmt.Sprintf("%06d.jsonl", n))
}

func countLines(name string) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buffer, lines := make([]byte, 64<<10), 0
	for {
		n, err := f.Read(buffer)
		lines += bytes.Count(buffer[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Raw yields the raw files of the run, in the order in which they were saved.
func (b *Bundle) Raw() iter.Seq2[lab.RawFile, error] {
	if b.arm != "" {
		return b.rawFilesOfPart()
	}
	return func(yield func(lab.RawFile, error) bool) {
		segments, err := b.segments()
		if err != nil {
			yield(lab.RawFile{}, err)
			return
		}
		for _, n := range segments {
			if !readArchive(filepath.Join(b.dir, "raw", fmt.Sprintf("%06d.tar.zst", n)), yield) {
				return
			}
		}
	}
}

func readArchive(name string, yield func(lab.RawFile, error) bool) bool {
	fail := func(err error) bool {
		return yield(lab.RawFile{}, &lab.Error{What: "damaged: " + name, Err: err}) && false
	}
	f, err := os.Open(name)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	dec, err := unpack(f, maxUnpacked)
	if err != nil {
		return fail(err)
	}
	defer dec.Close()
	archive := tar.NewReader(dec)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return fail(err)
		}
		data, err := readMember(h, archive)
		if err != nil {
			return fail(err)
		}
		if !yield(lab.RawFile{Name: h.Name, Data: data}, nil) {
			return false
		}
	}
}

// SetLabel gives a finished run another label.
func (s *Store) SetLabel(b *Bundle, label string) error {
	if err := CheckLabel(label); err != nil {
		return err
	}
	return s.change(b, func(r *lab.Run) { r.Label = label })
}

// SetEndedAfter records how far a run got within its budget; the text is empty for a run that ended in time.
func (s *Store) SetEndedAfter(b *Bundle, after string) error {
	if b.Run.EndedAfter == after {
		return nil
	}
	return s.change(b, func(r *lab.Run) { r.EndedAfter = after })
}

// change changes the header of a finished run.
func (s *Store) change(b *Bundle, edit func(*lab.Run)) error {
	if b.Active() {
		return &lab.Error{Kind: lab.Refused, What: "run " + b.Run.ID + " is still active",
			Hints: []string{"label it when it has ended"}}
	}
	run, err := readHeader(b.dir)
	if err != nil {
		return err
	}
	if err := rootOwns(b.dir); err != nil { // a bundle may lie in no store
		return err
	}
	w := Writer{folder: s.Folder, saver: s.saver, dir: b.dir, run: run}
	return w.Update(edit)
}
