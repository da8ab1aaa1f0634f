package saved

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// maxGuests bounds the machines of one text.
const maxGuests = 64

// guest makes a process of a command line of QEMU. Facts about it name the text as their source.
func (m *Machine) guest(argv []string) bool {
	pid := 0
	for pid < maxGuests {
		pid++
		if _, err := m.files.Lstat(fmt.Sprintf("proc/%d", pid)); err != nil {
			break
		}
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	m.files.file(dir+"comm", "kvm\n")
	m.files.file(dir+"cmdline", strings.Join(argv, "\x00")+"\x00")
	if m.now.part != nil {
		m.saidBy[dir+"cmdline"] = m.now.part.name
	}
	return len(argv) > 1 && pid < maxGuests
}

// readQEMU reads a command line of QEMU, as "qm showcmd" and the logs of libvirt have it.
//
//	/usr/bin/kvm -id 100 -name db1,debug-threads=on -device lsi,id=scsihw0,bus=pci.0,addr=0x5
func readQEMU(m *Machine, text string) bool {
	if at := program().FindStringIndex(text); at != nil {
		text = text[at[0]:] // what ps prints stands before it
	}
	return m.guest(pasted.Words(strings.ReplaceAll(text, "\\\n", " ")))
}

var program = prose.Pattern(`(?:/\S*/)?\b(?:kvm|qemu-kvm|qemu-system-\w+) `)

var qmLine = prose.Pattern(`^([a-z]+)(\d*): (.*)$`)

func qmDrives() []string { return []string{"scsi", "virtio", "sata", "ide"} }

// readQM reads what "qm config" prints, and the files of /etc/pve/qemu-server, as the command line that Proxmox VE
// makes of it. What it chooses by its version and the kind of storage is unknown. Sources: qemu-server,
// PVE/QemuServer.pm (config_to_command, print_drivedevice_full, print_drive_commandline_full) and qm.conf(5).
//
//	scsi0: local-zfs:vm-100-disk-0,cache=writethrough,size=64G
//	scsihw: lsi
//	net0: e1000=02:00:00:00:00:01,bridge=vmbr0,firewall=1
func readQM(m *Machine, text string) bool {
	read := false
	for _, config := range qmConfigs(text) {
		read = readConfig(m, config) || read
	}
	return read
}

// qmConfigs returns the settings of each virtual machine of a text: a key that comes again is another's. Those of a
// snapshot, which a line in brackets begins, are left out.
func qmConfigs(text string) (all [][][]string) {
	snapshot, keys := false, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "[") {
			snapshot, keys = true, map[string]bool{}
		}
		setting := qmLine().FindStringSubmatch(line)
		if setting == nil {
			continue
		}
		key := setting[1] + setting[2]
		if keys[key] {
			snapshot, keys = false, map[string]bool{}
		}
		if !snapshot {
			if len(keys) == 0 {
				all = append(all, nil)
			}
			all[len(all)-1] = append(all[len(all)-1], setting)
		}
		keys[key] = true
	}
	return all
}

