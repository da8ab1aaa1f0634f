package runner

import (
	"testing"
	"time"

	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// Of tests over one port at the same time, the claims are added up and the counters are those around all of them;
// through a loopback what goes there comes in as well. Another network has ports of its own, whatever they are called.
func TestClaimsOfAPortAddUp(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	counted := func(second int, bytes int64) validity.Counters {
		return validity.Counters{Time: begin.Add(time.Duration(second) * time.Second),
			Ports: map[string]validity.PortCounters{"eth0": {Sent: lab.PortFlow{Bytes: bytes}}}}
	}
	port := func(id, name string) network.Ports {
		return network.Ports{Network: id, Expected: []string{name}}
	}
	ends := []networkPathEnd{
		{ports: port("a", "eth0"), before: counted(1, 100), after: counted(9, 800),
			sent:     validity.ReportedTraffic{Arrived: 300},
			received: validity.ReportedTraffic{Arrived: 5}},
		{ports: port("b", "eth0"), before: counted(0, 1), after: counted(20, 2),
			sent:     validity.ReportedTraffic{Arrived: 5},
			received: validity.ReportedTraffic{Arrived: 300}},
		{ports: port("a", "eth0"), before: counted(2, 150), after: counted(12, 900),
			sent: validity.ReportedTraffic{Arrived: 400}},
		{ports: port("a", "lo"), before: counted(0, 0), after: counted(30, 0),
			sent:     validity.ReportedTraffic{Arrived: 7},
			received: validity.ReportedTraffic{Arrived: 9}},
		{ports: port("a", "lo"), before: counted(0, 0), after: counted(30, 0),
			sent:     validity.ReportedTraffic{Arrived: 9},
			received: validity.ReportedTraffic{Arrived: 7}},
	}
	end := pathEndThrough(ends, ends[0].ports)
	if end.Sent.Arrived != 700 || end.Received.Arrived != 5 || end.Before["eth0"].Sent.Bytes != 100 ||
		end.After["eth0"].Sent.Bytes != 900 {
		t.Errorf("%+v", end)
	}
	if end := pathEndThrough(ends, ends[1].ports); end.Sent.Arrived != 5 || end.After["eth0"].Sent.Bytes != 2 {
		t.Errorf("another network: %+v", end)
	}
	if end := pathEndThrough(ends, ends[3].ports); end.Sent.Arrived != 16 || end.Received.Arrived != 16 {
		t.Errorf("the loopback: %+v", end)
	}
}
