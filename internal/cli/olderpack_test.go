package cli

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// What an older binary made is kept in one archive, named by its commit: of each kind and state the store as that
// binary left it, and what it printed of it. testdata/older/README.txt says how it was made.

const (
	olderArchive = "testdata/older/bc96848.tar.zst"
	// labPlace stands for the folder of the test in which a fixture was made, where the store names it.
	labPlace = "/older/lab"
	printed  = "printed.json"
	// olderWindow is how far back the archive's compression looks: most of a fixture is in the one before.
	olderWindow = 32 << 20
)

// olderPrint is a command and the JSON that the older binary printed for it.
type olderPrint struct {
	Args   []string        `json:"args"`
	Code   int             `json:"code"`
	Stdout json.RawMessage `json:"stdout"`
}

// olderFile is a file, folder or link of a fixture.
type olderFile struct {
	name, link string
	folder     bool
	data       []byte
}

// olderFixtures are the files of each fixture, by "KIND/STATE".
type olderFixtures map[string][]olderFile

// TestOlderBundlesAreMade makes the fixtures with the binary that these tests are built into:
//
//	HEADROOM_MAKE_OLDER=1 go test -run TestOlderBundlesAreMade ./internal/cli
//
// in a checkout of the older commit to which olderkinds_test.go, olderexperiments_test.go and this file were copied.
func TestOlderBundlesAreMade(t *testing.T) {
	if os.Getenv("HEADROOM_MAKE_OLDER") == "" {
		t.Skip("the fixtures are those of an older commit; HEADROOM_MAKE_OLDER=1 makes them with this one")
	}
	var mu sync.Mutex
	made := olderFixtures{}
	t.Run("all", func(t *testing.T) {
		for _, k := range olderKinds() {
			for state, code := range map[string]int{"finished": 0, "interrupted": 130, "killed": 0} {
				if !k.has(state) {
					continue
				}
				t.Run(k.name+" "+state, func(t *testing.T) {
					inScriptedLab(t, k.machines, func(l *scriptedLab) {
						files := l.fixture(k, state, code)
						mu.Lock()
						defer mu.Unlock()
						made[k.name+"/"+state] = files
					})
				})
			}
		}
	})
	if !t.Failed() {
		made.write(t)
	}
}

// has says whether there are bundles of a kind in a state.
func (k olderKind) has(state string) bool {
	return state == "finished" || state == "interrupted" && k.cut != nil || state == "killed" && k.killed != nil
}

// fixture makes one: a store as it is at the end of the measurement, or when its process is killed.
func (l *scriptedLab) fixture(k olderKind, state string, code int) []olderFile {
	l.Helper()
	k.set(l)
	var killed []olderFile
	switch state {
	case "interrupted":
		k.cut(l)
	case "killed":
		k.killed(l, func() {
			if killed == nil {
				killed = l.storeFiles()
			}
		})
	}
	k.made(l, code)
	if state == "killed" {
		return killed
	}
	files := l.storeFiles()
	prints := olderFile{name: printed, data: l.printedOlder(k, state)}
	return append(files, prints.moved(l.dir, labPlace))
}

// moved is a file of a store as it is in another folder. In what is packed no path is changed.
func (f olderFile) moved(from, to string) olderFile {
	if name := strings.TrimSuffix(f.name, ".zst"); slices.Contains([]string{".json", ".jsonl"}, filepath.Ext(name)) {
		f.data = bytes.ReplaceAll(f.data, []byte(from), []byte(to))
	}
	return f
}

// storedRuns are the runs of the store, the oldest first.
func (l *scriptedLab) storedRuns() []string {
	l.Helper()
	var list struct{ Runs []struct{ ID string } }
	if out := l.run("list", "--json").ends(0); json.Unmarshal([]byte(out.stdout), &list) != nil {
		l.Fatalf("%s", out.stdout)
	}
	var ids []string
	for _, r := range list.Runs {
		ids = append(ids, r.ID)
	}
	slices.Reverse(ids)
	return ids
}

