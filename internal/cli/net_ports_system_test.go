//go:build system

package cli

import (
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// portsChecked are the warnings that come of holding ports against claims.
var portsChecked = []string{"another-way", "shared-port", "port-errors", "unused-hop"}

// ported is a cell with those of its warnings, by code.
func (h twoHosts) ported(cmd *exec.Cmd) (summary.Run, map[string]string) {
	h.t.Helper()
	d := documentOf[summary.Run](h, cmd)
	printed := map[string]string{}
	for _, c := range d.Cells {
		for _, w := range c.Warnings {
			if slices.Contains(portsChecked, w.Code) {
				printed[w.Code] += w.Text + "\n"
			}
		}
	}
	return d, printed
}

// through is a port of an end in the only repetition of a cell.
func through(t *testing.T, c summary.Cell, end, port string) lab.PortTraffic {
	t.Helper()
	i := slices.IndexFunc(c.Ports, func(p summary.PortTraffic) bool { return p.End == end && p.Port == port })
	if i < 0 {
		t.Errorf("nothing of %s of the %s: %+v", port, end, c.Ports)
		return lab.PortTraffic{}
	}
	return c.Ports[i].PortTraffic
}

// second gives both hosts a second link, 198.18.9.1 and 198.18.9.2.
func (h twoHosts) second() {
	h.t.Helper()
	h.must("ip", "-n", h.client, "link", "add", "headroom1", "type", "veth", "peer", "name", "headroom1", "netns",
		h.server)
	for ns, address := range map[string]string{h.client: "198.18.9.1", h.server: "198.18.9.2"} {
		h.must("ip", "-n", ns, "address", "add", address+"/30", "dev", "headroom1")
		h.must("ip", "-n", ns, "link", "set", "headroom1", "up")
	}
}

// What iperf3 claims is what the ports of both ends counted, but for headers, in either direction, of one pair, and of
// several through a bridge that has the address.
func TestPortsCountWhatIperf3Claims(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 40)
	const both = "  - {name: both, iperf3: {time: 2s, bidir: 1}}\n"
	for _, c := range h.reportedTraffic("headroom0", bothWays+both) {
		c.within(t, 0.5, math.Inf(1)) // that it is no more, the ports that are checked say
	}
	h.bridged()
	h.reportedTraffic("bridge0", both, "--pairs", "2")
	h.checkNothingLeft()
}

// reportedFlow is what iperf3 says that it moved in a direction, and what the ports of both ends counted, in bytes.
type reportedFlow struct {
	what          string
	claimed       float64
	sent, arrived int64
}

// within holds both counts against the claim. iperf3's bytes are those of its own time, and a port's those between two
// looks at it.
func (c reportedFlow) within(t *testing.T, least, most float64) {
	t.Helper()
	for _, counted := range []int64{c.sent, c.arrived} {
		if float64(counted) < least*c.claimed || float64(counted) > most*c.claimed {
			t.Errorf("%s: %d B counted, %.0f claimed", c.what, counted, c.claimed)
		}
	}
}

// reportedTraffic measures through a port of the client, where nothing may be said against it, and returns the claims
// of the pair if there is only one.
func (h twoHosts) reportedTraffic(port, jobs string, args ...string) (claims []reportedFlow) {
	h.t.Helper()
	d, printed := h.ported(h.net(jobs, append(args, "--json")...))
	if len(printed) > 0 {
		h.t.Errorf("through %s, %v: %v", port, args, printed)
	}
	for _, c := range d.Cells {
		seconds := 2 + map[bool]float64{true: 1}[c.Params["omit"] != ""]
		for _, direction := range []string{lab.Send, lab.Receive} {
			claimed := c.Metrics[lab.Bitrate(direction)].Center / 8 * seconds
			if claimed == 0 || slices.Contains(args, "--pairs") {
				continue
			}
			from, to := through(h.t, c, "client", port).Sent.Bytes,
				through(h.t, c, "server", "headroom0").Received.Bytes
			if direction == lab.Receive {
				from, to = through(h.t, c, "server", "headroom0").Sent.Bytes,
					through(h.t, c, "client", port).Received.Bytes
			}
			claims = append(claims, reportedFlow{fmt.Sprintf("%s %s through %s", c.Job, direction, port), claimed, from,
				to})
		}
	}
	if want := 2*strings.Count(jobs, "bidir") + strings.Count(jobs, "name: send") +
		strings.Count(jobs, "name: receive"); len(args) == 0 && len(claims) != want {
		h.t.Errorf("%d claims of %d: %+v", len(claims), want, claims)
	}
	return claims
}

