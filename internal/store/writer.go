package store

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-faster/jx"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Writer adds to a bundle. One process at a time can hold it: a lock on active.json, which the kernel releases when the
// process ends in any way, distinguishes an active run from a killed one.
type Writer struct {
	folder    Folder
	saver     *saver
	dir       string
	run       lab.Run
	active    *os.File
	leftovers lab.Leftovers

	segment int
	records bytes.Buffer
	encoder jx.Encoder
	raw     *rawArchive
}

// NewID draws an id: ten characters of Crockford's base32, which has no letters that look like figures.
func NewID() string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	for i := range b {
		b[i] = alphabet[b[i]%32]
	}
	return string(b[:])
}

// Create begins a bundle for run, whose ID must be new. The bundle appears in the store whole, header and lock
// included, by one rename.
func (s *Store) Create(run lab.Run) (*Writer, error) {
	if err := CheckLabel(run.Label); err != nil {
		return nil, err
	}
	if err := s.Folder.makeRuns(); err != nil {
		return nil, err
	}
	building := filepath.Join(s.Folder.runs(), ".new-"+run.ID)
	s.saver.atStep("make " + filepath.Base(building))
	if err := os.Mkdir(building, 0o755); err != nil {
		return nil, err
	}
	for _, sub := range folders() {
		s.saver.atStep("make " + sub)
		if err := os.Mkdir(filepath.Join(building, sub), 0o755); err != nil {
			return nil, err
		}
	}
	w := &Writer{folder: s.Folder, saver: s.saver, dir: building, run: run, segment: 1}
	if err := w.writeHeader(); err != nil {
		return nil, err
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	w.dir = filepath.Join(s.Folder.runs(), run.ID)
	s.saver.atStep("rename bundle")
	if err := os.Rename(building, w.dir); err != nil {
		return nil, err
	}
	s.saver.atStep("flush folder of bundles")
	return w, syncDir(s.Folder.runs())
}

// Resume takes up a run that was interrupted. Its saved repetitions stay; the caller asks the bundle which they are.
func (s *Store) Resume(b *Bundle) (*Writer, error) {
	if err := s.Resumable(b); err != nil {
		return nil, err
	}
	segments, err := b.segments()
	if err != nil {
		return nil, err
	}
	w := &Writer{folder: s.Folder, saver: s.saver, dir: b.dir, run: b.Run, segment: 1}
	if len(segments) > 0 {
		w.segment = segments[len(segments)-1] + 1
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	if err := removeUncommitted(b.dir); err != nil {
		return nil, err
	}
	w.run.Status = lab.Running
	w.run.Finished = time.Time{}
	return w, w.writeHeader()
}

func (w *Writer) lock() error {
	w.saver.atStep("lock")
	f, err := os.OpenFile(filepath.Join(w.dir, activeName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := safepath.Lock(f, f.Name()); err != nil {
		err = errors.Join(err, safepath.Unlock(f))
		if errors.Is(err, unix.EWOULDBLOCK) {
			return &lab.Error{Kind: lab.Refused, What: "run " + w.run.ID + " is active in another process"}
		}
		return err
	}
	w.active = f
	return nil
}

// Run is the header as it stands.
func (w *Writer) Run() lab.Run { return w.run }

// Update changes the header and saves it.
func (w *Writer) Update(change func(*lab.Run)) error {
	change(&w.run)
	return w.writeHeader()
}

func (w *Writer) writeHeader() error {
	data, err := json.MarshalIndent(header{Schema: headerSchema, Run: w.run}, "", "  ")
	if err != nil {
		return err
	}
	return w.saver.write(filepath.Join(w.dir, headerName), append(data, '\n'))
}

// AnnounceLeftovers records what would be left behind, before it is: the file is flushed when AnnounceLeftovers
// returns. Earlier leftovers of other targets stay. The file is written in place, because the lock is on it; a crash in
// the midst of that is recovered by the bundle's id, which all names of leftovers contain.
func (w *Writer) AnnounceLeftovers(part lab.Leftovers) error {
	w.saver.atStep("write " + activeName)
	left := w.leftovers.With(part)
	data, err := json.Marshal(left)
	if err != nil {
		return err
	}
	if _, err := w.active.WriteAt(append(data, '\n'), 0); err != nil {
		return err
	}
	if err := w.active.Truncate(int64(len(data) + 1)); err != nil {
		return err
	}
	w.saver.atStep("flush " + activeName)
	w.leftovers = left
	return w.active.Sync()
}

// Raw adds a file of what was printed to the open segment, for repetitions that name it in their Raw.
func (w *Writer) Raw(name string, data []byte) error {
	if err := w.open(); err != nil {
		return err
	}
	return w.raw.add(name, data, w.run.Created)
}

// Repetition adds a repetition to the open segment. It is safe when Commit has returned.
func (w *Writer) Repetition(rep lab.Repetition) error {
	if err := w.open(); err != nil {
		return err
	}
	for name, v := range rep.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s of repetition %d of %s is %v, which can't be kept", name, rep.Number, rep.Cell, v)
		}
	}
	w.encoder.Reset()
	encodeRepetition(&w.encoder, rep)
	w.records.Write(w.encoder.Bytes())
	w.records.WriteByte('\n')
	return nil
}

// open begins a segment if there is none.
func (w *Writer) open() error {
	if w.raw != nil {
		return nil
	}
	archive, err := w.newRawArchive()
	if err == nil {
		w.raw = archive
	}
	return err
}

// Pending is how many bytes the open segment holds.
func (w *Writer) Pending() int64 {
	if w.raw == nil {
		return 0
	}
	return w.raw.bytes + int64(w.records.Len())
}

// Commit makes the open segment part of the bundle: first the raw archive, then the records that point into it.
func (w *Writer) Commit() error {
	if w.raw == nil {
		return nil
	}
	name := fmt.Sprintf("%06d", w.segment)
	if err := w.raw.finish(w.saver, filepath.Join(w.dir, "raw", name+".tar.zst")); err != nil {
		return err
	}
	w.raw = nil
	if err := w.saver.write(filepath.Join(w.dir, "repetitions", name+".jsonl"), w.records.Bytes()); err != nil {
		return err
	}
	w.records.Reset()
	w.segment++
	return nil
}

// Close ends the bundle with the header as changed by change, which should set the status. Whatever is not committed
// is dropped.
func (w *Writer) Close(change func(*lab.Run)) error {
	if w.raw != nil {
		w.raw.abandon()
		w.raw = nil
	}
	err := w.Update(change)
	if err == nil {
		err = removeProgress(w.dir)
	}
	if err == nil {
		w.saver.atStep("remove " + activeName)
		err = os.Remove(filepath.Join(w.dir, activeName))
	}
	return errors.Join(err, safepath.Unlock(w.active))
}

// Abandon ends the writing but leaves the run as interrupted, for the next start to clear: something that it began
// could not be ended.
func (w *Writer) Abandon(change func(*lab.Run)) error {
	if w.raw != nil {
		w.raw.abandon()
		w.raw = nil
	}
	return errors.Join(w.Update(change), safepath.Unlock(w.active))
}

// Discard removes the whole bundle: an import that failed leaves nothing.
func (w *Writer) Discard() error {
	if w.raw != nil {
		w.raw.abandon()
		w.raw = nil
	}
	return errors.Join(w.folder.remove(w.run.ID), safepath.Unlock(w.active))
}

// rawArchive is a segment's archive while it is written.
type rawArchive struct {
	file *os.File
	// buffer is between zstd and the file: zstd writes a few kilobytes at a time, and each write costs the file system
	// more than to copy them.
	buffer *bufio.Writer
	zstd   *zstd.Encoder
	tar    *tar.Writer
	bytes  int64
}

func (w *Writer) newRawArchive() (*rawArchive, error) {
	name := fmt.Sprintf(".%06d.tar.zst.*.tmp", w.segment)
	w.saver.atStep("create raw")
	f, err := os.CreateTemp(filepath.Join(w.dir, "raw"), name)
	if err != nil {
		return nil, err
	}
	// One goroutine and a small window: the archive is written between measurements on the machine that is measured,
	// and what fio prints repeats within a few documents. At the fastest level it shrinks to a seventeenth, at some 700
	// MB/s. A megabyte would make archives a twentieth smaller, and an import a thirtieth slower, since it does not
	// stay in the processor's cache. To leave out the entropy coding would save as little and make archives a third
	// larger; snappy is hardly faster, at a quarter of the ratio.
	buffer := bufio.NewWriterSize(f, 64<<10)
	enc, err := zstd.NewWriter(buffer, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(256<<10))
	if err != nil {
		return nil, err
	}
	return &rawArchive{file: f, buffer: buffer, zstd: enc, tar: tar.NewWriter(enc)}, nil
}

func (a *rawArchive) add(name string, data []byte, modified time.Time) error {
	h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: modified.Truncate(time.Second),
		Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(h); err != nil {
		return err
	}
	a.bytes += int64(len(data))
	_, err := a.tar.Write(data)
	return err
}

func (a *rawArchive) finish(s *saver, name string) error {
	s.atStep("write raw")
	if err := errors.Join(a.tar.Close(), a.zstd.Close(), a.buffer.Flush()); err != nil {
		a.abandon()
		return err
	}
	return s.commit(a.file, name)
}

func (a *rawArchive) abandon() {
	_ = a.zstd.Close()
	_ = a.file.Close()
	_ = os.Remove(a.file.Name())
}

// removeUncommitted deletes what a crash left in a bundle: temporary files and raw archives without records.
func removeUncommitted(dir string) error {
	var errs []error
	for _, sub := range append(folders(), ".") {
		names, err := filepath.Glob(filepath.Join(dir, sub, ".*.tmp"))
		errs = append(errs, err)
		for _, n := range names {
			errs = append(errs, os.Remove(n))
		}
	}
	segments, err := segmentsOf(dir)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	raws, err := filepath.Glob(filepath.Join(dir, "raw", "*.tar.zst"))
	errs = append(errs, err)
	for _, r := range raws {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(r), "%06d.tar.zst", &n); err == nil && !slices.Contains(segments, n) {
			errs = append(errs, os.Remove(r))
		}
	}
	return errors.Join(errs...)
}

// progressName is the file with the progress of an active run. It is not exported.
const progressName = "progress.json"

// Progress tells others who look at the run how far it has come. It is not flushed: it is useless after a crash.
func (w *Writer) Progress(p lab.Progress) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(w.dir, "."+progressName+".*.tmp") // a new file: no link of another user
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // does nothing once renamed
	_, err = next.Write(append(data, '\n'))
	if err := errors.Join(err, next.Chmod(0o644), next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), filepath.Join(w.dir, progressName))
}

