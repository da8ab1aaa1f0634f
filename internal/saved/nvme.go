package saved

import (
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/prose"
)

var (
	listedSpace = prose.Pattern(`(?m)^(?:/dev/)?(nvme\d+n\d+)\s+(?:/dev/ng\S+\s+)?(?:\S+\s+(\S.*?)\s+)?(?:0x[0-9a-f]+|\d+|-1)\s+` +
		`[\d.,]+\s+[kMGTPE]?B\s*/\s*[\d.,]+\s+[kMGTPE]?B\s+(?:\([^)]*\)\s+)?(\d+)\s+(K?)i?B\s+\+\s+(\d+)\s+B(?:\s+(\S+))?\s*$`)
	listedController = prose.Pattern(`(?m)^(?:[ |+\x60\\-]*- )?(nvme\d+)\s(?:.*\s)?(pcie|tcp|rdma|fc|loop)\s`)
	smartHead        = prose.Pattern(`(?m)^Smart Log for NVME device: ?(\S+) namespace-id:`)
	cachePresent     = prose.Pattern(`(?m)\sVolatile Write Cache (Not )?Present`)
	lastFormat       = prose.Pattern(`(?m)^\s*nlbaf\s*: (\d+)`)
	formatLine       = prose.Pattern(`(?m)^\s*(?:lbaf\s+(\d+) : ms:(\d+)\s+lbads:(\d+)\s+rp:(?:0x)?(\d)|` +
		`LBA Format\s+(\d+) : Metadata Size: (\d+)\s+bytes - Data Size: (\d+)\s+bytes - Relative Performance: (?:0x)?(\d) \w+)` +
		`\s*(\(in use\))?`)
)

// readNVMeList reads "nvme list" with the columns of all versions, and the lines of "nvme list -v" and
// "nvme list-subsys" that say how a controller is reached. Sizes are rounded there to three digits, and left out.
// Source: nvme-cli, src/nvme-print-stdout.c (stdout_simple_list, stdout_detailed_list, stdout_subsystem_list).
//
//	/dev/nvme0n1  /dev/ng0n1  S59BNX0R102938  SAMSUNG MZQL21T9HCJR-00A07  0x1  1.92  TB /  1.92  TB  512   B +  0 B  GDC5602Q
//	/dev/nvme0n1  S59BNX0R102938  SAMSUNG MZQL21T9HCJR-00A07  1  1.92  TB /  1.92  TB  512   B +  0 B  GDC5602Q
//	nvme0  6  S59BNX0R102938  SAMSUNG MZQL21T9HCJR-00A07  GDC5602Q  pcie  0000:41:00.0  nvme-subsys0  nvme0n1
func readNVMeList(m *Machine, text string) bool {
	read := false
	for _, f := range listedSpace().FindAllStringSubmatch(text, -1) {
		read = true
		m.disks.block(f[1], "")
		if f[2] != "" { // the list of "-v" has the controllers at the end
			m.disks.drive(f[1], "nvme list", map[string]string{"mn": f[2], "fr": f[6]})
		}
		m.disks.formatInUse(f[1], f[3], f[4] == "K", f[5])
	}
	for _, f := range listedController().FindAllStringSubmatch(text, -1) {
		read = true
		m.disks.transport(f[1], f[2])
	}
	return read
}

// formatInUse puts the size of a namespace's blocks and of their metadata.
func (d *blockDevices) formatInUse(disk, size string, kibi bool, metadata string) {
	if n, err := strconv.Atoi(size); err == nil && n > 0 && n < 1<<30 {
		if kibi {
			n <<= 10
		}
		d.files.file(storage.Class(disk)+"/queue/logical_block_size", strconv.Itoa(n)+"\n")
		d.files.file(storage.Class(disk)+"/metadata_bytes", metadata+"\n")
	}
}

// readController reads "nvme id-ctrl", all of it or some lines. The largest transfer (mdts) is counted in pages of a
// size that it does not tell. Source: nvme-cli, src/nvme-print-stdout.c (stdout_id_ctrl).
//
//	mn        : SAMSUNG MZVL21T0HCLR-00B00
//	wctemp    : 355
//	vwc       : 0x7
func readController(m *Machine, text string) bool {
	said := keyed(text)
	if f := cachePresent().FindStringSubmatch(text); f != nil && said["vwc"] == "" {
		said["vwc"] = map[bool]string{true: "1", false: "0"}[f[1] == ""]
	}
	return m.disks.controller(m.now.typedDisk(), "nvme id-ctrl", said)
}

// controller reads what a controller says of itself. Only one across a network tells the size of its capsules
// (IOCCSZ), and only one on PCI its maker's number. Source: NVM Express Base Specification, Identify Controller.
func (d *blockDevices) controller(name, source string, said map[string]string) bool {
	if name == "" {
		return false
	}
	maker, err := strconv.ParseUint(said["vid"], 0, 32)
	if said["ioccsz"] == "0" && err == nil && maker > 0 {
		d.transport(name, "pcie")
	}
	return d.drive(name, source, said)
}

