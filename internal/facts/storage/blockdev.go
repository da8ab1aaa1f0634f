package storage

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// SectorSize is the unit of /sys/block/*/size and of the sectors in /proc/diskstats, whatever the device's own sector
// is. Source: the kernel's Documentation/ABI/stable/sysfs-block and Documentation/admin-guide/iostats.rst.
const SectorSize = 512

// Stack finds its way from a block device down to the disks that carry it.
type Stack struct {
	collect.Reader
	Mounts []collect.Mount
	// known holds what was read of every block device at once; without it each question reads again. See newInventory.
	known *inventory
}

// layer is one block device of a stack, with what lies directly underneath.
type layer struct {
	Name string
	// Kind is "disk", "partition", "dm", "md", "loop", "bcache".
	Kind  string
	Below []string
}

// describe describes the layer in a few words: "dm-2 (lvm vg-data)", "md0 (raid1)".
func (l layer) describe(r collect.Reader) string {
	dir := Class(l.Name)
	switch l.Kind {
	case "dm":
		name, _ := r.Text(dir + "/dm/name")
		return strings.TrimSpace(fmt.Sprintf("%s (%s %s", l.Name, DmType(r, l.Name), name)) + ")"
	case "md":
		level, _ := r.Text(dir + "/md/level")
		return fmt.Sprintf("%s (%s)", l.Name, level)
	case "loop":
		file, _ := r.Text(dir + "/loop/backing_file")
		return fmt.Sprintf("%s (file %s)", l.Name, file)
	case "bcache":
		return l.Name + " (bcache)"
	}
	return l.Name
}

// DmType is who made a device-mapper device, from the prefix of its UUID: "CRYPT-LUKS2-…", "LVM-…", "mpath-…",
// "part1-mpath-…". Creating programs choose the prefix; without one, or with an empty one, it is plain device mapper.
func DmType(r collect.Reader, name string) string {
	id, err := r.Text(Class(name) + "/dm/uuid")
	prefix, _, found := strings.Cut(id, "-")
	if prefix = collect.OneLine(prefix); err != nil || !found || prefix == "" {
		return "dm"
	}
	return strings.ToLower(prefix)
}

func NewStack(r collect.Reader) Stack {
	return Stack{Reader: r, Mounts: collect.ReadMounts(r)}
}

// Class is the folder of a block device in /sys.
func Class(name string) string { return "/sys/class/block/" + name }

// byNumber names the block device with a number, "259:0".
func (s Stack) byNumber(device string) (string, bool) {
	full, err := s.Resolve("/sys/dev/block/" + device)
	if err != nil {
		return "", false
	}
	return path.Base(full), true
}

// byNode names the block device behind a node's path that holds no links, by its name alone: "/dev/sda1". The kernel
// writes "!" in /sys where a name has a slash: /dev/cciss/c0d0 is /sys/class/block/cciss!c0d0. In a container /dev may
// lack the link from /dev/mapper, so those names are looked for in /sys.
func (s Stack) byNode(node string) (string, bool) {
	if mapped, ok := strings.CutPrefix(node, "/dev/mapper/"); ok && s.known != nil {
		if name, ok := s.known.mapped[mapped]; ok {
			return name, true
		}
	} else if ok {
		for _, file := range s.Glob("/sys/class/block/dm-*/dm/name") {
			if name, err := s.Text(file); err == nil && name == mapped {
				return path.Base(path.Dir(path.Dir(file))), true
			}
		}
	}
	name := strings.ReplaceAll(strings.TrimPrefix(node, "/dev/"), "/", "!")
	return name, strings.HasPrefix(node, "/dev/") && s.Exists(Class(name))
}

// Size of a block device in bytes; 0 when it can't be read.
func (s Stack) Size(name string) int64 { return size(s.Reader, name) }

func size(r collect.Reader, name string) int64 {
	sectors, err := r.Number(Class(name) + "/size")
	if err != nil {
		return 0
	}
	return sectors * SectorSize
}

