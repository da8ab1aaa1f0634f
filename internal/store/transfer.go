package store

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// Export writes a bundle as one tar archive, to be sent to a colleague. Its parts are compressed already. The
// archive of the same bundle is always the same to the byte.
func (b *Bundle) Export(w io.Writer) error { return b.export(w, addFile) }

// export writes the bundle's files with add, in the order of their names.
func (b *Bundle) export(w io.Writer, add func(archive *tar.Writer, name, as string) error) error {
	if b.Active() {
		return &lab.Error{Kind: lab.Refused, What: "run " + b.Run.ID + " is still active",
			Hints: []string{"export it when it has ended"}}
	}
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(b.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || d.Name() == activeName ||
			d.Name() == progressName || d.Name() == importedName {
			return err
		}
		rel, err := filepath.Rel(b.dir, name)
		if err != nil {
			return err
		}
		return add(archive, name, path.Join(b.Run.ID, filepath.ToSlash(rel)))
	})
	return errors.Join(err, archive.Close())
}

func addFile(archive *tar.Writer, name, as string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: as, Mode: 0o644, Size: info.Size(), Format: tar.FormatPAX}); err !=
		nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// The bounds of an archive from elsewhere. A run that is measured adds two files a repetition, and a segment is some
// tens of megabytes: a run of a week has a twentieth of this.
const (
	maxEntries     = 400_000
	maxImportedOne = 8 << 30
	maxImported    = 64 << 30
)

// IsExport reports whether head, the first bytes of a file, begin an archive that Export wrote: a tar whose first file
// is a bundle's.
func IsExport(head []byte) bool {
	h, err := tar.NewReader(strings.NewReader(string(head))).Next()
	if err != nil {
		return false
	}
	id, rest, ok := strings.Cut(h.Name, "/")
	return ok && validID(id) && bundleFile(rest)
}

// Imports takes runs from elsewhere into the folder of a store.
type Imports struct {
	folder Folder
	mu     sync.Mutex
	// unpacking are the folders of imports that have not ended.
	unpacking []string
	// relabels is set where imported runs get other labels than they have.
	relabels bool
}

// Read puts an exported run into a store, unchanged, and marks it as imported. The store must not have the run already.
func (m *Imports) Read(r io.Reader) (*Bundle, error) {
	if err := m.folder.makeRuns(); err != nil {
		return nil, err
	}
	building, err := os.MkdirTemp(m.folder.runs(), ".new-import-")
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.unpacking = append(m.unpacking, building)
	m.mu.Unlock()
	defer os.RemoveAll(building) // does nothing once renamed
	if err := os.Chmod(building, 0o755); err != nil {
		return nil, err
	}
	id, err := unpackExport(r, building)
	if err != nil {
		return nil, &lab.Error{Kind: lab.Usage, What: "not a run that headroom exported", Err: err}
	}
	return m.adopt(building, id)
}

// Drop removes what unfinished imports have unpacked so far, so that they fail. A run that has been adopted stays.
func (m *Imports) Drop() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, dir := range m.unpacking {
		// Once it is renamed nothing more is written into it, or adopted.
		gone := filepath.Join(m.folder.runs(), ".removed-"+strings.TrimPrefix(filepath.Base(dir), "."))
		if err := os.Rename(dir, gone); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.RemoveAll(gone))
	}
	return errors.Join(errs...)
}

// Adopt takes a run into the store from name: an exported file, or the folder of a bundle, which stays where it is.
func (m *Imports) Adopt(name string) (*Bundle, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", name)
	}
	if !info.IsDir() {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return m.Read(f)
	}
	b, err := OpenBundle(name)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(b.Export(w)) }()
	adopted, err := m.Read(r)
	return adopted, errors.Join(err, r.Close())
}

// Relabel says that imported runs get labels of the user's, so that theirs don't matter.
func (m *Imports) Relabel() { m.relabels = true }

