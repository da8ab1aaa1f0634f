package facts

import (
	"bytes"
	"path"
	"strings"
)

// mountInfoPath lists what this process sees mounted.
const mountInfoPath = "/proc/self/mountinfo"

// mount is a line of mountinfo.
type mount struct {
	id, parent string
	// device is "major:minor" as a file's device number shows it; the major is 0 for what has no single block device.
	device string
	// root is the folder of the file system that is mounted (not "/" for a bind mount or a btrfs subvolume).
	root, point string
	options     string
	kind        string
	source      string
	super       string
	// under is set by dataMounts: the type of a file system above this one that might not answer.
	under string
}

// readMounts reads what is mounted; nil when it can't be read.
func readMounts(r reader) []mount {
	data, err := r.text(mountInfoPath)
	if err != nil {
		return nil
	}
	return parseMountInfo([]byte(data))
}

// parseMountInfo reads /proc/PID/mountinfo. Fields: mount ID, parent ID, device, root, mount point, options, any number
// of optional fields up to a lone "-", type, source, options of the file system as a whole. A line that does not have
// that shape is left out. Source: proc_pid_mountinfo(5).
//
//	27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
//	36 29 0:33 /@home /home rw,noatime shared:19 - btrfs /dev/mapper/crypt rw,compress=zstd:3,ssd,subvolid=257
//	98 27 0:44 / /mnt/my\040share rw,relatime shared:52 - nfs4 files.example:/export rw,vers=4.2,proto=tcp
func parseMountInfo(data []byte) []mount {
	var mounts []mount
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
		m := mount{id: f[0], parent: f[1], device: f[2], root: unescape(f[3]), point: path.Clean(unescape(f[4])),
			options: unescape(f[5]), kind: f[dash+1], source: unescape(f[dash+2])}
		if dash+3 < len(f) {
			m.super = unescape(f[dash+3])
		}
		mounts = append(mounts, m)
	}
	return mounts
}

// unescape undoes what the kernel does to white space and backslashes in paths: three octal digits, "\040".
func unescape(s string) string {
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

// mountTable finds mounts without looking at each of them.
type mountTable struct {
	mounts []mount
	// index tells where a mount is, by its ID.
	index map[string]int
	// over is the newest mount at a point of another mount, by the other's ID and the point.
	over map[[2]string]int
	root int // -1 when it is out of sight
}

func newMountTable(mounts []mount) mountTable {
	t := mountTable{mounts: mounts, index: make(map[string]int, len(mounts)),
		over: make(map[[2]string]int, len(mounts)), root: -1}
	for i, m := range mounts {
		t.index[m.id] = i
	}
	for i, m := range mounts {
		if m.parent != m.id {
			t.over[[2]string{m.parent, m.point}] = i
		}
		// The mount on "/" whose own parent is out of sight.
		if _, seen := t.index[m.parent]; t.root < 0 && m.point == "/" && (m.parent == m.id || !seen) {
			t.root = i
		}
	}
	return t
}

// mountOf finds the mount that an absolute path without links lies on.
func mountOf(mounts []mount, name string) (mount, bool) {
	t := newMountTable(mounts)
	i, ok := t.at(name)
	if !ok {
		return mount{}, false
	}
	return t.mounts[i], true
}

// at is the index of the mount that an absolute path without links lies on. It walks the path as the kernel does, from
// the root mount into the children of the mount it is in. Taking the longest mount point that is a prefix would be
// wrong where something is mounted over a parent folder and hides older mounts below.
func (t mountTable) at(name string) (int, bool) {
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

// maxOver is how many mounts at one point are followed: nobody stacks so many, but a table that is forged could hold a
// ring.
const maxOver = 256

// descend enters what is mounted at a point of a mount, and what is mounted over that, and so on.
func (t mountTable) descend(at int, point string) int {
	for range maxOver {
		child, ok := t.over[[2]string{t.mounts[at].id, point}]
		if !ok {
			break
		}
		at = child
	}
	return at
}

// above is the closest mount of those that carry a mount's point that is as wanted.
func (t mountTable) above(m mount, wanted func(mount) bool) (mount, bool) {
	for range maxOver {
		i, ok := t.index[m.parent]
		if !ok || t.mounts[i].id == m.id {
			break
		}
		if m = t.mounts[i]; wanted(m) {
			return m, true
		}
	}
	return mount{}, false
}

// longestPrefix serves a table without a visible root, as a chroot has it.
func longestPrefix(mounts []mount, name string) (best int, ok bool) {
	for i, m := range mounts {
		if below(name, m.point) && (!ok || len(m.point) >= len(mounts[best].point)) {
			best, ok = i, true
		}
	}
	return best, ok
}

// below says whether a path is a folder or lies in it.
func below(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}
