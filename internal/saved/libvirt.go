package saved

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
)

// domain is what is read of libvirt's description of a machine.
type domain struct {
	Type   string `xml:"type,attr"`
	Name   string `xml:"name"`
	CPUs   string `xml:"vcpu"`
	Memory struct {
		Unit  string `xml:"unit,attr"`
		Value int64  `xml:",chardata"`
	} `xml:"memory"`
	Backing *struct{} `xml:"memoryBacking>hugepages"`
	CPU     struct {
		Mode  string `xml:"mode,attr"`
		Model string `xml:"model"`
	} `xml:"cpu"`
	OS struct {
		Machine string `xml:"machine,attr"`
	} `xml:"os>type"`
	System []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:",chardata"`
	} `xml:"sysinfo>system>entry"`
	Threads     int64        `xml:"iothreads"`
	Emulator    string       `xml:"devices>emulator"`
	Disks       []disk       `xml:"devices>disk"`
	Controllers []controller `xml:"devices>controller"`
	Interfaces  []nic        `xml:"devices>interface"`
}

type controller struct {
	Type   string  `xml:"type,attr"`
	Index  string  `xml:"index,attr"`
	Model  string  `xml:"model,attr"`
	Driver options `xml:"driver"`
}

type nic struct {
	Type  string `xml:"type,attr"`
	Model struct {
		Type string `xml:"type,attr"`
	} `xml:"model"`
	Driver options `xml:"driver"`
}

type disk struct {
	Device string  `xml:"device,attr"`
	Driver options `xml:"driver"`
	Source struct {
		File   string `xml:"file,attr"`
		Dev    string `xml:"dev,attr"`
		Name   string `xml:"name,attr"`
		Volume string `xml:"volume,attr"`
	} `xml:"source"`
	Target struct {
		Dev string `xml:"dev,attr"`
		Bus string `xml:"bus,attr"`
	} `xml:"target"`
	Address struct {
		Controller string `xml:"controller,attr"`
	} `xml:"address"`
}

type options struct {
	Name     string `xml:"name,attr"`
	Type     string `xml:"type,attr"`
	Cache    string `xml:"cache,attr"`
	IO       string `xml:"io,attr"`
	Discard  string `xml:"discard,attr"`
	IOThread string `xml:"iothread,attr"`
	Queues   string `xml:"queues,attr"`
	Pool     []struct {
		ID string `xml:"id,attr"`
	} `xml:"iothreads>iothread"`
}

// readLibvirt reads libvirt's description of a machine, as the command line that it makes of it. Source: libvirt,
// docs/formatdomain.rst and src/qemu/qemu_command.c.
//
//	<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='writethrough' io='threads'/>
//	<source file='/var/lib/libvirt/images/db1.qcow2'/><target dev='sda' bus='sata'/></disk>
//	<interface type='bridge'><source bridge='br0'/><model type='e1000'/></interface>
func readLibvirt(m *Machine, text string) bool {
	read := false
	for start := strings.Index(text, "<domain"); start >= 0; start = strings.Index(text, "<domain") {
		var d domain
		decoder := xml.NewDecoder(strings.NewReader(text[start:]))
		if decoder.Decode(&d) != nil {
			break
		}
		text = text[start+int(decoder.InputOffset()):]
		about := d.Name
		if about == "" {
			about = "1"
		}
		if slices.ContainsFunc(d.Interfaces, func(n nic) bool { return n.Driver.Name != "vhost" }) {
			m.told.add(about, collect.Unknown("guest.vhost", "virsh dumpxml",
				"libvirt takes vhost where the host has it"))
		}
		read = m.guest(d.arguments()) || read
	}
	return read
}

// arguments are the command line that libvirt makes of a machine.
func (d domain) arguments() []string {
	argv := []string{d.Emulator, "-object", "secret,id=masterKey0"}
	if argv[0] == "" {
		argv[0] = "qemu-system-x86_64"
	}
	add := func(option, format string, args ...any) {
		argv = append(argv, "-"+option, fmt.Sprintf(format, args...))
	}
	clean := strings.NewReplacer(",", ",,").Replace
	for _, o := range []struct{ option, before, value string }{{"name", "guest=", d.Name}, {"accel", "", d.Type},
		{"machine", "type=", d.OS.Machine}, {"smp", "", strings.TrimSpace(d.CPUs)},
		{"cpu", "", strings.TrimSpace(d.CPU.Model)}} {
		if o.option == "cpu" && d.CPU.Mode == "host-passthrough" {
			o.value = "host"
		}
		if o.value != "" {
			add(o.option, "%s%s", o.before, clean(o.value))
		}
	}
	units := map[string]int64{"": 1 << 10, "b": 1, "bytes": 1, "KB": 1000, "k": 1 << 10, "KiB": 1 << 10, "MB": 1e6,
		"M": 1 << 20, "MiB": 1 << 20, "GB": 1e9, "G": 1 << 30, "GiB": 1 << 30}
	if unit := units[d.Memory.Unit]; unit > 0 && d.Memory.Value > 0 && d.Memory.Value < 1<<40 {
		add("m", "size=%db", d.Memory.Value*unit)
	}
	if d.Backing != nil {
		add("mem-path", "/dev/hugepages")
	}
	for _, e := range d.System {
		if e.Name == "manufacturer" {
			add("smbios", "type=1,manufacturer=%s", clean(strings.TrimSpace(e.Value)))
		}
	}
	for i := range min(d.Threads, 64) {
		add("object", "iothread,id=iothread%d", i+1)
	}
	for _, c := range d.Controllers {
		if c.Type == "scsi" {
			add("device", "%s%s,id=scsi%s", scsiModel(c.Model), c.Driver.device(), c.Index)
		}
	}
	for i, k := range d.Disks[:min(len(d.Disks), maxGuests)] {
		if k.Device != "" && k.Device != "disk" && k.Device != "lun" {
			continue
		}
		argv = append(argv, k.arguments(i)...)
	}
	for i, n := range d.Interfaces[:min(len(d.Interfaces), maxGuests)] {
		model := map[string]string{"virtio": "virtio-net-pci", "": "default"}[n.Model.Type]
		if model == "" {
			model = n.Model.Type
		}
		carrier := map[string]string{"user": "user", "vhostuser": "vhost-user", "vdpa": "vhost-vdpa",
			unseen: unseen}[n.Type]
		switch {
		case n.Type == "hostdev":
			continue // a device of the host
		case carrier == "":
			carrier = "tap"
		}
		if n.Driver.Name == "vhost" {
			carrier += ",vhost=on"
		}
		add("netdev", "%s,id=hostnet%d", carrier, i)
		add("device", "%s,netdev=hostnet%d,id=net%d", clean(model), i, i)
	}
	return argv
}

// unseen is the type of an interface of which is not said what carries its packets.
const unseen = "unknown"

func scsiModel(model string) string {
	switch model {
	case "", "auto", "lsilogic":
		return "lsi"
	case "virtio-scsi", "virtio-transitional", "virtio-non-transitional":
		return "virtio-scsi-pci"
	}
	return strings.ReplaceAll(model, ",", "")
}

// device is the part of a driver that stands with the device.
func (o options) device() string {
	text := ""
	if _, err := strconv.Atoi(o.IOThread); err == nil {
		text += ",iothread=iothread" + o.IOThread
	}
	for i, t := range o.Pool[:min(len(o.Pool), maxGuests)] {
		if _, err := strconv.Atoi(t.ID); err == nil {
			text += fmt.Sprintf(",iothread-vq-mapping.%d.iothread=iothread%s", i, t.ID)
		}
	}
	if _, err := strconv.Atoi(o.Queues); err == nil {
		text += ",num-queues=" + o.Queues
	}
	return text
}

func (k disk) arguments(i int) []string {
	clean := strings.NewReplacer(",", ",,").Replace
	id := k.Target.Dev
	if id == "" {
		id = strconv.Itoa(i)
	}
	source := k.Source.File
	for _, s := range []string{k.Source.Dev, k.Source.Name, k.Source.Volume} {
		if source == "" {
			source = s
		}
	}
	drive := "file=" + clean(source) + ",if=none,id=drive-" + clean(id)
	for _, o := range [][2]string{{"format", k.Driver.Type}, {"cache", k.Driver.Cache}, {"aio", k.Driver.IO},
		{"discard", k.Driver.Discard}} {
		if o[1] != "" && o[1] != "default" {
			drive += "," + o[0] + "=" + clean(o[1])
		}
	}
	bus := k.Target.Bus
	if bus == "" { // by the beginning of the name
		bus = map[string]string{"vd": "virtio", "sd": "scsi", "hd": "ide"}[id[:min(2, len(id))]]
	}
	device := map[string]string{"virtio": "virtio-blk-pci" + k.Driver.device(), "sata": "ide-hd,bus=sata0.0",
		"ide": "ide-hd,bus=ide.0", "usb": "usb-storage"}[bus]
	argv := []string{"-drive", drive}
	if bus == "sata" {
		argv = append(argv, "-device", "ahci,id=sata0")
	}
	if bus == "scsi" {
		controller := k.Address.Controller
		if controller == "" {
			controller = "0"
		}
		device = "scsi-hd,bus=scsi" + clean(controller) + ".0"
	}
	if device == "" {
		return nil
	}
	return append(argv, "-device", device+",drive=drive-"+clean(id)+",id="+clean(id))
}