// Layer looks at one device.
func (s Stack) Layer(name string) layer {
	if s.known != nil {
		if i, ok := s.known.index[name]; ok {
			return s.known.devices[i].layer
		}
	}
	l := layer{Name: name, Kind: "disk", Below: s.Names(Class(name) + "/slaves")}
	switch {
	case s.Exists(Class(name) + "/partition"):
		l.Kind = "partition"
		if full, err := s.Resolve(Class(name)); err == nil {
			l.Below = []string{path.Base(path.Dir(full))}
		}
	case s.Exists(Class(name) + "/dm"):
		l.Kind = "dm"
	case s.Exists(Class(name) + "/md"):
		l.Kind = "md"
	case s.Exists(Class(name) + "/bcache"):
		// The folder of that name in a backing or a caching device is another thing: those have no slaves.
		if len(l.Below) > 0 {
			l.Kind = "bcache"
		}
	case s.Exists(Class(name) + "/loop/backing_file"):
		l.Kind = "loop"
		if file, err := s.Text(Class(name) + "/loop/backing_file"); err == nil {
			l.Below = s.ofFile(file)
		}
	}
	return l
}

// Layers lists a device and everything underneath, each device once, from the top down.
func (s Stack) Layers(tops ...string) []layer {
	var found []layer
	seen := map[string]bool{}
	for queue := tops; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		l := s.Layer(queue[0])
		found = append(found, l)
		queue = append(queue[:len(queue):len(queue)], l.Below...)
	}
	return found
}

// Disks returns the whole disks under some block devices, sorted. A loop device whose file is on no disk (on a tmpfs)
// is itself a disk: only its counters show what arrived.
func (s Stack) Disks(tops ...string) []string {
	var disks []string
	for _, l := range s.Layers(tops...) {
		if len(l.Below) == 0 {
			disks = append(disks, l.Name)
		}
	}
	slices.Sort(disks)
	return disks
}

// ofFile names the block devices under the file system of a file, or the device if the file is a node.
func (s Stack) ofFile(file string) []string {
	if name, ok := s.byNode(file); ok {
		return []string{name}
	}
	// A file that was deleted, or that another mount namespace holds, still has a path that tells the mount.
	m, ok := collect.MountOf(s.Mounts, path.Clean("/"+file))
	if !ok {
		return nil
	}
	return s.OfMount(m)
}

// OfMount names the block devices directly under a mount. It returns none for a file system in memory or on a server,
// and none for an overlay, whose layers may be out of sight.
func (s Stack) OfMount(m collect.Mount) []string {
	if !strings.HasPrefix(m.Device, "0:") {
		if name, ok := s.byNumber(m.Device); ok {
			return []string{name}
		}
	}
	// btrfs and bcachefs can span devices, so their mounts carry a made-up number; the source names one device
	// (btrfs) or all with colons between (bcachefs).
	var names []string
	for source := range strings.SplitSeq(m.Source, ":") {
		if !strings.HasPrefix(source, "/dev/") {
			continue
		}
		if full, err := s.Resolve(source); err == nil {
			source = full
		}
		if name, ok := s.byNode(source); ok {
			names = append(names, name)
		}
	}
	if m.Kind == "btrfs" && len(names) > 0 {
		return s.ofBtrfs(names[0])
	}
	return names
}

// ofBtrfs names all devices of the btrfs that one device belongs to: /sys/fs/btrfs/UUID/devices holds a link for each.
func (s Stack) ofBtrfs(member string) []string {
	if s.known != nil {
		if all := s.known.btrfs[member]; len(all) > 0 {
			return all
		}
		return []string{member}
	}
	for _, one := range s.Glob("/sys/fs/btrfs/*/devices/" + member) {
		return s.Names(path.Dir(one))
	}
	return []string{member}
}

