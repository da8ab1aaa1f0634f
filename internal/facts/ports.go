package facts

import (
	"bytes"
	"context"
	"encoding/json"
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
	// Meant is the port that the tests should take, and Address the address of it or the one that it leads to; empty where that can't be told.
	Meant, Address string
	// Over are ports by those that lie on them, directly or not.
	Over map[string][]string
	// Network names the machine's network: two ends with the same share all ports and counters. Containers have their own.
	Network string
}

// FindPorts looks for the port that tests between this end and an address of the other should take: where the address is this end's own, the port that has it;
// else the one whose subnet it lies in, and where there is none or several, the one that the routes name. What a target does not tell is empty.
func FindPorts(ctx context.Context, t target.Target, address string, own bool) (Ports, error) {
	p := Ports{Address: address, Over: map[string][]string{}}
	of, err := netip.ParseAddr(address)
	if err != nil {
		return p, nil // a name, which no port has
	}
	said, err := t.Run(ctx, addressCommand()...)
	if err != nil || said.ExitCode != 0 {
		return p, ctx.Err() // without ip nothing is known
	}
	links, err := parseAddresses(Printed{Stdout: string(said.Stdout)})
	if err != nil {
		return p, nil
	}
	if p.Network, err = networkOf(ctx, t); err != nil {
		return p, err
	}
	p.Over = portsOver(t)
	near := near(links, of, own)
	if !own && len(near) != 1 {
		routed, err := portTo(ctx, t, address)
		if err != nil {
			return p, err
		}
		if len(near) == 0 || slices.Contains(near, routed) {
			near = []string{routed}
		}
	}
	if len(near) == 1 && (near[0] != loopbackPort || of.IsLoopback()) { // an address that is kept on the loopback says nothing of its way there
		p.Meant = near[0]
	}
	return p, nil
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

// networkOf tells one network of a machine from another: the boot, and the namespace of what runs there ("net:[4026531840]").
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

// portsOver are the ports that lie on each, by the links upper_NAME that the kernel keeps (Documentation/ABI/testing/sysfs-class-net).
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

// CountPorts adds the counters of all ports, and what is known of one of them in more detail.
func (g *Gauges) CountPorts(meant string) {
	g.ports = true
	g.all = append(g.all, netDevPath)
	if meant != "" {
		g.meant = meant
		g.all = append(g.all, g.mtuOf(meant))
	}
}

func (g *Gauges) mtuOf(port string) string { return netDir + "/" + port + "/mtu" }

// readPorts takes the ports' counters from what was read.
func (g *Gauges) readPorts(ctx context.Context, files map[string]target.File, c *validity.Counters) error {
	if !g.ports {
		return nil
	}
	c.Ports = parseNetDev(files[netDevPath].Data)
	if g.meant == "" {
		return nil
	}
	if n, ok := numberIn(files[g.mtuOf(g.meant)]); ok {
		c.MTU = int(n)
	}
	if g.pauseless {
		return nil
	}
	out, err := g.target.Run(ctx, "ethtool", "--include-statistics", "--show-pause", g.meant)
	if err != nil && ctx.Err() != nil {
		return err
	}
	received, sent, ok := parsePauses(string(out.Stdout))
	if g.pauseless = err != nil || !ok; g.pauseless {
		return nil // the driver does not count them, or ethtool is older than 5.10, and asking again would say the same
	}
	p := c.Ports[g.meant]
	p.Received.Paused, p.Sent.Paused = received, sent
	c.Ports[g.meant] = p
	return nil
}

// parseNetDev reads /proc/net/dev: for each port its bytes, packets, errors, drops, …, received and then sent. Source: proc_pid_net(5); dev_seq_printf_stats in the
// kernel's net/core/net-procfs.c, which adds packets that were missed to those dropped.
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

// parsePauses reads how many pause frames a port was sent and has sent, as ethtool prints them where the driver counts them. Source: the kernel's
// Documentation/networking/statistics.rst, from which the example is.
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
