package app

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// What can't be written to the store has a hint, and nothing else has that one.
func TestHintsOfAStore(t *testing.T) {
	p := New(Environment{})
	p.StoreDir = t.TempDir()
	at := func(path string, err error) error {
		return &lab.Error{What: "can't save", Err: &fs.PathError{Op: "write", Path: path, Err: err}}
	}
	inside := filepath.Join(p.StoreDir, "runs", "7KQ4M2X9TD", "run.json")
	for _, c := range []struct {
		err  error
		want string
	}{
		{at(inside, unix.ENOSPC), "is full: headroom list"},
		{at(inside, unix.EDQUOT), "is full: headroom list"},
		{at(inside, unix.EACCES), "run headroom as that user"},
		{at(inside, unix.EROFS), "read-only"},
		{at(inside, unix.EIO), ""},
		{at("/srv/headroom-7KQ4M2X9TD.scratch", unix.ENOSPC), ""},
		{&lab.Error{Err: at(inside, unix.EACCES), Hints: []string{"choose another with --store DIR"}}, ""},
	} {
		got := strings.Join(errorPrinter{store: p.OpenStore}.storeHints(c.err), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
