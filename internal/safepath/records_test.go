package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Files that may not be acted on are skipped silently if a process uses them; otherwise they are an error.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	isRecord := func(name string) bool { return strings.HasSuffix(name, ".record") }
	refused := errors.New("not to be trusted")
	trust := func(path string) error {
		if strings.Contains(path, "foreign") {
			return refused
		}
		return nil
	}
	if paths, err := Records(filepath.Join(dir, "none"), isRecord, trust); err != nil || paths != nil {
		t.Errorf("a folder that is not there has %q, %v", paths, err)
	}
	for _, name := range []string{"b.record", "a.record", "note", "foreign-busy.record"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	busy, err := os.Open(filepath.Join(dir, "foreign-busy.record"))
	must(t, err)
	defer busy.Close()
	must(t, Lock(busy, busy.Name()))
	want := []string{filepath.Join(dir, "a.record"), filepath.Join(dir, "b.record")}
	if paths, err := Records(dir, isRecord, trust); err != nil || !slices.Equal(paths, want) {
		t.Errorf("got %q, %v; want %q", paths, err, want)
	}
	must(t, os.WriteFile(filepath.Join(dir, "foreign.record"), nil, 0o600))
	if paths, err := Records(dir, isRecord, trust); !errors.Is(err, refused) || !slices.Equal(paths, want) {
		t.Errorf("got %q, %v; want %q and that one can't be trusted", paths, err, want)
	}
	must(t, SyncFolder(dir))
}

func TestLockIsThatOfTheName(t *testing.T) {
	f := lockable(t)
	must(t, Lock(f, f.Name()))
	second, err := os.Open(f.Name())
	must(t, err)
	defer second.Close()
	if err := Lock(second, f.Name()); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("locked twice: %v", err)
	}
	must(t, f.Close())
	must(t, os.Remove(f.Name()))
	if err := Lock(second, f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked a file that was removed: %v", err)
	}
	must(t, os.WriteFile(f.Name(), nil, 0o600))
	if err := Lock(second, f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("locked a file that was replaced: %v", err)
	}
}
