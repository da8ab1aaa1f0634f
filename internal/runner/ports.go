package runner

import (
	"cmp"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// networkPathEnd is one end of a test on its way through a port: the claims of the test there, and the counters around
// it.
type networkPathEnd struct {
	ports          network.Ports
	before, after  validity.Counters
	sent, received validity.ReportedTraffic
}

// checkPorts compares what simultaneous tests claim together with what the ports counted meanwhile: where several take
// one port, no single one can be checked, and a loopback counts each twice. The counters are those from before the
// first of them began to after the last had ended. It adds what it finds to the repetitions, and returns it.
func checkPorts(attempts []*attempt) []lab.Warning {
	var ends []networkPathEnd
	claimed := true
	for _, a := range attempts {
		ends = append(ends, a.pathEnds...)
		claimed = claimed && !a.failed
	}
	var printed []lab.Warning
	for _, a := range attempts {
		if a.pathEnds == nil {
			continue
		}
		p := validity.NetworkPath{Client: pathEndThrough(ends, a.pathEnds[0].ports),
			Server: pathEndThrough(ends, a.pathEnds[1].ports)}
		p.Same = a.pathEnds[0].ports.Network == a.pathEnds[1].ports.Network &&
			slices.Equal(p.Client.Expected, p.Server.Expected)
		a.rep.Ports = p.Traffic()
		if !claimed {
			continue // what a test that failed has moved is not known
		}
		for _, w := range validity.Ports(validity.Evidence{Cell: a.cell.Cell, Repetition: a.rep, NetworkPath: &p}) {
			a.rep.Warnings = append(a.rep.Warnings, w)
			if !slices.ContainsFunc(printed, func(o lab.Warning) bool { return o.Code == w.Code && o.Text == w.Text }) {
				printed = append(printed, w)
			}
		}
	}
	return printed
}

// minCarriedShare is the share of a machine's traffic from which on a port counts as one that the load took.
const minCarriedShare = 0.01

// serverTraffic is what went between a mount and its server meanwhile, by the ports and by the connections of the
// machine of a role; nothing where there is no mount.
func serverTraffic(role string, before, after validity.Counters) (ports []lab.PortTraffic,
	transports []lab.TransportCalls) {
	if before.Server == nil || after.Server == nil {
		return nil, nil
	}
	total := int64(0)
	for _, name := range slices.Sorted(maps.Keys(after.Ports)) {
		was, known := before.Ports[name]
		p := lab.PortTraffic{End: role, Port: name, Received: after.Ports[name].Received.Less(was.Received),
			Sent: after.Ports[name].Sent.Less(was.Sent)}
		if moved := p.Received.Bytes + p.Sent.Bytes; known && moved > 0 {
			ports, total = append(ports, p), total+moved
		}
	}
	ports = slices.DeleteFunc(ports, func(p lab.PortTraffic) bool {
		return float64(p.Received.Bytes+p.Sent.Bytes) < minCarriedShare*float64(total)
	})
	if len(before.Transports) != len(after.Transports) {
		return ports, nil // one came or went meanwhile, and which one is not known
	}
	for i, t := range after.Transports {
		transports = append(transports,
			lab.TransportCalls{End: role, Kind: t.Kind, Calls: max(0, t.Calls-before.Transports[i].Calls)})
	}
	return ports, transports
}

// portsOfAll returns the traffic of the ports of all ends during simultaneous tests: each port once, by the role of its
// machine.
func portsOfAll(sessions []*Session, attempts []*attempt) []lab.PortTraffic {
	var all []lab.PortTraffic
	for i, a := range attempts {
		for _, p := range a.rep.Ports {
			if p.End == ServerEnd {
				p.End = sessions[i].Server.Role
			} else {
				p.End = sessions[i].Server.ClientRole
			}
			known := slices.IndexFunc(all, func(o lab.PortTraffic) bool { return o.End == p.End && o.Port == p.Port })
			switch {
			case known < 0:
				all = append(all, p)
			case p.Expected && !all[known].Expected: // another pair takes it on purpose
				all[known] = p
			}
		}
	}
	slices.SortStableFunc(all, func(a, b lab.PortTraffic) int {
		return cmp.Or(cmp.Compare(a.End, b.End), -cmp.Compare(expectedFirst(a), expectedFirst(b)),
			cmp.Compare(a.Port, b.Port))
	})
	return all
}

// expectedFirst sorts expected ports before others.
func expectedFirst(p lab.PortTraffic) int {
	if p.Expected {
		return 1
	}
	return 0
}

// pathEndThrough is all that is claimed of one port, or of those of several next hops, with the counters around it.
func pathEndThrough(ends []networkPathEnd, at network.Ports) validity.NetworkPathEnd {
	end := validity.NetworkPathEnd{Expected: at.Expected, Address: at.Address, Over: at.Over}
	var first, last validity.Counters
	for _, e := range ends {
		if e.ports.Network != at.Network || !slices.Equal(e.ports.Expected, at.Expected) {
			continue
		}
		end.Sent, end.Received = end.Sent.Plus(e.sent), end.Received.Plus(e.received)
		if first.Time.IsZero() || e.before.Time.Before(first.Time) {
			first = e.before
		}
		if e.after.Time.After(last.Time) {
			last = e.after
		}
	}
	end.Before, end.After = first.Ports, last.Ports
	return end
}
