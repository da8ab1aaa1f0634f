package guard

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Identity identifies a drive. Properties that a device does not report are blank or zero.
type Identity struct {
	Path   string `json:"path"`   // as the user gave it
	Device string `json:"device"` // the kernel's node: "/dev/nvme1n1"
	Name   string `json:"name"`   // the kernel's name: "nvme1n1p2"
	Disk   string `json:"disk"`   // the whole disk's: "nvme1n1"
	Number Number `json:"number"`
	// Sequence is the kernel's diskseq, which is unique within a boot, so it shows if a drive was swapped for another
	// with the same number. 0 before Linux 5.15.
	Sequence uint64 `json:"sequence,omitempty"`
	Size     int64  `json:"size"` // bytes
	Model    string `json:"model,omitempty"`
	Serial   string `json:"serial,omitempty"`
	// WWID is the worldwide name of the drive, the same over all of its paths.
	WWID          string `json:"wwid,omitempty"`
	Rotational    bool   `json:"rotational"`
	Removable     bool   `json:"removable"`
	LogicalBlock  int64  `json:"logical_block"`  // bytes
	PhysicalBlock int64  `json:"physical_block"` // bytes
	// Discard is set if the device supports discards; ZeroWrites if it can write zeros without being sent them.
	Discard    bool `json:"discard"`
	ZeroWrites bool `json:"zero_writes"`
}

// String describes the drive for a person: "Samsung PM9A3 7.68 TB (S6CKNN0T700123)".
func (i Identity) String() string {
	words := unit.Capacity(float64(i.Size))
	if i.Model != "" {
		words = i.Model + " " + words
	}
	if i.Serial != "" {
		words += " (" + i.Serial + ")"
	}
	return words
}

// Token is what a user must type to give up the data on the device: the serial number, or the exact size in bytes of a
// device that has none. Two drives of one model have the same size, so the size is not accepted if there is a serial
// number.
func (i Identity) Token() string {
	if i.Serial != "" {
		return i.Serial
	}
	return strconv.FormatInt(i.Size, 10)
}

// identify reads the description of a drive from /sys. Partitions have the model, the serial number and the queue of
// their disk.
func (s environment) identify(name string, d blockDevice) Identity {
	disk := classDir(d.disk)
	number := func(file string) int64 {
		n, err := strconv.ParseInt(s.optional(disk+file), 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	sequence, err := strconv.ParseUint(s.optional(disk+"/diskseq"), 10, 64)
	if err != nil {
		sequence = 0
	}
	return Identity{
		Path: name, Device: d.node, Name: d.name, Disk: d.disk, Number: d.number, Size: d.size,
		Sequence: sequence,
		Model:    s.model(d.disk), Serial: s.serial(d.disk), WWID: s.wwid(d.disk),
		Rotational: number("/queue/rotational") == 1, Removable: number("/removable") == 1,
		LogicalBlock: number("/queue/logical_block_size"), PhysicalBlock: number("/queue/physical_block_size"),
		Discard:    number("/queue/discard_max_bytes") > 0,
		ZeroWrites: number("/queue/write_zeroes_max_bytes") > 0,
	}
}

// model joins vendor and model, unless the vendor carries no information: all SATA drives have "ATA", virtio a PCI
// number.
func (s environment) model(disk string) string {
	dir := classDir(disk) + "/device"
	model := strings.Join(strings.Fields(s.optional(dir+"/model")), " ")
	if model == "" {
		model = s.optional(dir + "/name") // eMMC and SD cards
	}
	vendor := s.optional(dir + "/vendor")
	if model != "" && vendor != "" && vendor != "ATA" && !strings.HasPrefix(vendor, "0x") &&
		!strings.HasPrefix(model, vendor) {
		model = vendor + " " + model
	}
	return model
}

// serial searches the places where the kinds of drives have their serial number: NVMe and MMC at the device, virtio at
// the disk, SCSI and SATA in page 80h of the vital product data, USB bridges only in udev's database. If all lack it, a
// wwid may contain it, which identifies one drive among many as well.
func (s environment) serial(disk string) string {
	dir := classDir(disk)
	for _, file := range []string{dir + "/device/serial", dir + "/serial"} {
		if t := printable(s.optional(file)); t != "" {
			return t
		}
	}
	if page := s.optional(dir + "/device/vpd_pg80"); len(page) > 4 {
		if t := printable(page[4:]); t != "" { // four bytes of header: SPC-4, 7.8.15
			return t
		}
	}
	if d, err := s.device(disk); err == nil {
		if t := udevSerial(s.optional("run/udev/data/b" + d.number.String())); t != "" {
			return t
		}
	}
	return s.wwid(disk)
}

// udevSerial finds the serial number in udev's record of a device.
//
//	S:disk/by-id/usb-SanDisk_Ultra_4C530001-0:0
//	E:ID_SERIAL=SanDisk_Ultra_4C530001-0:0
//	E:ID_SERIAL_SHORT=4C530001
func udevSerial(record string) string {
	for line := range strings.Lines(record) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "E:ID_SERIAL_SHORT="); ok {
			return printable(value)
		}
	}
	return ""
}

// wwid returns the worldwide name: NVMe has it at the disk ("eui.0025…"), SCSI at the device ("naa.5000…").
func (s environment) wwid(disk string) string {
	for _, file := range []string{"/wwid", "/device/wwid"} {
		// A drive that was never given a name reports zero; all such drives would be "the same".
		t := printable(s.optional(classDir(disk) + file))
		if _, value, _ := strings.Cut(t, "."); strings.Trim(value, "0-") != "" {
			return t
		}
	}
	return ""
}

// printable cleans a name from a drive: no control characters, and single spaces, so that it can be typed.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// requireLocal refuses other machines: the guard opens devices itself, so it can only inspect devices of this one. To
// judge a device of another machine by the device of the same name here would be the worst mistake. It returns the
// folder that holds the folders of headroom's jobs.
func requireLocal(t host.Target) (jobs string, err error) {
	if here, ok := t.(host.LocalFiles); ok {
		return here.LocalFiles(), nil
	}
	return "", &lab.Error{Kind: lab.Refused,
		What:  fmt.Sprintf("devices of %s can't be inspected, only those of this machine", t.Name()),
		Hints: []string{"measure a directory there instead"}}
}
