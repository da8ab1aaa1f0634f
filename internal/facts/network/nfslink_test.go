package network

import (
	"net/netip"
	"testing"

	"github.com/headroom/headroom/internal/testing/factstest"
)

const routes = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
	"eno1\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" +
	"eno1\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n" +
	"bond0.40\t00281E0A\t00000000\t0001\t0\t0\t400\t00FFFFFF\t0\t0\t0\n" +
	"bond1\t00281E0A\t00000000\t0001\t0\t0\t500\t00FFFFFF\t0\t0\t0\n" +
	"*\t00321E0A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"

const routes6 = "20010db8000000000000000000000000 40 00000000000000000000000000000000 00 " +
	"00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth7\n" +
	"00000000000000000000000000000000 00 00000000000000000000000000000000 00 " +
	"fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eno1\n" +
	"00000000000000000000000000000000 00 00000000000000000000000000000000 00 " +
	"00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"

func TestRouteTo(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.17": "eno1", "10.30.40.9": "bond0.40", "10.30.50.1": "eno1", "203.0.113.1": "eno1",
	} {
		if got := routeTo(routes, netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	for address, want := range map[string]string{"2001:db8::9": "eth7", "2001:db9::9": "eno1"} {
		if got := routeTo(routes6, netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	const big = "eno1\t00000000\tC0000201\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth1\t0A1E2800\t00000000\t0001\t0\t0\t0\tFFFFFF00\t0\t0\t0\n"
	if got := routeTo(big, netip.MustParseAddr("10.30.40.9")); got != "eth1" {
		t.Errorf("on a big-endian machine: %q", got)
	}
	if got := routeTo("", netip.MustParseAddr("192.0.2.17")); got != "" {
		t.Error(got)
	}
}

func TestLinkSpeed(t *testing.T) {
	const net = netClassDir
	files := func(more map[string]string) map[string]string {
		all := map[string]string{net + "/eno1/speed": "1000\n", net + "/eth0/speed": "25000\n",
			net + "/eth1/speed": "25000\n", net + "/veth0/speed": "-1\n"}
		for name, text := range more {
			all[name] = text
		}
		return all
	}
	bond := map[string]string{routePath: routes, route6Path: routes6, net + "/bond0.40/speed": "50000\n",
		net + "/bond0.40/lower_bond0/ifindex": "4\n", net + "/bond0/speed": "50000\n",
		net + "/bond0/lower_eth0/ifindex": "2\n", net + "/bond0/lower_eth1/ifindex": "3\n"}
	for _, c := range []struct {
		server string
		files  map[string]string
		want   string
	}{
		{"10.30.40.9", files(bond), "25000000000"},
		{"192.0.2.17", files(bond), "1000000000"},
		{"2001:db8::9", files(bond), ""}, // eth7 has no speed
		{"filer", files(bond), ""},
		{"10.30.40.9", files(nil), ""}, // no routes
	} {
		f := linkSpeed(factstest.Files(c.files), c.server)
		if f.Value != c.want || (f.Unknown == "") != (c.want != "") {
			t.Errorf("%s: %+v, want %q", c.server, f, c.want)
		}
	}
}

// FuzzNFSRoutes reads any text as both tables.
func FuzzNFSRoutes(f *testing.F) {
	f.Add(routes)
	f.Add(routes6)
	f.Fuzz(func(_ *testing.T, table string) {
		routeTo(table, netip.MustParseAddr("10.30.40.9"))
		routeTo(table, netip.MustParseAddr("2001:db8::9"))
	})
}