// readHealth reads "nvme smart-log", all of it or some lines. Source: nvme-cli, src/nvme-print-stdout.c
// (stdout_smart_log).
//
//	Smart Log for NVME device:nvme0n1 namespace-id:ffffffff
//	temperature                             : 38 °C (311 K)
//	percentage_used                         : 3%
func readHealth(m *Machine, text string) bool {
	name := m.now.typedDisk()
	if f := smartHead().FindStringSubmatch(text); f != nil {
		of := diskNode().FindStringSubmatch(f[1])
		if of == nil {
			return false
		}
		name = strings.Replace(of[1], "ng", "nvme", 1)
	}
	return name != "" && m.disks.drive(name, "nvme smart-log", keyed(text))
}

// readNamespace reads the formats in "nvme id-ns", with -H or without. Source: nvme-cli, src/nvme-print-stdout.c
// (stdout_id_ns).
//
//	NVME Identify Namespace 1:
//	lbaf  0 : ms:0   lbads:9  rp:0x2 (in use)
//	LBA Format  1 : Metadata Size: 0   bytes - Data Size: 4096 bytes - Relative Performance: 0 Best
func readNamespace(m *Machine, text string) bool {
	var all formats
	for _, f := range formatLine().FindAllStringSubmatch(text, -1) {
		if f[1] != "" {
			all.add(f[1], f[2], f[3], f[4], f[9] != "")
			continue
		}
		n, _ := strconv.ParseUint(f[7], 10, 32)
		all.add(f[5], f[6], strconv.Itoa(bits.Len64(n)-1), f[8], f[9] != "")
	}
	if f := lastFormat().FindStringSubmatch(text); f != nil {
		all.last = f[1]
	}
	return m.disks.formats(m.now.typedDisk(), "nvme id-ns", all, m.now.filtered)
}

// formats are lines about the formats of a namespace.
type formats struct {
	lines []map[string]string
	used  int
	// found says that one is in use, gap that lines are missing, last the number of the last one where that is known.
	found, gap bool
	last       string
}

func (f *formats) add(number, metadata, power, performance string, used bool) {
	if used {
		f.used, f.found = len(f.lines), true
	}
	f.gap = f.gap || number != strconv.Itoa(len(f.lines))
	f.lines = append(f.lines, map[string]string{"ms": metadata, "ds": power, "rp": performance})
}

// formats tells the formats of a namespace: the one in use, and the others where all are there.
func (d *blockDevices) formats(name, source string, f formats, filtered bool) bool {
	if !f.found || name == "" || len(f.lines) > 64 {
		return false
	}
	data, err := json.Marshal(map[string]any{"lbafs": f.lines, "nlbaf": len(f.lines) - 1,
		"flbas": f.used&0xf | f.used>>4<<5})
	if err != nil {
		return false
	}
	all := !f.gap && (f.last == strconv.Itoa(len(f.lines)-1) ||
		f.last == "" && (len(f.lines) > 1 || !filtered))
	return d.tellFormats(name, source, data, all)
}

// tellFormats adds the facts in the JSON of "nvme id-ns": the format in use, and the others if all are there.
func (d *blockDevices) tellFormats(name, source string, data []byte, all bool) bool {
	told, err := storage.FormatFacts(data, source)
	if err != nil || name == "" {
		return false
	}
	if !all {
		told = told[:1]
	}
	d.about(name, "", func(disk string) { d.told.add(disk, told...) })
	return true
}

// readNVMeJSON reads "nvme list -o json", with -v or without: objects within each other, with the name of a namespace
// or of a controller. Source: nvme-cli, src/nvme-print-json.c (json_print_list_items).
//
//	"DevicePath" : "/dev/nvme0n1",
//	"ModelNumber" : "SAMSUNG MZQL21T9HCJR-00A07",
//	"PhysicalSize" : 1920383410176,
func readNVMeJSON(m *Machine, doc any) bool {
	read := false
	switch v := doc.(type) {
	case []any:
		for _, e := range v {
			read = readNVMeJSON(m, e) || read
		}
	case map[string]any:
		said := flat(v)
		name := said["DevicePath"]
		if name == "" {
			name = said["NameSpace"]
		}
		if name == "" || !diskNode().MatchString(name) {
			name = said["Controller"]
		}
		if of := diskNode().FindStringSubmatch(name); of != nil {
			name, read = of[1], true
			m.disks.drive(name, "nvme list", map[string]string{"mn": said["ModelNumber"], "fr": said["Firmware"],
				"user_capacity.bytes": said["PhysicalSize"], "logical_block_size": said["SectorSize"]})
			if said["Transport"] != "" {
				m.disks.transport(name, said["Transport"])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) { // what is read first counts
			read = readNVMeJSON(m, v[key]) || read
		}
	}
	return read
}
