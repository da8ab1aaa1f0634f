package storage

import (
	"path"
	"regexp"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/prose"
)

// inventory is every block device of a machine, with what lies underneath each, read once: questions about thousands of
// disks are then answered without looking at every device for each of them.
type inventory struct {
	collect.Reader
	// devices are sorted by name; index has the index of a name.
	devices []blockDevice
	index   map[string]int
	// partitions are the partitions of each disk.
	partitions map[string][]string
	// mapped are kernel names by the names that device mapper gives: "vg-data" is "dm-1".
	mapped map[string]string
	// btrfs are all devices of the file system that one device belongs to.
	btrfs map[string][]string
}

type blockDevice struct {
	layer
	// path is its folder in /sys/devices, without links; empty when it is unknown.
	path string
	// paths are the hidden devices of a multipath NVMe namespace, one for each controller.
	paths []string
}

// inventoryOf returns a stack that knows the block devices of a snapshot.
func inventoryOf(r collect.Reader, in collect.Scope) Stack {
	return collect.ReadOnce(in, func() Stack { return newInventory(r) })
}

// newInventory reads all block devices of a machine into a stack.
func newInventory(r collect.Reader) Stack {
	s := NewStack(r)
	v := &inventory{Reader: r, index: map[string]int{}, partitions: map[string][]string{}, mapped: map[string]string{},
		btrfs: map[string][]string{}}
	names := s.Names(Class(""))
	here := make(map[string]bool, len(names))
	for _, name := range names {
		here[name] = true
	}
	hidden := map[string][]string{}
	for _, name := range names {
		if head, ok := PathOf(name); ok {
			hidden[head] = append(hidden[head], name)
			continue
		}
		d := blockDevice{layer: layer{Name: name, Kind: "disk"}, path: s.Linked(Class(name))}
		disk := path.Base(path.Dir(d.path))
		switch {
		case here[disk]:
			d.Kind, d.Below = "partition", []string{disk}
			v.partitions[disk] = append(v.partitions[disk], name)
		case strings.HasPrefix(d.path, "/sys/devices/virtual/block/"):
			d.Kind = VirtualKind(name)
		}
		v.index[name] = len(v.devices)
		v.devices = append(v.devices, d)
	}
	for _, f := range s.Glob("/sys/fs/btrfs/*/devices") {
		members := s.Names(f)
		for _, m := range members {
			v.btrfs[m] = members
		}
	}
	for i, d := range v.devices {
		v.devices[i].paths = hidden[d.Name]
		if d.Kind == "dm" {
			if name, err := s.Text(Class(d.Name) + "/dm/name"); err == nil {
				v.mapped[name] = d.Name
			}
		}
		if strings.HasPrefix(d.path, "/sys/devices/virtual/block/") && d.Kind != "partition" {
			v.devices[i].Below = s.Names(Class(d.Name) + "/slaves")
		}
	}
	// Any of the others can store the file of a loop device.
	s.known = v
	for i, d := range v.devices {
		if d.Kind != "loop" {
			continue
		}
		if file, err := s.Text(Class(d.Name) + "/loop/backing_file"); err == nil {
			v.devices[i].Below = s.ofFile(file)
		}
	}
	return s
}

// VirtualKind is the kind of a block device without hardware, by the name that its driver gives.
func VirtualKind(name string) string {
	for _, k := range []struct {
		kind string
		name *regexp.Regexp
	}{
		{"dm", dmName()}, {"md", mdName()}, {"loop", loopName()}, {"bcache", bcacheName()}, {"drbd", drbdName()},
		{"zfs", zvolName()},
		{"memory", memoryName()},
	} {
		if k.name.MatchString(name) {
			return k.kind
		}
	}
	return "disk"
}

// The names of block devices without hardware. md gives names or numbers ("md_home", "md127", "md_d0"), zd is a volume
// of ZFS, ram and zram lie in memory.
var (
	dmName     = prose.Pattern(`^dm-\d+$`)
	mdName     = prose.Pattern(`^md(\d+$|_)`)
	loopName   = prose.Pattern(`^loop\d+$`)
	bcacheName = prose.Pattern(`^bcache\d+$`)
	drbdName   = prose.Pattern(`^drbd\d+$`)
	zvolName   = prose.Pattern(`^zd\d+$`)
	memoryName = prose.Pattern(`^z?ram\d+$`)
	// Optical and floppy drives are not measured.
	mediaName = prose.Pattern(`^(sr|fd)\d+$`)
)

// IsMedia reports whether a device is an optical or a floppy drive, by its name.
func IsMedia(name string) bool { return mediaName().MatchString(name) }

// wholeDisks returns the disks that facts are about: not partitions, not devices made of others, none in memory, none
// of size zero (an empty card reader). A loop device whose file is on no disk is one: nothing else shows what arrives
// there.
func (v *inventory) wholeDisks() []blockDevice {
	var disks []blockDevice
	for _, d := range v.devices {
		switch {
		case IsMedia(d.Name):
		case d.Kind == "loop" && len(d.Below) > 0:
		case (d.Kind == "disk" || d.Kind == "loop") && size(v.Reader, d.Name) > 0:
			disks = append(disks, d)
		}
	}
	return disks
}

// volumes are the block devices made of others, and loop devices with a file.
func (v *inventory) volumes() []blockDevice {
	var found []blockDevice
	for _, d := range v.devices {
		switch d.Kind {
		case "dm", "md", "bcache", "drbd", "zfs":
			found = append(found, d)
		case "loop":
			if v.Exists(Class(d.Name) + "/loop/backing_file") {
				found = append(found, d)
			}
		}
	}
	return found
}

// holders names the users of a device: devices made of it, and its own name if it is mounted or swapped to.
func (v *inventory) holders(name string, used map[string]bool) []string {
	held := v.Names(Class(name) + "/holders")
	if used[name] {
		held = append(held, name)
	}
	return held
}

// used are the block devices that are mounted or swapped to.
//
//	Filename				Type		Size		Used		Priority
//	/dev/nvme0n1p3                          partition	8388604		0		-2
//	/swapfile                               file		2097148		0		-3
func (s Stack) used() map[string]bool {
	used := map[string]bool{}
	asked := map[[2]string]bool{}
	for _, m := range s.Mounts {
		if key := [2]string{m.Device, m.Source}; !asked[key] {
			asked[key] = true
			for _, name := range s.OfMount(m) {
				used[name] = true
			}
		}
	}
	swaps, _ := s.Text("/proc/swaps")
	for line := range strings.Lines(swaps) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		file, _, _ = strings.Cut(file, "\t")
		if !strings.HasPrefix(file, "/dev/") {
			continue
		}
		if name, ok := s.byNode(collect.Unescape(file)); ok {
			used[name] = true
		}
	}
	return used
}

// PathOf names the disk that a hidden NVMe path belongs to: nvme0c1n1 is a path to nvme0n1.
func PathOf(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "nvme")
	if !ok {
		return "", false
	}
	subsystem, rest, ok := strings.Cut(rest, "c")
	if !ok {
		return "", false
	}
	_, namespace, ok := strings.Cut(rest, "n")
	return "nvme" + subsystem + "n" + namespace, ok
}
