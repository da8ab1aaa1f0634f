package storage

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// maxMounts is how many mounted file systems are described. A Kubernetes node has hundreds of mounts, most of them
// several times the same.
const maxMounts = 1024

// maxSpaces is how many file systems are asked for their size in one command.
const maxSpaces = 256

// dataMounts are the mounts that facts are about: file systems that hold data, each once, and none that is hidden under
// another.
func dataMounts(all []collect.Mount) []collect.Mount {
	table := collect.NewMountTable(all)
	var found []collect.Mount
	seen := map[string]bool{}
	for i, m := range all {
		if len(found) == maxMounts {
			break
		}
		if !holdsData(m) {
			continue
		}
		if on, ok := table.At(m.Point); !ok || on != i {
			continue
		}
		key := m.Device
		if m.Kind == "btrfs" {
			key += " " + m.Root // subvolumes are mounted one by one and can have options of their own
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		m.Under = under(table, m)
		found = append(found, m)
	}
	return found
}

// under is the type of a file system that must be asked on the way to a mount's point and might not answer: a local
// disk that is mounted in a folder of a server. The root file system is none: nothing works while that does not answer.
func under(t collect.MountTable, m collect.Mount) string {
	above, _ := t.Above(m, func(m collect.Mount) bool { return m.Point != "/" && holdsData(m) && !local(m.Kind) })
	return above.Kind
}

// holdsData leaves out what the kernel makes up, images that can't be written, and the many small file systems of a
// session, a service or a container. An overlay counts only as the root: the layers of every container lie on a file
// system that counts.
func holdsData(m collect.Mount) bool {
	switch m.Kind {
	case "proc", "sysfs", "devtmpfs", "devpts", "mqueue", "hugetlbfs", "debugfs", "tracefs", "securityfs",
		"configfs", "fusectl",
		"pstore", "bpf", "autofs", "binfmt_misc", "efivarfs", "rpc_pipefs", "nfsd", "nsfs", "ramfs", "selinuxfs",
		"cgroup", "cgroup2",
		"resctrl", "fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal", "iso9660", "udf":
		return false
	case "overlay", "squashfs", "erofs":
		return m.Point == "/"
	case "tmpfs":
		if m.Point == "/dev/shm" {
			return true
		}
		for _, dir := range []string{"/run", "/dev", "/sys", "/proc", "/var/lib/kubelet/pods", "/var/lib/docker",
			"/var/lib/containers"} {
			if collect.Below(m.Point, dir) {
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
func spacesCommand(mounts []collect.Mount) []string {
	argv := []string{"stat", "-f", "-c", "%S %b %f %a %c %d %n"}
	for _, m := range mounts {
		if len(argv) < maxSpaces+4 && local(m.Kind) && m.Under == "" && !strings.ContainsAny(m.Point, "\n") {
			argv = append(argv, m.Point)
		}
	}
	if len(argv) == 4 {
		return nil
	}
	return argv
}

func MountCommands(in collect.Scope) [][]string {
	if command := spacesCommand(dataMounts(collect.ReadMounts(collect.Reader{FS: in.Files}))); command != nil {
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
		if s, err := parseSpace(collect.Printed{Stdout: line[:at]}); err == nil {
			found[line[at:]] = s
		}
	}
	return found
}

// CollectMounts describes the mounted file systems that hold data.
func CollectMounts(r collect.Reader, in collect.Scope) []lab.Fact {
	s := inventoryOf(r, in)
	mounts := dataMounts(s.Mounts)
	command := spacesCommand(mounts)
	var spaces map[string]Space
	failed := ""
	if command != nil {
		p := in.Lookup(command)
		spaces, failed = parseSpaces(p.Stdout), p.Failed
	}
	work := s.background(mounts, machine.ProcessesOf(r, in))
	return collect.Spread(len(mounts), func(i int) []lab.Fact {
		m := mounts[i]
		source, reason := "stat -f", failed
		switch {
		case !local(m.Kind):
			source, reason = collect.MountInfoPath, "a file system of type "+m.Kind+" is not asked: it might not answer"
		case m.Under != "":
			source, reason = collect.MountInfoPath,
				"it is mounted below a file system of type "+m.Under+", which might not "+
					"answer"
		case !slices.Contains(command, m.Point):
			source, reason = collect.MountInfoPath, "only the first "+strconv.Itoa(maxSpaces)+" file systems are asked"
		case reason == "":
			reason = "stat did not print it"
		}
		facts := []lab.Fact{
			collect.Known("mount.type", m.Kind, collect.MountInfoPath),
			sourceOf(m),
			collect.ListOf("mount.options", collect.Options(m.Options, m.Super), collect.MountInfoPath),
			s.mountDisks(m),
			collect.Unknown("mount.size", source, reason),
			collect.Unknown("mount.free", source, reason),
			work(m),
		}
		if space, ok := spaces[m.Point]; ok {
			facts[4] = collect.Whole("mount.size", space.Total, source)
			facts[5] = collect.Whole("mount.free", space.Available, source)
		}
		return collect.About(m.Point, facts...)
	})
}

func (s Stack) mountDisks(m collect.Mount) lab.Fact {
	key, source := "mount.disks", "/sys/dev/block/"+m.Device
	switch m.Kind {
	case "zfs":
		return collect.Unknown(key, source, zfsHidden)
	case "overlay":
		return collect.Unknown(key, source, "the layers of an overlay can be out of sight")
	}
	return collect.ListOf(key, s.Disks(s.OfMount(m)...), source)
}

func sourceOf(m collect.Mount) lab.Fact {
	if m.Source == "" {
		return collect.Known("mount.source", catalogue.None, collect.MountInfoPath)
	}
	return collect.Known("mount.source", m.Source, collect.MountInfoPath)
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
func (s Stack) background(mounts []collect.Mount, running machine.Processes) func(collect.Mount) lab.Fact {
	const source = "/proc/*/comm"
	// The parent of all threads of the kernel is process 2, unless they are hidden.
	thread, _ := s.Text("/proc/2/comm")
	kinds := map[string]bool{}
	for _, m := range mounts {
		kinds[m.Kind] = true
	}
	found := map[string][]string{}
	for _, b := range backgroundWork() {
		if _, found := running.Called(b.name.MatchString); !found {
			continue
		}
		for kind := range kinds {
			if len(b.kinds) == 0 && local(kind) && kind != "tmpfs" || slices.Contains(b.kinds, kind) {
				found[kind] = append(found[kind], b.work)
			}
		}
	}
	operations := map[string]string{}
	for _, file := range s.Glob("/sys/fs/btrfs/*/exclusive_operation") {
		if text, err := s.Text(file); err == nil && text != catalogue.None && text != "" {
			for _, member := range s.Names(strings.TrimSuffix(file, "exclusive_operation") + "devices") {
				operations[member] = text
			}
		}
	}
	return func(m collect.Mount) lab.Fact {
		work := slices.Clone(found[m.Kind])
		if m.Kind == "btrfs" {
			for _, device := range s.OfMount(m) {
				if o := operations[device]; o != "" && !slices.Contains(work, o) {
					work = append(work, o)
				}
			}
		}
		if thread != "kthreadd" && len(work) == 0 {
			return collect.Unknown("mount.background", source,
				"the kernel's threads are not visible: a container, or hidepid in /proc")
		}
		return collect.ListOf("mount.background", work, source)
	}
}
