package storage

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// CollectAllDisks returns for each disk the facts of CollectDisks, and how it is attached. interrupts are the names of
// all interrupts by their numbers.
func CollectAllDisks(r collect.Reader, in collect.Scope, interrupts map[int]string) []lab.Fact {
	s := inventoryOf(r, in)
	disks := s.known.wholeDisks()
	used := s.used()
	irqs := diskInterrupts(s, disks, interrupts)
	return collect.Spread(len(disks), func(i int) []lab.Fact {
		d := disks[i]
		facts := s.disk("disk", d.Name).facts()
		if partOf(d.path, scsiHost()) == "" {
			// Only SCSI has a separate queue depth; elsewhere there is only the queue's number of requests.
			facts = slices.DeleteFunc(facts, func(f lab.Fact) bool {
				return f.Key == "disk.queue_depth" && f.Unknown != ""
			})
		}
		facts = append(facts, d.attachment(s.Reader)...)
		facts = append(facts,
			s.known.diskHolders(d.Name, used),
			s.Fact("disk.integrity", Class(d.Name)+"/integrity/format"),
			s.Fact("disk.alignment_offset", Class(d.Name)+"/alignment_offset"),
			s.known.misaligned(d.Name),
			irqs[d.Name])
		if strings.HasPrefix(d.Name, "nvme") {
			facts = append(facts, d.namespace(s.Reader)...)
		}
		return collect.About(d.Name, facts...)
	})
}

// attachment returns the facts of how a SCSI disk is attached: the driver of its host, the commands that timed out on
// the way, and the speed of its cable.
func (d blockDevice) attachment(r collect.Reader) []lab.Fact {
	host := partOf(d.path, scsiHost())
	if host == "" {
		return nil
	}
	facts := []lab.Fact{
		r.Fact("disk.host.driver", "/sys/class/scsi_host/"+host+"/proc_name"),
		r.Hexadecimal("disk.scsi.timeouts", Class(d.Name)+"/device/iotmo_cnt"),
	}
	if l, ok := cable(r, d.path); ok {
		facts = append(facts, l)
	}
	return facts
}

// Parts of a disk's path in /sys/devices that tell how it is attached.
var (
	scsiHost  = prose.Pattern(`^host\d+$`)
	ataPort   = prose.Pattern(`^ata(\d+)$`)
	sasDevice = prose.Pattern(`^end_device-[0-9:]+$`)
)

// partOf finds the first part of a path that matches.
func partOf(full string, pattern *regexp.Regexp) string {
	for part := range strings.SplitSeq(full, "/") {
		if pattern.MatchString(part) {
			return part
		}
	}
	return ""
}

// cable is the speed of a SATA or SAS link. A SAS port of several lanes shows its first. Source: the kernel's
// Documentation/ABI/testing/sysfs-ata and drivers/scsi/scsi_transport_sas.c.
//
//	/sys/class/ata_link/link3/sata_spd:                       6.0 Gbps
//	/sys/class/sas_phy/phy-0:0:5/negotiated_linkrate:         12.0 Gbit
func cable(r collect.Reader, full string) (lab.Fact, bool) {
	const key = "disk.link"
	if port := ataPort().FindStringSubmatch(partOf(full, ataPort())); port != nil {
		return r.Fact(key, "/sys/class/ata_link/link"+port[1]+"/sata_spd"), true
	}
	device := partOf(full, sasDevice())
	if device == "" {
		return lab.Fact{}, false
	}
	// The port that the device hangs on holds a link for each of its lanes.
	before, _, _ := strings.Cut(full, "/"+device)
	for _, name := range r.Names(before) {
		if strings.HasPrefix(name, "phy-") {
			return r.Fact(key, "/sys/class/sas_phy/"+name+"/negotiated_linkrate"), true
		}
	}
	return collect.Unknown(key, before, "the port shows no lanes"), true
}

// transport is how a disk is reached. NVMe controllers say it; of other disks the path in /sys tells.
//
//	/sys/class/nvme/nvme4/transport:                                        tcp
//	/sys/class/sas_device/end_device-0:0:5/target_port_protocols:           ssp
//	…/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sdc                 (SATA)
func (d disk) transport() lab.Fact {
	key, dev := d.role+".transport", Class(d.name)+"/device"
	f := d.Fact(key, dev+"/transport")
	if f.Unknown == "" {
		return f
	}
	if strings.HasPrefix(d.name, "nvme") {
		for _, file := range d.Glob(dev + "/nvme[0-9]*/transport") {
			return d.Fact(key, file)
		}
		return f
	}
	if d.path == "" {
		return f
	}
	for _, t := range []struct {
		word string
		part *regexp.Regexp
	}{
		{"usb", usbPart()}, {"virtio", virtioPart()}, {"iscsi", iscsiSession()},
		{"fc", remotePort()}, {"sas", sasDevice()},
		{"sata", ataPort()}, {"mmc", mmcPart()}, {"xen", xenPart()}, {"hyperv", vmbusPart()},
	} {
		part := partOf(d.path, t.part)
		if part == "" {
			continue
		}
		if t.word == "sas" {
			const protocols = "/target_port_protocols"
			text, err := d.Text("/sys/class/sas_device/" + part + protocols)
			if err == nil && (strings.Contains(text, "sata") || strings.Contains(text, "stp")) {
				return collect.Known(key, "sata", "/sys/class/sas_device/"+part+protocols)
			}
		}
		return collect.Known(key, t.word, Class(d.name))
	}
	return collect.Unknown(key, Class(d.name), "its place in /sys does not tell")
}

