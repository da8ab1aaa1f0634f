package targettest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/safepath"
)

func files(t *testing.T, tg host.Target) {
	dir := folder(t, tg)
	run(t, tg, "sh", "-c",
		`cd "$1"; : >empty; printf 'a\0b\n\377' >binary; head -c 300000 /dev/zero >large; printf 'no end' >'two words'; mkdir sub; echo x >closed; chmod 0 closed; ln -s binary link; ln -s nowhere broken`, "sh", dir)
	names := []string{"empty", "binary", "large", "two words", "link", "sub", "missing", "closed", "broken",
		"binary/below", "sub/missing"}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = path.Join(dir, n)
	}
	got, err := tg.ReadFiles(t.Context(), paths...)
	if err != nil || len(got) != len(paths) {
		t.Fatalf("%d files of %d, %v", len(got), len(paths), err)
	}
	for name, want := range map[string]string{"empty": "", "binary": "a\x00b\n\xff", "link": "a\x00b\n\xff",
		"two words": "no end", "large": strings.Repeat("\x00", 300000)} {
		if f := got[path.Join(dir, name)]; f.Err != nil || string(f.Data) != want {
			t.Errorf("%s: %d bytes, %v", name, len(f.Data), f.Err)
		}
	}
	for name, want := range map[string]error{"missing": fs.ErrNotExist, "broken": fs.ErrNotExist,
		"sub/missing": fs.ErrNotExist, "closed": fs.ErrPermission} {
		f := got[path.Join(dir, name)]
		if name == "closed" && strings.TrimSpace(run(t, tg, "id", "-u")) == "0" {
			continue // root may
		}
		if !errors.Is(f.Err, want) || len(f.Data) != 0 {
			t.Errorf("%s: %q, %v", name, f.Data, f.Err)
		}
	}
	for _, name := range []string{"sub", "binary/below"} {
		if f := got[path.Join(dir, name)]; f.Err == nil {
			t.Errorf("%s can be read: %q", name, f.Data)
		}
	}
	if none, err := tg.ReadFiles(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("no file: %v, %v", none, err)
	}
}

// Files of /proc report a size of 0, files of /sys a size of 4096 bytes.
func kernelFiles(t *testing.T, tg host.Target) {
	names := []string{"/proc/sys/kernel/osrelease", "/proc/cpuinfo", "/proc/zoneinfo", "/proc/self/mountinfo",
		"/sys/kernel/mm/transparent_hugepage/enabled", "/proc/version", "/proc/stat"}
	got, err := tg.ReadFiles(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	release := strings.TrimSpace(run(t, tg, "uname", "-r"))
	if f := got[names[0]]; f.Err != nil || strings.TrimSpace(string(f.Data)) != release {
		t.Errorf("%q, %v; uname says %q", f.Data, f.Err, release)
	}
	for _, name := range names[1:] {
		f := got[name]
		if errors.Is(f.Err, fs.ErrNotExist) {
			continue // kernels differ
		}
		if f.Err != nil || len(f.Data) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(f.Data), f.Err)
		}
		data, err := fs.ReadFile(tg.FS(), name[1:])
		if err != nil || len(data) == 0 {
			t.Errorf("%s over FS: %d bytes, %v", name, len(data), err)
		}
	}
	if n := strings.TrimSpace(run(t, tg, "sh", "-c", "wc -l </proc/zoneinfo")); n !=
		fmt.Sprint(bytes.Count(got["/proc/zoneinfo"].Data, []byte("\n"))) {
		t.Errorf("/proc/zoneinfo has %s lines, %d arrived", n, bytes.Count(got["/proc/zoneinfo"].Data, []byte("\n")))
	}
}

func fileSystem(t *testing.T, tg host.Target) {
	dir := folder(t, tg)
	run(t, tg, "sh", "-c",
		`cd "$1"; mkdir -p sub/deeper empty; printf text >file; head -c 100000 /dev/zero >sub/large; ln -s ../file sub/link; ln -s nowhere broken; printf x >'two words'; printf x >.hidden`, "sh", dir)
	fsys := tg.FS()
	tree, err := fs.Sub(fsys, dir[1:])
	if err != nil {
		t.Fatal(err)
	}
	plain := path.Join(dir, "plain")
	run(t, tg, "sh", "-c",
		`mkdir "$1" && cp "$2"/file "$2"/'two words' "$2"/.hidden "$1" && cp -r "$2"/sub/deeper "$1"`, "sh", plain, dir)
	sub, err := fs.Sub(fsys, plain[1:])
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "file", "two words", ".hidden", "deeper"); err != nil {
		t.Error(err)
	}
	if to, err := fs.ReadLink(tree, "sub/link"); err != nil || to != "../file" {
		t.Errorf("a link leads to %q, %v", to, err)
	}
	if data, err := fs.ReadFile(tree, "sub/link"); err != nil || string(data) != "text" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	if _, err := fs.Stat(tree, "broken"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if info, err := fs.Lstat(tree, "broken"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link itself: %v, %v", info, err)
	}
	run(t, tg, "chmod", "1773", path.Join(dir, "empty"))
	id := func(what string) int {
		n, err := strconv.Atoi(strings.TrimSpace(run(t, tg, "id", what)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	owned := safepath.Info{Owner: id("-u"), Group: id("-g"), Mode: fs.ModeDir | fs.ModeSticky | 0o773}
	if got, err := host.Owners(t.Context(), tg).Lstat(path.Join(dir, "empty")); err != nil || got != owned {
		t.Errorf("a folder's owner and mode: %+v, %v, want %+v", got, err, owned)
	}
	if info, err := fs.Stat(tree, "sub/large"); err != nil || info.Size() != 100000 || info.IsDir() {
		t.Errorf("a file of 100000 bytes: %v, %v", info, err)
	}
	if _, err := fs.ReadLink(tree, "file"); err == nil {
		t.Error("a file that is no link leads somewhere")
	}
	for _, missing := range []string{"missing", "file/below"} {
		if _, err := fs.ReadFile(tree, missing); err == nil {
			t.Errorf("%s can be read", missing)
		}
	}
	if _, err := fs.ReadDir(tree, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if entries, err := fs.ReadDir(tree, "empty"); err != nil || len(entries) != 0 {
		t.Errorf("an empty folder: %v, %v", entries, err)
	}
	if info, err := fs.Stat(fsys, "dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Errorf("/dev/null: %v, %v", info, err)
	}
	if names, err := fs.Glob(fsys, "sys/class/net/l?"); err != nil || !slices.Contains(names, "sys/class/net/lo") {
		t.Errorf("the loopback interface: %v, %v", names, err)
	}
	f, err := fsys.Open("proc/version")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 5)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != "Linux" {
		t.Errorf("/proc/version begins with %q, %v", head, err)
	}
}
