package validity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// networkChecks are of the way through a network.
func networkChecks() []Check {
	return []Check{
		{
			Code:       "core-full",
			Weight:     Slows,
			Title:      "A core at one end was fully busy",
			Repetition: coreFull,
			AnyLoad:    true,
			Taints:     "everything",
			When: fmt.Sprintf("over a network, a core at either end was busy for %s of the test",
				unit.Percent(fullShare)),
			Do:     "spread flows or calls over more cores, or make each cheaper",
			Source: "the kernel's scaling.rst",
		},
		{
			Code:       "another-way",
			Weight:     Spoils,
			Title:      "Traffic used another port than expected",
			Repetition: otherPortUsed,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("the port of the server's address, or of the client's subnet or route, counted "+
				"%s less than iperf3 (and %s); next hops count together", unit.Percent(portShare),
				unit.Capacity(portNoise)),
			Do:     "check routes, and arp_ignore and arp_announce where ports share a subnet; use two machines",
			Source: "the kernel's ip-sysctl.rst",
		},
		{
			Code:       "unused-hop",
			Weight:     Spoils,
			Title:      "A next hop of the route carried almost nothing",
			Repetition: unusedHop,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("with %d flows or more for each next hop (ECMP), one carried less than %s of its share",
				hopFlows, unit.Percent(hopShare)),
			Do:     "check each hop's link and neighbour, and fib_multipath_hash_policy",
			Source: "the kernel's ip-sysctl.rst",
		},
		{
			Code:       "shared-port",
			Weight:     Slows,
			Title:      "Others used the port under test",
			Repetition: sharedPort,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("the port counted %s more (and %s) than the senders sent, headers included",
				unit.Percent(portShare), unit.Capacity(portNoise)),
			Do:     "measure while nothing else uses it: see ss -tn and sar -n DEV",
			Source: "proc_pid_net(5)",
		},
		{
			Code:       "port-errors",
			Weight:     Slows,
			Title:      "The port under test lost packets, or was told to pause",
			Repetition: portErrors,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("it counted an error or pause frame, or dropped %s of its packets and at least %d",
				unit.Percent(dropsShare), dropsFewest),
			Do:     "read ethtool -S; check rings and channels (nic:), cables, modules and flow control",
			Source: "the kernel's statistics.rst",
		},
		{
			Code:   "packets-lost",
			Weight: Slows,
			Title:  "UDP packets were lost",
			By:     "iperf3",
			Taints: "the direction concerned",
			When:   "iperf3 lost 1% or more of a direction's UDP packets",
			Do:     "send less until they arrive; look at drops of the ports and of the receiver's socket",
			Source: "esnet/iperf #1174",
		},
		{
			Code:   "retransmits",
			Weight: Slows,
			Title:  "TCP sent many segments again",
			By:     "iperf3",
			Taints: "the bitrate of the direction concerned",
			When:   "iperf3 counts 0.05% or more of the segments, taken to have 1448 bytes",
			Do:     "look at drops and errors of the ports on the way, at flow control and at the MTU",
			Source: "Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, 1997",
		},
	}
}

// ServerCounters are the counters of the server of a network's test, around the load. Its clock need not agree with
// this machine's.
type ServerCounters struct {
	Before, After Counters
	// Same says that the server runs on the client's machine.
	Same bool
}

// EndCounters are the counters of another machine that took part in a load, around it. Its clock need not agree with
// this machine's.
type EndCounters struct {
	Name          string
	Before, After Counters
}

// fullShare is the share of its time from which on a core has hardly any left: beside the test, the counters cover what
// comes just before and after.
const fullShare = 0.9