// printedOlder is what is printed of the runs of the store, as JSON. What is interrupted must stay so.
func (l *scriptedLab) printedOlder(k olderKind, state string) []byte {
	l.Helper()
	commands := slices.DeleteFunc(slices.Clone(k.prints), func(args []string) bool {
		return state == "interrupted" && slices.Contains(args, "--resume")
	})
	for _, id := range l.storedRuns() {
		commands = append(commands, []string{"show", id, "--json"})
	}
	var all []olderPrint
	for _, args := range commands {
		if out := l.run(args...); out.code == 0 || json.Valid([]byte(out.stdout)) {
			all = append(all, olderPrint{args, out.code, json.RawMessage(out.stdout)})
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		l.Fatal(err)
	}
	return text
}

// storeFiles are those of the store, without the index, which is made again from them. What is compressed there is
// compressed with all the rest.
func (l *scriptedLab) storeFiles() []olderFile {
	l.Helper()
	var files []olderFile
	err := filepath.WalkDir(filepath.Join(l.dir, "store"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(d.Name(), "index.sqlite") {
			return err
		}
		f := olderFile{folder: d.IsDir()}
		if f.name, err = filepath.Rel(l.dir, name); err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			f.link, err = os.Readlink(name)
		case d.Type().IsRegular():
			f.data, err = os.ReadFile(name)
		}
		if strings.HasSuffix(name, ".zst") {
			f.data = decompressed(l.T, f.data)
		}
		files = append(files, f.moved(l.dir, labPlace))
		return err
	})
	if err != nil {
		l.Error(err)
	}
	return files
}

// write writes the archive.
func (o olderFixtures) write(t *testing.T) {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, fixture := range slices.Sorted(maps.Keys(o)) {
		for _, f := range o[fixture] {
			h := &tar.Header{Name: fixture + "/" + f.name, Mode: 0o600, Size: int64(len(f.data)),
				Typeflag: tar.TypeReg, Linkname: f.link}
			if f.folder {
				h.Typeflag, h.Mode = tar.TypeDir, 0o700
			} else if f.link != "" {
				h.Typeflag = tar.TypeSymlink
			}
			err := w.WriteHeader(h)
			if err == nil {
				_, err = w.Write(f.data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	err := errors.Join(w.Close(), os.MkdirAll(filepath.Dir(olderArchive), 0o755))
	if err == nil {
		err = os.WriteFile(olderArchive, compressed(t, packed.Bytes(), zstd.SpeedBestCompression), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readOlder reads the archive.
func readOlder(t *testing.T) olderFixtures {
	t.Helper()
	packed, err := os.ReadFile(olderArchive)
	if err != nil {
		t.Fatalf("there are no bundles of an older binary: %v", err)
	}
	found := olderFixtures{}
	for r := tar.NewReader(bytes.NewReader(decompressed(t, packed))); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(r)
		}
		parts := strings.SplitN(h.Name, "/", 3)
		if err != nil || len(parts) < 3 {
			t.Fatalf("%s in %s: %v", h.Name, olderArchive, err)
		}
		fixture := parts[0] + "/" + parts[1]
		found[fixture] = append(found[fixture], olderFile{name: parts[2], link: h.Linkname,
			folder: h.Typeflag == tar.TypeDir, data: data})
	}
}

// place puts a fixture into the folder of the test, as if it had been made there the day before, and returns what the
// older binary printed of it.
func (l *scriptedLab) place(files []olderFile) []olderPrint {
	l.Helper()
	time.Sleep(24 * time.Hour)
	var prints []olderPrint
	for _, f := range files {
		name, data := filepath.Join(l.dir, f.name), f.moved(labPlace, l.dir).data
		var err error
		switch {
		case f.name == printed:
			err = json.Unmarshal(data, &prints)
		case f.folder:
			err = os.MkdirAll(name, 0o700)
		case f.link != "":
			err = os.Symlink(f.link, name)
		case strings.HasSuffix(name, ".zst"):
			err = os.WriteFile(name, compressed(l.T, data, zstd.SpeedFastest), 0o600)
		default:
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			l.Fatal(err)
		}
	}
	return prints
}

func compressed(t *testing.T, data []byte, level zstd.EncoderLevel) []byte {
	t.Helper()
	window := olderWindow
	if level == zstd.SpeedFastest {
		window = 1 << 20
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level),
		zstd.WithWindowSize(window))
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(data, nil)
}

func decompressed(t *testing.T, data []byte) []byte {
	t.Helper()
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(olderWindow))
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
