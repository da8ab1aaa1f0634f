//go:build system

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// What a setting was of can be gone when it is put back, with another thing in its place. That is left alone, and said
// once.
func TestWhatIsAnotherThingNowIsLeftAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts, loop devices and adapters need root")
	}
	needs(t, "losetup", "mkfs.ext4", "ip")
	adapter := fmt.Sprintf("hi%d", os.Getpid())
	for name, c := range map[string]struct {
		factor, level string
		// make makes the thing, and returns its place and what puts another in its place with a setting of its own.
		make func(t *testing.T) (lab.Place, func())
		read func(t *testing.T, place lab.Place) string
	}{
		"another file system at the mount point": {"mount:atime", "noatime", func(t *testing.T) (lab.Place, func()) {
			point := t.TempDir()
			mountOn(t, formatted(t), point, "relatime")
			return lab.Place{Kind: lab.Directory, Path: point}, func() {
				command(t, "umount", point)
				mountOn(t, formatted(t), point, "noatime")
			}
		}, optionsOfMount},
		"another file system on a device of the same number": {"mount:atime", "noatime",
			func(t *testing.T) (lab.Place, func()) {
				point, device := t.TempDir(), formatted(t)
				mountOn(t, device, point, "relatime")
				return lab.Place{Kind: lab.Directory, Path: point}, func() {
					command(t, "umount", point)
					other := filepath.Join(t.TempDir(), "other")
					command(t, "truncate", "--size", "64M", other)
					command(t, "mkfs.ext4", "-q", other)
					command(t, "losetup", "-d", device)
					command(t, "losetup", device, other)
					command(t, "mount", "-o", "noatime", device, point)
				}
			}, optionsOfMount},
		"the same device, reformatted and mounted again": {"mount:atime", "noatime",
			func(t *testing.T) (lab.Place, func()) {
				point, device := t.TempDir(), formatted(t)
				mountOn(t, device, point, "relatime")
				return lab.Place{Kind: lab.Directory, Path: point}, func() {
					command(t, "umount", point)
					command(t, "mkfs.ext4", "-q", "-F", device)
					command(t, "mount", "-o", "noatime", device, point)
				}
			}, optionsOfMount},
		"another disk of the same name": {"queue:read_ahead_kb", "512", func(t *testing.T) (lab.Place, func()) {
			disk := loopDisk(t)
			device := "/dev/" + disk
			return lab.Place{Kind: lab.Device, Path: device, Resolved: device, Disks: []string{disk}}, func() {
				file := filepath.Join(t.TempDir(), "other")
				if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
					t.Fatal(err)
				}
				command(t, "losetup", "-d", device)
				command(t, "losetup", device, file)
				setReadAhead(t, device, "512")
			}
		}, func(t *testing.T, place lab.Place) string {
			t.Helper()
			return contents(t, readAhead(place.Path))[readAhead(place.Path)]
		}},
		"another adapter of the same name": {"nic:" + adapter + "/mtu", "1400", func(t *testing.T) (lab.Place, func()) {
			add := func() { command(t, "ip", "link", "add", adapter, "type", "veth", "peer", "name", adapter+"p") }
			add()
			t.Cleanup(func() { command(t, "ip", "link", "delete", adapter) })
			return lab.Place{}, func() {
				command(t, "ip", "link", "delete", adapter)
				add()
				command(t, "ip", "link", "set", adapter, "mtu", "1400")
			}
		}, func(t *testing.T, _ lab.Place) string {
			t.Helper()
			return contents(t, "/sys/class/net/"+adapter+"/mtu")["/sys/class/net/"+adapter+"/mtu"]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			place, replace := c.make(t)
			w := scheme.Scope{Target: host.NewLocal(filepath.Join(t.TempDir(), "jobs")), Place: place}
			s, err := factor.Bind(t.Context(), w, c.factor)
			if err != nil {
				t.Fatal(err)
			}
			j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Change(t.Context(), s, c.level); err != nil {
				t.Fatal(err)
			}
			_ = j.record.file.Close() // as at the end of a process
			replace()
			was := c.read(t, place)
			again, err := Load(j.record.path, w.Target)
			if err != nil {
				t.Fatal(err)
			}
			err = again.Undo(t.Context())
			if lost, is := errors.AsType[*Lost](err); !is || lost.Was == lost.Is || !strings.Contains(err.Error(),
				"was not put back from ") {
				t.Errorf("%v", err)
			}
			t.Log(err)
			if now := c.read(t, place); now != was {
				t.Errorf("what is there now has %s, and had %s", now, was)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(j.record.path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the journal is still there: %v", err)
			}
		})
	}
}

func formatted(t *testing.T) string {
	t.Helper()
	device := "/dev/" + loopDisk(t)
	command(t, "mkfs.ext4", "-q", device)
	return device
}

// mountOn mounts a device, and unmounts what is there when the test ends.
func mountOn(t *testing.T, device, point, options string) {
	t.Helper()
	command(t, "mount", "-o", options, device, point)
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(point, "lost+found")); err == nil {
			command(t, "umount", point)
		}
	})
}

func optionsOfMount(t *testing.T, place lab.Place) string {
	t.Helper()
	return command(t, "findmnt", "--noheadings", "--output", "OPTIONS", place.Path)
}

func readAhead(device string) string {
	return "/sys/class/block/" + filepath.Base(device) + "/queue/read_ahead_kb"
}

func setReadAhead(t *testing.T, device, value string) {
	t.Helper()
	if err := os.WriteFile(readAhead(device), []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}
