package network

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/facts/collect"
)

// The port of an address is the one that has it; else the one with the narrowest subnet, and of several all.
func TestPortsNearAnAddress(t *testing.T) {
	links, err := parseAddresses(collect.Printed{Stdout: `[
 {"ifname":"lo","addr_info":[{"local":"127.0.0.1","prefixlen":8}]},
 {"ifname":"eth0","addr_info":[{"local":"192.0.2.2","prefixlen":24},{"local":"2001:db8::2","prefixlen":64}]},
 {"ifname":"eth1","addr_info":[{"local":"192.0.2.130","prefixlen":25},{"local":"198.51.100.7","prefixlen":24}]},
 {"ifname":"eth2","addr_info":[{"local":"198.51.100.8","prefixlen":24}]}]`})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address string
		own     bool
		want    []string
	}{
		{"192.0.2.2", true, []string{"eth0"}},
		{"192.0.2.9", true, nil},
		{"192.0.2.9", false, []string{"eth0"}},
		{"192.0.2.140", false, []string{"eth1"}},
		{"198.51.100.9", false, []string{"eth1", "eth2"}},
		{"198.51.100.8", false, []string{"eth2"}},
		{"127.0.0.1", false, []string{"lo"}},
		{"2001:db8::9", false, []string{"eth0"}},
		{"203.0.113.1", false, nil},
	} {
		got := near(links, netip.MustParseAddr(c.address), c.own)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, its own %v: %v, not %v", c.address, c.own, got, c.want)
		}
	}
}
