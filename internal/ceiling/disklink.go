package ceiling

import (
	"fmt"
	"strconv"
	"strings"
)

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