// ends are the machines that took part in a load which went through a network; none for other loads.
func (e *Evidence) ends() (all []EndCounters, advice string) {
	const network = "that may be the limit, and not the network; spread the flows (more streams, more queues, other " +
		"CPUs for their interrupts), or make each packet cheaper (a larger MTU, offloads)"
	const storage = "that may be the limit, and not the network or the disks; spread the calls (nconnect, " +
		"max_connect with more addresses, more threads of the server), or make them cheaper (RDMA, a larger rsize, " +
		"wsize and MTU)"
	switch {
	case e.Server != nil && e.Server.Same:
		return []EndCounters{{"machine", e.Before, e.After}}, network
	case e.Server != nil:
		return []EndCounters{{"client", e.Before, e.After}, {"server", e.Server.Before, e.Server.After}}, network
	case len(e.Backends) > 0:
		return append([]EndCounters{{"machine under test", e.Before, e.After}}, e.Backends...), storage
	}
	return nil, ""
}

// coreFull looks for a core that had no time left, on any end. A flow is served by one core's interrupts and one
// thread, however many cores there are.
func coreFull(e *Evidence) []lab.Warning {
	ends, advice := e.ends()
	if len(ends) == 0 || len(e.Repetition.Values) == 0 {
		return nil
	}
	var all []lab.Warning
	for _, end := range ends {
		full, core, interrupts := 0, -1, 0.0
		for i := range min(len(end.Before.Cores), len(end.After.Cores)) {
			a, b := end.Before.Cores[i], end.After.Cores[i]
			idle := b.Idle + b.IOWait - a.Idle - a.IOWait
			handling := b.IRQ + b.SoftIRQ - a.IRQ - a.SoftIRQ
			busy := b.User + b.Nice + b.System - a.User - a.Nice - a.System + handling
			total := busy + idle + b.Steal - a.Steal
			if a == (CPUTimes{}) || idle < 0 || total <= 0 || busy/total < fullShare {
				continue
			}
			full++
			if share := handling / total; core < 0 || share > interrupts {
				core, interrupts = i, share
			}
		}
		if full == 0 {
			continue
		}
		which := fmt.Sprintf("CPU %d of the %s was full", core, end.Name)
		if full > 1 {
			which = fmt.Sprintf("%d CPUs of the %s were full, CPU %d among them", full, end.Name, core)
		}
		all = append(all, warn(allMetrics(), "%s, %s of its time with interrupts: %s", which, unit.Percent(interrupts),
			advice)...)
	}
	return all
}

// PortCounters are the counters of a port since it appeared.
type PortCounters struct{ Received, Sent lab.PortFlow }

// NetworkPath is what the ports of both ends counted around a test of a network, or around several at the same time,
// beside what the load generator says went through them.
type NetworkPath struct {
	Client, Server NetworkPathEnd
	// Same says that both ends are one port, as on a loopback: then Client is all of it.
	Same bool
}

// NetworkPathEnd is one end of a passage.
type NetworkPathEnd struct {
	// Expected are the ports that the traffic should take, and Address why: one, or those to several next hops of a
	// route; none where that is not known.
	Expected []string
	Address  string
	// Over are the ports over each port: the bond over a member, the VLAN over its port. What goes through one goes
	// through both.
	Over map[string][]string
	// Before and After are the counters by port.
	Before, After map[string]PortCounters
	// Sent and Received are what all tests claim that went through the ports that were meant.
	Sent, Received ReportedTraffic
}

// ReportedTraffic is what the load generator says of one direction of its tests, what did not count included.
type ReportedTraffic struct {
	// Arrived at the receiver, and Handed to the kernel of the sender, in bytes of payload: what is between them was on
	// its way when the test ended, or lost.
	Arrived, Handed int64
	// Payload is the least that a packet has of it, in bytes, where the load says; 0 where packets are as large as they
	// can be.
	Payload int64
	// Retransmitted is how many packets were sent more than once, and Flows how many streams there were.
	Retransmitted, Flows int64
	// Headers is what they add at most; see WithHeaders.
	Headers int64
}

// Plus is what two tests claim together, headers included.
func (c ReportedTraffic) Plus(o ReportedTraffic) ReportedTraffic {
	return ReportedTraffic{Arrived: c.Arrived + o.Arrived, Handed: c.Handed + o.Handed, Retransmitted: c.Retransmitted +
		o.Retransmitted, Flows: c.Flows +
		o.Flows, Headers: c.Headers + o.Headers}
}

