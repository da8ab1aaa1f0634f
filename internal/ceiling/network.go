package ceiling

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// ethernetFrame is the overhead of each packet on the wire in addition to its MTU: 8 bytes of preamble and start,
	// 14 of header, 4 of FCS and 12 of gap. Source: IEEE 802.3, clauses 3 and 4.4.2.
	ethernetFrame = 8 + 14 + 4 + 12
	// tcpHeaders are the headers of IPv4 and TCP (RFC 791, RFC 9293), timestamps is the option that Linux sends with
	// every segment by default (RFC 7323: 10 bytes, and 2 of padding).
	tcpHeaders, timestamps = 20 + 20, 12
	commonMTU              = 1500
)

// Ethernet returns the rate of TCP over IPv4 in each direction over a link with this many bits a second, in B/s. An MTU
// of 0 is unknown, and 1500 is assumed. 10 Gbit/s at an MTU of 1500: 1448 of 1538 bytes are data, 1.18 GB/s.
func Ethernet(bits float64, mtu int) (value, most float64, derivation string) {
	if !(bits > 0) {
		return 0, 0, ""
	}
	line := bits / 8
	known := mtu >= 576 && mtu <= 65535
	size, printed := float64(mtu), fmt.Sprintf("at an MTU of %d", mtu)
	if !known {
		size, printed = commonMTU, fmt.Sprintf("at an MTU of %d (assumed)", commonMTU)
	}
	value = line * (size - tcpHeaders - timestamps) / (size + ethernetFrame)
	most = line
	if known {
		most = line * (size - tcpHeaders) / (size + ethernetFrame)
	}
	return value, most, fmt.Sprintf("%s, of which %g of %g bytes are data %s: %s", bitRate(bits),
		size-tcpHeaders-timestamps, size+ethernetFrame, printed, figure(value))
}

func ethernet(bits float64, mtu int) rate {
	value, most, derivation := Ethernet(bits, mtu)
	if value == 0 {
		return unbounded()
	}
	return rate{value: value, most: most, kind: "Ethernet " + bitRate(bits), noun: "NIC", derivation: derivation}
}

// bitRate formats bits a second in the units of vendors: 10 Gbit/s.
func bitRate(bits float64) string { return strconv.FormatFloat(bits/1e9, 'f', -1, 64) + " Gbit/s" }

// PortRate is the rate of an InfiniBand or RoCE port as the kernel prints it.
type PortRate struct {
	// Bits a second as printed: signalling for SDR to QDR and FDR, data for the others.
	Bits  float64
	Lanes int
	// Generation is SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR.
	Generation string
}

// ParsePortRate parses /sys/class/infiniband/*/ports/*/rate. Older kernels do not name SDR.
//
//	40 Gb/sec (4X QDR)
//	2.5 Gb/sec (1X)
//	100 Gb/sec (4X EDR)
//
// Source: rate_show in the kernel's drivers/infiniband/core/sysfs.c.
func ParsePortRate(text string) (PortRate, bool) {
	number, rest, found := strings.Cut(strings.TrimSpace(text), " Gb/sec (")
	width, closed := strings.CutSuffix(rest, ")")
	bits, err := strconv.ParseFloat(number, 64)
	if !found || !closed || err != nil || !(bits > 0 && bits < 1e5) {
		return PortRate{}, false
	}
	count, name, _ := strings.Cut(width, " ")
	digits, isWidth := strings.CutSuffix(count, "X")
	lanes, err := strconv.Atoi(digits)
	if !isWidth || err != nil || lanes < 1 || lanes > 12 {
		return PortRate{}, false
	}
	if name == "" {
		name = "SDR"
	}
	if _, ok := lane(name); !ok {
		return PortRate{}, false
	}
	return PortRate{Bits: bits * 1e9, Lanes: lanes, Generation: name}, true
}

// signal is one lane of a generation of InfiniBand: Gbit/s on the wire and the share that are data. For HDR and later,
// whose encoding and error correction are chosen so that the names are data rates, the signal is given as the data
// rate.
//
// Source: InfiniBand Trade Association, roadmap; infiniband.jp's table of signalling and effective rates a lane.
type signal struct {
	gigabits float64
	share    float64
	encoding string
}

func lane(generation string) (signal, bool) {
	const tenth, sixtyFour = 0.8, 64.0 / 66
	switch generation {
	case "SDR":
		return signal{2.5, tenth, "8/10"}, true
	case "DDR":
		return signal{5, tenth, "8/10"}, true
	case "QDR":
		return signal{10, tenth, "8/10"}, true
	case "FDR10":
		return signal{10.3125, sixtyFour, "64/66"}, true
	case "FDR":
		return signal{14.0625, sixtyFour, "64/66"}, true
	case "EDR":
		return signal{25.78125, sixtyFour, "64/66"}, true
	case "HDR":
		return signal{50, 1, ""}, true
	case "NDR":
		return signal{100, 1, ""}, true
	case "XDR":
		return signal{200, 1, ""}, true
	}
	return signal{}, false
}

// InfiniBand returns the data rate of a port after encoding, in B/s. Headers of packets, 26 bytes in 4 KiB, are not
// counted. Over Ethernet (RoCE) the kernel prints the InfiniBand speed with the same rate, and the rate is a data rate:
// a port of 40 Gbit/s Ethernet shows as QDR and carries 40 Gbit/s, not 32.
func InfiniBand(p PortRate, overEthernet bool) (value float64, derivation string) {
	if overEthernet {
		return p.Bits / 8, fmt.Sprintf("%s of Ethernet = %s", bitRate(p.Bits), figure(p.Bits/8))
	}
	s, ok := lane(p.Generation)
	if !ok {
		return 0, ""
	}
	value = s.gigabits * 1e9 / 8 * float64(p.Lanes) * s.share
	times := ""
	if s.encoding != "" {
		times = " x " + s.encoding
	}
	return value, fmt.Sprintf("%s %g Gbit/s x %d lanes%s = %s", p.Generation, s.gigabits, p.Lanes, times, figure(value))
}

func infiniBand(p PortRate, overEthernet bool) rate {
	value, derivation := InfiniBand(p, overEthernet)
	if value == 0 {
		return unbounded()
	}
	kind := p.Generation
	if p.Lanes != 4 {
		kind += " " + strconv.Itoa(p.Lanes) + "X"
	}
	if overEthernet {
		kind = "RoCE " + bitRate(p.Bits)
	}
	return rate{value: value, most: value, kind: kind, noun: "port", derivation: derivation}
}
