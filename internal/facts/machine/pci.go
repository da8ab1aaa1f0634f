package machine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

const pciDir = "/sys/bus/pci/devices/"

// maxFunctions is how many PCI functions are described.
const maxFunctions = 4096

// PCIAddress matches a PCI function in a path of /sys/devices: "0000:01:00.0".
var PCIAddress = prose.Pattern(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// pciFunction is a function that carries I/O, or a bridge above such.
type pciFunction struct {
	address, class string
	// path are the addresses from the root port to the function itself.
	path []string
}

// CollectPCI describes every disk controller, NIC and HCA, and the bridges between each and the root. A link belongs to
// both its ends, and its best speed is the lesser of what both ends can do, so each end is described separately.
func CollectPCI(r collect.Reader, _ collect.Scope) []lab.Fact {
	functions := pciFunctions(r)
	slots := pciSlots(r)
	root := Privileged(r).Value == "yes"
	return collect.Spread(len(functions), func(i int) []lab.Fact {
		f := functions[i]
		return collect.About(f.address, pciFacts(r, f, slots, root)...)
	})
}

// pciFunctions finds the functions by their class, and what lies above each by its place in /sys:
// /sys/devices/pci0000:40/0000:40:03.1/0000:41:00.0.
func pciFunctions(r collect.Reader) []pciFunction {
	classes := map[string]string{}
	var addresses []string
	add := func(address, kind string) {
		if _, there := classes[address]; there || len(addresses) >= maxFunctions {
			return
		}
		classes[address] = kind
		addresses = append(addresses, address)
	}
	paths := map[string][]string{}
	for _, address := range r.Names(pciDir) {
		text, err := r.Text(pciDir + address + "/class")
		kind := pciClass(text)
		if err != nil || kind == "" || kind == "bridge" || idleFunction(r, address) {
			continue
		}
		full := r.Linked(pciDir + address)
		var above []string
		for part := range strings.SplitSeq(full, "/") {
			if !PCIAddress().MatchString(part) {
				continue
			}
			above = append(above, part)
			if part == address {
				break
			}
			other, _ := r.Text(pciDir + part + "/class")
			if k := pciClass(other); k != "" {
				add(part, k)
			} else {
				add(part, "other")
			}
		}
		for i, a := range above {
			paths[a] = above[:i+1]
		}
		add(address, kind)
	}
	functions := make([]pciFunction, len(addresses))
	for i, a := range addresses {
		functions[i] = pciFunction{a, classes[a], paths[a]}
	}
	return functions
}

// idleFunction reports whether a function is a virtual one that this system does not use: it is unused, or a guest has
// it.
func idleFunction(r collect.Reader, address string) bool {
	if !r.Exists(pciDir + address + "/physfn") {
		return false
	}
	driver, err := r.ReadLink(pciDir + address + "/driver")
	return err != nil || path.Base(driver) == "vfio-pci"
}

// pciClass names the classes that carry I/O; empty for others. The text is base class, subclass and interface. Source:
// the kernel's include/linux/pci_ids.h.
//
//	0x010802    an NVMe drive
//	0x060400    a bridge
func pciClass(text string) string {
	code, ok := strings.CutPrefix(text, "0x")
	if !ok || len(code) != 6 {
		return ""
	}
	switch code[:4] {
	case "0100":
		return "scsi"
	case "0101", "0105":
		return "ata"
	case "0104":
		return "raid"
	case "0106":
		return "sata"
	case "0107":
		return "sas"
	case "0108":
		return "nvme"
	case "0200":
		return "ethernet"
	case "0207", "0c06":
		return "infiniband"
	case "0c04":
		return "fibre channel"
	case "0604":
		return "bridge"
	}
	switch code[:2] {
	case "01":
		return "storage"
	case "02":
		return "network"
	}
	return ""
}

// pciSlots are the physical slots by the address of what sits in them, without the function.
//
//	/sys/bus/pci/slots/3/address:  0000:41:00
func pciSlots(r collect.Reader) map[string]string {
	slots := map[string]string{}
	const dir = "/sys/bus/pci/slots/"
	for _, name := range r.Names(dir) {
		if address, err := r.Text(dir + name + "/address"); err == nil && address != "" {
			slots[address] = name
		}
	}
	return slots
}

func pciFacts(r collect.Reader, f pciFunction, slots map[string]string, root bool) []lab.Fact {
	dir := pciDir + f.address
	parent := catalogue.None
	if n := len(f.path); n > 1 {
		parent = f.path[n-2]
	}
	slot := catalogue.None
	device, _, _ := strings.Cut(f.address, ".")
	if name, ok := slots[device]; ok {
		slot = name
	}
	facts := []lab.Fact{
		collect.Known("pci.class", f.class, dir+"/class"),
		pciID(r, dir),
		pciDriver(r, dir),
		collect.Known("pci.parent", parent, dir),
		collect.ListOf("pci.path", f.path, dir),
		collect.Known("pci.slot", slot, "/sys/bus/pci/slots/*/address"),
	}
	facts = append(facts, PCILinks(r, "pci", dir)...)
	facts = append(facts, pciConfig(r, dir+"/config", root)...)
	return append(facts,
		r.Fact("pci.numa_node", dir+"/numa_node"),
		IOMMUGroupType(r, "pci", dir),
		pciErrors(r, "pci.aer.correctable", dir+"/aer_dev_correctable"),
		pciErrors(r, "pci.aer.uncorrectable", dir+"/aer_dev_fatal", dir+"/aer_dev_nonfatal"),
		virtualFunctions(r, dir+"/sriov_numvfs"),
		r.Fact("pci.power", dir+"/power/control"))
}

// pciID is vendor and device as lspci writes them: "144d:a80a".
func pciID(r collect.Reader, dir string) lab.Fact {
	vendor, device := r.Fact("pci.id", dir+"/vendor"), r.Fact("pci.id", dir+"/device")
	if vendor.Unknown != "" {
		return vendor
	}
	if device.Unknown != "" {
		return device
	}
	return collect.Known("pci.id", strings.TrimPrefix(vendor.Value, "0x")+":"+strings.TrimPrefix(device.Value, "0x"),
		dir+"/vendor")
}

func pciDriver(r collect.Reader, dir string) lab.Fact {
	driver, err := r.ReadLink(dir + "/driver")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return collect.Known("pci.driver", catalogue.None, dir+"/driver")
	case err != nil:
		return collect.Unknown("pci.driver", dir+"/driver", collect.Why(err))
	}
	return collect.Known("pci.driver", path.Base(driver), dir+"/driver")
}