var (
	usbPart      = prose.Pattern(`^usb\d+$`)
	virtioPart   = prose.Pattern(`^virtio\d+$`)
	iscsiSession = prose.Pattern(`^session\d+$`)
	remotePort   = prose.Pattern(`^rport-[0-9:-]+$`)
	mmcPart      = prose.Pattern(`^mmc\d+$`)
	xenPart      = prose.Pattern(`^vbd-\d+$`)
	vmbusPart    = prose.Pattern(`^VMBUS:`)
)

// diskHolders names the users of a disk and its partitions: the devices made of them, and partitions that are mounted
// or swapped to.
func (v *inventory) diskHolders(disk string, used map[string]bool) lab.Fact {
	held := v.holders(disk, used)
	for _, p := range v.partitions[disk] {
		held = append(held, v.holders(p, used)...)
	}
	return collect.ListOf("disk.holders", distinct(held), Class(disk)+"/holders")
}

// distinct keeps the first of each.
func distinct(list []string) []string {
	var kept []string
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		if !seen[v] {
			kept = append(kept, v)
		}
		seen[v] = true
	}
	return kept
}

// misaligned names the partitions that do not start on a multiple of what the disk likes best: its optimal size, else
// the smallest that it writes without reading first.
func (v *inventory) misaligned(disk string) lab.Fact {
	const key = "disk.partitions.misaligned"
	queue := Class(disk) + "/queue/"
	physical, err := v.Number(queue + "physical_block_size")
	if err != nil {
		return collect.Unknown(key, queue+"physical_block_size", collect.Why(err))
	}
	minimum, _ := v.Number(queue + "minimum_io_size")
	optimal, _ := v.Number(queue + "optimal_io_size")
	grain := alignmentUnit(physical, minimum, optimal)
	var off []string
	for _, p := range v.partitions[disk] {
		start, err := v.Number(Class(p) + "/start")
		if errors.Is(err, fs.ErrNotExist) {
			continue // mmcblk0boot0 is in the folder of mmcblk0, too, and is separate memory
		}
		if err != nil {
			return collect.Unknown(key, Class(p)+"/start", collect.Why(err))
		}
		if start%max(1, grain/SectorSize) != 0 {
			off = append(off, p)
		}
	}
	return collect.ListOf(key, off, Class(disk)+"/*/start")
}

// alignmentUnit is what a partition should start on a multiple of, in bytes. Some disks and USB adapters report the
// largest transfer that they take as the optimal one, 65535 sectors or 4095 pages; nothing can be aligned to that, and
// it is left out.
func alignmentUnit(physical, minimum, optimal int64) int64 {
	g := max(physical, minimum, SectorSize)
	for _, unit := range []int64{SectorSize, 4096} {
		if n := optimal / unit; optimal%unit == 0 && n > 255 && n&(n+1) == 0 {
			return g
		}
	}
	if optimal > 0 && optimal%SectorSize == 0 {
		return optimal
	}
	return g
}

// namespace returns the facts of an NVMe namespace that /sys has without asking the drive.
//
//	/sys/class/nvme-subsystem/nvme-subsys3/iopolicy:                  numa
//	/sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us:          100000
func (d blockDevice) namespace(r collect.Reader) []lab.Fact {
	controllers := d.controllers(r)
	source := Class(d.Name) + "/device"
	facts := []lab.Fact{
		collect.Whole("disk.nvme.paths", int64(max(len(d.paths), 1)), "/sys/class/block"),
		transfer(r.Fact("disk.nvme.max_transfer", Class(d.Name)+"/queue/max_hw_sectors_kb")),
	}
	if len(d.paths) == 0 && len(controllers) > 1 {
		facts[0] = collect.Whole("disk.nvme.paths", int64(len(controllers)), source)
	}
	if len(controllers) > 0 {
		facts = append(facts, r.Fact("disk.nvme.power_state", controllers[0]+"/power/pm_qos_latency_tolerance_us"))
	}
	if strings.Contains(d.path, "/nvme-subsystem/") {
		facts = append(facts, r.Fact("disk.nvme.io_policy", source+"/iopolicy"))
	}
	return facts
}

// transfer turns KiB into bytes.
func transfer(f lab.Fact) lab.Fact {
	if n, err := strconv.ParseInt(f.Value, 10, 64); err == nil && n < 1<<50 {
		f.Value = strconv.FormatInt(n*1024, 10)
	}
	return f
}

// nvmeController matches a controller's folder: "nvme0", not "nvme0n1" and not "nvme-subsys0".
var nvmeController = prose.Pattern(`^nvme\d+$`)

// controllers are the folders of the controllers that lead to a namespace. The namespace's device is its controller, or
// its subsystem, which has a link for each of its controllers.
func (d blockDevice) controllers(r collect.Reader) []string {
	parent := path.Dir(d.path)
	if nvmeController().MatchString(path.Base(parent)) {
		return []string{parent}
	}
	var found []string
	for _, name := range r.Names(parent) {
		if nvmeController().MatchString(name) {
			found = append(found, parent+"/"+name)
		}
	}
	return found
}
