package storage

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// underTest is the role of the disks whose numbers are measured.
const underTest = "disk" + catalogue.UnderTestRole

// CollectPlace describes the place's structure: the device itself and the devices under it.
func CollectPlace(r collect.Reader, in collect.Scope) []lab.Fact {
	if in.Place.Kind != lab.Directory && in.Place.Kind != lab.Device {
		return nil
	}
	s := NewStack(r)
	tops := s.Tops(in.Place)
	facts := []lab.Fact{
		collect.Known("place.kind", string(in.Place.Kind), ""),
		collect.Known("place.path", in.Place.Path, ""),
	}
	if len(tops) == 0 {
		return append(facts,
			collect.Unknown("device.under-test.name", collect.MountInfoPath,
				"no block device lies under "+in.Place.Path))
	}
	top := Class(tops[0])
	facts = append(facts,
		collect.Known("device.under-test.name", strings.Join(tops, ","), "/sys/class/block"),
		collect.Known("device.under-test.stack", s.trail(tops), "/sys/class/block/*/slaves"),
		sizeFact(r, "device.under-test.size", tops[0]),
		s.ofQueue("device.under-test.queue.logical_block_size", tops[0], "logical_block_size"),
		s.ofQueue("device.under-test.queue.physical_block_size", tops[0], "physical_block_size"),
		s.Fact("device.under-test.alignment_offset", top+"/alignment_offset"),
		s.Fact("device.under-test.read_only", top+"/ro"),
	)
	for _, l := range s.Layers(tops...) {
		dir := Class(l.Name)
		switch l.Kind {
		case "partition":
			facts = append(facts, sectors(r, "device.under-test.partition.start", dir+"/start"))
		case "md":
			facts = append(facts,
				s.Fact("device.under-test.md.level", dir+"/md/level"),
				s.Fact("device.under-test.md.disks", dir+"/md/raid_disks"),
				s.Fact("device.under-test.md.chunk_size", dir+"/md/chunk_size"),
				s.Fact("device.under-test.md.degraded", dir+"/md/degraded"),
				s.Fact("device.under-test.md.sync_action", dir+"/md/sync_action"),
				s.Fact("device.under-test.md.bitmap", dir+"/md/bitmap/location"))
		case "dm":
			facts = append(facts, collect.Known("device.under-test.dm."+DmType(r, l.Name), l.Name, dir+"/dm/uuid"))
		case "loop":
			facts = append(facts, s.Fact("device.under-test.loop.direct_io", dir+"/loop/dio"))
		}
	}
	return append(once(facts), s.volumesUnder(tops)...)
}

// volumesUnder describes the devices of a stack that are made of others, from the top down: volume.under-test,
// volume.under-test.2 and so on. CollectDisks describes the disks.
func (s Stack) volumesUnder(tops []string) []lab.Fact {
	var facts []lab.Fact
	n := 0
	for _, l := range s.Layers(tops...) {
		if l.Kind == "partition" || len(l.Below) == 0 {
			continue
		}
		role := "volume" + catalogue.UnderTestRole
		if n++; n > 1 {
			role += "." + strconv.Itoa(n)
		}
		if l.Kind == "disk" {
			l.Kind = VirtualKind(l.Name) // DRBD's devices look like disks
		}
		kind := l.volumeKind(s.Reader)
		kind.Key = role + ".kind"
		facts = append(facts, collect.Known(role+".device", l.Name, "/sys/class/block"), kind)
		facts = append(facts, queue{s.Reader, role, l.Name}.ofVolume()...)
	}
	return facts
}

// queue reads the facts about a block device's request queue. Their keys begin with the role.
type queue struct {
	collect.Reader
	role, device string
}

// ofVolume reads the queue settings of a volume, without those that it lacks. A volume that only passes requests on
// lacks a scheduler, for example.
func (q queue) ofVolume() []lab.Fact {
	facts := append([]lab.Fact{q.scheduler()}, q.settings()...)
	return slices.DeleteFunc(facts, func(f lab.Fact) bool { return f.Unknown != "" })
}

func (q queue) scheduler() lab.Fact {
	return collect.Chosen(q.Fact(q.role+".queue.scheduler", Class(q.device)+"/queue/scheduler"))
}