// virtualFunctions is how many virtual functions are enabled; a function that can't have any has no such file.
func virtualFunctions(r collect.Reader, file string) lab.Fact {
	f := r.Fact("pci.sriov.vfs", file)
	if f.Unknown != "" && !r.Exists(file) {
		return collect.Known("pci.sriov.vfs", "0", file)
	}
	return f
}

// pciErrors adds up the totals of some counters of Advanced Error Reporting. Source: the kernel's
// Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats.
func pciErrors(r collect.Reader, key string, files ...string) lab.Fact {
	var sum int64
	for _, file := range files {
		text, err := r.Text(file)
		if errors.Is(err, fs.ErrNotExist) {
			return collect.Unknown(key, file, "the function or the kernel reports no errors (AER)")
		}
		if err != nil {
			return collect.Unknown(key, file, collect.Why(err))
		}
		n, ok := parseAER(text)
		if !ok {
			return collect.Unknown(key, file, "the file has no total")
		}
		sum += n
	}
	return collect.Whole(key, sum, files[0])
}

// parseAER reads the total of a table of errors.
//
//	RxErr 12
//	BadTLP 3
//	TOTAL_ERR_COR 15
func parseAER(text string) (int64, bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 2 || !strings.HasPrefix(f[0], "TOTAL_ERR_") {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		return n, err == nil && n >= 0 && n < 1<<62
	}
	return 0, false
}

// configSize is the part of the configuration space that holds the capabilities read here. Reading on into the extended
// part would cost a thousand accesses to the device.
const configSize = 256

// pciConfig reads what the capability PCI Express says. Without root the kernel shows only the first 64 bytes, which
// hold no capability.
func pciConfig(r collect.Reader, file string, root bool) []lab.Fact {
	const payload, most, request, aspm = "pci.payload", "pci.payload.max", "pci.read_request", "pci.aspm"
	var data []byte
	var err error
	sleeps := sleeping(r, path.Dir(file))
	if !sleeps {
		data, err = readHead(r, file, configSize)
	}
	reason := ""
	var e express
	switch {
	case sleeps:
		reason = asleep
	case err != nil:
		reason = collect.Why(err)
	case len(data) <= 64 && !root:
		reason = "permission denied beyond the first 64 bytes; root may read it"
	default:
		if e, err = parseExpress(data); err != nil {
			reason = err.Error()
		}
	}
	if reason != "" {
		return []lab.Fact{collect.Unknown(payload, file, reason), collect.Unknown(most, file, reason),
			collect.Unknown(request, file, reason),
			collect.Unknown(aspm, file, reason)}
	}
	if r.Exists(path.Dir(file) + "/physfn") {
		return []lab.Fact{collect.Unknown(payload, file, virtualControl),
			collect.Whole(most, int64(e.maxPayload), file),
			collect.Unknown(request, file, virtualControl), collect.Unknown(aspm, file, virtualControl)}
	}
	facts := []lab.Fact{
		collect.Whole(payload, int64(e.payload), file),
		collect.Whole(most, int64(e.maxPayload), file),
		collect.Whole(request, int64(e.readRequest), file),
	}
	if !e.link {
		return append(facts, collect.Unknown(aspm, file, "the function has no link"))
	}
	return append(facts, collect.Known(aspm, e.aspm, file))
}