// bridged gives the client's address to a bridge over its port.
func (h twoHosts) bridged() {
	h.t.Helper()
	h.must("ip", "-n", h.client, "link", "add", "bridge0", "type", "bridge")
	h.must("ip", "-n", h.client, "address", "del", clientAddress+"/30", "dev", "headroom0")
	h.must("ip", "-n", h.client, "link", "set", "headroom0", "master", "bridge0")
	h.must("ip", "-n", h.client, "link", "set", "bridge0", "up")
	h.must("ip", "-n", h.client, "address", "add", clientAddress+"/30", "dev", "bridge0")
}

// A loopback carries each byte twice, once out and once in, and it is meant to.
func TestPortsOfALoopback(t *testing.T) {
	t.Parallel()
	h := twoNamespaces(t)
	for _, args := range [][]string{nil, {"--pairs", "2"}} {
		cmd := h.net("  - {name: both, iperf3: {time: 1s, bidir: 1, bitrate: 20m}}\n", append(args, "--json")...)
		cmd.Args = append(cmd.Args[:3], append([]string{"--on", "client=ssh://net-b", "--on", "server=ssh://net-b",
			"--address", "127.0.0.1", "--store", h.store, "--json"}, args...)...)
		if _, printed := h.ported(cmd); len(printed) > 0 {
			t.Errorf("%v: %v", args, printed)
		}
	}
}

// Traffic that takes another port than the one that has the address is found at both ends, with the port that it took:
// by a route, and because both addresses are of one machine.
func TestPortsFindTrafficThatWentAnotherWay(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 40)
	h.second()
	one := "  - {name: send, iperf3: {time: 2s, bitrate: 20m}}\n"
	h.must("ip", "-n", h.client, "route", "add", serverAddress+"/32", "via", "198.18.9.2", "dev", "headroom1")
	// measured again where a machine that stood still has sent too little to say anything
	enough := func(end string, measure func() *exec.Cmd) (d summary.Run, printed map[string]string) {
		for range 20 {
			d, printed = h.ported(measure())
			if len(d.Cells) == 1 && d.Cells[0].Metrics[lab.Bitrate(lab.Send)].Center*2/8 > 2<<20 {
				return d, printed
			}
		}
		t.Fatalf("never enough was sent from the %s: %+v", end, d.Cells)
		return d, printed
	}
	d, printed := enough("client", func() *exec.Cmd { return h.net(one, "--json") })
	t.Log(strings.TrimSpace(printed["another-way"]))
	if text := printed["another-way"]; len(printed) != 1 || !strings.Contains(text, "headroom0 of the client") ||
		!strings.Contains(text, "headroom1 sent") ||
		!strings.Contains(text, "headroom0 of the server (198.18.7.2) received") ||
		!strings.Contains(text, "headroom1 received") || !strings.Contains(text, "ip route get") {
		t.Errorf("%v", printed)
	}
	if p := through(t, d.Cells[0], "client", "headroom1"); p.Expected || p.Sent.Bytes < 1<<20 {
		t.Errorf("%+v", p)
	}
	// Both ends are the server's machine: its own address is reached through its loopback.
	_, printed = enough("server", func() *exec.Cmd {
		cmd := h.net(one, "--json")
		cmd.Args[slices.Index(cmd.Args, "client=ssh://net-a")] = "client=ssh://net-b"
		return cmd
	})
	t.Log(strings.TrimSpace(printed["another-way"]))
	if text := printed["another-way"]; len(printed) != 1 || !strings.Contains(text, "headroom0 of the machine") ||
		strings.Contains(text, "of the server") ||
		!strings.Contains(text, "it never left the machine, which has both addresses") {
		t.Errorf("%v", printed)
	}
}

