package saved

import (
	"context"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/prose"
)

// completeLinks adds links of /sys that reports leave out and that follow from the place of a folder: /sys/class/block
// has what /sys/block has, and the folder of an adapter lies in its device's folder.
//
//	/sys/block/sda -> ../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda
//	/sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:03.0/net/eth0
func (m *Machine) completeLinks() {
	r := collect.Reader{FS: m.files}
	for _, class := range [][2]string{{"/sys/block/", "block"}, {"/sys/class/net/", "net"}} {
		for _, name := range r.Names(class[0]) {
			full, err := r.Resolve(class[0] + name)
			if err != nil {
				continue
			}
			if class[1] == "block" {
				m.files.link("/sys/class/block/"+name, full)
			}
			if device, ok := strings.CutSuffix(full, "/"+class[1]+"/"+name); ok && device != "/sys/devices/virtual" {
				m.files.link(full+"/device", device)
			}
			if class[1] == "block" && !r.Exists(full+"/device/driver") &&
				!strings.HasPrefix(full, "/sys/devices/virtual/block/") {
				m.disks.diskDriver(name, full)
			}
		}
	}
}

// partitions adds what /proc/partitions says to the block devices that a report shows: sizes, in KiB there, and
// numbers. A partition's folder lies in its disk's folder, and may be missing. Source: the kernel's
// block/genhd.c (show_partition).
//
//	major minor  #blocks  name
//	 254        0  268435456 vda
//	 254        1  268434432 vda1
func (m *Machine) partitions() {
	r := collect.Reader{FS: m.files}
	text, _ := r.Text("/proc/partitions")
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 4 || strings.ContainsAny(f[3], "/.") {
			continue
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || size < 0 || size > 1<<50 {
			continue
		}
		full, err := r.Resolve("/sys/class/block/" + f[3])
		if err != nil {
			of := partitionName().FindStringSubmatch(f[3])
			if of == nil {
				continue
			}
			disk, err := r.Resolve("/sys/class/block/" + of[1] + of[2])
			if err != nil {
				continue
			}
			full = disk + "/" + f[3]
			m.files.file(full+"/partition", of[3]+"\n")
			m.files.link("/sys/class/block/"+f[3], full)
		}
		m.files.file(full+"/size", strconv.FormatInt(2*size, 10)+"\n")
		m.files.file(full+"/dev", f[0]+":"+f[1]+"\n")
		m.files.link("/sys/dev/block/"+f[0]+":"+f[1], full)
	}
}

// partitionName is the name of a disk's partition: sda1, nvme0n1p1. Source: the kernel's block/partitions/core.c.
var partitionName = prose.Pattern(`^(?:([a-z]+)|(.*\d)p)(\d+)$`)

var driverLine = prose.Pattern(`(?m)^driver: (\S+)$`)

// describeAdapters takes the driver of an adapter, which shows its kind, from "ethtool -i" where the report has
// no link to it. A report with a part of the adapter's files does not say what it belongs to.
func (m *Machine) describeAdapters() {
	r := collect.Reader{FS: m.files}
	for _, name := range r.Names(network.NetDir) {
		dir := network.NetDir + "/" + name
		if !r.Exists(dir + "/ifindex") {
			m.told.add(name, collect.Unknown("nic.master", dir+"/master", notSaved))
		}
		if _, err := r.ReadLink(dir + "/device/driver"); err == nil || !r.Exists(dir+"/device") {
			continue
		}
		out, err := m.Run(context.Background(), "ethtool", "-i", name)
		if f := driverLine().FindSubmatch(out.Stdout); err == nil && f != nil {
			m.files.driver(dir+"/device", string(f[1]))
			continue
		}
		m.told.add(name, collect.Unknown("nic.kind", dir+"/device/driver", notSaved))
	}
}
