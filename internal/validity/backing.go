package validity

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// backing is what keeps the files of the place, or the place itself.
type backing struct {
	filesystem          string
	disks, mountOptions []string
}

func (e *Evidence) backing() backing {
	return backing{filesystem: cmp.Or(e.Place.Filesystem, e.Machine.Filesystem), disks: e.Place.Disks,
		mountOptions: e.Machine.MountOptions}
}

// inMemory reports whether the place is kept in memory. null_blk keeps nothing at all, which is no better.
func (b backing) inMemory() bool {
	if slices.Contains([]string{"tmpfs", "ramfs", "hugetlbfs"}, b.filesystem) {
		return true
	}
	memory := func(disk string) bool {
		return slices.ContainsFunc([]string{"ram", "zram", "nullb"}, func(p string) bool {
			rest, ok := strings.CutPrefix(disk, p)
			_, err := strconv.Atoi(rest)
			return ok && err == nil
		})
	}
	return len(b.disks) > 0 && !slices.ContainsFunc(b.disks, func(d string) bool { return !memory(d) })
}

// onNetwork reports whether another machine (or the host of this one) keeps the files, and may keep them in its memory.
func (b backing) onNetwork() bool {
	return slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "lustre", "afs", "gfs2",
		"ocfs2"}, b.filesystem) ||
		slices.Contains([]string{"fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.juicefs", "fuse.ceph-fuse"},
			b.filesystem)
}

// compresses reports whether the file system compresses what is written, where its mount options tell. ZFS keeps
// that in properties, which they do not show.
func (b backing) compresses() bool {
	for _, o := range b.mountOptions {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "compress", "compress-force", "compression", "compress_algorithm":
			return value != "no" && value != "none" && value != "off"
		}
	}
	return false
}