// The most that stands around the payload of a packet: Ethernet with a VLAN (18 bytes), IPv6 (40), TCP with time stamps
// (32). Sources: IEEE 802.1Q, RFC 8200, RFC 9293, RFC 7323.
const (
	frameHeader = 18
	maxHeaders  = frameHeader + 40 + 32
)

// WithHeaders is the claims of both directions of a test with what headers add to them at most, on ports of an MTU:
// where the kernel hands segments that are larger to the port, it counts fewer headers. A packet is acknowledged once
// at most, by a packet of nothing but headers.
func WithHeaders(send, receive ReportedTraffic, mtu int) (ReportedTraffic, ReportedTraffic) {
	if mtu <= 0 {
		mtu = 1280 // the least that IPv6 has (RFC 8200)
	}
	packets := func(c ReportedTraffic) int64 {
		payload := max(1, int64(mtu-maxHeaders+frameHeader))
		if c.Payload > 0 {
			payload = min(payload, c.Payload)
		}
		return c.Handed/payload + c.Retransmitted
	}
	there, back := packets(send), packets(receive)
	send.Headers = (there+back)*maxHeaders + send.Retransmitted*int64(mtu)
	receive.Headers = (there+back)*maxHeaders + receive.Retransmitted*int64(mtu)
	return send, receive
}

const (
	// portShare is how far a port's bytes may be from those that are claimed: acknowledgements, and what iperf3 and
	// headroom say to each other, are far less.
	portShare = 0.05
	// portNoise is the least in bytes by which they must differ, and minReported what a test must claim to be looked
	// at: ssh has the same way, mostly.
	portNoise   = 1 << 20
	minReported = minTraffic
	// dropsShare is the share of a port's packets from which on its drops are reported, and dropsFewest the least of
	// them. What has no receiver, such as the switches' own frames, counts as dropped on every machine.
	dropsShare  = 1e-4
	dropsFewest = 10
)

// flow is one direction of an end.
type flow struct {
	end       NetworkPathEnd
	name      string // of the end
	verb      string
	of        func(PortCounters) lab.PortFlow
	reported  ReportedTraffic
	direction string // of the metrics that it is about
}

// flows are the directions of both ends in which something is claimed.
func (p NetworkPath) flows() []flow {
	received := func(c PortCounters) lab.PortFlow { return c.Received }
	sent := func(c PortCounters) lab.PortFlow { return c.Sent }
	all := []flow{
		{p.Client, "client", "sent", sent, p.Client.Sent, lab.Send},
		{p.Server, "server", "received", received, p.Server.Received, lab.Send},
		{p.Server, "server", "sent", sent, p.Server.Sent, lab.Receive},
		{p.Client, "client", "received", received, p.Client.Received, lab.Receive},
	}
	if p.Same {
		all = []flow{{p.Client, "machine", "sent", sent, p.Client.Sent, lab.Send},
			{p.Client, "machine", "received", received, p.Client.Received, lab.Send}}
	}
	return slices.DeleteFunc(all, func(f flow) bool {
		return f.reported.Arrived < minReported || len(f.end.Expected) == 0
	})
}

// moved is what a port counted in the flow's direction; false where that is not known.
func (f flow) moved(port string) (lab.PortFlow, bool) {
	before, ok1 := f.end.Before[port]
	after, ok2 := f.end.After[port]
	moved := f.of(after).Less(f.of(before))
	return moved, ok1 && ok2 && moved.Bytes >= 0 && moved.Packets >= 0
}

// expected is what the ports that were meant counted together; false where that is not known of one of them.
func (f flow) expected() (sum lab.PortFlow, known bool) {
	for _, port := range f.end.Expected {
		moved, ok := f.moved(port)
		if !ok {
			return sum, false
		}
		sum = sum.Plus(moved)
	}
	return sum, true
}

// ports are the names of those that were meant.
func (f flow) ports() string { return strings.Join(f.end.Expected, " and ") }