// removeProgress removes the progress file of a run that has ended.
func removeProgress(dir string) error {
	if err := os.Remove(filepath.Join(dir, progressName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Progress returns how far an active run has come. It reports false for a run that is not active, or has not saved it.
func (b *Bundle) Progress() (lab.Progress, bool) {
	var p lab.Progress
	if !b.Active() {
		return p, false
	}
	data, err := readHead(filepath.Join(b.dir, progressName))
	return p, err == nil && json.Unmarshal(data, &p) == nil
}

// saver saves files whole, and calls atStep before each step; tests crash there.
type saver struct{ atStep func(step string) }

// write puts data under name so that a crash at any moment leaves the old file or the new one: the data goes to a
// temporary file in the same folder, is flushed, takes the name, and the folder is flushed.
func (s *saver) write(name string, data []byte) error {
	step := filepath.Base(name)
	s.atStep("create " + step)
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+step+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // does nothing once renamed
	s.atStep("write " + step)
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	return s.commit(tmp, name)
}

// commit flushes an open temporary file, closes it and gives it its name.
func (s *saver) commit(tmp *os.File, name string) error {
	step := filepath.Base(name)
	s.atStep("flush " + step)
	if err := tmp.Sync(); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	s.atStep("rename " + step)
	if err := os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	s.atStep("flush folder of " + step)
	return syncDir(filepath.Dir(name))
}

// syncDir makes the names in a folder survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
