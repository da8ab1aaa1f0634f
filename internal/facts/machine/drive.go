package machine

import (
	"path"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// drive is a disk of a virtual machine: the device that the machine sees, what serves it, and what lies behind it.
type drive struct {
	name string
	bus  string
	// carrier is where IOThreads and queues are set: the device itself, or the SCSI controller that it hangs on.
	carrier properties
	device  properties
	backing backing
}

// backing is what lies behind a drive.
type backing struct {
	// format is qcow2, vmdk, … and "" for none; protocol is file, host_device, rbd, …
	format, protocol, source string
	aio, cache, discard      string
	// unseen says why nothing is known of it.
	unseen string
}

// maxDrives bounds the drives of one virtual machine.
const maxDrives = 64

// drives finds the disks; CD and floppy drives and firmware are none.
func (g *guest) drives() []drive {
	var found []drive
	legacy := map[string]properties{}
	for _, p := range g.legacyDrives {
		if id := p["id"]; id != "" {
			legacy[id] = p
		}
	}
	used := map[string]bool{}
	add := func(d drive) {
		d.name = collect.OneLine(d.name)
		if d.name == "" {
			d.name = "drive" + strconv.Itoa(len(found))
		}
		if used["name:"+d.name] {
			d.name += "#" + strconv.Itoa(len(found))
		}
		used["name:"+d.name] = true
		if len(found) < maxDrives {
			found = append(found, d)
		}
	}
	for _, device := range g.devices {
		bus, carrier, ok := g.bus(device)
		if !ok {
			continue
		}
		d := drive{name: device.first("id", "drive"), bus: bus, carrier: carrier, device: device}
		id := device["drive"]
		switch p, old := legacy[id]; {
		case id == "":
			d.backing.unseen = "another process serves it"
		case old && p["media"] == "cdrom":
			continue
		case old:
			used[id] = true
			d.backing = legacyBacking(p)
		default:
			d.backing = g.walk(id, device)
		}
		add(d)
	}
	// A drive without a separate device: -drive if=virtio, and -hda.
	for i, p := range g.legacyDrives {
		kind := p["if"]
		if kind == "" {
			kind = "ide"
		}
		if used[p["id"]] && p["id"] != "" || p["media"] == "cdrom" || kind == "none" || kind == "pflash" ||
			kind == "floppy" {
			continue
		}
		if kind == "virtio" {
			kind = "virtio-blk"
		}
		name := p["id"]
		if name == "" {
			name = "drive" + strconv.Itoa(i)
		}
		add(drive{name: name, bus: kind, carrier: properties{}, device: properties{}, backing: legacyBacking(p)})
	}
	return found
}

// bus names the device type that the machine sees, and returns the device with the disk's IOThreads and queues; false
// if it is not a disk.
func (g *guest) bus(device properties) (bus string, carrier properties, ok bool) {
	driver := device["driver"]
	switch {
	case strings.HasPrefix(driver, "virtio-blk"):
		return "virtio-blk", device, true
	case strings.HasPrefix(driver, "vhost-user-blk"):
		return "vhost-user-blk", device, true
	case driver == "nvme" && device["drive"] != "", driver == "nvme-ns":
		return "nvme", device, true
	case driver == "usb-storage":
		return "usb", device, true
	}
	id, _, _ := strings.Cut(device["bus"], ".")
	switch driver {
	case "scsi-hd", "scsi-block", "scsi-generic":
		controller := g.controller(id)
		switch kind := controller["driver"]; {
		case strings.HasPrefix(kind, "virtio-scsi"):
			return "virtio-scsi", controller, true
		case kind != "":
			return kind, controller, true
		}
		return "scsi", properties{}, true
	case "ide-hd":
		// The machine type q35 has an AHCI controller whose ports are called ide.0, ide.1, …
		ahci := strings.Contains(g.controller(id)["driver"], "ahci") ||
			id == "ide" && strings.Contains(g.machine(), "q35")
		if ahci {
			return "ahci", device, true
		}
		return "ide", device, true
	}
	return "", nil, false
}

// controller is the device of that name; without a name the first SCSI controller, as QEMU takes it.
func (g *guest) controller(id string) properties {
	for _, d := range g.devices {
		if id != "" && d["id"] == id ||
			id == "" && (strings.HasPrefix(d["driver"], "virtio-scsi") || strings.HasPrefix(d["driver"], "lsi")) {
			return d
		}
	}
	return properties{}
}

// walk follows a drive from the node that the device names down to what holds the data: through nodes named by others,
// and through nodes written inside others. Proxmox VE from 9 writes all in one:
//
//	{"driver":"throttle","node-name":"drive-scsi0","discard":"ignore","file":{"driver":"raw","file":{"driver":"host_device",
//	"aio":"io_uring","cache":{"direct":true,"no-flush":false},"filename":"/dev/pve/vm-101-disk-0"}}}
//
// libvirt names a second node:
//
//	{"driver":"file","filename":"/srv/db1.qcow2","aio":"native","node-name":"libvirt-1-storage","cache":{"direct":true,…}}
//	{"node-name":"libvirt-1-format","cache":{"direct":true,"no-flush":false},"driver":"qcow2","file":"libvirt-1-storage"}
func (g *guest) walk(name string, device properties) backing {
	p, ok := g.nodes[name]
	if !ok {
		return backing{unseen: "the command line does not describe " + collect.OneLine(name)}
	}
	var b backing
	b.discard = p.first("discard")
	prefix, direct, noFlush := "", false, false
	for range maxDepth {
		if v, ok := p[prefix+"cache.direct"]; ok {
			direct, _ = catalogue.ParseFlag(v)
		}
		if v, ok := p[prefix+"cache.no-flush"]; ok {
			noFlush, _ = catalogue.ParseFlag(v)
		}
		driver := p[prefix+"driver"]
		switch driver {
		case "throttle", "raw", "copy-on-read", "zeroinit", "alloc-track", "pbs", "preallocate":
		default:
			if p[prefix+"file"] != "" || p[prefix+"file.driver"] != "" {
				if b.format == "" {
					b.format = driver
				}
			}
		}
		if next, ok := g.nodes[p[prefix+"file"]]; ok && p[prefix+"file"] != "" {
			p, prefix, direct, noFlush = next, "", false, false // a node that is named inherits nothing
			continue
		}
		if p[prefix+"file.driver"] != "" {
			prefix += "file."
			continue
		}
		b.protocol = driver
		b.aio = p[prefix+"aio"]
		b.source = p.first(prefix+"filename", prefix+"image", prefix+"path", prefix+"export", prefix+"device",
			prefix+"server.path")
		break
	}
	writeBack := true
	if v, ok := device["write-cache"]; ok && v != "auto" {
		writeBack, _ = catalogue.ParseFlag(v)
	}
	b.cache = cacheMode(direct, noFlush, writeBack)
	return b
}

// cacheMode names the three switches the way -drive does. Source: qemu(1), the table under cache=.
func cacheMode(direct, noFlush, writeBack bool) string {
	switch {
	case noFlush:
		return "unsafe"
	case direct && writeBack:
		return "none"
	case direct:
		return "directsync"
	case writeBack:
		return "writeback"
	}
	return "writethrough"
}

// legacyBacking reads what -drive says:
//
//	file=/dev/zvol/tank/vm-101-disk-0,if=none,id=drive-scsi0,format=raw,cache=none,aio=io_uring,detect-zeroes=on
//	file=rbd:pool/vm-102-disk-0:conf=/etc/pve/ceph.conf:id=admin,if=none,id=drive-virtio0,discard=on,format=raw
func legacyBacking(p properties) backing {
	b := backing{source: p.first("file", "file.filename", "filename", "file.image"), aio: p.first("aio", "file.aio"),
		discard: p["discard"], cache: p["cache"], format: p.first("format", "driver"), protocol: p["file.driver"]}
	if b.cache == "" {
		noFlush, direct := p.on("cache.no-flush"), p.on("cache.direct")
		writeBack := p["cache.writeback"] == "" || p.on("cache.writeback")
		b.cache = cacheMode(direct, noFlush, writeBack)
	}
	if scheme, rest, ok := strings.Cut(b.source, ":"); ok && !strings.Contains(scheme, "/") && b.protocol == "" {
		b.protocol = scheme
		if image, _, cut := strings.Cut(rest, ":"); cut && scheme == "rbd" {
			b.source = scheme + ":" + image // what follows names keys and users
		}
	}
	switch {
	case b.protocol != "":
	case strings.HasPrefix(b.source, "/dev/"):
		b.protocol = "host_device"
	default:
		b.protocol = "file"
	}
	if b.format == "" && path.Ext(b.source) == ".qcow2" {
		b.format = "qcow2"
	}
	if b.format == "" && b.protocol == "file" {
		b.format = "probed"
	}
	if b.format == "raw" {
		b.format = ""
	}
	return b
}

// kind is the kind of backing in one or two words.
func (b backing) kind() string {
	switch {
	case b.format != "":
		return b.format
	case b.protocol == "host_device":
		return "block device"
	case b.protocol == "file":
		return "raw file"
	}
	return b.protocol
}

func (d drive) facts(source string) []lab.Fact {
	b := d.backing
	say := func(key, value, otherwise string) lab.Fact {
		if b.unseen != "" {
			return collect.Unknown(key, source, b.unseen)
		}
		if value == "" {
			value = otherwise
		}
		return collect.Known(key, collect.OrNone(value), source)
	}
	aio := catalogue.None // only files and block devices have it
	if b.protocol == "file" || b.protocol == "host_device" {
		aio = "threads"
	}
	discard := "ignore"
	if b.discard == "unmap" || b.discard == "on" {
		discard = "unmap"
	}
	backend := say("drive.backend", b.kind(), "")
	if b.format == "probed" {
		backend = collect.Unknown("drive.backend", source, "no format is given, so QEMU looks into the file")
	}
	if d.bus == "vhost-user-blk" {
		backend = collect.Known("drive.backend", "vhost-user", source)
	}
	threads := iothreads(d.carrier)
	return []lab.Fact{
		collect.Known("drive.bus", collect.OneLine(d.bus), source),
		say("drive.cache", b.cache, ""),
		say("drive.aio", b.aio, aio),
		collect.ListOf("drive.iothread", threads, source),
		collect.Whole("drive.iothreads", int64(len(threads)), source),
		collect.Whole("drive.queues", int64(queues(d.carrier)), source),
		backend,
		say("drive.source", b.source, ""),
		say("drive.discard", discard, ""),
	}
}

// iothreads names the IOThreads of a device: one, or several that share its queues (QEMU 9.0).
//
//	"iothread-vq-mapping":[{"iothread":"iothread1"},{"iothread":"iothread2"}]
func iothreads(p properties) []string {
	var names []string
	for i := range maxProperties {
		name, ok := p["iothread-vq-mapping."+strconv.Itoa(i)+".iothread"]
		if !ok {
			break
		}
		names = append(names, collect.OneLine(name))
	}
	if one := collect.OneLine(p["iothread"]); len(names) == 0 && one != "" {
		names = append(names, one)
	}
	return names
}

// queues is the number of queues that is set, 0 for the device's own choice.
func queues(p properties) int {
	n, err := strconv.Atoi(p.first("num-queues", "num_queues", "max_ioqpairs"))
	if err != nil || n < 0 || n > MaxCPUs {
		return 0
	}
	return n
}
