package ceiling

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// framing is the overhead of a PCIe packet in addition to header and data: 4 bytes of start and sequence number and
	// 4 of LCRC (generation 3 to 5), or 1 of start, 2 of sequence number, 4 of LCRC and 1 of end (1 and 2).
	framing = 8
	// longHeader is the header of a write to a 64-bit address, which a drive's read becomes; shortHeader is the header
	// of a completion, and of a write below 4 GiB, where an IOMMU may place it.
	longHeader, shortHeader = 16, 12
	// commonPayload is the largest payload that servers usually set: firmware picks what all devices below a root port
	// support, and NVMe drives and NICs support 256 or 512.
	commonPayload = 256
	// flitShare is the part of a generation 6 flit of 256 bytes that holds packets: 6 are for the link's own packets, 8
	// for CRC and 6 for error correction. Packets in flits have no additional framing.
	flitShare = 236.0 / 256
)

// generation is a generation of PCIe with its speed. Share is the share of bits that are data.
//
// Sources: PCIE_SPEED2MBS_ENC in the kernel's drivers/pci/pci.h (8b/10b up to 5 GT/s, 128b/130b up to 32, 1b/1b at 64);
// Intel AN 708, "Understanding PCI Express Throughput" (5 to 7 dwords of overhead a packet, ECRC included);
// glennklockwood.com/garden/PCIe-Gen6 (what a flit holds).
type generation struct {
	gigatransfers  float64
	name, encoding string
	share          float64
	flits          bool
}

func generations() []generation {
	return []generation{
		{2.5, "PCIe 1.0", "8/10", 0.8, false},
		{5, "PCIe 2.0", "8/10", 0.8, false},
		{8, "PCIe 3.0", "128/130", 128.0 / 130, false},
		{16, "PCIe 4.0", "128/130", 128.0 / 130, false},
		{32, "PCIe 5.0", "128/130", 128.0 / 130, false},
		{64, "PCIe 6.0", "236/256", flitShare, true},
	}
}

// ParseSpeed parses a link's speed in GT/s, as the kernel prints current_link_speed and max_link_speed. Older kernels
// wrote neither the decimal nor "PCIe".
//
//	16.0 GT/s PCIe
//	8 GT/s
//	Unknown
func ParseSpeed(text string) (gigatransfers float64, ok bool) {
	number, rest, found := strings.Cut(strings.TrimSpace(text), " GT/s")
	if !found || rest != "" && !strings.HasPrefix(rest, " ") {
		return 0, false
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	_, ok = generationOf(v)
	return v, ok
}

func generationOf(gigatransfers float64) (generation, bool) {
	for _, g := range generations() {
		if g.gigatransfers == gigatransfers {
			return g, true
		}
	}
	return generation{}, false
}

// ParseWidth parses a number of lanes. The kernel prints 0, 63 or 255 if there is no link.
func ParseWidth(text string) (lanes int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, false
	}
	switch n {
	case 1, 2, 4, 8, 12, 16, 32:
		return n, true
	}
	return 0, false
}

// PCIe returns the rate of a link in each direction, in B/s: speed times lanes times encoding, minus the overhead of
// packets with this payload in bytes. A payload of 0 is unknown, and the common one is assumed. Acknowledgements and
// credits of the other direction, which take a few percent under bidirectional loads, are not counted, so that Value is
// a bound.
//
// A generation 3 link of 8 lanes: 8 GT/s x 8 / 8 x 128/130 = 7.88 GB/s; with 256 bytes in a packet of 280, 7.20 GB/s.
func PCIe(gigatransfers float64, lanes, payload int) (value, most float64, derivation string) {
	g, ok := generationOf(gigatransfers)
	if !ok || lanes <= 0 {
		return 0, 0, ""
	}
	encoded := gigatransfers * 1e9 / 8 * float64(lanes) * g.share
	known := payload >= 128 && payload <= 4096
	data, printed := float64(payload), fmt.Sprintf("packets of %d bytes", payload)
	if !known {
		data, printed = commonPayload, fmt.Sprintf("packets of %d bytes (assumed: MaxPayload is not known)",
			commonPayload)
	}
	frame := float64(framing)
	if g.flits {
		frame = 0
	}
	value = encoded * data / (data + longHeader + frame)
	most = encoded
	if known {
		most = encoded * data / (data + shortHeader + frame)
	}
	return value, most,
		fmt.Sprintf("%g GT/s x %d lanes x %s = %s, of which %s with %g more of header and framing leave %s",
			gigatransfers, lanes, g.encoding, figure(encoded), printed, longHeader+frame, figure(value))
}

