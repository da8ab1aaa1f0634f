package guard

import (
	"fmt"
	"path"
	"strings"
)

// relation is how another block device is related to the inspected one.
type relation int

// The relations. Writing to the device changes the data of all related devices, except for those underneath.
const (
	itself relation = iota
	partition
	wholeDisk      // the disk of the inspected partition
	holder         // built on top: LVM, md, dm-crypt, bcache, a loop device over it
	samePathDevice // another name for the same storage: a second path to the drive, a loop device over the same file
	underneath     // a device that the inspected one is built on
)

// relative is a block device that is related to the inspected one.
type relative struct {
	blockDevice
	relation relation
	// words describe it in a sentence: "it", "partition 2", "dm-1 (LVM volume vg0-root)".
	words string
}

// backing is what a loop device is backed by.
type backing struct {
	// device is set for a block device, file and its path for a file.
	device Number
	isFile bool
	file   fileID
	path   string
}

// family is the set of all block devices that are related to one.
type family struct {
	environment
	members []relative
	seen    map[string]bool
	loops   map[string]backing
	// views are the mounts that programs see.
	views []view
	// sparesJobs ignores headroom's own jobs among the programs that have a member open.
	sparesJobs bool
	// faults are read errors; a member may be missing because of them.
	faults []string
	// programsUnread and filesUnseen are as in Evidence.
	programsUnread, filesUnseen int
}

// familyOf walks /sys from a device. Sources: Documentation/ABI/testing/sysfs-block and
// Documentation/ABI/stable/sysfs-block of the kernel (holders, slaves), loop(4).
func (s environment) familyOf(d blockDevice) *family {
	f := &family{environment: s, seen: map[string]bool{}}
	f.readViews()
	f.readLoops()
	f.add(d.name, itself, "it")
	if d.disk != d.name {
		// A partition's siblings may be in use; a user of the whole disk also uses this partition.
		f.addAlone(d.disk, wholeDisk, "the whole disk "+d.disk)
	}
	f.addTwins(d)
	f.addUnderneath(d.name)
	if d.disk != d.name { // a partition lists nothing below it, but an array does
		f.addUnderneath(d.disk)
	}
	return f
}

func (f *family) fault(doing string, err error) {
	f.faults = append(f.faults, fmt.Sprintf("%s: %v", doing, err))
}

// add adds a device to the family, with its partitions and everything that is built on any of them.
func (f *family) add(name string, r relation, words string) {
	if f.seen[name] {
		return
	}
	if !f.addAlone(name, r, words) {
		return
	}
	entries, err := f.entries(classDir(name))
	if err != nil {
		f.fault("can't list the partitions of "+name, err)
	}
	for _, e := range entries {
		if number := f.optional(classDir(name) + "/" + e + "/partition"); number != "" {
			words := "partition " + number
			if r != itself {
				words += " of " + name
			}
			f.add(e, partitionOf(r), words)
		}
	}
}

// partitionOf returns the relation of a relative's partition: a partition of the device itself is a partition, but a
// partition of a device with another relation has that relation.
func partitionOf(r relation) relation {
	if r == itself {
		return partition
	}
	return r
}

// addAlone adds a device to the family with everything that is built on it, without its partitions.
func (f *family) addAlone(name string, r relation, words string) bool {
	if f.seen[name] {
		return false
	}
	f.seen[name] = true
	d, err := f.device(name)
	if err != nil {
		f.fault("can't tell what "+name+" is", err)
		return false
	}
	f.members = append(f.members, relative{blockDevice: d, relation: r, words: words})
	holders, err := f.entries(classDir(name) + "/holders")
	if err != nil {
		f.fault("can't list the holders of "+name, err)
	}
	for _, h := range holders {
		f.add(h, holder, f.describe(h))
	}
	for loop, b := range f.loops {
		if b.device == d.number { // /sys does not list a loop device among the holders of its backing device
			f.add(loop, holder, f.describe(loop))
		}
	}
	return true
}

// addTwins finds other names of the same storage. A drive with two paths (two controllers, a SAN without multipath)
// appears as two disks with the same worldwide name, and two loop devices can be backed by the same file. To the kernel
// they are unrelated: an exclusive claim on one has no effect on the other.
func (f *family) addTwins(d blockDevice) {
	disk, err := f.device(d.disk)
	if err != nil {
		f.fault("can't tell what "+d.disk+" is", err)
		return
	}
	if own := f.loops[disk.name]; own.isFile {
		for loop, b := range f.loops {
			if b.isFile && f.sameFile(b.file, own.file) {
				f.add(loop, samePathDevice, loop+" (over the same file)")
			}
		}
	}
	wwid := f.wwid(disk.name)
	if wwid == "" {
		return
	}
	names, err := f.entries("sys/class/block")
	if err != nil {
		f.fault("can't list the block devices", err)
	}
	for _, name := range names {
		if f.seen[name] || f.wwid(name) != wwid || f.optional(classDir(name)+"/hidden") == "1" {
			continue // a hidden device is a path that the kernel combines (NVMe multipath); programs can't use it
		}
		if other, err := f.device(name); err == nil && other.part == 0 && other.size == disk.size {
			f.add(name, samePathDevice, name+" (another path to the same drive)")
		}
	}
}

// addUnderneath finds the devices that a stacked device is built on, at all levels. Their other users do not matter: a
// mounted volume of a volume group is no reason against another volume.
func (f *family) addUnderneath(name string) {
	slaves, err := f.entries(classDir(name) + "/slaves")
	if err != nil {
		f.fault("can't list what "+name+" is built on", err)
	}
	if b := f.loops[name]; b.device != (Number{}) {
		if below, err := f.named(b.device); err == nil {
			slaves = append(slaves, below)
		} else {
			f.fault("can't tell what "+name+" is laid over", err)
		}
	}
	for _, slave := range slaves {
		if f.seen[slave] {
			continue
		}
		f.seen[slave] = true
		d, err := f.device(slave)
		if err != nil {
			f.fault("can't tell what "+slave+" is", err)
			continue
		}
		f.members = append(f.members, relative{blockDevice: d, relation: underneath, words: f.describe(slave)})
		f.addUnderneath(slave)
	}
}

// readLoops queries the backing of every loop device that is in use.
func (f *family) readLoops() {
	names, err := f.entries("sys/class/block")
	if err != nil {
		f.fault("can't list the block devices", err)
	}
	f.loops = map[string]backing{}
	for _, name := range names {
		if !strings.HasPrefix(name, "loop") || !f.exists(classDir(name)+"/loop/backing_file") {
			continue
		}
		b, err := f.loopTarget(path.Join("/dev", name))
		if err != nil {
			f.fault("can't tell what "+name+" is laid over", err)
			continue
		}
		if b.isFile {
			b.path = strings.TrimSuffix(f.optional(classDir(name)+"/loop/backing_file"), " (deleted)")
			b.file.size = f.sizeOf(b)
		}
		f.loops[name] = b
	}
}

// by finds a member by its number.
func (f *family) by(n Number) (relative, bool) {
	for _, m := range f.members {
		if m.number == n {
			return m, true
		}
	}
	return relative{}, false
}
