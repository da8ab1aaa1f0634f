package safepath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is a few files, by absolute path.
type machine map[string]file

type file struct {
	owner, group int
	mode         fs.FileMode
	link         string
}

func (m machine) Lstat(name string) (Info, error) {
	f, ok := m[name]
	if !ok {
		return Info{}, fs.ErrNotExist
	}
	return Info{Owner: f.owner, Group: f.group, Mode: f.mode}, nil
}

func (m machine) Readlink(name string) (string, error) { return m[name].link, nil }

func (m machine) PrivateGroup(group, user int) bool { return group == user && group >= 1000 }

const (
	folder = fs.ModeDir | 0o755
	tmp    = fs.ModeDir | fs.ModeSticky | 0o777
)

func TestCheck(t *testing.T) {
	m := machine{
		"/":                 {mode: folder},
		"/tmp":              {mode: tmp},
		"/tmp/root":         {mode: folder},
		"/tmp/anna":         {owner: 1000, mode: folder},
		"/tmp/link":         {mode: fs.ModeSymlink | 0o777, link: "/srv/store"},
		"/tmp/annas":        {owner: 1000, mode: fs.ModeSymlink | 0o777, link: "/srv/store"},
		"/srv":              {mode: folder},
		"/srv/store":        {mode: folder},
		"/srv/store/a":      {mode: 0o644},
		"/srv/store/b":      {owner: 1000, mode: 0o644},
		"/srv/store/c":      {mode: 0o666},
		"/srv/store/d":      {group: 6, mode: 0o664},
		"/srv/store/loop":   {mode: fs.ModeSymlink | 0o777, link: "loop"},
		"/srv/store/up":     {mode: fs.ModeSymlink | 0o777, link: "../../home/anna/own"},
		"/srv/open":         {mode: fs.ModeDir | 0o777},
		"/srv/open/a":       {mode: 0o644},
		"/home":             {mode: folder},
		"/home/anna":        {owner: 1000, group: 1000, mode: folder | 0o020},
		"/home/anna/own":    {owner: 1000, mode: 0o600},
		"/home/anna/shared": {owner: 1000, group: 1001, mode: folder | 0o020},
		"/home/anna/roots":  {mode: 0o600},
		"/volume":           {group: 1000, mode: folder | 0o020},
		"/volume/own":       {owner: 1000, mode: 0o600},
	}
	for _, c := range []struct {
		name   string
		user   int
		check  func(System, string, int) error
		faulty string // "" is safe; "!" is another error
	}{
		{"/srv/store/a", 0, Check, ""},
		{"/srv/store/../store/./a", 0, Check, ""},
		{"/srv/store/a", 1000, Check, ""},
		{"/srv/store/b", 0, Check, "/srv/store/b"},
		{"/srv/store/b", 1000, Check, ""},
		{"/srv/store/c", 0, Check, "/srv/store/c"},
		{"/srv/store/d", 0, Check, "/srv/store/d"},
		{"/srv/store/not-there", 0, Check, ""},
		{"/srv/store/not/there", 0, Check, ""},
		{"/srv/store/loop", 0, Check, "!"},
		{"/srv/store/up", 0, Check, "/home/anna"},
		{"/srv/store/up", 1000, Check, ""},
		{"/srv/open/a", 0, Check, "/srv/open"},
		{"/srv/open/new", 0, Check, "/srv/open"},
		{"/home/anna/own", 1000, Check, ""},
		{"/home/anna/own", 0, Check, "/home/anna"},
		{"/home/anna/roots", 0, Check, "/home/anna"},
		{"/home/anna/shared", 1000, Check, "/home/anna/shared"},
		{"/volume/own", 1000, Check, ""}, // root's, and the user's own group may write: a volume with an fsGroup
		{"/volume/own", 0, Check, "/volume"},
		{"/volume", 1001, Check, "/volume"},
		{"/tmp", 0, Check, "/tmp"},
		{"/tmp/", 0, Check, "/tmp"},
		{"/tmp/.", 0, Check, "/tmp"},
		{"/tmp/new", 0, Check, "/tmp"},
		{"/tmp/root", 0, Check, ""},
		{"/tmp/anna", 0, Check, "/tmp/anna"},
		{"/tmp/link/a", 0, Check, ""},
		{"/tmp/annas/a", 0, Check, "/tmp/annas"},
		{"/tmp", 0, CheckFolder, ""},
		{"/tmp/new", 0, CheckFolder, ""},
		{"/srv/open", 0, CheckFolder, "/srv/open"},
		{"/tmp/anna", 0, CheckFolder, "/tmp/anna"},
		{"relative", 0, Check, "!"},
	} {
		err := c.check(m, c.name, c.user)
		unsafe, is := errors.AsType[*Unsafe](err)
		switch {
		case c.faulty == "" && err != nil:
			t.Errorf("%s for user %d: got %v, want none", c.name, c.user, err)
		case c.faulty == "!" && (err == nil || is):
			t.Errorf("%s for user %d: got %v, want an error that is not Unsafe", c.name, c.user, err)
		case is && unsafe.Remedy != nil && !slices.Contains(unsafe.Remedy, unsafe.Name):
			t.Errorf("%s for user %d: %v is no remedy", c.name, c.user, unsafe.Remedy)
		case strings.HasPrefix(c.faulty, "/") && (!is || unsafe.Name != c.faulty):
			t.Errorf("%s for user %d: got %v, want %s at fault", c.name, c.user, err, c.faulty)
		}
	}
}

func TestPrivateGroup(t *testing.T) {
	const users = "root:x:0:0:root:/root:/bin/bash\nanna:x:1000:1000:Anna,,,:/home/anna:/bin/bash\n" +
		"ben:x:1001:1001::/:/bin/sh\ncem:x:1002:1001::/:/bin/sh\n"
	const groups = "root:x:0:\nanna:x:1000:\nben:x:1001:\ndisk:x:6:backup,anna\n"
	for _, c := range []struct {
		groups      string
		group, user int
		want        bool
	}{
		{groups, 1000, 1000, true},
		{groups, 0, 0, true},
		{groups, 6, 1000, false},
		{groups, 1001, 1001, false}, // cem's primary group, too
		{groups, 1000, 0, false},
		{"anna:x:1000:anna\n", 1000, 1000, true},
		{"anna:x:1000:ben\n", 1000, 1000, false},
		{"", 1000, 1000, false},
		// Neither file knows a container's user and group.
		{groups, 65532, 65532, true},
		{groups, 65532, 65533, false},
		{groups + "shared:x:65532:ben\n", 65532, 65532, false},
		{groups + "shared:x:65532:\n", 65532, 65532, false},
	} {
		if got := PrivateGroup(users, c.groups, c.group, c.user); got != c.want {
			t.Errorf("group %d of user %d in %q: got %t, want %t", c.group, c.user, c.groups, got, c.want)
		}
	}
}

func TestLocal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Check(Local{}, open, os.Getuid())
	if unsafe, is := errors.AsType[*Unsafe](err); !is || unsafe.Name != dir {
		t.Errorf("got %v, want %s at fault", err, dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Check(Local{}, open, os.Getuid()); err != nil {
		t.Errorf("got %v, want none", err)
	}
}
