package validity

import (
	"fmt"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// networkChecks are of the way through a network.
func networkChecks() []Check {
	return []Check{
		{
			Code:       "core-full",
			Weight:     Slows,
			Title:      "A core of one end had no time left",
			Repetition: coreFull,
			AnyLoad:    true,
			Taints:     "everything",
			When: fmt.Sprintf("in a test of a network, or of storage behind one whose server can be read, a "+
				"core of any end was busy for at least %s of it", unit.Percent(fullShare)),
			Do:     "spread the flows or calls over more cores, or make each of them cheaper",
			Source: "Documentation/networking/scaling.rst of the kernel",
		},
		{
			Code:       "another-way",
			Weight:     Spoils,
			Title:      "The traffic took another port than the one that was meant",
			Repetition: otherPortUsed,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("the port that has the server's address, or at the client the one in its subnet (else "+
				"the one that the route names), counted at least %s less than iperf3 (and %s); of a route with "+
				"several next hops (ECMP) their ports together", unit.Percent(portShare), unit.Capacity(portNoise)),
			Do: "look at the routes of both ends, and at arp_ignore and arp_announce where ports share a subnet; " +
				"use addresses of two machines",
			Source: "Documentation/networking/ip-sysctl.rst of the kernel (arp_filter, arp_ignore, arp_announce, " +
				"rp_filter); proc_pid_net(5)",
		},
		{
			Code:       "unused-hop",
			Weight:     Spoils,
			Title:      "A next hop of the route carried next to nothing",
			Repetition: unusedHop,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("the client's route to the server has several next hops (ECMP), there are at least %d "+
				"flows for each of them, and one carried less than %s of an even share", hopFlows,
				unit.Percent(hopShare)),
			Do: "look at the link and the neighbour of each next hop, and at what flows are told apart by " +
				"(fib_multipath_hash_policy)",
			Source: "Documentation/networking/ip-sysctl.rst of the kernel (fib_multipath_hash_policy, " +
				"fib_multipath_use_neigh); ip-route(8), fibmatch",
		},
		{
			Code:       "shared-port",
			Weight:     Slows,
			Title:      "Others used the port under test",
			Repetition: sharedPort,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("the port under test counted at least %s more (and %s) than all that the senders "+
				"handed to their kernels, with as many headers as that can have",
				unit.Percent(portShare), unit.Capacity(portNoise)),
			Do:     "measure while nobody else uses the port; ss -tn and sar -n DEV say who does",
			Source: "proc_pid_net(5); RFC 9293, RFC 8200 for headers",
		},
		{
			Code:       "port-errors",
			Weight:     Slows,
			Title:      "The port under test lost packets, or was told to pause",
			Repetition: portErrors,
			AnyLoad:    true,
			OfPorts:    true,
			Taints:     "the direction concerned",
			When: fmt.Sprintf("in the direction of the test it counted any error or pause frame, or dropped at least "+
				"%s of its packets and at least %d",
				unit.Percent(dropsShare), dropsFewest),
			Do: "ethtool -S says which kind; look at rings and channels (nic:), at cables and modules, at flow " +
				"control of the switch",
			Source: "Documentation/networking/statistics.rst and " +
				"Documentation/ABI/testing/sysfs-class-net-statistics of the kernel",
		},
	}
}

// ServerCounters are those of the server of a network's test, around the load. Its clock need not be that of this
// machine.
type ServerCounters struct {
	Before, After Counters
	// Same says that the server runs on the client's machine.
	Same bool
}

// EndCounters are those of another machine that took part in a load, around it. Its clock need not be that of this
// machine.
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
