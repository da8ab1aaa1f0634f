package saved

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/prose"
)

var (
	mountLine = prose.Pattern(`(?m)^(.+?) +on +(/.*?) +type +(\S+) +\(([^)]*)\)`)
	nfsLine   = prose.Pattern(`(?m)^(/.*) from (\S+:/\S*)\s*\n\s*Flags:\s*(\S+)`)
)

// readMount reads what mount prints. Source: util-linux, sys-utils/mount.c (print_all).
//
//	/dev/sda1 on / type ext4 (rw,relatime,errors=remount-ro)
//	10.0.0.1:/export on /mnt/my share type nfs4 (rw,relatime,vers=4.2,rsize=1048576,addr=10.0.0.1)
func readMount(m *Machine, text string) bool {
	for _, f := range mountLine().FindAllStringSubmatch(text, -1) {
		m.mounts.add(f[1], f[2], f[3], f[4])
	}
	return m.mounts.made != nil
}

// readMounts reads /proc/mounts. Source: proc_pid_mounts(5).
//
//	/dev/sda1 / ext4 rw,relatime 0 0
//	10.0.0.1:/export /mnt/my\040share nfs4 rw,relatime,vers=4.2 0 0
func readMounts(m *Machine, text string) bool {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 6 && path.IsAbs(f[1]) {
			m.mounts.add(collect.Unescape(f[0]), collect.Unescape(f[1]), f[2], f[3])
		}
	}
	return m.mounts.made != nil
}

// readNFS reads "nfsstat -m". Source: nfs-utils, utils/nfsstat/nfsstat.c (mounts).
//
//	/mnt/nfs from 10.0.0.1:/export
//	 Flags:	rw,relatime,vers=3,rsize=32768,wsize=32768,namlen=255,hard,proto=tcp,timeo=600
func readNFS(m *Machine, text string) bool {
	for _, f := range nfsLine().FindAllStringSubmatch(text, -1) {
		kind := "nfs"
		if strings.Contains(f[3], "vers=4") {
			kind = "nfs4"
		}
		m.mounts.add(f[2], f[1], kind, f[3])
	}
	return m.mounts.made != nil
}

// mountTable is the table of mounts that texts make, where the machine's own is not there.
type mountTable struct {
	files *fileTree
	made  *collect.Node
}

// add adds a line to the table of mounts, unless the machine's own is there. What no such text says is left out:
// the number of the device is one that no block device has.
func (t *mountTable) add(source, point, kind, options string) {
	const table = "/proc/self/mountinfo"
	if t.made == nil {
		if _, err := t.files.Lstat(collect.PathInFS(table)); err == nil {
			return
		}
		t.made = &collect.Node{}
		t.files.Put(table, t.made)
	}
	lines := collect.ParseMounts([]byte(t.made.Data))
	if slices.ContainsFunc(lines, func(o collect.Mount) bool { return o.Point == point && o.Source == source }) ||
		len(lines) > maxMounts {
		return
	}
	parent, longest, device := 1, 0, len(lines)+1
	for i, o := range lines {
		if collect.Below(point, o.Point) && len(o.Point) >= longest {
			parent, longest = 20+i, len(o.Point)
		}
		if o.Source == source && path.IsAbs(source) {
			device = i + 1
		}
	}
	var own, all []string
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "rw", "ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "strictatime":
			own = append(own, o)
		default:
			all = append(all, o)
		}
	}
	escape := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	t.made.Data += fmt.Sprintf("%d %d 0:%d / %s %s - %s %s %s\n", 20+len(lines), parent, device,
		escape.Replace(point), escape.Replace(strings.Join(own, ",")), kind, escape.Replace(source),
		escape.Replace(strings.Join(all, ",")))
}

// maxMounts bounds the lines of a pasted table, which is read again for each.
const maxMounts = 1024
