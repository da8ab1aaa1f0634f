package network

import (
	"context"
	"encoding/json"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
)

// Ports are the ports of one end of a network's tests.
type Ports struct {
	// Expected are the ports that the tests should use: one, or one for each next hop of a route with several; none if
	// it is unknown. Address is the address of the ports or the address that they lead to.
	Expected []string
	Address  string
	// Over maps a port to the ports that are on top of it, directly or not.
	Over map[string][]string
	// Network names the machine's network: two ends with the same share all ports and counters. Containers have their
	// own.
	Network string
}

// FindPorts looks for the ports that tests between a client and an address of a server should use. At the client it is
// the port whose subnet contains the address; if there is none or several, it is the port that the routes name. At the
// server it is the port that has the address. If the client's route has several next hops (ECMP), it is the ports of
// all of them, and at the server the ports with the addresses of these hops. What a target does not report is empty.
func FindPorts(ctx context.Context, client, server host.Target, address string) (at, there Ports, err error) {
	of, err := netip.ParseAddr(address)
	if err != nil {
		return Ports{Address: address}, Ports{Address: address}, nil // a name, which no port has
	}
	at, links, err := portsOf(ctx, client, of)
	if err != nil {
		return at, there, err
	}
	there, others, err := portsOf(ctx, server, of)
	if err != nil {
		return at, there, err
	}
	hops, err := hopsTo(ctx, client, address)
	if err != nil {
		return at, there, err
	}
	if len(hops) > 1 {
		at.Expected, there.Expected = overHops(links, others, hops)
		return at, there, nil
	}
	meant := near(links, of, false)
	if len(meant) != 1 {
		routed, err := portTo(ctx, client, address)
		if err != nil {
			return at, there, err
		}
		if len(meant) == 0 || slices.Contains(meant, routed) {
			meant = []string{routed}
		}
	}
	at.Expected, there.Expected = only(meant, of), only(near(others, of, true), of)
	return at, there, nil
}

// portsOf is what is known of the ports of an end, and their links; no links where the target does not tell.
func portsOf(ctx context.Context, t host.Target, of netip.Addr) (Ports, map[string]link, error) {
	p := Ports{Address: of.String(), Over: map[string][]string{}}
	printed, err := t.Run(ctx, addressCommand()...)
	if err != nil || printed.ExitCode != 0 {
		return p, nil, ctx.Err() // without ip nothing is known
	}
	links, err := parseAddresses(collect.Printed{Stdout: string(printed.Stdout)})
	if err != nil {
		return p, nil, nil
	}
	p.Over = PortsOver(t)
	p.Network, err = networkOf(ctx, t)
	return p, links, err
}

// only is a port where it is known which; an address that is kept on the loopback says nothing of its way there.
func only(ports []string, of netip.Addr) []string {
	if len(ports) == 1 && ports[0] != "" && (ports[0] != LoopbackPort || of.IsLoopback()) {
		return ports
	}
	return nil
}

// overHops are the client's ports to several next hops, and the server's ports that have their addresses; none of the
// server's where a hop is another machine's.
func overHops(links, others map[string]link, hops []hop) (at, there []string) {
	for _, h := range hops {
		if _, known := links[h.Dev]; known && !slices.Contains(at, h.Dev) {
			at = append(at, h.Dev)
		}
		gateway, err := netip.ParseAddr(h.Gateway)
		if err != nil {
			continue
		}
		for _, port := range near(others, gateway, true) {
			if !slices.Contains(there, port) {
				there = append(there, port)
			}
		}
	}
	if len(there) < len(at) {
		there = nil
	}
	return at, there
}

// hop is one of the next hops of a route.
type hop struct{ Gateway, Dev string }

