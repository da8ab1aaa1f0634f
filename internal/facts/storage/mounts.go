package storage

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
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
			key += " " + m.Root // subvolumes are mounted one by one and can have different options
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
// session, a service or a container. An overlay counts only as the root: the layers of every container are on a file
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

// local reports whether a file system answers without a server. A file system on a server, or served by a process, may
// block its callers forever.
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
		{lazyInit(), "lazyinit", []string{"ext4"}},
		{btrfsScrub(), "scrub", []string{"btrfs"}},
		{btrfsBalance(), "balance", []string{"btrfs"}},
		{xfsScrub(), "scrub", []string{"xfs"}},
		{xfsReorganize(), "defragment", []string{"xfs"}},
		{ext4Defragment(), "defragment", []string{"ext4"}},
		{trim(), "trim", nil},
	}
}

// Names of threads, of which the kernel keeps fifteen characters, and of its workers some more:
// "kworker/u64:3-btrfs-scrub".
var (
	lazyInit       = prose.Pattern(`^ext4lazyinit`)
	btrfsScrub     = prose.Pattern(`btrfs-scrub`)
	btrfsBalance   = prose.Pattern(`^btrfs-balance`)
	xfsScrub       = prose.Pattern(`^xfs_scrub`)
	xfsReorganize  = prose.Pattern(`^xfs_fsr$`)
	ext4Defragment = prose.Pattern(`^e4defrag$`)
	trim           = prose.Pattern(`^fstrim$`)
)

// background looks for background work in file systems, which disturbs measurements. btrfs reports its own work. For
// other types, a thread's name shows the work and the type of file system, but not which file system of that type.
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

// Space is what is left on a file system, in bytes and in files.
type Space struct {
	Total int64
	// Free counts all free bytes, Available those that a plain user may take.
	Free, Available int64
	// Files and FreeFiles count inodes; both are zero on a file system that makes them as needed (btrfs).
	Files, FreeFiles int64
}

// roomLimit is the longest time for the answer. Nothing is measured without it, so a busy or distant machine gets more
// time than for a fact of a snapshot, which would only be unknown.
const roomLimit = time.Minute

// Free asks how much room a folder's file system has.
func Free(ctx context.Context, t host.Target, dir string) (Space, error) {
	within, cancel := context.WithTimeout(ctx, roomLimit)
	defer cancel()
	p := collect.RunCommand(within, t, spaceCommand(dir))
	if err := ctx.Err(); err != nil { // it was stopped, so the file system is not at fault
		return Space{}, err
	}
	s, err := parseSpace(p)
	if err != nil {
		return Space{}, &lab.Error{What: "can't find out how much room is left in " + dir, Target: host.RemoteName(t),
			Command: spaceCommand(dir), Err: err}
	}
	return s, nil
}

// spaceCommand prints statfs(2). An fs.FS has no such call, and over SSH only a command can make it; the format is the
// same in GNU coreutils and in BusyBox. %S is the size of a block, %b all blocks, %f the free ones, %a those for plain
// users, %c and %d inodes and free inodes.
func spaceCommand(dir string) []string { return []string{"stat", "-f", "-c", "%S %b %f %a %c %d", dir} }

func SpaceCommands(in collect.Scope) [][]string {
	if in.Place.Kind != lab.Directory {
		return nil
	}
	return [][]string{spaceCommand(in.Place.Path)}
}

// parseSpace reads what spaceCommand prints.
//
//	4096 20470738 20002342 18939814 5242880 5174190
func parseSpace(p collect.Printed) (Space, error) {
	if p.Failed != "" {
		return Space{}, fmt.Errorf("%s", p.Failed)
	}
	f := strings.Fields(p.Stdout)
	if len(f) != 6 {
		return Space{}, fmt.Errorf("stat printed %q, where six numbers are due", p.Stdout)
	}
	var n [6]int64
	for i := range n {
		v, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil || v < 0 {
			return Space{}, fmt.Errorf("stat printed %q, where six numbers are due", p.Stdout)
		}
		// The first number multiplies the three after it.
		if i > 0 && i < 4 && n[0] > 0 && v > math.MaxInt64/n[0] {
			return Space{}, fmt.Errorf("stat printed %q, which is more than a file system can hold", p.Stdout)
		}
		n[i] = v
	}
	return Space{Total: n[0] * n[1], Free: n[0] * n[2], Available: n[0] * n[3], Files: n[4], FreeFiles: n[5]}, nil
}

// CollectFilesystem describes the file system of a directory. It returns nothing for a device.
func CollectFilesystem(r collect.Reader, in collect.Scope) []lab.Fact {
	if in.Place.Kind != lab.Directory {
		return nil
	}
	s := NewStack(r)
	where := in.Place.Resolved
	if where == "" {
		where = in.Place.Path
	}
	m, ok := collect.MountOf(s.Mounts, where)
	if !ok {
		return []lab.Fact{collect.Unknown("filesystem.type", collect.MountInfoPath, "no mount was found for "+where)}
	}
	facts := []lab.Fact{
		collect.Known("filesystem.type", m.Kind, collect.MountInfoPath),
		collect.Known("filesystem.options", m.Options, collect.MountInfoPath),
		collect.Known("filesystem.super_options", m.Super, collect.MountInfoPath),
		collect.Known("filesystem.source", m.Source, collect.MountInfoPath),
		collect.Known("filesystem.root", m.Root, collect.MountInfoPath),
		collect.Known("filesystem.mount_point", m.Point, collect.MountInfoPath),
	}
	for i := range facts {
		if facts[i].Value == "" {
			facts[i].Value = catalogue.None
		}
	}
	command := spaceCommand(in.Place.Path)
	space, err := parseSpace(in.Lookup(command))
	for _, f := range []struct {
		key   string
		value int64
	}{{"filesystem.size", space.Total}, {"filesystem.free", space.Available}} {
		if err != nil {
			facts = append(facts, collect.Unknown(f.key, lab.ShellQuote(command), err.Error()))
			continue
		}
		facts = append(facts, collect.Whole(f.key, f.value, lab.ShellQuote(command)))
	}
	return facts
}