// carriers are the ports, other than those that were meant, which carried a good part of the traffic, those that
// carried most first. Of ports over each other only the uppermost counts.
func (f flow) carriers() []string {
	var names []string
	bytes := map[string]int64{}
	for port := range f.end.After {
		moved, ok := f.moved(port)
		if ok && !f.isExpected(port) && moved.Bytes >= max(portNoise, f.reported.Arrived/10) {
			names, bytes[port] = append(names, port), moved.Bytes
		}
	}
	names = slices.DeleteFunc(names, func(port string) bool {
		return slices.ContainsFunc(f.end.Over[port], func(upper string) bool { return bytes[upper] > 0 })
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), strings.Compare(a, b))
	})
	return names
}

// isExpected reports whether a port was expected, or is below an expected port.
func (f flow) isExpected(port string) bool {
	return slices.ContainsFunc(f.end.Expected, func(meant string) bool {
		return port == meant || slices.Contains(f.end.Over[port], meant)
	})
}

// loopback is the port of traffic that never leaves the machine.
const loopback = "lo"

// findings are what a check says of several flows, as one warning.
type findings struct{ parts, taints []string }

func (r *findings) add(f flow, format string, args ...any) {
	r.parts = append(r.parts, fmt.Sprintf(format, args...))
	if taint := f.direction + ".*"; !slices.Contains(r.taints, taint) {
		r.taints = append(r.taints, taint)
	}
}

// warning returns one warning that begins and ends with these words; none if there are no findings.
func (r *findings) warning(begin, end string) []lab.Warning {
	if len(r.parts) == 0 {
		return nil
	}
	return warn(r.taints, "%s%s%s", begin, strings.Join(r.parts, "; "), end)
}

// otherPortUsed looks for tests whose bytes the ports that were meant did not carry.
func otherPortUsed(e *Evidence) []lab.Warning {
	if e.NetworkPath == nil {
		return nil
	}
	var r findings
	advice := ""
	for _, f := range e.NetworkPath.flows() {
		moved, ok := f.expected()
		missing := f.reported.Arrived - moved.Bytes
		if !ok || missing < portNoise || float64(missing) < portShare*float64(f.reported.Arrived) {
			continue
		}
		instead := "no other port did"
		if others := f.carriers(); len(others) > 0 {
			var parts []string
			for _, port := range others {
				m, _ := f.moved(port)
				parts = append(parts, fmt.Sprintf("%s %s %s", port, f.verb, unit.Bytes(float64(m.Bytes))))
			}
			instead, advice = strings.Join(parts, ", "),
				"; look at the routes (ip route get), and at ARP where ports share a subnet"
			if others[0] == loopback {
				advice = "; it never left the machine, which has both addresses"
			}
		}
		r.add(f, "%s of the %s (%s) %s %s of the %s that iperf3 counted, %s", f.ports(), f.name, f.end.Address, f.verb,
			unit.Bytes(float64(moved.Bytes)),
			unit.Bytes(float64(f.reported.Arrived)), instead)
	}
	return r.warning("the traffic went another way: ", advice)
}

// sharedPort looks for others' traffic on the ports under test.
func sharedPort(e *Evidence) []lab.Warning {
	if e.NetworkPath == nil {
		return nil
	}
	var r findings
	for _, f := range e.NetworkPath.flows() {
		moved, ok := f.expected()
		most := max(f.reported.Arrived, f.reported.Handed) + f.reported.Headers
		if more := moved.Bytes - most; ok && more >= portNoise && float64(more) >= portShare*float64(most) {
			r.add(f, "%s of the %s %s %s, and the test accounts for %s at most, headers included: %s were others'",
				f.ports(), f.name, f.verb, unit.Bytes(float64(moved.Bytes)), unit.Bytes(float64(most)),
				unit.Bytes(float64(more)))
		}
	}
	return r.warning("", "")
}

