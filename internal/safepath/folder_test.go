package safepath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for link, to := range map[string]string{"relative": "a/../a/./b", "absolute": filepath.Join(dir, "a"),
		"loop": "loop", "second": "relative"} {
		must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for name, want := range map[string]string{"a": "a", "a/b/": "a/b", "a/b/..": "a", "relative": "a/b",
		"absolute/b": "a/b", "second": "a/b",
		"loop": "", "file": "", "file/x": "", "nothing": ""} {
		f, err := OpenFolder(filepath.Join(dir, "a") + "/../" + name)
		if want == "" {
			if err == nil {
				t.Errorf("%s was opened", name)
			}
			continue
		}
		must(t, err)
		got, err := f.Info()
		must(t, err)
		if expected, err := os.Stat(filepath.Join(dir, want)); err != nil || !os.SameFile(got, expected) {
			t.Errorf("%s is not %s: %v", name, want, err)
		}
		must(t, f.Close())
	}
	t.Chdir(dir)
	f, err := OpenFolder(".")
	must(t, err)
	defer f.Close()
	if here, err := f.Info(); err != nil || !f.Holds("file", lstat(t, "file")) || !here.IsDir() {
		t.Errorf("the working directory is not what was opened: %v", err)
	}
}

func lstat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(name)
	must(t, err)
	return info
}

// Operations in a folder that is held open affect only that folder, and nothing that a link in it leads to.
func TestFolderFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must(t, os.Mkdir("held", 0o755))
	must(t, os.Mkdir("held/victims", 0o700))
	must(t, os.WriteFile("held/victim", []byte("kept"), 0o600))
	must(t, os.WriteFile("held/victims/kept", nil, 0o600))
	for _, name := range []string{"file", "written", "made"} {
		must(t, os.Symlink("victim", "held/"+name))
	}
	must(t, os.Symlink("victims", "held/folder"))
	must(t, os.Symlink("victims", "held/tree"))
	must(t, os.Link("held/victim", "other"))

	f, err := OpenFolder("held")
	must(t, err)
	defer f.Close()
	must(t, os.Rename("held", "aside"))
	must(t, os.Symlink("/", "held"))
	t.Chdir("aside")

	if _, err := f.Create("made"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made a file over a link: %v", err)
	}
	for _, name := range []string{"file", "victim", "victims"} { // a link, one of two names, a folder
		if file, err := f.Open(name); err == nil {
			t.Errorf("opened %s: %v", name, file.Close())
		}
	}
	if own, err := f.Own("folder"); err == nil {
		t.Errorf("opened a folder through a link: %v", own.Close())
	}
	if removed, err := f.Remove("file"); removed || err == nil {
		t.Errorf("removed a link: %v", err)
	}
	must(t, f.RemoveAll("tree"))
	must(t, f.Write("written", func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }))
	if err := f.Write("victim", func(io.Writer) error { return io.ErrUnexpectedEOF }); !errors.Is(err,
		io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of what writes", err)
	}
	if data, err := os.ReadFile("victim"); err != nil || string(data) != "kept" {
		t.Errorf("the victim holds %q, %v", data, err)
	}
	if info := lstat(t, "written"); !info.Mode().IsRegular() || info.Mode().Perm() != 0o644 || info.Size() != 3 {
		t.Errorf("wrote %v of %d bytes", info.Mode(), info.Size())
	}
	must(t, os.Chmod("written", 0o600))
	must(t, f.Write("written", func(io.Writer) error { return nil }))
	if info := lstat(t, "written"); info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("replaced it by %v of %d bytes", info.Mode(), info.Size())
	}
	lstat(t, "victims/kept")
	if left, err := filepath.Glob(".*"); err != nil || len(left) != 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestFolderMadeForAUser(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFolder(dir)
	must(t, err)
	defer f.Close()
	made, err := f.Mkdir("made", 0o755)
	must(t, err)
	must(t, made.Give(os.Geteuid()))
	must(t, made.Close())
	if info := lstat(t, filepath.Join(dir, "made")); info.Mode() != fs.ModeDir|0o755 {
		t.Errorf("made %v", info.Mode())
	}
	again, err := f.Own("made")
	must(t, err)
	must(t, again.Close())
	must(t, os.Chmod(filepath.Join(dir, "made"), 0o777))
	if _, err := f.Own("made"); err == nil {
		t.Error("took a folder that everybody can write to for its user's own")
	}
	if _, err := f.Mkdir("made", 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made a folder over another: %v", err)
	}
}