// adopt checks the bundle in dir from end to end and moves it to its place in the store.
func (m *Imports) adopt(dir, id string) (*Bundle, error) {
	b, err := OpenBundle(dir)
	if err != nil {
		return nil, err
	}
	if b.Run.ID != id || !validID(id) {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("the archive says run %q and holds run %q", id,
			b.Run.ID)}
	}
	if err := b.checkContents(); err != nil {
		return nil, err
	}
	if err := b.checkSnapshots(); err != nil {
		return nil, err
	}
	if err := CheckLabel(b.Run.Label); err != nil && !m.relabels {
		return nil, &lab.Error{Kind: lab.Usage, What: "can't import the run " + id, Err: err,
			Hints: []string{"give it another label: headroom import FILE --label TEXT"}}
	}
	if m.folder.has(id) {
		return nil, &lab.Error{Kind: lab.Usage, What: "run " + id + " is in the store already",
			Hints: []string{"headroom show " + id + " shows it; headroom rm " + id + " makes room"}}
	}
	if err := os.WriteFile(filepath.Join(dir, importedName), nil, 0o644); err != nil {
		return nil, err
	}
	if err := syncAll(dir); err != nil {
		return nil, err
	}
	if err := os.Rename(dir, filepath.Join(m.folder.runs(), id)); err != nil {
		return nil, err
	}
	if err := syncDir(m.folder.runs()); err != nil {
		return nil, err
	}
	return m.folder.bundle(id)
}

// checkSnapshots reads all snapshots, including snapshots of roles that the header does not name.
func (b *Bundle) checkSnapshots() error {
	names, err := filepath.Glob(filepath.Join(b.dir, "facts", "*"))
	for _, name := range names {
		f, openErr := openHead(name)
		if openErr != nil {
			return openErr
		}
		_, err = readSnapshot(f, func(lab.Fact) bool { return true })
		_ = f.Close()
		if err != nil {
			return &lab.Error{What: "damaged: " + name, Err: err}
		}
	}
	return err
}

// unpackExport writes the files of an archive below dir. Only names that a bundle has are accepted, so an archive
// can't write anywhere else.
func unpackExport(r io.Reader, dir string) (id string, err error) {
	for _, sub := range folders() {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return "", err
		}
	}
	archive := tar.NewReader(r)
	var total int64
	for entries := 1; ; entries++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return id, nil
		}
		if err != nil {
			return "", err
		}
		folder, rest, _ := strings.Cut(h.Name, "/")
		if id == "" {
			id = folder
		}
		if folder != id || !bundleFile(rest) {
			return "", fmt.Errorf("unexpected entry %q", h.Name)
		}
		if err := checkMember(h, maxImportedOne); err != nil {
			return "", err
		}
		if total += h.Size; total > maxImported || entries > maxEntries {
			return "", fmt.Errorf("it is larger than any run: more than %d GiB or %d files", maxImported>>30,
				maxEntries)
		}
		if err := unpackFile(archive, filepath.Join(dir, filepath.FromSlash(rest))); err != nil {
			return "", err
		}
	}
}

func unpackFile(r io.Reader, name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// syncAll has all that was written to the file system of a folder survive a power cut. To flush each of many thousand
// files takes minutes.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return linux.SyncFS(d.Fd())
}

// bundleFile reports whether rest is the name of a file that a bundle has.
func bundleFile(rest string) bool {
	if rest == headerName || factsFile().MatchString(rest) {
		return true
	}
	number := strings.TrimSuffix(strings.TrimPrefix(rest, "repetitions/"), ".jsonl")
	if raw, ok := strings.CutPrefix(rest, "raw/"); ok {
		number = strings.TrimSuffix(raw, ".tar.zst")
	}
	if profiled, ok := strings.CutPrefix(rest, "profiles/"); ok {
		number = strings.TrimSuffix(profiled, ".json.zst")
	}
	if len(number) != 6 || len(number) == len(rest) {
		return false
	}
	for _, c := range number {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