// Others' traffic on the port under test is found, and so are packets that a port drops. Both come when the ports are
// watched already, before the load begins, so that neither has to keep pace with it.
func TestPortsFindOthersTrafficAndDrops(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 80)
	python := sshtest.Tool(t, "python3")
	one := "  - {name: send, iperf3: {time: 3s, bitrate: 20m}}\n"
	// A small buffer has the sender wait for the link, which drops nothing then.
	const datagrams = `import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 15)
for i in range(6000):
    try:
        s.sendto(b"x" * 1400, (sys.argv[1], 5999))
    except ConnectionRefusedError:
        pass
`
	stop := h.before(python, "-c", datagrams, serverAddress)
	_, printed := h.ported(h.net(one, "--json"))
	stop()
	t.Log(strings.TrimSpace(printed["shared-port"]))
	if text := printed["shared-port"]; len(printed) != 1 || !strings.Contains(text, "headroom0 of the client sent") ||
		!strings.Contains(text, "were others'") {
		t.Errorf("%v", printed)
	}

	// Frames of a protocol that nobody knows (0x88b5 is for experiments) are dropped by whoever receives them.
	const frames = `import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("headroom0", 0))
for i in range(500):
    s.send(b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x88\xb5" + b"\0" * 46)
`
	stop = h.before(python, "-c", frames)
	d, printed := h.ported(h.net(one, "--json"))
	stop()
	t.Log(strings.TrimSpace(printed["port-errors"]))
	dropped := through(t, d.Cells[0], "server", "headroom0").Received.Dropped
	if text := printed["port-errors"]; len(printed) != 1 ||
		!strings.Contains(text, fmt.Sprintf("headroom0 of the server received: dropped %d", dropped)) || dropped < 500 {
		t.Errorf("%d dropped, %v", dropped, printed)
	}
}

// Flows that a route spreads over two next hops go where they are meant to; of one that is not used it is said which.
func TestPortsOfSeveralNextHops(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 80)
	h.second()
	const service = "198.18.77.1"
	h.must("ip", "-n", h.server, "address", "add", service+"/32", "dev", "lo")
	h.must("ip", "-n", h.client, "route", "add", service+"/32", "nexthop", "via", serverAddress, "dev", "headroom0",
		"nexthop", "via", "198.18.9.2", "dev", "headroom1")
	h.must("ip", "netns", "exec", h.client, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy")
	many := func() (summary.Run, map[string]string) {
		cmd := h.net("  - {name: send, iperf3: {time: 2s, bitrate: 1m, parallel: 32}}\n", "--json")
		cmd.Args[slices.Index(cmd.Args, serverAddress)] = service
		return h.ported(cmd)
	}
	d, printed := many()
	if len(printed) > 0 {
		t.Errorf("%v", printed)
	}
	for _, end := range []string{"client", "server"} {
		for _, port := range []string{"headroom0", "headroom1"} {
			if p := through(t, d.Cells[0], end, port); !p.Expected || max(p.Sent.Bytes, p.Received.Bytes) < 1<<16 {
				t.Errorf("%s: %+v", end, p)
			}
		}
	}
	// By addresses alone all flows of two hosts are one.
	h.must("ip", "netns", "exec", h.client, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/fib_multipath_hash_policy")
	_, printed = many()
	t.Log(strings.TrimSpace(printed["unused-hop"]))
	if text := printed["unused-hop"]; len(printed) != 1 || !strings.Contains(text, "of 32 flows headroom0 sent ") ||
		!strings.Contains(text, "at the client") || !strings.Contains(text, "(0%)") {
		t.Errorf("%v", printed)
	}
	h.checkNothingLeft()
}