// settings reads the settings of the queue but for its scheduler.
func (q queue) settings() []lab.Fact {
	var facts []lab.Fact
	for _, a := range queueAttributes() {
		facts = append(facts, q.Fact(q.role+".queue."+a, Class(q.device)+"/queue/"+a))
	}
	return facts
}

// hardware counts the submission queues that the driver offers to the block layer.
func (q queue) hardware() lab.Fact {
	dir := Class(q.device) + "/mq"
	if n := len(q.Names(dir)); n > 0 {
		return collect.Whole(q.role+".queue.hardware", int64(n), dir)
	}
	return collect.Unknown(q.role+".queue.hardware", dir, "the device shows no hardware queues")
}

// once keeps the first fact of each key: a stack can hold two partitions or two arrays.
func once(facts []lab.Fact) []lab.Fact {
	seen := map[string]bool{}
	kept := facts[:0]
	for _, f := range facts {
		if !seen[f.Key] {
			kept = append(kept, f)
		}
		seen[f.Key] = true
	}
	return kept
}

// Tops returns the block devices that a place is directly on. For a place of several devices it returns these devices,
// and none for a place that is neither a directory nor a device: an empty path would be on the root file system.
func (s Stack) Tops(place lab.Place) []string {
	if place.Kind != lab.Directory && place.Kind != lab.Device {
		return nil
	}
	if len(place.Members) > 0 {
		var tops []string
		for _, member := range place.Members {
			if name, ok := s.ByInode(member); ok {
				tops = append(tops, name)
			}
		}
		return tops
	}
	where := place.Resolved
	if where == "" {
		where = place.Path
	}
	if place.Kind == lab.Device {
		if name, ok := s.ByInode(where); ok {
			return []string{name}
		}
		return nil
	}
	m, ok := collect.MountOf(s.Mounts, where)
	if !ok {
		return nil
	}
	return s.OfMount(m)
}

// ofQueue reads an attribute of a device's queue; for a partition it reads the attribute of the disk.
func (s Stack) ofQueue(key, name, attribute string) lab.Fact {
	if l := s.Layer(name); l.Kind == "partition" && len(l.Below) > 0 {
		name = l.Below[0]
	}
	return s.Fact(key, Class(name)+"/queue/"+attribute)
}

func sizeFact(r collect.Reader, key, name string) lab.Fact {
	return sectors(r, key, Class(name)+"/size")
}

// sectors is a file that counts sectors, as bytes.
func sectors(r collect.Reader, key, file string) lab.Fact {
	f := r.Fact(key, file)
	if n, err := strconv.ParseInt(f.Value, 10, 64); err == nil {
		f.Value = strconv.FormatInt(n*SectorSize, 10)
	}
	return f
}

func CollectDisks(r collect.Reader, in collect.Scope) []lab.Fact {
	s := NewStack(r)
	var facts []lab.Fact
	for i, disk := range in.Place.Disks {
		role := underTest
		if len(in.Place.Disks) > 1 {
			role += "." + strconv.Itoa(i+1)
		}
		facts = append(facts, s.disk(role, disk).facts()...)
	}
	return facts
}

// queueAttributes are the settings of a disk's queue that change what a measurement gives, by the kernel's names.
// Source: the kernel's Documentation/ABI/stable/sysfs-block.
func queueAttributes() []string {
	return []string{
		"nr_requests", "logical_block_size", "physical_block_size", "minimum_io_size", "optimal_io_size", "write_cache",
		"fua",
		"max_sectors_kb", "max_hw_sectors_kb", "max_segments", "discard_granularity", "discard_max_bytes",
		"read_ahead_kb",
		"nomerges", "rq_affinity", "io_poll", "io_poll_delay", "wbt_lat_usec", "iostats", "add_random", "stable_writes",
		"zoned",
	}
}

// disk reads the facts about a whole disk. Their keys begin with the role.
type disk struct {
	collect.Reader
	role, name string
	// path is its folder in /sys/devices, without links; empty when it is unknown.
	path string
}

func (s Stack) disk(role, name string) disk { return disk{s.Reader, role, name, s.folder(name)} }

