package saved

import (
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/prose"
)

var (
	pciHead   = prose.Pattern(`^((?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^\[:]*?)(?: ?\[?([0-9a-f]{4})\]?)?: (.*)$`)
	pciID     = prose.Pattern(`(?:\[|^)([0-9a-f]{4}):([0-9a-f]{4})(?:\]|$| \()`)
	pciLink   = prose.Pattern(`^\s+Lnk(Cap|Sta):\s.*?Speed ([\d.]+)GT/s(?: \(\w+\))?, Width x(\d+)`)
	pciBus    = prose.Pattern(`^\s+Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2})`)
	pciNode   = prose.Pattern(`^\s+NUMA node: (\d+)`)
	pciDriver = prose.Pattern(`^\s+Kernel driver in use: (\S+)`)
	pciAspm   = prose.Pattern(`^\s+LnkCtl:\s+ASPM (.*?)(?: Enabled)?[;,]`)
	pciMost   = prose.Pattern(`^\s+DevCap:\s+MaxPayload (\d+) bytes`)
	pciNow    = prose.Pattern(`^\s+MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes`)
)

// someFunctions is why the buses of a machine can't be counted.
const someFunctions = "only some functions are listed"

// pciClasses are the codes of the classes that carry I/O, by the names that lspci prints. Source: pci.ids, list of
// device classes.
func pciClasses() map[string]string {
	return map[string]string{"SCSI storage controller": "0100", "IDE interface": "0101", "RAID bus controller": "0104",
		"SATA controller": "0106", "Serial Attached SCSI controller": "0107", "Non-Volatile memory controller": "0108",
		"Mass storage controller": "0180", "Ethernet controller": "0200", "Infiniband controller": "0207",
		"InfiniBand controller": "0207", "Network controller": "0280", "PCI bridge": "0604", "Fibre Channel": "0c04",
		"InfiniBand": "0c06"}
}

// pciText is a function as lspci describes it.
type pciText struct{ address, class, head, bus, body string }

// readPCI reads what "lspci -vv" prints of each function, as the files that the kernel has for it. The bridges' lines
// "Bus:" say what lies below what; where the bridge above a function is not among the lines, nothing is known of it.
// Source: pciutils, lspci.c and ls-caps.c (cap_express).
//
//	03:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] [15b3:101d]
//			LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
//			LnkSta:	Speed 8GT/s (downgraded), Width x8 (downgraded)
func readPCI(m *Machine, text string) bool {
	var all []pciText
	above, host := map[string]string{}, false
	classes := pciClasses()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if h := pciHead().FindStringSubmatch(line); h != nil {
			f := pciText{address: h[1], class: h[3], head: h[4]}
			if strings.Count(f.address, ":") == 1 {
				f.address = "0000:" + f.address
			}
			if f.class == "" {
				f.class = classes[h[2]]
			}
			f.bus = f.address[:strings.LastIndexByte(f.address, ':')]
			host = host || strings.HasPrefix(h[2], "Host bridge") || h[3] == "0600"
			all = append(all, f)
			continue
		}
		if len(all) == 0 {
			continue
		}
		f := &all[len(all)-1]
		if b := pciBus().FindStringSubmatch(line); b != nil {
			above[f.address[:strings.IndexByte(f.address, ':')]+":"+b[1]] = f.address
		}
		f.body += line + "\n"
	}
	if !host {
		m.told.add("", collect.Unknown("numa.pci_roots", "lspci", someFunctions))
	}
	bus, read := pciFunctions{files: m.files, told: m.told, above: above, host: host}, false
	for _, f := range all {
		if f.class != "" && bus.put(f) {
			read = true
		}
	}
	return read
}

// pciFunctions makes the files of functions. above has the bridge of each bus, and host says that there are all.
type pciFunctions struct {
	files *fileTree
	told  *statements
	above map[string]string
	host  bool
}

// put makes the files of a function that are not there, and reports whether they say more than its class.
func (p pciFunctions) put(f pciText) bool {
	const devices = "/sys/bus/pci/devices/"
	dir, err := collect.Reader{FS: p.files}.Resolve(devices + f.address)
	if err != nil {
		dir = p.folderOf(f)
		p.files.link(devices+f.address, dir)
		p.files.file(dir+"/class", "0x"+f.class+"00\n")
		if id := pciID().FindAllStringSubmatch(f.head, -1); id != nil {
			p.files.file(dir+"/vendor", "0x"+id[len(id)-1][1]+"\n")
			p.files.file(dir+"/device", "0x"+id[len(id)-1][2]+"\n")
		}
	}
	read := false
	for line := range strings.Lines(f.body) {
		line = strings.TrimRight(line, "\n")
		if l := pciLink().FindStringSubmatch(line); l != nil && l[3] != "0" {
			kind := map[string]string{"Cap": "max", "Sta": "current"}[l[1]]
			if !strings.Contains(l[2], ".") {
				l[2] += ".0"
			}
			p.files.file(dir+"/"+kind+"_link_speed", l[2]+" GT/s PCIe\n")
			p.files.file(dir+"/"+kind+"_link_width", l[3]+"\n")
			read = true
		}
		if n := pciNode().FindStringSubmatch(line); n != nil {
			p.files.file(dir+"/numa_node", n[1]+"\n")
			read = true
		}
		if d := pciDriver().FindStringSubmatch(line); d != nil {
			p.files.driver(dir, d[1])
			read = true
		}
		if a := pciAspm().FindStringSubmatch(line); a != nil {
			state := strings.Join(strings.Fields(a[1]), ", ")
			if state == "Disabled" {
				state = catalogue.None
			}
			p.told.add(f.address, collect.Known("pci.aspm", state, "lspci"))
		}
		if most := pciMost().FindStringSubmatch(line); most != nil {
			p.told.add(f.address, collect.Known("pci.payload.max", most[1], "lspci"))
		}
		if now := pciNow().FindStringSubmatch(line); now != nil {
			p.told.add(f.address, collect.Known("pci.payload", now[1], "lspci"),
				collect.Known("pci.read_request", now[2], "lspci"))
		}
	}
	return read
}

// folderOf is the folder of a function below the bridges that are above it.
func (p pciFunctions) folderOf(f pciText) string {
	dir, at := f.address, f.bus
	for range 32 {
		parent, ok := p.above[at]
		if !ok {
			break
		}
		dir = parent + "/" + dir
		at = parent[:strings.LastIndexByte(parent, ':')]
	}
	if !p.host && !strings.HasSuffix(at, ":00") {
		const reason = "the bridge above it is not among the lines"
		p.told.add(f.address, collect.Unknown("pci.parent", "lspci", reason),
			collect.Unknown("pci.path", "lspci", reason))
	}
	return "/sys/devices/pci" + at + "/" + dir
}
