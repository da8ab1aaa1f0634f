package storage

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		machine, path string
		kind          lab.PlaceKind
		resolved      string
		filesystem    string
		disks         []string
	}{
		{"stacked", "/srv/link", lab.Directory, "/data/scratch", "xfs", []string{"sdc", "sdd"}},
		{"stacked", "/home/user/../user/", lab.Directory, "/home/user", "btrfs", []string{"sda", "sdb"}},
		{"stacked", "/mnt/my share", lab.Directory, "/mnt/my share", "nfs4", nil},
		{"stacked", "/tmp", lab.Directory, "/tmp", "tmpfs", nil},
		{"stacked", "/zfs", lab.Directory, "/zfs", "zfs", nil},
		{"stacked", "/dev/disk/by-label/archive", lab.Device, "/dev/sda2", "", []string{"sda"}},
		{"stacked", "/dev/mapper/vg-data", lab.Device, "/dev/dm-1", "", []string{"sdc", "sdd"}},
		{"stacked", "/dev/loop3", lab.Device, "/dev/loop3", "", []string{"sdc", "sdd"}},
		{"stacked", "", lab.NoPlace, "", "", nil},
		{"laptop", "/home", lab.Directory, "/home", "btrfs", []string{"nvme0n1"}},
		{"laptop", "/dev/../home/user/.", lab.Directory, "/home/user", "btrfs", []string{"nvme0n1"}},
		{"container", "/root", lab.Directory, "/root", "overlay", nil},
		{"container", "/volume", lab.Directory, "/volume", "ext4", []string{"vdb"}},
		{"epyc", "/dev/nvme0n1p1", lab.Device, "/dev/nvme0n1p1", "", []string{"nvme0n1"}},
		{"firecracker", "/", lab.Directory, "/", "ext4", []string{"vda"}},
	} {
		place, err := ResolvePlace(t.Context(), factstest.Saved(t, c.machine), c.path)
		if err != nil {
			t.Errorf("%s %s: %v", c.machine, c.path, err)
			continue
		}
		if place.Kind != c.kind || place.Resolved != c.resolved || place.Filesystem != c.filesystem ||
			!slices.Equal(place.Disks, c.disks) {
			t.Errorf("%s %s: %+v", c.machine, c.path, place)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, c := range []struct{ machine, path, want, hint string }{
		{"stacked", "/no/such", "there is no directory /no/such", "mkdir -p /no/such"},
		{"stacked", "/dev/sdz", "there is no device /dev/sdz", "lsblk"},
		{"stacked", "/data/file.bin", "is a regular file", "give its directory: /data"},
		{"stacked", "/data/job.fio", "is a fio job file", "headroom run /data/job.fio"},
		{"stacked", "/data/file.bin/below", "there is no directory", "mkdir"},
		{"stacked", "/dev/null", "character device", "block device"},
		{"stacked", "/dev/gone", "does not know", "lsblk"},
		{"stacked", "/srv/loop", "too many levels of symbolic links", ""},
		{"stacked", "/root/secret", "permission denied", "as root"},
		{"epyc", "/dev/nvme1", "NVMe controller", "/dev/nvme1n1"},
	} {
		_, err := ResolvePlace(t.Context(), factstest.Saved(t, c.machine), c.path)
		if err == nil {
			t.Errorf("%s %s: no error", c.machine, c.path)
			continue
		}
		e, ok := errors.AsType[*lab.Error](err)
		if !ok || e.Kind != lab.Usage {
			t.Errorf("%s %s: not an error of usage: %v", c.machine, c.path, err)
			continue
		}
		if hints := strings.Join(e.Details(), "\n"); !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(hints, c.hint) {
			t.Errorf("%s %s: %v\n%s", c.machine, c.path, err, hints)
		}
	}
}

func TestSameDevice(t *testing.T) {
	for _, c := range []struct {
		machine, place, store string
		want                  bool
	}{
		{"stacked", "/data/scratch", "/data/headroom/runs/x", true},
		{"stacked", "/data/scratch", "/home/user/.local", false},
		{"stacked", "/dev/disk/by-label/archive", "/home/user", true},
		{"stacked", "/dev/loop3", "/data/headroom", true},
		{"stacked", "/mnt/my share", "/mnt/my share/headroom", true},
		{"stacked", "/mnt/my share", "/tmp", false},
		{"stacked", "/tmp", "/tmp/headroom", false},
		{"container", "/root", "/", true},
		{"container", "/volume", "/root", false},
		{"epyc", "/dev/nvme1n1", "/var/lib/headroom", false},
		{"epyc", "/dev/nvme0n1", "/var/lib/headroom", true},
		{"laptop", "/home/user", "/tmp/headroom", false},
	} {
		m := factstest.Saved(t, c.machine)
		place, err := ResolvePlace(t.Context(), m, c.place)
		if err != nil {
			t.Fatal(err)
		}
		same, err := SameDevice(t.Context(), m, place, c.store)
		if err != nil || same != c.want {
			t.Errorf("%s: %s and %s: %v, %v", c.machine, c.place, c.store, same, err)
		}
	}
}
