package saved

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

var (
	smartSpace  = prose.Pattern(`^namespace_\d+_`)
	smartFormat = prose.Pattern(`(?m)^ *(\d+) ([+-]) +(\d+) +(\d+) +(\d)\s*$`)
	hiddenDrive = prose.Pattern(`_disk[_#]`)
)

// readSmartctl reads what smartctl prints of a SATA, SAS or NVMe drive, all of it or some lines. It does not name the
// drive; the command does. Of the attributes of SATA drives none means the same for all makers. Source: smartmontools,
// src/ataprint.cpp, scsiprint.cpp and nvmeprint.cpp.
//
//	Device Model:     Samsung SSD 860 EVO 500GB
//	SATA Version is:  SATA 3.2, 6.0 Gb/s (current: 3.0 Gb/s)
//	Percentage Used:                    3%
func readSmartctl(m *Machine, text string) bool {
	name := m.now.typedDisk()
	if name == "" {
		return false
	}
	said := map[string]string{}
	for key, value := range keyed(text) {
		said[smartSpace().ReplaceAllString(key, "namespace_")] = value
	}
	var all formats
	if _, table, ok := strings.Cut(text, "Id Fmt  Data  Metadt  Rel_Perf"); ok {
		for _, f := range smartFormat().FindAllStringSubmatch(table, -1) {
			n, _ := strconv.ParseUint(f[3], 10, 32)
			all.add(f[1], f[4], strconv.Itoa(bits.Len64(n)-1), f[5], f[2] == "+")
		}
	}
	read := strings.HasPrefix(name, "nvme") && m.disks.formats(name, "smartctl", all, m.now.filtered)
	return m.disks.drive(name, "smartctl", said) || read
}

// readSmartctlJSON reads "smartctl -j". Source: smartmontools, the same files.
//
//	"device": { "name": "/dev/sda", "info_name": "/dev/sda [SAT]", "type": "sat", "protocol": "ATA" },
//	"model_name": "Samsung SSD 860 EVO 500GB",
//	"interface_speed": { "current": { "string": "3.0 Gb/s" } },
func readSmartctlJSON(m *Machine, said map[string]string) bool {
	f := diskNode().FindStringSubmatch(said["device.name"])
	if f == nil || hiddenDrive().MatchString(said["device.info_name"]) || physical().MatchString(said["device.type"]) {
		return false
	}
	read := m.disks.drive(f[1], "smartctl", said)
	var all formats
	for i := range 64 {
		at := "nvme_namespaces.0.lba_formats." + strconv.Itoa(i) + "."
		n, err := strconv.ParseUint(said[at+"data_bytes"], 10, 32)
		if err != nil {
			break
		}
		all.add(strconv.Itoa(i), said[at+"metadata_bytes"], strconv.Itoa(bits.Len64(n)-1),
			said[at+"relative_performance"], said[at+"formatted"] == "true")
	}
	return m.disks.formats(f[1], "smartctl", all, m.now.filtered) || read
}
