package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// Ports are those of one end of a network's tests.
type Ports struct {
	// Expected are the ports that the tests should take: one, or of a route with several next hops one for each; none
	// where that can't be told. Address is the address of them or the one that they lead to.
	Expected []string
	Address  string
	// Over are ports by those that lie on them, directly or not.
	Over map[string][]string
	// Network names the machine's network: two ends with the same share all ports and counters. Containers have their
	// own.
	Network string
}

// FindPorts looks for the ports that tests between a client and an address of a server should take. At the client it is
// the port in whose subnet the address lies, and where there is none or several, the one that the routes name; at the
// server the port that has the address. Where the client's route has several next hops (ECMP), it is the ports of all
// of them, and at the server those that have the addresses of these hops. What a target does not tell is empty.
func FindPorts(ctx context.Context, client, server target.Target, address string) (at, there Ports, err error) {
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
func portsOf(ctx context.Context, t target.Target, of netip.Addr) (Ports, map[string]link, error) {
	p := Ports{Address: of.String(), Over: map[string][]string{}}
	printed, err := t.Run(ctx, addressCommand()...)
	if err != nil || printed.ExitCode != 0 {
		return p, nil, ctx.Err() // without ip nothing is known
	}
	links, err := parseAddresses(Printed{Stdout: string(printed.Stdout)})
	if err != nil {
		return p, nil, nil
	}
	p.Over = portsOver(t)
	p.Network, err = networkOf(ctx, t)
	return p, links, err
}

// only is a port where it is known which; an address that is kept on the loopback says nothing of its way there.
func only(ports []string, of netip.Addr) []string {
	if len(ports) == 1 && ports[0] != "" && (ports[0] != loopbackPort || of.IsLoopback()) {
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
func hopsTo(ctx context.Context, t target.Target, address string) ([]hop, error) {
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

// loopbackPort never leaves the machine.
const loopbackPort = "lo"

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
func portTo(ctx context.Context, t target.Target, address string) (string, error) {
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
func networkOf(ctx context.Context, t target.Target) (string, error) {
	files, err := t.ReadFiles(ctx, bootIDPath)
	if err != nil {
		return "", err
	}
	out, err := t.Run(ctx, "readlink", "/proc/self/ns/net")
	if err != nil {
		return "", err
	}
	return trimmed(files[bootIDPath]) + " " + strings.TrimSpace(string(out.Stdout)), nil
}

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// portsOver are the ports that lie on each, by the links upper_NAME that the kernel keeps
// (Documentation/ABI/testing/sysfs-class-net).
func portsOver(t target.Target) map[string][]string {
	over := map[string][]string{}
	for _, full := range (reader{t.FS()}).glob(netDir + "/*/upper_*") {
		lower := path.Base(path.Dir(full))
		over[lower] = append(over[lower], strings.TrimPrefix(path.Base(full), "upper_"))
	}
	for range over { // what lies on what lies on it, as deep as there are ports
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

const netDevPath = "/proc/net/dev"

// CountPorts adds the counters of all ports, and what is known of some of them in more detail.
func (r *CounterReader) CountPorts(meant []string) {
	r.ports, r.expectedPorts = true, meant
	r.all = append(r.all, netDevPath)
	for _, port := range meant {
		r.all = append(r.all, r.mtuOf(port))
	}
}

func (r *CounterReader) mtuOf(port string) string { return netDir + "/" + port + "/mtu" }

// readPorts takes the ports' counters from what was read.
func (r *CounterReader) readPorts(ctx context.Context, files map[string]target.File, c *validity.Counters) error {
	if !r.ports {
		return nil
	}
	c.Ports = parseNetDev(files[netDevPath].Data)
	if r.mount != "" {
		maps.DeleteFunc(c.Ports, func(port string, _ validity.PortCounters) bool {
			return port == loopbackPort || slices.Contains(r.upperDisks, port)
		})
	}
	for _, port := range r.expectedPorts {
		if n, ok := numberIn(files[r.mtuOf(port)]); ok && (c.MTU == 0 || int(n) < c.MTU) {
			c.MTU = int(n)
		}
		if err := r.readPauses(ctx, port, c); err != nil {
			return err
		}
	}
	return nil
}

// readPauses asks for the pause frames of a port.
func (r *CounterReader) readPauses(ctx context.Context, port string, c *validity.Counters) error {
	if r.withoutPauses {
		return nil
	}
	out, err := r.target.Run(ctx, "ethtool", "--include-statistics", "--show-pause", port)
	if err != nil && ctx.Err() != nil {
		return err
	}
	received, sent, ok := parsePauses(string(out.Stdout))
	if r.withoutPauses = err != nil || !ok; r.withoutPauses {
		return nil // the driver does not count them, or ethtool is older than 5.10, and asking again would say the same
	}
	p := c.Ports[port]
	p.Received.Paused, p.Sent.Paused = received, sent
	c.Ports[port] = p
	return nil
}

// parseNetDev reads /proc/net/dev: for each port its bytes, packets, errors, drops, …, received and then sent. Source:
// proc_pid_net(5); dev_seq_printf_stats in the kernel's net/core/net-procfs.c, which adds packets that were missed to
// those dropped.
//
//	Inter-|   Receive                                                |  Transmit
//	 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
//	    lo: 336657420  875909    0    0    0     0          0         0 336657420  875909    0    0    0     0       0          0
//	  eth0: 1215092   12127    0    3    0     0          0         0  1040250    8421    0    0    0     0       0          0
func parseNetDev(data []byte) map[string]validity.PortCounters {
	ports := map[string]validity.PortCounters{}
	for line := range bytes.Lines(data) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if !ok || len(fields) < 12 {
			continue
		}
		var v [12]int64
		whole := true
		for i := range v {
			n, err := strconv.ParseInt(string(fields[i]), 10, 64)
			whole = whole && err == nil && n >= 0
			v[i] = n
		}
		if whole {
			ports[string(bytes.TrimSpace(name))] = validity.PortCounters{
				Received: lab.PortFlow{Bytes: v[0], Packets: v[1], Errors: v[2], Dropped: v[3]},
				Sent:     lab.PortFlow{Bytes: v[8], Packets: v[9], Errors: v[10], Dropped: v[11]},
			}
		}
	}
	return ports
}

// parsePauses reads how many pause frames a port was sent and has sent, as ethtool prints them where the driver counts
// them. Source: the kernel's Documentation/networking/statistics.rst, from which the example is.
//
//	Pause parameters for eth0:
//	Autonegotiate:	on
//	RX:		on
//	TX:		on
//	Statistics:
//	  tx_pause_frames: 1
//	  rx_pause_frames: 1
func parsePauses(text string) (received, sent int64, ok bool) {
	for line := range strings.Lines(text) {
		label, value, found := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if !found || err != nil || n < 0 {
			continue
		}
		switch label {
		case "rx_pause_frames":
			received, ok = n, true
		case "tx_pause_frames":
			sent, ok = n, true
		}
	}
	return received, sent, ok
}
