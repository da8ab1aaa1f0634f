package facts

import (
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/facts/catalogue"
	"headroom/internal/lab"
)

// maxMounts is how many mounted file systems are described. A Kubernetes node has hundreds of mounts, most of them
// several times the same.
const maxMounts = 1024

// maxSpaces is how many file systems are asked for their size in one command.
const maxSpaces = 256

// dataMounts are the mounts that facts are about: file systems that hold data, each once, and none that is hidden under
// another.
func dataMounts(all []mount) []mount {
	table := newMountTable(all)
	var found []mount
	seen := map[string]bool{}
	for i, m := range all {
		if len(found) == maxMounts {
			break
		}
		if !holdsData(m) {
			continue
		}
		if on, ok := table.at(m.point); !ok || on != i {
			continue
		}
		key := m.device
		if m.kind == "btrfs" {
			key += " " + m.root // subvolumes are mounted one by one and can have options of their own
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		m.under = under(table, m)
		found = append(found, m)
	}
	return found
}

// under is the type of a file system that must be asked on the way to a mount's point and might not answer: a local
// disk that is mounted in a folder of a server. The root file system is none: nothing works while that does not answer.
func under(t mountTable, m mount) string {
	above, _ := t.above(m, func(m mount) bool { return m.point != "/" && holdsData(m) && !local(m.kind) })
	return above.kind
}

// holdsData leaves out what the kernel makes up, images that can't be written, and the many small file systems of a
// session, a service or a container. An overlay counts only as the root: the layers of every container lie on a file
// system that counts.
func holdsData(m mount) bool {
	switch m.kind {
	case "proc", "sysfs", "devtmpfs", "devpts", "mqueue", "hugetlbfs", "debugfs", "tracefs", "securityfs",
		"configfs", "fusectl",
		"pstore", "bpf", "autofs", "binfmt_misc", "efivarfs", "rpc_pipefs", "nfsd", "nsfs", "ramfs", "selinuxfs",
		"cgroup", "cgroup2",
		"resctrl", "fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal", "iso9660", "udf":
		return false
	case "overlay", "squashfs", "erofs":
		return m.point == "/"
	case "tmpfs":
		if m.point == "/dev/shm" {
			return true
		}
		for _, dir := range []string{"/run", "/dev", "/sys", "/proc", "/var/lib/kubelet/pods", "/var/lib/docker",
			"/var/lib/containers"} {
			if below(m.point, dir) {
				return false
			}
		}
	}
	return true
}

// local says whether a file system answers by itself. One on a server, or served by a process, may hang whoever asks.
func local(kind string) bool {
	switch kind {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "tmpfs", "vfat", "exfat", "ntfs3", "jfs",
		"reiserfs",
		"nilfs2", "overlay", "squashfs", "erofs", "rootfs":
		return true
	}
	return false
}

// spacesCommand asks several file systems at once, with each one's name behind the figures of spaceCommand.
func spacesCommand(mounts []mount) []string {
	argv := []string{"stat", "-f", "-c", "%S %b %f %a %c %d %n"}
	for _, m := range mounts {
		if len(argv) < maxSpaces+4 && local(m.kind) && m.under == "" && !strings.ContainsAny(m.point, "\n") {
			argv = append(argv, m.point)
		}
	}
	if len(argv) == 4 {
		return nil
	}
	return argv
}

func mountCommands(in Scope) [][]string {
	if command := spacesCommand(dataMounts(readMounts(reader{in.Files}))); command != nil {
		return [][]string{command}
	}
	return nil
}

// parseSpaces reads what spacesCommand prints, by mount point. A file system that did not answer has no line.
//
//	4096 20470738 20002342 18939814 5242880 5174190 /
//	4096 523776000 400000000 400000000 209715200 209700000 /srv/my data
func parseSpaces(text string) map[string]Space {
	found := map[string]Space{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		at := 0
		for range 6 {
			i := strings.IndexByte(line[at:], ' ')
			if i < 0 {
				at = -1
				break
			}
			at += i + 1
		}
		if at < 0 {
			continue
		}
		if s, err := parseSpace(Printed{Stdout: line[:at]}); err == nil {
			found[line[at:]] = s
		}
	}
	return found
}

// collectMounts describes the mounted file systems that hold data.
func collectMounts(fsys fs.FS, in Scope) []lab.Fact {
	s := inventoryOf(fsys, in)
	mounts := dataMounts(s.mounts)
	command := spacesCommand(mounts)
	var spaces map[string]Space
	failed := ""
	if command != nil {
		p := in.lookup(command)
		spaces, failed = parseSpaces(p.Stdout), p.Failed
	}
	work := s.background(mounts, processesOf(fsys, in))
	return spread(len(mounts), func(i int) []lab.Fact {
		m := mounts[i]
		source, reason := "stat -f", failed
		switch {
		case !local(m.kind):
			source, reason = mountInfoPath, "a file system of type "+m.kind+" is not asked: it might not answer"
		case m.under != "":
			source, reason = mountInfoPath, "it is mounted below a file system of type "+m.under+", which might not "+
				"answer"
		case !slices.Contains(command, m.point):
			source, reason = mountInfoPath, "only the first "+strconv.Itoa(maxSpaces)+" file systems are asked"
		case reason == "":
			reason = "stat did not print it"
		}
		facts := []lab.Fact{
			known("mount.type", m.kind, mountInfoPath),
			sourceOf(m),
			listOf("mount.options", options(m.options, m.super), mountInfoPath),
			s.mountDisks(m),
			unknown("mount.size", source, reason),
			unknown("mount.free", source, reason),
			work(m),
		}
		if space, ok := spaces[m.point]; ok {
			facts[4] = whole("mount.size", space.Total, source)
			facts[5] = whole("mount.free", space.Available, source)
		}
		return about(m.point, facts...)
	})
}

func (s stack) mountDisks(m mount) lab.Fact {
	key, source := "mount.disks", "/sys/dev/block/"+m.device
	switch m.kind {
	case "zfs":
		return unknown(key, source, zfsHidden)
	case "overlay":
		return unknown(key, source, "the layers of an overlay can be out of sight")
	}
	return listOf(key, s.disks(s.ofMount(m)...), source)
}

func sourceOf(m mount) lab.Fact {
	if m.source == "" {
		return known("mount.source", catalogue.None, mountInfoPath)
	}
	return known("mount.source", m.source, mountInfoPath)
}

// backgroundWork are processes that work through a file system, by the name of their thread, with the types of file
// system that it can be.
func backgroundWork() []struct {
	name  *regexp.Regexp
	work  string
	kinds []string
} {
	return []struct {
		name  *regexp.Regexp
		work  string
		kinds []string
	}{
		{lazyInit, "lazyinit", []string{"ext4"}},
		{btrfsScrub, "scrub", []string{"btrfs"}},
		{btrfsBalance, "balance", []string{"btrfs"}},
		{xfsScrub, "scrub", []string{"xfs"}},
		{xfsReorganize, "defragment", []string{"xfs"}},
		{ext4Defragment, "defragment", []string{"ext4"}},
		{trim, "trim", nil},
	}
}

// Names of threads, of which the kernel keeps fifteen characters, and of its workers some more:
// "kworker/u64:3-btrfs-scrub".
var (
	lazyInit       = regexp.MustCompile(`^ext4lazyinit`)
	btrfsScrub     = regexp.MustCompile(`btrfs-scrub`)
	btrfsBalance   = regexp.MustCompile(`^btrfs-balance`)
	xfsScrub       = regexp.MustCompile(`^xfs_scrub`)
	xfsReorganize  = regexp.MustCompile(`^xfs_fsr$`)
	ext4Defragment = regexp.MustCompile(`^e4defrag$`)
	trim           = regexp.MustCompile(`^fstrim$`)
)

// background looks for work that goes on in file systems by itself and disturbs measurements. btrfs says itself what it
// is doing; otherwise a thread's name tells the work and the type of file system, but not which one of that type.
//
//	/proc/1123/comm:                                       ext4lazyinit
//	/sys/fs/btrfs/3f1a2b4c-…/exclusive_operation:          balance
func (s stack) background(mounts []mount, running processes) func(mount) lab.Fact {
	const source = "/proc/*/comm"
	// The parent of all threads of the kernel is process 2, unless they are hidden.
	thread, _ := s.text("/proc/2/comm")
	kinds := map[string]bool{}
	for _, m := range mounts {
		kinds[m.kind] = true
	}
	found := map[string][]string{}
	for _, b := range backgroundWork() {
		if _, found := running.called(b.name.MatchString); !found {
			continue
		}
		for kind := range kinds {
			if len(b.kinds) == 0 && local(kind) && kind != "tmpfs" || slices.Contains(b.kinds, kind) {
				found[kind] = append(found[kind], b.work)
			}
		}
	}
	operations := map[string]string{}
	for _, file := range s.glob("/sys/fs/btrfs/*/exclusive_operation") {
		if text, err := s.text(file); err == nil && text != catalogue.None && text != "" {
			for _, member := range s.names(strings.TrimSuffix(file, "exclusive_operation") + "devices") {
				operations[member] = text
			}
		}
	}
	return func(m mount) lab.Fact {
		work := slices.Clone(found[m.kind])
		if m.kind == "btrfs" {
			for _, device := range s.ofMount(m) {
				if o := operations[device]; o != "" && !slices.Contains(work, o) {
					work = append(work, o)
				}
			}
		}
		if thread != "kthreadd" && len(work) == 0 {
			return unknown("mount.background", source,
				"the kernel's threads are not visible: a container, or hidepid in /proc")
		}
		return listOf("mount.background", work, source)
	}
}