// virtualControl is why some settings of a virtual function are not known: their bits are reserved and read as zeros,
// which would stand for 128 bytes. Source: pci_configure_mps in the kernel's drivers/pci/probe.c.
const virtualControl = "a virtual function has no such setting; what the physical function has counts"

// asleep is why nothing is read of a function that is suspended: the kernel wakes it, and all bridges above it, for a
// look at its configuration space, and newer kernels for one at its link, too. Source: pci_config_pm_runtime_get in the
// kernel's drivers/pci/pci.c.
//
//	/sys/bus/pci/devices/0000:02:00.0/power/runtime_status:  suspended
const asleep = "the device is suspended, and reading this would wake it"

func sleeping(r collect.Reader, dir string) bool {
	status, err := r.Text(dir + "/power/runtime_status")
	return err == nil && (status == "suspended" || status == "suspending")
}

// readHead returns the first part of a file.
func readHead(r collect.Reader, name string, size int) ([]byte, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// express is the capability PCI Express of a function.
type express struct {
	// Bytes of a packet with data in use and at most, and of a request to read.
	payload, maxPayload, readRequest int
	// link is set if the function is the end of a link; aspm is what is enabled on it: "none", "L0s", "L1", "L0s, L1".
	link bool
	aspm string
}

// parseExpress finds the capability PCI Express in a function's configuration space and reads it. The capabilities are
// a linked list: byte 0x34 is the place of the first one, and each begins with its ID and the place of the next.
// Offsets and bits come from the kernel's include/uapi/linux/pci_regs.h (PCI_CAP_ID_EXP, PCI_EXP_FLAGS, _DEVCAP,
// _DEVCTL, _LNKCTL).
//
//	00000034: 40                          the first capability is at 0x40
//	00000040: 01 70 …                     power management; the next is at 0x70
//	00000070: 10 b0 02 00  c2 8f 2c 10  57 29 10 00 …   PCI Express: an endpoint, 512 bytes possible, 512 in use
func parseExpress(data []byte) (express, error) {
	const status, first, hasList = 0x06, 0x34, 0x10
	if len(data) <= 64 {
		return express{}, errors.New("only the first 64 bytes can be read")
	}
	if bytes.Count(data[:64], []byte{0xff}) == 64 {
		return express{}, errors.New("the device does not answer: all bits are set")
	}
	if data[status]&hasList == 0 {
		return express{}, errors.New("the function has no capabilities")
	}
	// There is room for 48 capabilities behind the header; a chain that is longer runs in a ring.
	at := int(data[first] &^ 3)
	for range 48 {
		if at < 64 || at+2 > len(data) {
			break
		}
		if data[at] != 0x10 {
			at = int(data[at+1] &^ 3)
			continue
		}
		if at+18 > len(data) {
			break
		}
		word := func(offset int) int { return int(data[at+offset]) | int(data[at+offset+1])<<8 }
		capable, control, link := word(4), word(8), word(16)
		size := func(code int) int { return 128 << (code & 7) }
		// A function inside the processor (9) or an event collector (10) ends no link.
		kind := word(2) >> 4 & 0xf
		e := express{payload: size(control >> 5), maxPayload: size(capable), readRequest: size(control >> 12),
			link: kind != 9 && kind != 10}
		e.aspm = []string{catalogue.None, "L0s", "L1", "L0s, L1"}[link&3]
		return e, nil
	}
	return express{}, errors.New("the function has no capability PCI Express")
}

// PCILinks are the speed and the width of a function's link, now and at most.
func PCILinks(r collect.Reader, role, dir string) []lab.Fact {
	sleeps := sleeping(r, dir)
	var facts []lab.Fact
	for _, l := range [][2]string{{"speed", "current_link_speed"}, {"width", "current_link_width"},
		{"max_speed", "max_link_speed"}, {"max_width", "max_link_width"}} {
		key, file := role+".link."+l[0], dir+"/"+l[1]
		if sleeps {
			facts = append(facts, collect.Unknown(key, file, asleep))
		} else {
			facts = append(facts, pciLink(r, key, file))
		}
	}
	return facts
}

// pciLink reads a speed or a width of a PCI Express link. A function inside a processor or a chipset has no link: the
// kernel then prints "Unknown" or a width of 0 or 255. A function without power answers with all bits set, a width of
// 63.
func pciLink(r collect.Reader, key, file string) lab.Fact {
	f := r.Fact(key, file)
	if f.Value == "63" {
		return collect.Unknown(key, file, "the device does not answer: all bits are set")
	}
	if f.Value == "Unknown" || f.Value == "Unknown speed" || f.Value == "0" || f.Value == "255" {
		return collect.Unknown(key, file, "the function has no link")
	}
	return f
}