func (d disk) facts() []lab.Fact {
	dir := Class(d.name)
	dev := dir + "/device"
	q := queue{d.Reader, d.role, d.name}
	facts := []lab.Fact{
		collect.Known(d.role+".name", d.name, "/sys/class/block"),
		d.First(d.role+".model", dev+"/model"),
		d.serial(dir, dev),
		d.First(d.role+".wwid", dir+"/wwid", dev+"/wwid"),
		d.First(d.role+".firmware", dev+"/firmware_rev", dev+"/rev"),
		sizeFact(d.Reader, d.role+".size", d.name),
		d.driver(),
		d.transport(),
		d.Fact(d.role+".rotational", dir+"/queue/rotational"),
		d.Fact(d.role+".removable", dir+"/removable"),
		q.scheduler(),
		q.hardware(),
		d.First(d.role+".queue_depth", dev+"/queue_depth"),
	}
	facts = append(facts, q.settings()...)
	return append(facts, d.pci()...)
}

// serial is the serial number where the driver shows it as text; of SCSI disks, in the page of the device's data that
// holds it (vpd_pg80).
func (d disk) serial(dir, dev string) lab.Fact {
	key := d.role + ".serial"
	f := d.First(key, dir+"/serial", dev+"/serial", dev+"/nvme0/serial")
	if f.Unknown == "" {
		return f
	}
	page := dev + "/vpd_pg80"
	data, err := d.Bytes(page)
	if err != nil {
		return f
	}
	if text := parseSerialPage(data); text != "" {
		return collect.Known(key, text, page)
	}
	return f
}

// parseSerialPage reads the page Unit Serial Number: a header of four bytes (kind of device, page 80, length), then
// ASCII padded with spaces.
//
//	00 80 00 14 57 44 2d 57 43 43 34 45 31 30 31 32 33 34 35 …
//
// Source: SCSI Primary Commands (SPC-4), Unit Serial Number VPD page; the kernel shows it in drivers/scsi/scsi_sysfs.c.
func parseSerialPage(data []byte) string {
	if len(data) < 4 || data[1] != 0x80 {
		return ""
	}
	text := strings.Trim(string(data[4:min(len(data), 4+int(data[2])<<8+int(data[3]))]), " \x00")
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			return "" // not what the standard allows
		}
	}
	return text
}

// driver names the driver that carries the disk's I/O: the driver of the NVMe controller, of the disk itself (sd,
// virtio_blk), or, for an NVMe disk with several paths, of its first controller.
func (d disk) driver() lab.Fact {
	dev := Class(d.name) + "/device"
	links := []string{dev + "/device/driver", dev + "/driver"}
	if address, ok := d.pciAddress(); ok {
		links = append(links, "/sys/bus/pci/devices/"+address+"/driver")
	}
	for _, l := range links {
		if to, err := d.ReadLink(l); err == nil {
			return collect.Known(d.role+".driver", path.Base(to), l)
		}
	}
	// A controller across a network has no driver in /sys: its module is named for the transport.
	if t := d.transport(); strings.HasPrefix(d.name, "nvme") && t.Unknown == "" && t.Value != "pcie" {
		return collect.Known(d.role+".driver", "nvme_"+t.Value, t.Source)
	}
	return collect.Unknown(d.role+".driver", dev+"/driver", "the device shows no driver")
}

// pci facts of a disk: its address, its link, its memory node and how the IOMMU treats it.
//
//	/sys/bus/pci/devices/0000:41:00.0/current_link_speed:  16.0 GT/s PCIe
//	/sys/bus/pci/devices/0000:41:00.0/current_link_width:  4
//	/sys/kernel/iommu_groups/27/type:                      DMA-FQ
func (d disk) pci() []lab.Fact {
	address, ok := d.pciAddress()
	if !ok {
		const reason = "the disk does not hang on a PCI function"
		return []lab.Fact{
			collect.Unknown(d.role+".pci.address", Class(d.name), reason),
			collect.Unknown(d.role+".iommu.group_type", Class(d.name), reason),
		}
	}
	dir := "/sys/bus/pci/devices/" + address
	facts := append([]lab.Fact{collect.Known(d.role+".pci.address", address, Class(d.name))},
		machine.PCILinks(d.Reader, d.role+".pci", dir)...)
	return append(facts, d.Fact(d.role+".numa_node", dir+"/numa_node"),
		machine.IOMMUGroupType(d.Reader, d.role, dir))
}

