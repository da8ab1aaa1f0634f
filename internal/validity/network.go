package validity

import (
	"fmt"

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
			Do:     "measure while nobody else uses it: see ss -tn and sar -n DEV",
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