// pcie returns PCIe as a rate with a name.
func pcie(gigatransfers float64, lanes, payload int) rate {
	value, most, derivation := PCIe(gigatransfers, lanes, payload)
	if value == 0 {
		return unbounded()
	}
	g, _ := generationOf(gigatransfers)
	return rate{value: value, most: most, kind: g.name + " x" + strconv.Itoa(lanes), derivation: derivation}
}

// DiskLink is a SATA or SAS link.
type DiskLink struct {
	SAS bool
	// Gigabits on the wire: 1.5, 3, 6, 12 or 22.5.
	Gigabits float64
}

// ParseDiskLink parses a link's speed: libata writes Gbps, the SAS transport Gbit, also for a SATA drive behind it.
//
//	6.0 Gbps
//	12.0 Gbit
//	<unknown>
//
// Sources: sata_spd_string in the kernel's drivers/ata/libata-core.c; sas_linkspeed_names in
// drivers/scsi/scsi_transport_sas.c.
func ParseDiskLink(text string) (DiskLink, bool) {
	number, name, found := strings.Cut(strings.TrimSpace(text), " ")
	v, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || name != "Gbps" && name != "Gbit" {
		return DiskLink{}, false
	}
	l := DiskLink{SAS: name == "Gbit", Gigabits: v}
	switch v {
	case 1.5, 3, 6:
		return l, true
	case 12, 22.5:
		return l, l.SAS
	}
	return DiskLink{}, false
}

// Rate returns the rate of the link, in B/s, to and from the disk together.
//
// SATA: 8b/10b; two ALIGN dwords in 256; a frame of 8192 bytes of data has a dword each of header, CRC, start and end.
// 6 Gbit/s: 600 MB/s, of which 594 are data. Handshakes before each frame take more, and are not counted.
//
// SAS: 8b/10b up to 12 Gbit/s, 128b/150b at 22.5; a frame of 1024 bytes of data has 24 of header, 4 of CRC and 8 of
// start and end, and one dword in 2048 is an ALIGN. 12 Gbit/s: 1200 MB/s, of which 1159 are data.
//
// Sources: Serial ATA 3.x, 7.2 and 10.5; T10 reflector, May 2003, "ALIGN insertion in SAS vs STP/SATA"; Synopsys,
// "Decoding SAS 24G" (128b/150b); SPL, SSP frame format.
func (l DiskLink) Rate() (value, most float64, derivation string) {
	if !(l.Gigabits > 0) {
		return 0, 0, ""
	}
	encoding, share := "8/10", 0.8
	if l.Gigabits > 12 {
		encoding, share = "128/150", 128.0/150
	}
	most = l.Gigabits * 1e9 / 8 * share
	if l.SAS {
		value = most * 2047 / 2048 * 1024 / (1024 + 36)
	} else {
		value = most * 254 / 256 * 8192 / (8192 + 16)
	}
	return value, most, fmt.Sprintf("%g Gbit/s x %s = %s, of which frames leave %s", l.Gigabits, encoding,
		figure(most), figure(value))
}

func (l DiskLink) rate() rate {
	value, most, derivation := l.Rate()
	if value == 0 {
		return unbounded()
	}
	name := "SATA"
	if l.SAS {
		name = "SAS"
	}
	return rate{value: value, most: most, kind: fmt.Sprintf("%s %g Gbit/s", name, l.Gigabits), noun: "disk",
		derivation: derivation}
}