// readConfig reads the settings of a virtual machine. Each is what qmLine finds: the line, the key without its number,
// the number and the value.
func readConfig(m *Machine, config [][]string) bool {
	values := map[string]string{}
	for _, setting := range config {
		values[setting[1]+setting[2]] = setting[3]
	}
	argv := []string{"/usr/bin/kvm", "-pidfile", "/var/run/qemu-server/0.pid"}
	name := values["name"]
	if name != "" {
		argv = append(argv, "-name", name)
	}
	if values["cores"] != "" || values["sockets"] != "" {
		argv = append(argv, "-smp", fmt.Sprintf("%d,sockets=%d", max(1, collect.Integer(values["cores"]))*
			max(1, collect.Integer(values["sockets"])), max(1, collect.Integer(values["sockets"]))))
	}
	if amount := properties(values["memory"], "current")["current"]; amount != "" {
		argv = append(argv, "-m", amount)
	}
	if model := properties(values["cpu"], "cputype")["cputype"]; model != "" {
		argv = append(argv, "-cpu", model)
	}
	if kind := properties(values["machine"], "type")["type"]; kind != "" {
		argv = append(argv, "-machine", "type="+kind)
	}
	hardware := values["scsihw"]
	if hardware == "" {
		hardware = "lsi"
	}
	single := hardware == "virtio-scsi-single"
	if !single {
		argv = append(argv, "-device", hardware+",id=scsihw0")
	}
	read := len(argv) > 7
	for _, setting := range config {
		key, number, value := setting[1], setting[2], setting[3]
		id := key + number
		p := properties(value, "file")
		switch {
		case key == "net" && number != "":
			argv = append(argv, qmNIC(id, value)...)
			read = true
		case slices.Contains(qmDrives(), key) && number != "" && p["media"] != "cdrom" && p["file"] != "none":
			argv = append(argv, qmDisk(key, number, single, p)...)
			read = true
			about := name + "/" + id
			if name == "" {
				about = "1/" + id
			}
			if p["aio"] == "" {
				m.told.add(about, collect.Unknown("drive.aio", "qm config", "Proxmox VE chooses it by the storage"))
			}
			if e := path.Ext(p["file"]); e != ".qcow2" && e != ".vmdk" && p["format"] == "" &&
				strings.Contains(p["file"], ":") {
				m.told.add(about, collect.Unknown("drive.backend", "qm config",
					"the kind of storage is in /etc/pve/storage.cfg"))
			}
			if p["cache"] == "" {
				m.told.add(about, collect.Unknown("drive.cache", "qm config", "Proxmox VE chooses none, but on btrfs"))
			}
		}
	}
	return m.guest(argv) && read
}

// properties are the settings of a line; the first may go without its name.
func properties(text, first string) map[string]string {
	p := map[string]string{}
	for i, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok && i == 0 {
			key, value = first, part
		}
		p[key] = value
	}
	return p
}

func qmNIC(id, text string) []string {
	first, rest, _ := strings.Cut(text, ",")
	model, _, _ := strings.Cut(first, "=")
	p := properties(rest, "")
	if model == "model" {
		_, model, _ = strings.Cut(first, "=")
	}
	netdev := "type=tap,id=" + id
	if model == "virtio" {
		model, netdev = "virtio-net-pci", netdev+",vhost=on"
	}
	if p["queues"] != "" {
		netdev += ",queues=" + p["queues"]
	}
	return []string{"-netdev", netdev, "-device", model + ",netdev=" + id + ",id=" + id}
}

func qmDisk(kind, number string, single bool, p map[string]string) []string {
	id := kind + number
	drive := "file=" + p["file"] + ",if=none,id=drive-" + id
	for _, o := range []string{"cache", "aio", "discard"} {
		if p[o] != "" {
			drive += "," + o + "=" + p[o]
		}
	}
	format := p["format"]
	if format == "" {
		format = "raw"
		if e := path.Ext(p["file"]); e == ".qcow2" || e == ".vmdk" {
			format = e[1:]
		}
	}
	argv := []string{"-drive", drive + ",format=" + format}
	thread := ""
	if p["iothread"] == "1" && (kind == "virtio" || single) {
		argv = append(argv, "-object", "iothread,id=iothread-"+id)
		thread = ",iothread=iothread-" + id
	}
	device := ""
	switch kind {
	case "virtio":
		device = "virtio-blk-pci" + thread
	case "sata":
		argv = append(argv, "-device", "ahci,id=ahci0")
		device = "ide-hd,bus=ahci0." + number
	case "ide":
		device = "ide-hd,bus=ide." + number
	default:
		device = "scsi-hd,bus=scsihw0.0"
		if single {
			argv = append(argv, "-device", "virtio-scsi-pci,id=virtioscsi"+number+thread)
			device = "scsi-hd,bus=virtioscsi" + number + ".0"
		}
	}
	return append(argv, "-device", device+",drive=drive-"+id+",id="+id)
}
