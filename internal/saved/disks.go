package saved

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/prose"
)

var (
	// diskNode is a word that names a disk, a partition or an NVMe controller: /dev/sda1, nvme0, /dev/ng0n1.
	diskNode = prose.Pattern(`^(?:/dev/)?((?:sd|vd|xvd|hd)[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|ng\d+n\d+|mmcblk\d+(?:p\d+)?)$`)
	// controllerName is the name of an NVMe controller.
	controllerName = prose.Pattern(`^nvme\d+$`)
)

// diskOf returns the disk of a partition, and "" for other names.
func diskOf(name string) string {
	f := partitionName().FindStringSubmatch(name)
	if f == nil || f[1] != "" && !lettered().MatchString(f[1]) {
		return ""
	}
	return f[1] + f[2]
}

// lettered fits disks that have letters: those named otherwise end in a number.
var lettered = prose.Pattern(`^(?:sd|vd|xvd|hd|dasd)[a-z]+$`)

// ofDisk is what a text says of a disk.
type ofDisk struct {
	controller, model string
	put               func(disk string)
}

// typedDisk is the disk or the controller that the typed command names, if it names one and no other.
func (b block) typedDisk() string {
	found := ""
	for _, word := range b.command {
		if physical().MatchString(word) {
			return ""
		}
		f := diskNode().FindStringSubmatch(strings.TrimRight(word, ";&"))
		if f == nil {
			continue
		}
		name := strings.Replace(f[1], "ng", "nvme", 1)
		if found != "" && found != name {
			return ""
		}
		found = name
	}
	return found
}

// physical is how smartctl names a drive behind a RAID controller, which the kernel does not show: megaraid,5 and
// sat+megaraid,5. Source: smartctl(8).
var physical = prose.Pattern(`^(?:-d|--device=)?[\w+]+,\d`)

// blockDevices makes the files of block devices that texts name.
type blockDevices struct {
	files *fileTree
	told  *statements
	// made are the block devices, without partitions, that texts tell of and that the machine's files do not have;
	// alone says that these files have none. later is what waits until all texts are read.
	made  map[string]bool
	alone bool
	later []ofDisk
}

// about calls put with the name of a disk, which may be given by a partition or a controller. What is known of a
// controller applies to its namespaces. Other texts may name them, so put is called once all texts were read. model is
// what the text calls the disk.
func (d *blockDevices) about(name, model string, put func(disk string)) {
	if controllerName().MatchString(name) {
		d.later = append(d.later, ofDisk{name, model, put})
		return
	}
	if disk := diskOf(name); disk != "" {
		name = disk
	}
	d.block(name, "")
	put(name)
}

// block is the folder of a block device, which is made unless it is there. A partition lies in its disk's.
func (d *blockDevices) block(name, disk string) string {
	class := storage.Class(name)
	r := collect.Reader{FS: d.files}
	if dir, err := r.Resolve(class); err == nil {
		return dir
	}
	if d.made == nil {
		d.made, d.alone = map[string]bool{}, !r.Exists(storage.Class(""))
	}
	dir := "/sys/devices/block/" + name
	switch {
	case disk != "":
		dir = d.block(disk, "") + "/" + name
		if f := partitionName().FindStringSubmatch(name); f != nil {
			d.files.file(dir+"/partition", f[3]+"\n")
		}
	case storage.VirtualKind(name) != "disk":
		dir = "/sys/devices/virtual/block/" + name
	default:
		d.files.folder(dir + "/device")
		d.diskDriver(name, dir)
	}
	d.files.folder(dir)
	d.files.link(class, dir)
	if disk != "" {
		return dir
	}
	d.made[name] = true
	if strings.HasPrefix(name, "nvme") {
		d.told.add(name, collect.Unknown("disk.nvme.paths", class, Unsaid))
	}
	return dir
}

// inDisk is where the collectors look for a file of a block device, which is made for it.
//
//	/sys/block/sda/queue/scheduler
//	/sys/block/sda/sda1/start
func (d *blockDevices) inDisk(file string) string {
	f := diskFile().FindStringSubmatch(file)
	if f == nil {
		return file
	}
	dir := d.block(f[1], diskOf(f[1]))
	if part, rest, ok := strings.Cut(f[2], "/"); ok && diskOf(part) == f[1] {
		return d.block(part, f[1]) + "/" + rest
	}
	return dir + "/" + f[2]
}