// pciAddress finds the PCI function that the disk hangs on, the last one in its path. An NVMe disk that can be reached
// over several controllers has a virtual path; then it is the function of its first controller.
func (d disk) pciAddress() (string, bool) {
	if address, ok := lastAddress(d.path); ok || !strings.HasPrefix(d.name, "nvme") {
		return address, ok
	}
	for _, controller := range d.Glob(Class(d.name) + "/device/nvme[0-9]*") {
		full, err := d.Resolve(controller)
		if err != nil {
			continue
		}
		if address, ok := lastAddress(full); ok {
			return address, true
		}
	}
	return "", false
}

// lastAddress finds the last address of a PCI function in a path.
func lastAddress(full string) (string, bool) {
	for _, p := range slices.Backward(strings.Split(full, "/")) {
		if machine.PCIAddress().MatchString(p) {
			return p, true
		}
	}
	return "", false
}

// diskInterrupts says for each disk how many CPUs its interrupts may go to. All disks of one controller share the
// answer.
func diskInterrupts(s Stack, disks []blockDevice, names map[int]string) map[string]lab.Fact {
	const key = "disk.irq.cpus"
	online, _ := machine.ReadCPUSet(s.Reader, machine.OnlineCPUsPath)
	virtio := virtioInterrupts(names)
	left := machine.MaxInterrupts
	answers := make(map[string]lab.Fact, len(disks))
	ofController := map[string]lab.Fact{}
	for _, d := range disks {
		c := controllerOf(s, d)
		f, done := ofController[c]
		switch {
		case done:
		case c == "":
			f = collect.Unknown(key, machine.InterruptsPath,
				"the disk's own interrupts are unknown: it is not on a PCI function")
		default:
			numbers := controllerInterrupts(s.Reader, c, names, virtio)
			if left -= len(numbers); left < 0 {
				f = collect.Unknown(key, machine.InterruptsPath,
					fmt.Sprintf("the disks have more than %d interrupts together, which are too many "+
						"to look at each", machine.MaxInterrupts))
				break
			}
			f = controllerCPUs(s.Reader, numbers, online)
		}
		ofController[c], answers[d.Name] = f, f
	}
	return answers
}

// controllerOf names the source of a disk's interrupts: its PCI function, or the virtio device if it is on no PCI bus.
func controllerOf(s Stack, d blockDevice) string {
	if address, ok := s.disk("disk", d.Name).pciAddress(); ok {
		return address
	}
	return partOf(d.path, virtioPart())
}

// adminQueue matches the interrupts that carry no data: the admin queue of an NVMe controller, a virtio device's
// changes of configuration.
var adminQueue = prose.Pattern(`^nvme\d+q0$|^virtio\d+-config$`)

// virtioInterrupts are the numbers of the interrupts of virtio devices, which name them "virtio1-req.0".
func virtioInterrupts(names map[int]string) map[string][]int {
	found := map[string][]int{}
	for irq, name := range names {
		if device, _, _ := strings.Cut(name, "-"); virtioPart().MatchString(device) {
			found[device] = append(found[device], irq)
		}
	}
	return found
}

// controllerInterrupts are the numbers of a controller's interrupts, without those that carry no data where there are
// others.
func controllerInterrupts(r collect.Reader, controller string, names map[int]string, virtio map[string][]int) []int {
	all := virtio[controller]
	if !virtioPart().MatchString(controller) {
		all = machine.FunctionInterrupts(r, controller)
	}
	data := slices.DeleteFunc(slices.Clone(all), func(irq int) bool { return adminQueue().MatchString(names[irq]) })
	if len(data) == 0 {
		return all
	}
	return data
}

// controllerCPUs counts the CPUs that a controller's interrupts may go to.
func controllerCPUs(r collect.Reader, irqs []int, online machine.CPUSet) lab.Fact {
	const key = "disk.irq.cpus"
	if len(irqs) == 0 {
		return collect.Unknown(key, machine.InterruptsPath, "no interrupts of its controller were found")
	}
	sets, err := machine.Affinities(r, irqs)
	if err != nil {
		return collect.Unknown(key, machine.AffinitySource, collect.Why(err))
	}
	return machine.InterruptCPUs(key, sets, online)
}
