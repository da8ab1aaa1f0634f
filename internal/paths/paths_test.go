package paths

import (
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func port(end, name string, meant bool, bytes int64) lab.PortTraffic {
	return lab.PortTraffic{End: end, Port: name, Expected: meant, Sent: lab.PortFlow{Bytes: bytes},
		Received: lab.PortFlow{Bytes: bytes / 100}}
}

// Ninety against ten is seen, of bytes and of calls; one way alone shares nothing, and what others sent over ports that
// nobody meant is no way.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name string
		reps []lab.Repetition
		want string
	}{
		{"two meant ports",
			[]lab.Repetition{
				{Ports: []lab.PortTraffic{port("client", "eth1", true, 900), port("client", "eth2", true, 100),
					port("client", "eth0", false, 400), port("server", "eth0", true, 1000)}}},
			"bytes at the client: eth1 90%, eth2 10% (n=1)"},
		{"over repetitions", []lab.Repetition{
			{Ports: []lab.PortTraffic{port("client", "a", true, 900), port("client", "b", true, 100)}},
			{Ports: []lab.PortTraffic{port("client", "b", true, 500), port("client", "a", true, 500)}},
			{Ports: []lab.PortTraffic{port("client", "a", true, 800), port("client", "b", true, 200)}}},
			"bytes at the client: a 80% [50% to 90%], b 20% [10% to 50%] (n=3)"},
		{"nobody said which",
			[]lab.Repetition{
				{Ports: []lab.PortTraffic{port("client", "eth1", false, 300), port("client", "eth2", false, 700)},
					Transports: []lab.TransportCalls{{End: "client", Kind: "tcp", Calls: 30},
						{End: "client", Kind: "tcp", Calls: 70}}}},
			"bytes at the client: eth1 30%, eth2 70% (n=1); calls at the client: transport 1 (tcp) 30%, transport 2 " +
				"(tcp) 70% (n=1)"},
		{"a way that carried nothing",
			[]lab.Repetition{{Ports: []lab.PortTraffic{port("client", "eth1", true, 300),
				port("client", "eth2", true, 0)}}}, "bytes at the client: eth1 100%, eth2 0% (n=1)"},
		{"many", []lab.Repetition{{Transports: []lab.TransportCalls{{Kind: "tcp", Calls: 10}, {Kind: "tcp", Calls: 20},
			{Kind: "tcp", Calls: 30}, {Kind: "tcp", Calls: 30}, {Kind: "rdma", Calls: 10}}}},
			"calls: 5 ways, from 10% of transport 1 (tcp) to 30% of transport 3 (tcp) (n=1)"},
		{"one way", []lab.Repetition{{Ports: []lab.PortTraffic{port("client", "eth1", true, 300)},
			Transports: []lab.TransportCalls{{Kind: "tcp", Calls: 9}}}}, ""},
		{"nothing", []lab.Repetition{{},
			{Ports: []lab.PortTraffic{port("client", "a", true, 0), port("client", "b", true, 0)}}}, ""},
	} {
		var all Counted
		for _, r := range c.reps {
			all.Add(r)
		}
		if got := Text(all.Shares()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