// trail puts the whole stack in words: each layer, and "on" before what lies underneath. It stops at a depth that no
// real stack has, because a device seen while it changes could seem to be below itself.
func (s Stack) trail(tops []string) string {
	var parts []string
	for at := tops; len(at) > 0; {
		var names, next []string
		for _, name := range at {
			l := s.Layer(name)
			names = append(names, l.describe(s.Reader))
			for _, b := range l.Below {
				if !slices.Contains(next, b) {
					next = append(next, b)
				}
			}
		}
		parts = append(parts, strings.Join(names, " + "))
		if at = next; len(parts) > collect.MaxLinks {
			break
		}
	}
	return strings.Join(parts, " on ")
}

// folder returns the folder of a block device in /sys/devices, without links, or "" where it is unknown.
func (s Stack) folder(name string) string {
	if s.known != nil {
		if i, ok := s.known.index[name]; ok && s.known.devices[i].path != "" {
			return s.known.devices[i].path
		}
	}
	full, err := s.Resolve(Class(name))
	if err != nil {
		return ""
	}
	return full
}

// ByInode names the block device behind a node by its device number, which is what counts; the name alone where the
// file system can't tell the number.
func (s Stack) ByInode(node string) (string, bool) {
	info, err := s.Stat(node)
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			major, minor := linux.Device(st)
			return s.byNumber(fmt.Sprintf("%d:%d", major, minor))
		}
	}
	return s.byNode(node)
}

// Queue is a block device of a stack that has a request queue.
type Queue struct {
	// Device is its name in /sys: "dm-3", "nvme0n1", "cciss!c0d0".
	Device string
	// UnderTest is true if loads address the device, Disk if no other device is under it. Both are true for a plain
	// disk.
	UnderTest, Disk bool
}

// Queues returns the queues of a place, from the top down. A partition uses the queue of its disk, so for a load on a
// partition the disk is under test.
func (s Stack) Queues(place lab.Place) []Queue {
	tops := s.Tops(place)
	for i, name := range tops {
		if l := s.Layer(name); l.Kind == "partition" && len(l.Below) > 0 {
			tops[i] = l.Below[0]
		}
	}
	var queues []Queue
	for _, l := range s.Layers(tops...) {
		if l.Kind == "partition" {
			continue
		}
		queues = append(queues,
			Queue{Device: l.Name, UnderTest: slices.Contains(tops, l.Name), Disk: len(l.Below) == 0})
	}
	return queues
}

// Named returns the kernel's name of a device that a user names: "md0", "/dev/md0", "vg0-data", "/dev/mapper/vg0-data",
// "/dev/vg0/data".
func (s Stack) Named(typed string) (device string, ok bool) {
	if typed == "" {
		return "", false
	}
	node := typed
	if !strings.HasPrefix(node, "/dev/") {
		node = "/dev/" + strings.ReplaceAll(node, "!", "/")
	}
	if full, err := s.Resolve(node); err == nil {
		if name, ok := s.ByInode(full); ok {
			return name, true
		}
	}
	if name, ok := s.byNode(node); ok {
		return name, true
	}
	return s.byNode("/dev/mapper/" + typed)
}

// Stacked reports whether a place is on top of another. known is false if the kernel does not show what is underneath,
// as for DRBD, network and in-memory file systems.
func Stacked(ctx context.Context, t host.Target, lower, upper lab.Place) (on, known bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, false, err
	}
	s := NewStack(collect.Reader{FS: t.FS()})
	below, above := s.Tops(lower), s.Tops(upper)
	if len(below) == 0 || len(above) == 0 {
		return false, false, nil
	}
	var names []string
	for _, l := range s.Layers(above...) {
		names = append(names, l.Name)
	}
	for _, name := range below {
		if !slices.Contains(names, name) {
			return false, true, nil
		}
	}
	// Two devices of one name are one device; one of two directories can store the other (a mount of an
	// image), or neither.
	return lower.Kind != upper.Kind || lower.Kind == lab.Directory || !slices.Equal(below, above), true, nil
}