// portErrors looks for what the ports under test lost.
func portErrors(e *Evidence) []lab.Warning {
	if e.NetworkPath == nil {
		return nil
	}
	var r findings
	for _, f := range e.NetworkPath.flows() {
		for _, port := range f.end.Expected {
			moved, ok := f.moved(port)
			if !ok {
				continue
			}
			var counted []string
			if moved.Errors > 0 {
				counted = append(counted, fmt.Sprintf("errors %d", moved.Errors))
			}
			if moved.Dropped >= dropsFewest && float64(moved.Dropped) >= dropsShare*float64(moved.Packets) {
				counted = append(counted, fmt.Sprintf("dropped %d", moved.Dropped))
			}
			if moved.Paused > 0 {
				counted = append(counted, fmt.Sprintf("pause frames %d", moved.Paused))
			}
			if len(counted) > 0 {
				r.add(f, "of %d packets that %s of the %s %s: %s", moved.Packets, port, f.name, f.verb,
					strings.Join(counted, ", "))
			}
		}
	}
	return r.warning("", "")
}

const (
	// hopShare is the part of an even share below which a next hop counts as unused, and hopFlows how many flows for
	// each hop are enough that all of them should carry some: of eight flows that are spread by chance over two hops,
	// all take the same one in 1 of 128.
	hopShare = 0.1
	hopFlows = 4
)

// unusedHop looks for next hops of a route that carried next to nothing of many flows.
func unusedHop(e *Evidence) []lab.Warning {
	if e.NetworkPath == nil {
		return nil
	}
	var r findings
	for _, f := range e.NetworkPath.flows() {
		hops := int64(len(f.end.Expected))
		sum, ok := f.expected()
		if !ok || hops < 2 || f.reported.Flows < hopFlows*hops {
			continue
		}
		var carried []string
		unused := false
		for _, port := range f.end.Expected {
			moved, _ := f.moved(port)
			unused = unused || float64(moved.Bytes) < hopShare*float64(sum.Bytes)/float64(hops)
			carried = append(carried, fmt.Sprintf("%s %s %s (%.0f%%)", port, f.verb, unit.Bytes(float64(moved.Bytes)),
				100*float64(moved.Bytes)/float64(max(1, sum.Bytes))))
		}
		if unused {
			r.add(f, "of %d flows %s at the %s", f.reported.Flows, strings.Join(carried, ", "), f.name)
		}
	}
	return r.warning("the route has several next hops, and not all of them are used: ",
		"; the numbers cover only the hops that were. Look at the link and the neighbour of each, and whether "+
			"flows are hashed by ports (net.ipv4.fib_multipath_hash_policy=1)")
}

// maxPorts are the rows of an end at most: a host of containers has a port for each.
const maxPorts = 16

// Traffic is what went through the ports of both ends: through those that were meant, and all others that carried a
// part of it.
func (p NetworkPath) Traffic() []lab.PortTraffic {
	var all []lab.PortTraffic
	least := max(p.Client.Sent.Arrived, p.Client.Received.Arrived) / 100
	for _, e := range []struct {
		role string
		end  NetworkPathEnd
	}{{"client", p.Client}, {"server", p.Server}} {
		if p.Same && e.role == "server" {
			continue
		}
		var rows []lab.PortTraffic
		for port, after := range e.end.After {
			before, known := e.end.Before[port]
			row := lab.PortTraffic{End: e.role, Port: port, Expected: slices.Contains(e.end.Expected, port),
				Received: after.Received.Less(before.Received), Sent: after.Sent.Less(before.Sent)}
			if known && (row.Expected || row.Received.Bytes+row.Sent.Bytes > least) {
				rows = append(rows, row)
			}
		}
		slices.SortFunc(rows, func(a, b lab.PortTraffic) int {
			if a.Expected != b.Expected {
				return map[bool]int{true: -1, false: 1}[a.Expected]
			}
			return cmp.Or(cmp.Compare(b.Received.Bytes+b.Sent.Bytes, a.Received.Bytes+a.Sent.Bytes),
				strings.Compare(a.Port, b.Port))
		})
		all = append(all, rows[:min(len(rows), maxPorts)]...)
	}
	return all
}

// Ports checks the counters of the ports of both ends around tests that ran at the same time, which no single test can
// check.
func Ports(e Evidence) []lab.Warning {
	var all []lab.Warning
	for _, c := range Checks() {
		if !c.OfPorts {
			continue
		}
		for _, w := range c.Repetition(&e) {
			w.Code = c.Code
			all = append(all, w)
		}
	}
	return all
}