// hopsTo are the next hops of the route to an address, where it has several.
//
//	[{"dst":"192.0.2.7","flags":[],"nexthops":[{"gateway":"10.1.0.2","dev":"a0","weight":1,"flags":[]},{"gateway":"10.2.0.2","dev":"a1","weight":1,"flags":[]}]}]
//	[{"dst":"10.1.0.0/24","dev":"a0","protocol":"kernel","scope":"link","prefsrc":"10.1.0.1","flags":[]}]
//	[{"type":"local","dst":"10.1.0.1","dev":"a0","protocol":"kernel","scope":"host","prefsrc":"10.1.0.1","flags":[]}]
func hopsTo(ctx context.Context, t host.Target, address string) ([]hop, error) {
	out, err := t.Run(ctx, "ip", "-json", "route", "get", "fibmatch", address)
	if err != nil || out.ExitCode != 0 {
		return nil, ctx.Err() // an ip that does not know fibmatch, as BusyBox's
	}
	var list []struct {
		Hops []hop `json:"nexthops"`
	}
	if json.Unmarshal(out.Stdout, &list) != nil || len(list) == 0 {
		return nil, nil
	}
	return list[0].Hops, nil
}

// LoopbackPort never leaves the machine.
const LoopbackPort = "lo"

// near are the ports that have an address, or else the ones with the narrowest subnet that it lies in.
func near(links map[string]link, of netip.Addr, own bool) []string {
	var names []string
	narrowest := 0
	for name, l := range links {
		for _, a := range l.Addresses {
			local, err := netip.ParseAddr(a.Local)
			if err != nil {
				continue
			}
			if local == of { // where it is the other end's as well, both are this machine
				return []string{name}
			}
			subnet, err := local.Prefix(a.Prefix)
			if own || err != nil || !subnet.Contains(of) || a.Prefix < narrowest || of.IsLinkLocalUnicast() {
				continue
			}
			if a.Prefix > narrowest {
				narrowest, names = a.Prefix, nil
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// portTo is the port by which an address is reached, as the kernel says; empty where it does not.
//
//	[{"dst":"198.18.7.2","dev":"eth1","prefsrc":"198.18.7.1","flags":[],"uid":0,"cache":[]}]
//	[{"type":"local","dst":"127.0.0.1","dev":"lo","prefsrc":"127.0.0.1","flags":[],"uid":0,"cache":["local"]}]
//	[{"dst":"192.0.2.7","gateway":"10.0.0.1","dev":"bond0","prefsrc":"10.0.0.2","flags":[],"uid":0,"cache":[]}]
func portTo(ctx context.Context, t host.Target, address string) (string, error) {
	out, err := t.Run(ctx, "ip", "-json", "route", "get", address)
	if err != nil || out.ExitCode != 0 {
		return "", ctx.Err()
	}
	var list []struct {
		Dev string `json:"dev"`
	}
	if json.Unmarshal(out.Stdout, &list) != nil || len(list) == 0 {
		return "", nil
	}
	return list[0].Dev, nil
}

// networkOf tells one network of a machine from another: the boot, and the namespace of what runs there
// ("net:[4026531840]").
func networkOf(ctx context.Context, t host.Target) (string, error) {
	files, err := t.ReadFiles(ctx, bootIDPath)
	if err != nil {
		return "", err
	}
	out, err := t.Run(ctx, "readlink", "/proc/self/ns/net")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(files[bootIDPath].Data)) + " " + strings.TrimSpace(string(out.Stdout)), nil
}

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// PortsOver returns the ports over each port, by the links upper_NAME that the kernel keeps
// (Documentation/ABI/testing/sysfs-class-net).
func PortsOver(t host.Target) map[string][]string {
	over := map[string][]string{}
	for _, full := range (collect.Reader{FS: t.FS()}).Glob(NetDir + "/*/upper_*") {
		lower := path.Base(path.Dir(full))
		over[lower] = append(over[lower], strings.TrimPrefix(path.Base(full), "upper_"))
	}
	for range over { // ports on ports on it, as deep as there are ports
		for lower, uppers := range over {
			for _, u := range uppers {
				for _, above := range over[u] {
					if above != lower && !slices.Contains(over[lower], above) {
						over[lower] = append(over[lower], above)
					}
				}
			}
		}
	}
	return over
}
