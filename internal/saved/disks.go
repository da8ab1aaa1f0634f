package saved

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/lab"
)

var (
	// diskNode is a word that names a disk, a partition or an NVMe controller: /dev/sda1, nvme0, /dev/ng0n1.
	diskNode = regexp.MustCompile(`^(?:/dev/)?((?:sd|vd|xvd|hd)[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|ng\d+n\d+|mmcblk\d+(?:p\d+)?)$`)
	// controllerName is the name of an NVMe controller.
	controllerName = regexp.MustCompile(`^nvme\d+$`)
)

// diskOf returns the disk of a partition, and "" for other names.
func diskOf(name string) string {
	f := partitionName.FindStringSubmatch(name)
	if f == nil || f[1] != "" && !lettered.MatchString(f[1]) {
		return ""
	}
	return f[1] + f[2]
}

// lettered fits disks that have letters: those named otherwise end in a number.
var lettered = regexp.MustCompile(`^(?:sd|vd|xvd|hd|dasd)[a-z]+$`)

// ofDisk is what a text says of a disk.
type ofDisk struct {
	controller, model string
	put               func(disk string)
}

// typedDisk is the disk or the controller that the typed command names, if it names one and no other.
func (m *Machine) typedDisk() string {
	found := ""
	for _, word := range m.now.command {
		if physical.MatchString(word) {
			return ""
		}
		f := diskNode.FindStringSubmatch(strings.TrimRight(word, ";&"))
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
var physical = regexp.MustCompile(`^(?:-d|--device=)?[\w+]+,\d`)

// about calls put with the name of a disk, which may be given by a partition or a controller. What is known of a
// controller applies to its namespaces. Other texts may name them, so put is called once all texts were read. model is
// what the text calls the disk.
func (m *Machine) about(name, model string, put func(disk string)) {
	if controllerName.MatchString(name) {
		m.later = append(m.later, ofDisk{name, model, put})
		return
	}
	if disk := diskOf(name); disk != "" {
		name = disk
	}
	m.block(name, "")
	put(name)
}

// block is the folder of a block device, which is made unless it is there. A partition lies in its disk's.
func (m *Machine) block(name, disk string) string {
	class := storage.Class(name)
	r := collect.Reader{FS: m.files}
	if dir, err := r.Resolve(class); err == nil {
		return dir
	}
	if m.made == nil {
		m.made, m.alone = map[string]bool{}, !r.Exists(storage.Class(""))
	}
	dir := "/sys/devices/block/" + name
	switch {
	case disk != "":
		dir = m.block(disk, "") + "/" + name
		if f := partitionName.FindStringSubmatch(name); f != nil {
			m.file(dir+"/partition", f[3]+"\n")
		}
	case storage.VirtualKind(name) != "disk":
		dir = "/sys/devices/virtual/block/" + name
	default:
		m.folder(dir + "/device")
		m.diskDriver(name, dir)
	}
	m.folder(dir)
	m.link(class, dir)
	if disk != "" {
		return dir
	}
	m.made[name] = true
	if strings.HasPrefix(name, "nvme") {
		m.tell(name, collect.Unknown("disk.nvme.paths", class, Unsaid))
	}
	return dir
}

// inDisk is where the collectors look for a file of a block device, which is made for it.
//
//	/sys/block/sda/queue/scheduler
//	/sys/block/sda/sda1/start
func (m *Machine) inDisk(file string) string {
	f := diskFile.FindStringSubmatch(file)
	if f == nil {
		return file
	}
	dir := m.block(f[1], diskOf(f[1]))
	if part, rest, ok := strings.Cut(f[2], "/"); ok && diskOf(part) == f[1] {
		return m.block(part, f[1]) + "/" + rest
	}
	return dir + "/" + f[2]
}

var diskFile = regexp.MustCompile(`^/sys/(?:block|class/block)/([^/]+)/(.+)$`)

// tellUnsaid tells that facts of a disk are unknown which no text says.
func (m *Machine) tellUnsaid(disk string, keys ...string) {
	for _, key := range keys {
		if !slices.ContainsFunc(m.told, func(f lab.Fact) bool { return f.Key == key && f.About == disk }) {
			m.tell(disk, collect.Unknown(key, storage.Class(disk), Unsaid))
		}
	}
}

// finishDisks gives what was said of controllers to their namespaces, or to the controller where no text names any, and
// lets the collectors see disks of unknown size.
func (m *Machine) finishDisks() {
	r := collect.Reader{FS: m.files}
	for _, l := range m.later {
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
			m.block(l.controller, "")
		}
		if spaces == 0 {
			l.put(l.controller)
		}
	}
	m.later = nil
	for _, name := range slices.Sorted(maps.Keys(m.made)) {
		size := storage.Class(name) + "/size"
		if !r.Exists(size) {
			m.file(size, "1\n")
			m.tell(name, collect.Unknown(classOf(name)+".size", size, Unsaid))
		}
		if classOf(name) == "disk" && !m.pasted {
			m.tellUnsaid(name, "disk.pci.address", "disk.iommu.group_type", "disk.irq.cpus", "disk.queue.hardware",
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

var sizeText = regexp.MustCompile(`^(\d+)(?:[.,](\d+))? ?(?:([KMGTPE])(?:iB)?|B)?$`)

// bytesOf reads a size as util-linux and multipath-tools print it, in powers of 1024 and rounded: 953.9G, 953,9G, 512B.
// exact says that it is not rounded.
func bytesOf(text string) (n int64, exact bool) {
	f := sizeText.FindStringSubmatch(text)
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
func (m *Machine) size(name, text string) {
	n, exact := bytesOf(text)
	if n == 0 && !exact {
		return
	}
	put := func(string) { m.file(storage.Class(name)+"/size", fmt.Sprintf("%d\n", n/storage.SectorSize)) }
	if exact {
		put(name)
	} else {
		m.later = append(m.later, ofDisk{put: put})
	}
}

// transport gives an NVMe disk or controller the way to it, and its driver where that is PCIe.
func (m *Machine) transport(name, word string) {
	m.about(name, "", func(disk string) {
		device := storage.Class(disk) + "/device"
		m.file(device+"/transport", word+"\n")
		if word == "pcie" {
			m.driver(device, "nvme")
		}
	})
}
