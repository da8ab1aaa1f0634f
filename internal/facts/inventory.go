package facts

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// inventory is every block device of a machine, with what lies underneath each, read once: questions about thousands of
// disks are then answered without looking at every device for each of them.
type inventory struct {
	// devices are sorted by name, index tells where one is.
	devices []blockDevice
	index   map[string]int
	// partitions are those of a disk.
	partitions map[string][]string
	// mapped are kernel names by the names that device mapper gives: "vg-data" is "dm-1".
	mapped map[string]string
	// btrfs are all devices of the file system that one device belongs to.
	btrfs map[string][]string
}

type blockDevice struct {
	layer
	// path is its folder in /sys/devices, without links; empty when it can't be told.
	path string
	// paths are the hidden devices of a multipath NVMe namespace, one for each controller.
	paths []string
}

// newInventory reads all block devices of a machine into a stack.
func newInventory(fsys fs.FS) stack {
	s := newStack(reader{fsys})
	v := &inventory{index: map[string]int{}, partitions: map[string][]string{}, mapped: map[string]string{},
		btrfs: map[string][]string{}}
	names := s.names(class(""))
	here := make(map[string]bool, len(names))
	for _, name := range names {
		here[name] = true
	}
	hidden := map[string][]string{}
	for _, name := range names {
		if head, ok := pathOf(name); ok {
			hidden[head] = append(hidden[head], name)
			continue
		}
		d := blockDevice{layer: layer{name: name, kind: "disk"}, path: s.linked(class(name))}
		disk := path.Base(path.Dir(d.path))
		switch {
		case here[disk]:
			d.kind, d.below = "partition", []string{disk}
			v.partitions[disk] = append(v.partitions[disk], name)
		case strings.HasPrefix(d.path, "/sys/devices/virtual/block/"):
			d.kind = virtualKind(name)
		}
		v.index[name] = len(v.devices)
		v.devices = append(v.devices, d)
	}
	for _, f := range s.glob("/sys/fs/btrfs/*/devices") {
		members := s.names(f)
		for _, m := range members {
			v.btrfs[m] = members
		}
	}
	for i, d := range v.devices {
		v.devices[i].paths = hidden[d.name]
		if d.kind == "dm" {
			if name, err := s.text(class(d.name) + "/dm/name"); err == nil {
				v.mapped[name] = d.name
			}
		}
		if strings.HasPrefix(d.path, "/sys/devices/virtual/block/") && d.kind != "partition" {
			v.devices[i].below = s.names(class(d.name) + "/slaves")
		}
	}
	// The file behind a loop device can lie on any of the others.
	s.known = v
	for i, d := range v.devices {
		if d.kind != "loop" {
			continue
		}
		if file, err := s.text(class(d.name) + "/loop/backing_file"); err == nil {
			v.devices[i].below = s.ofFile(file)
		}
	}
	return s
}

// linked is where a link of /sys/class leads. Those links lead straight to a folder of /sys/devices, so that one look
// is enough, where resolve looks at each part of the path.
func (r reader) linked(name string) string {
	to, err := fs.ReadLink(r.fsys, inside(name))
	if err != nil {
		full, err := r.resolve(name)
		if err != nil || full == name {
			return ""
		}
		return full
	}
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(path.Dir(name), to)
}

// virtualKind is the kind of a block device without hardware, by the name that its driver gives.
func virtualKind(name string) string {
	for _, k := range []struct {
		kind string
		name *regexp.Regexp
	}{
		{"dm", dmName}, {"md", mdName}, {"loop", loopName}, {"bcache", bcacheName}, {"drbd", drbdName},
		{"zfs", zvolName},
		{"memory", memoryName},
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
	dmName     = regexp.MustCompile(`^dm-\d+$`)
	mdName     = regexp.MustCompile(`^md(\d+$|_)`)
	loopName   = regexp.MustCompile(`^loop\d+$`)
	bcacheName = regexp.MustCompile(`^bcache\d+$`)
	drbdName   = regexp.MustCompile(`^drbd\d+$`)
	zvolName   = regexp.MustCompile(`^zd\d+$`)
	memoryName = regexp.MustCompile(`^z?ram\d+$`)
	// Optical and floppy drives, which nobody measures.
	mediaName = regexp.MustCompile(`^(sr|fd)\d+$`)
)

// wholeDisks are the disks that facts are about: not partitions, not devices made of others, none in memory, none of
// size zero (an empty card reader). A loop device whose file lies on no disk is one: nothing else shows what arrives
// there.
func (s stack) wholeDisks() []blockDevice {
	var disks []blockDevice
	for _, d := range s.known.devices {
		switch {
		case mediaName.MatchString(d.name):
		case d.kind == "loop" && len(d.below) > 0:
		case (d.kind == "disk" || d.kind == "loop") && s.size(d.name) > 0:
			disks = append(disks, d)
		}
	}
	return disks
}

// volumes are the block devices made of others, and loop devices with a file.
func (s stack) volumes() []blockDevice {
	var found []blockDevice
	for _, d := range s.known.devices {
		switch d.kind {
		case "dm", "md", "bcache", "drbd", "zfs":
			found = append(found, d)
		case "loop":
			if s.exists(class(d.name) + "/loop/backing_file") {
				found = append(found, d)
			}
		}
	}
	return found
}

// holders names what lies on a device: devices made of it, and its name when it is mounted or swapped to.
func (s stack) holders(name string, used map[string]bool) []string {
	held := s.names(class(name) + "/holders")
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
func (s stack) used() map[string]bool {
	used := map[string]bool{}
	asked := map[[2]string]bool{}
	for _, m := range s.mounts {
		if key := [2]string{m.device, m.source}; !asked[key] {
			asked[key] = true
			for _, name := range s.ofMount(m) {
				used[name] = true
			}
		}
	}
	swaps, _ := s.text("/proc/swaps")
	for line := range strings.Lines(swaps) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		file, _, _ = strings.Cut(file, "\t")
		if !strings.HasPrefix(file, "/dev/") {
			continue
		}
		if name, ok := s.byNode(unescape(file)); ok {
			used[name] = true
		}
	}
	return used
}

// atOnce is how many things are read at the same time: over a network each waits for answers, and requests that go
// together take less of both machines' time.
const atOnce = 16

// spread calls a function for each of n things, several at a time, and puts the answers in order. The reading of one
// file of /sys is a handful of system calls or requests, and a machine with thousands of disks has a hundred thousand
// such files.
func spread[T any](n int, read func(i int) []T) []T {
	found := make([][]T, n)
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(n, atOnce) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				found[i] = read(i)
			}
		})
	}
	done.Wait()
	return slices.Concat(found...)
}
