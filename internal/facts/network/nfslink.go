package network

import (
	"encoding/hex"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

const (
	routePath  = "/proc/net/route"
	route6Path = "/proc/net/ipv6_route"
)

// linkSpeed returns the speed of the adapter over which a server is reached, in bits per second, by the routing tables.
// Policy routing is not looked at.
func linkSpeed(r collect.Reader, server string) lab.Fact {
	const key = "mount.nfs.link_speed"
	address, err := netip.ParseAddr(server)
	table := routePath
	if address.Is6() && !address.Is4In6() {
		table = route6Path
	}
	text, rerr := r.Text(table)
	switch {
	case rerr != nil:
		return collect.Unknown(key, table, collect.Why(rerr))
	case err != nil:
		return collect.Unknown(key, table, "the server is known by its name")
	}
	name := routeTo(text, address.Unmap())
	if name == "" {
		return collect.Unknown(key, table, "no route leads to the server")
	}
	if v := adapterSpeed(r, name, 0); v > 0 {
		return collect.Whole(key, v, netClassDir+"/"+name+"/speed")
	}
	return collect.Unknown(key, netClassDir+"/"+name+"/speed", "the interface of the route has no speed")
}

// adapterSpeed returns the speed of an adapter in bits per second, or of the fastest below a VLAN, a bond or a bridge:
// one connection goes over one member. It is 0 where none is known.
func adapterSpeed(r collect.Reader, name string, depth int) int64 {
	const deepest = 8
	fastest := int64(0)
	dir := path.Join(netClassDir, name)
	for _, entry := range r.Names(dir) {
		if lower, ok := strings.CutPrefix(entry, "lower_"); ok && depth < deepest {
			fastest = max(fastest, adapterSpeed(r, lower, depth+1))
		}
	}
	if fastest > 0 {
		return fastest
	}
	megabits, err := r.Number(dir + "/speed")
	if err != nil || megabits <= 0 || megabits > 1<<24 {
		return 0 // -1 where the driver does not tell
	}
	return megabits * 1e6
}

// routeTo returns the interface of the most specific route to an address, of several as specific the one with the
// smallest metric. Numbers are hexadecimal, of IPv4 with the first byte last on little-endian machines.
// Sources: the kernel's net/ipv4/fib_trie.c (fib_route_seq_show) and net/ipv6/route.c (rt6_info_route).
//
//	Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
//	eth0	000200C0	00000000	0001	0	0	100	00FFFFFF	0	0	0
//	20010db8000000000000000000000000 40 00000000000000000000000000000000 00 …0000 00000100 00000001 00000000 00000001     eth0
func routeTo(table string, to netip.Addr) string {
	const up, reject = 1, 0x200
	swapped := !bigEndian().MatchString(table)
	best, bestBits, bestMetric := "", -1, int64(0)
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		name, prefix, flags, metric, ok := "", netip.Prefix{}, int64(0), int64(0), false
		switch {
		case len(f) >= 8 && to.Is4():
			name, flags, metric = f[0], hexadecimal(f[3]), collect.Integer(f[6])
			prefix, ok = prefix4(f[1], f[7], swapped)
		case len(f) == 10 && to.Is6():
			name, flags, metric = f[9], hexadecimal(f[8]), hexadecimal(f[5])
			prefix, ok = prefix6(f[0], f[1])
		}
		if !ok || flags&up == 0 || flags&reject != 0 || !prefix.Contains(to) ||
			prefix.Bits() < bestBits || prefix.Bits() == bestBits && metric >= bestMetric {
			continue
		}
		best, bestBits, bestMetric = name, prefix.Bits(), metric
	}
	return best
}

// bigEndian fits a table of IPv4 with a mask whose first byte is printed first.
var bigEndian = prose.Pattern(`(?m)^(?:\S+\t){7}FF[0-9A-F]{4}00\t`)

func prefix4(address, mask string, swapped bool) (netip.Prefix, bool) {
	a, err := hex.DecodeString(address)
	m, merr := hex.DecodeString(mask)
	if err != nil || merr != nil || len(a) != 4 || len(m) != 4 {
		return netip.Prefix{}, false
	}
	if swapped {
		slices.Reverse(a)
	}
	bits := 0
	for _, b := range m {
		for ; b != 0; b &= b - 1 {
			bits++
		}
	}
	p, err := netip.AddrFrom4([4]byte(a)).Prefix(bits)
	return p, err == nil
}

func prefix6(address, bits string) (netip.Prefix, bool) {
	a, err := hex.DecodeString(address)
	if err != nil || len(a) != 16 {
		return netip.Prefix{}, false
	}
	p, err := netip.AddrFrom16([16]byte(a)).Prefix(int(hexadecimal(bits)))
	return p, err == nil
}

// hexadecimal returns a number, and -1 where there is none.
func hexadecimal(text string) int64 {
	n, err := strconv.ParseInt(text, 16, 64)
	if err != nil {
		return -1
	}
	return n
}
