package qemu

import (
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Disk is one disk of a guest.
type Disk struct {
	// Name is the disk's serial number in the guest, which names its link: /dev/disk/by-id/NAME.
	Name string
	Kind string
	// Backing is where the data is stored: in an image created for the guest, in memory, nowhere (null), or in File.
	Backing string
	File    string
	Size    int64
	// Cache and AIO are values of QEMU's -drive.
	Cache, AIO string
	// Queues of the disk; 0 for QEMU's default.
	Queues int
	// IOThreads that serve the disk; 0 for QEMU's main loop.
	IOThreads int
}

// The kinds of disk, and the kinds of backing.
const (
	nvme       = "nvme"
	virtioBlk  = "virtio-blk"
	virtioSCSI = "virtio-scsi"
	sata       = "sata"

	onImage  = "image"
	onMemory = "memory"
	onNull   = "null"
	onFile   = "file"
)

func kinds() []string { return []string{nvme, virtioBlk, virtioSCSI, sata} }

func caches() []string { return []string{"none", "writeback", "writethrough", "directsync", "unsafe"} }

func aios() []string { return []string{"native", "threads", "io_uring"} }

func (r *reader) disks(n *yaml.Node) []Disk {
	var disks []Disk
	for _, element := range r.Sequence(n, "disks") {
		d := r.disk(element)
		if slices.ContainsFunc(disks, func(o Disk) bool { return o.Name == d.Name && d.Name != "" }) {
			r.At(element, "give it another name", "a disk %s stands above already", d.Name)
		}
		disks = append(disks, d)
	}
	return disks
}

func (r *reader) disk(n *yaml.Node) Disk {
	d := Disk{Kind: nvme}
	at := map[string]*yaml.Node{}
	entries := r.Mapping(n, "a disk", []string{"name", "kind", "backing", "file", "size", "cache", "aio",
		"queues", "iothreads"})
	for _, e := range entries {
		at[e.Key] = e.Value
		switch e.Key {
		case "name":
			v, ok := r.Scalar(e.Value, e.Key)
			if ok && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,19}$`).MatchString(v) {
				r.At(e.Value, "use up to 20 letters, digits and dashes: it becomes the serial number",
					"name can't be %q", v)
			}
			d.Name = v
		case "kind":
			d.Kind = r.OneOf(e.Value, e.Key, kinds()...)
		case "backing":
			d.Backing = r.OneOf(e.Value, e.Key, onImage, onMemory, onNull)
		case "file":
			d.File = r.path(e.Value, e.Key)
		case "size":
			if d.Size = r.Size(e.Value, e.Key); d.Size%(1<<20) != 0 {
				r.At(e.Value, "write 512m or 1g", "size must be a multiple of 1 MiB")
			}
		case "cache":
			d.Cache = r.OneOf(e.Value, e.Key, caches()...)
		case "aio":
			d.AIO = r.OneOf(e.Value, e.Key, aios()...)
		case "queues":
			d.Queues = r.Count(e.Value, e.Key, 1, maxQueues)
		case "iothreads":
			d.IOThreads = r.Count(e.Value, e.Key, 0, maxIOThreads)
		}
	}
	if n.Kind != yaml.MappingNode {
		return d
	}
	if at["name"] == nil {
		r.At(n, "add name: fast", "the disk has no name")
	}
	switch {
	case at["file"] != nil && (at["size"] != nil || at["backing"] != nil):
		r.At(n, "delete one of the two", "a disk on a file has the file's size and backing")
	case at["file"] == nil && at["size"] == nil:
		r.At(n, "add size: 1g for a blank image, or file: PATH", "the disk has no size")
	}
	if at["file"] != nil {
		d.Backing = onFile
	} else if d.Backing == "" {
		d.Backing = onImage
	}
	for _, key := range []string{"cache", "aio", "queues", "iothreads"} {
		if at[key] != nil && !slices.Contains(d.settingNames(), key) {
			r.At(at[key], "delete it", "%s on %s takes no %s", d.Kind, d.Backing, key)
		}
	}
	if at["cache"] == nil && d.cached() {
		d.Cache = "none"
	}
	if at["aio"] == nil && d.cached() {
		d.AIO = "threads"
	}
	if fault := d.fault(); fault != "" {
		r.At(n, "", "%s", fault)
	}
	return d
}

// cached reports whether QEMU's cache mode and kind of asynchronous I/O matter to a disk.
func (d Disk) cached() bool { return d.Stored() }

// settingNames are the settings that a disk has. Memory is a file to QEMU as well, but one without direct I/O before
// Linux 6.6.
func (d Disk) settingNames() []string {
	var takes []string
	if d.Kind != sata { // AHCI has one queue, which QEMU's main loop serves
		takes = append(takes, "queues")
	}
	if d.cached() {
		takes = append(takes, "cache", "aio")
	}
	if d.Kind != nvme && d.Kind != sata {
		takes = append(takes, "iothreads")
	}
	return takes
}

// direct reports whether I/O bypasses the host's page cache.
func (d Disk) direct() bool { return d.Cache == "none" || d.Cache == "directsync" }

// fault describes settings that exclude each other, which QEMU reports only when it starts.
func (d Disk) fault() string {
	if d.AIO == "native" && !d.direct() {
		return "disk " + d.Name + ": aio native needs cache none or directsync, and cache is " + d.Cache
	}
	return ""
}
