package collect

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// MountInfoPath lists what this process sees mounted.
const MountInfoPath = "/proc/self/mountinfo"

// Mount is a line of mountinfo.
type Mount struct {
	// ID identifies the mount uniquely while it exists; parent is the ID of the mount that it is on.
	ID, parent string
	// Device is "major:minor" as a file's device number shows it; the major is 0 if there is no single block device.
	Device string
	// Root is the folder of the file system that is mounted (not "/" for a bind mount or a btrfs subvolume).
	Root, Point string
	Options     string
	Kind        string
	Source      string
	Super       string
	// Under is set by dataMounts: the type of a file system above this one that might not answer.
	Under string
}

// ReadMounts reads the mounts; nil if they can't be read.
func ReadMounts(r Reader) []Mount {
	data, err := r.Text(MountInfoPath)
	if err != nil {
		return nil
	}
	return ParseMounts([]byte(data))
}

// ParseMounts reads /proc/PID/mountinfo. Fields: mount ID, parent ID, device, root, mount point, options, any number
// of optional fields up to a lone "-", type, source, options of the file system as a whole. A line that does not have
// that shape is left out. Source: proc_pid_mountinfo(5).
//
//	27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
//	36 29 0:33 /@home /home rw,noatime shared:19 - btrfs /dev/mapper/crypt rw,compress=zstd:3,ssd,subvolid=257
//	98 27 0:44 / /mnt/my\040share rw,relatime shared:52 - nfs4 files.example:/export rw,vers=4.2,proto=tcp
func ParseMounts(data []byte) []Mount {
	var mounts []Mount
	for line := range bytes.Lines(data) {
		// One space stands between two fields; other white space (a no-break space) can be part of a name, and a source
		// can be empty.
		f := strings.Split(strings.TrimRight(string(line), "\n"), " ")
		dash := 6
		for dash < len(f) && f[dash] != "-" {
			dash++
		}
		if dash+2 >= len(f) || !path.IsAbs(f[4]) || f[dash+1] == "" {
			continue
		}
		m := Mount{ID: f[0], parent: f[1], Device: f[2], Root: Unescape(f[3]), Point: path.Clean(Unescape(f[4])),
			Options: Unescape(f[5]), Kind: f[dash+1], Source: Unescape(f[dash+2])}
		if dash+3 < len(f) {
			m.Super = Unescape(f[dash+3])
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// AsksOthers reports whether a type of file system asks another machine, or a program, about its files. Whoever asks it
// may wait for ever.
func AsksOthers(kind string) bool {
	kind, _, _ = strings.Cut(kind, ".") // fuse.sshfs
	return slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse", "fuseblk", "9p", "ceph", "afs",
		"coda", "orangefs", "lustre", "gfs2", "ocfs2",
		"virtiofs", "autofs", "pvfs2", "beegfs", "vboxsf", "prl_fs", "ncpfs"}, kind)
}

// Unescape undoes what the kernel does to white space and backslashes in paths: three octal digits, "\040".
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

// MountTable finds mounts without looking at each of them.
type MountTable struct {
	mounts []Mount
	// index has the index of a mount, by its ID.
	index map[string]int
	// over is the newest mount at a point of another mount, by the other's ID and the point.
	over map[[2]string]int
	root int // -1 when it is out of sight
}

func NewMountTable(mounts []Mount) MountTable {
	t := MountTable{mounts: mounts, index: make(map[string]int, len(mounts)),
		over: make(map[[2]string]int, len(mounts)), root: -1}
	for i, m := range mounts {
		t.index[m.ID] = i
	}
	for i, m := range mounts {
		if m.parent != m.ID {
			t.over[[2]string{m.parent, m.Point}] = i
		}
		// The mount on "/" whose own parent is out of sight.
		if _, seen := t.index[m.parent]; t.root < 0 && m.Point == "/" && (m.parent == m.ID || !seen) {
			t.root = i
		}
	}
	return t
}

// MountOf finds the mount that contains an absolute path without links.
func MountOf(mounts []Mount, name string) (Mount, bool) {
	t := NewMountTable(mounts)
	i, ok := t.At(name)
	if !ok {
		return Mount{}, false
	}
	return t.mounts[i], true
}

// At returns the index of the mount that contains an absolute path without links. It walks the path as the kernel does,
// from the root mount into the children of each mount. The longest mount point that is a prefix would be wrong if
// something is mounted over a parent folder and hides older mounts below.
func (t MountTable) At(name string) (int, bool) {
	if t.root < 0 {
		return longestPrefix(t.mounts, name)
	}
	at := t.descend(t.root, "/")
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			at = t.descend(at, name[:i])
		}
	}
	return at, true
}

// maxOver limits how many mounts at one point are followed. No machine stacks so many, but a forged table could contain
// a cycle.
const maxOver = 256

// descend enters the mount at a point of a mount, then the mount over that one, and so on.
func (t MountTable) descend(at int, point string) int {
	for range maxOver {
		child, ok := t.over[[2]string{t.mounts[at].ID, point}]
		if !ok {
			break
		}
		at = child
	}
	return at
}

// Above is the closest mount of those that carry a mount's point that is as wanted.
func (t MountTable) Above(m Mount, wanted func(Mount) bool) (Mount, bool) {
	for range maxOver {
		i, ok := t.index[m.parent]
		if !ok || t.mounts[i].ID == m.ID {
			break
		}
		if m = t.mounts[i]; wanted(m) {
			return m, true
		}
	}
	return Mount{}, false
}

// longestPrefix serves a table without a visible root, as a chroot has it.
func longestPrefix(mounts []Mount, name string) (best int, ok bool) {
	for i, m := range mounts {
		if Below(name, m.Point) && (!ok || len(m.Point) >= len(mounts[best].Point)) {
			best, ok = i, true
		}
	}
	return best, ok
}

// Below reports whether a path is a folder or is inside it.
func Below(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}