var diskFile = prose.Pattern(`^/sys/(?:block|class/block)/([^/]+)/(.+)$`)

// finish gives what was said of controllers to their namespaces, or to the controller where no text names any, and
// lets the collectors see disks of unknown size.
func (d *blockDevices) finish(pasted bool) {
	r := collect.Reader{FS: d.files}
	for _, l := range d.later {
		spaces := 0
		for _, name := range r.Names(storage.Class("")) {
			if l.controller == "" || !strings.HasPrefix(name, l.controller+"n") || diskOf(name) != "" {
				continue
			}
			spaces++
			known, _ := r.Text(storage.Class(name) + "/device/model")
			if l.model == "" || known == "" || sameModel(known, l.model) {
				l.put(name)
			}
		}
		if l.controller != "" && spaces == 0 {
			d.block(l.controller, "")
		}
		if spaces == 0 {
			l.put(l.controller)
		}
	}
	d.later = nil
	for _, name := range slices.Sorted(maps.Keys(d.made)) {
		size := storage.Class(name) + "/size"
		if !r.Exists(size) {
			d.files.file(size, "1\n")
			d.told.add(name, collect.Unknown(classOf(name)+".size", size, Unsaid))
		}
		if classOf(name) == "disk" && !pasted {
			d.told.addUnsaid(name, "disk.pci.address", "disk.iommu.group_type", "disk.irq.cpus", "disk.queue.hardware",
				"disk.transport")
		}
	}
}

// classOf is the kind of thing that the facts about a block device are about.
func classOf(name string) string {
	if storage.VirtualKind(name) == "disk" {
		return "disk"
	}
	return "volume"
}

// sameModel reports whether two texts name the same model: udev has underscores for blanks, and lsblk cuts long names.
func sameModel(a, b string) bool {
	plain := func(text string) string { return strings.ReplaceAll(collect.OneLine(text), "_", " ") }
	a, b = plain(a), plain(b)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

var sizeText = prose.Pattern(`^(\d+)(?:[.,](\d+))? ?(?:([KMGTPE])(?:iB)?|B)?$`)

// bytesOf reads a size as util-linux and multipath-tools print it, in powers of 1024 and rounded: 953.9G, 953,9G, 512B.
// exact says that it is not rounded.
func bytesOf(text string) (n int64, exact bool) {
	f := sizeText().FindStringSubmatch(text)
	if f == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(f[1]+"."+f[2]+"0", 64)
	for _, unit := range "KMGTPE" {
		if f[3] == "" || v > 1<<62 {
			break
		}
		v *= 1024
		if string(unit) == f[3] {
			break
		}
	}
	if err != nil || v >= 1<<62 {
		return 0, false
	}
	return int64(v), f[3] == ""
}

// size gives a device its size, a rounded one only where no text has the exact one.
func (d *blockDevices) size(name, text string) {
	n, exact := bytesOf(text)
	if n == 0 && !exact {
		return
	}
	put := func(string) { d.files.file(storage.Class(name)+"/size", fmt.Sprintf("%d\n", n/storage.SectorSize)) }
	if exact {
		put(name)
	} else {
		d.later = append(d.later, ofDisk{put: put})
	}
}

// transport gives an NVMe disk or controller the way to it, and its driver where that is PCIe.
func (d *blockDevices) transport(name, word string) {
	d.about(name, "", func(disk string) {
		device := storage.Class(disk) + "/device"
		d.files.file(device+"/transport", word+"\n")
		if word == "pcie" {
			d.files.driver(device, "nvme")
		}
	})
}

// diskDriver gives a disk the driver that its name is of, where the report has no link to it. Without one, a reader
// takes the driver of the adapter that the disk hangs on, which is right for NVMe. Source: the kernel's
// drivers/scsi/sd.c and drivers/block/virtio_blk.c.
func (d *blockDevices) diskDriver(name, dir string) {
	for prefix, driver := range map[string]string{"sd": "sd", "vd": "virtio_blk"} {
		if strings.HasPrefix(name, prefix) {
			d.files.driver(dir+"/device", driver)
			return
		}
	}
	if !strings.HasPrefix(name, "nvme") {
		d.told.add(name, collect.Unknown("disk.driver", dir+"/device/driver", notSaved))
	}
}
