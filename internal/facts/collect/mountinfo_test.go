package collect_test

import (
	"path"
	"testing"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func FuzzMountInfo(f *testing.F) {
	factstest.Seed(f, collect.MountInfoPath)
	f.Fuzz(func(t *testing.T, data []byte) {
		mounts := collect.ParseMounts(data)
		for _, m := range mounts {
			if !path.IsAbs(m.Point) || m.Kind == "" {
				t.Errorf("a mount without a place or a type: %+v", m)
			}
			if on, ok := collect.MountOf(mounts, m.Point); ok && !collect.Below(m.Point, on.Point) {
				t.Errorf("%s is said to lie on %s", m.Point, on.Point)
			}
		}
	})
}

func TestMountOf(t *testing.T) {
	mounts := collect.ParseMounts([]byte(`10 1 8:1 / / rw - ext4 /dev/sda1 rw
11 10 8:2 / /a/b rw - ext4 /dev/sda2 rw
12 10 8:3 / /a rw - ext4 /dev/sda3 rw
13 12 8:4 / /a/b/c rw shared:1 master:2 - ext4 /dev/sda4 rw
14 10 8:5 / /ab rw - ext4 /dev/sda5 rw
15 14 8:6 / /ab rw - ext4 /dev/sda6 rw
not a mount
16 10 8:7 / /cut rw -
`))
	if len(mounts) != 6 {
		t.Fatalf("%d mounts", len(mounts))
	}
	for name, want := range map[string]string{
		"/": "8:1", "/x": "8:1", "/a": "8:3", "/a/b": "8:3", "/a/b/c/d": "8:4", "/abc": "8:1", "/ab/c": "8:6",
	} {
		if m, ok := collect.MountOf(mounts, name); !ok || m.Device != want {
			t.Errorf("%s is on %s, not %s", name, m.Device, want)
		}
	}
}

// The kernel escapes blanks and tabs, but no other white space, and it prints an empty source as nothing.
func TestMountInfoOddNames(t *testing.T) {
	mounts := collect.ParseMounts([]byte("30 1 8:1 / /srv/my\u00a0data rw shared:1 - ext4 /dev/sda1 rw,noatime\n" +
		"31 1 0:40 / /srv/none rw - tmpfs  rw,size=4k\n"))
	if len(mounts) != 2 {
		t.Fatalf("%+v", mounts)
	}
	if m := mounts[0]; m.Point != "/srv/my\u00a0data" || m.Source != "/dev/sda1" || m.Super != "rw,noatime" {
		t.Errorf("%+v", m)
	}
	if m := mounts[1]; m.Source != "" || m.Super != "rw,size=4k" || m.Kind != "tmpfs" {
		t.Errorf("%+v", m)
	}
}
