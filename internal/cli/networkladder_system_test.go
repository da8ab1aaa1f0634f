//go:build system

package cli

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/store"
)

// rungCalled is the rate of a rung to the server.
func rungCalled(t *testing.T, d ladder.Document, name string) *ladder.Cell {
	t.Helper()
	for i := range d.Rungs {
		if strings.HasPrefix(d.Rungs[i].Name, name) {
			return &d.Rungs[i].Cells[0]
		}
	}
	t.Fatalf("no rung %s in %+v", name, d.Rungs)
	return nil
}

// setUp is how both hosts are set up: their adapters, addresses, routes and queues, and who listens. Addresses of links
// are left out, because the kernel makes those by itself, and takes a second for it.
func (h twoHosts) setUp() string {
	h.t.Helper()
	var all strings.Builder
	for _, ns := range []string{h.client, h.server} {
		for _, show := range [][]string{
			{"ip", "-n", ns, "-oneline", "link", "show"},
			{"ip", "-n", ns, "-oneline", "address", "show", "scope", "global"},
			{"ip", "-4", "-n", ns, "route", "show", "table", "all"}, {"ip", "-n", ns, "rule", "show"},
			{"tc", "-n", ns, "class", "show", "dev", "headroom0"},
		} {
			out, err := exec.Command(show[0], show[1:]...).Output()
			if err != nil {
				h.t.Fatalf("%v: %v", show, err)
			}
			all.Write(out)
		}
		// The state 0A is that of a listener; every other socket may still be closing.
		out, err := exec.Command("ip", "netns", "exec", ns, "awk", "$4 == \"0A\" { print FILENAME, $2 }",
			"/proc/net/tcp", "/proc/net/tcp6").Output()
		if err != nil {
			h.t.Fatal(err)
		}
		all.Write(out)
	}
	return all.String()
}

// ladderOfTwo climbs to two ports of 40 and 20 Mbit/s, each rung for some seconds.
func ladderOfTwo(t *testing.T) (h twoHosts, before string, begin func(seconds int, addresses ...string) *exec.Cmd) {
	t.Helper()
	h = newPorts(t, 40, port{"198.18.8.1", 40}, port{"198.18.8.2", 20})
	before = h.setUp()
	if !strings.Contains(before, "198.18.8.2/32") || !strings.Contains(before, "htb") ||
		strings.Contains(before, "/proc/net/tcp") {
		t.Fatalf("the hosts are not set up, or somebody listens on them:\n%s", before)
	}
	return h, before, func(seconds int, addresses ...string) *exec.Cmd {
		args := []string{"ladder", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--set",
			fmt.Sprintf("time=%ds", seconds), "--set", "omit=0s", "--set", "parallel=2", "--passes", "2", "--alpha",
			"0.5",
			"--direction", "send", "--seed", "4"}
		for _, a := range addresses {
			args = append(args, "--address", a)
		}
		return h.command(args...)
	}
}

// asBefore says that nothing is left and both hosts are set up as they were.
func (h twoHosts) asBefore(when, before string) {
	h.t.Helper()
	h.checkNothingLeft()
	if after := h.setUp(); after != before {
		h.t.Errorf("%s: before\n%s\nafter\n%s", when, before, after)
	}
}

// A ladder of a network that was stopped goes on and measures nothing twice, and leaves the hosts as they were. No rung
// does more than was planted. That the port that is held back is named, a test with the tag bench asks, and one with
// machines that follow a script. One flow may be slower than its port. What all ports do together is counted over whole
// seconds of all, of which so short a test may have none.
func TestALadderOfANetworkStopped(t *testing.T) {
	t.Parallel()
	h, before, begin := ladderOfTwo(t)
	stopped := begin(2, "198.18.8.1", "198.18.8.2")
	clients := h.begun(stopped, "iperf3", `(?m)^2/\d+ `)
	if code := h.stopped(stopped, syscall.SIGINT); code != 130 {
		t.Errorf("stopped: %d", code)
	}
	clients.release()
	h.asBefore("stopped", before)
	d := documentOf[ladder.Document](h, h.command("ladder", "--resume", "last", "--json"))
	b, err := store.Open(h.store).Find(d.Rungs[0].Run)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		counts[rep.Cell]++
	}
	for _, c := range b.Run.Cells {
		if counts[c.ID] != 2 {
			t.Errorf("%s was measured %d times of two", c.ID, counts[c.ID])
		}
	}
	h.asBefore("succeeded", before)

	for name, mbit := range map[string]int{"198.18.8.1": 40, "198.18.8.2": 20} {
		atMost(t, name, rungCalled(t, d, name).Center, goodputOf(mbit))
	}
	rungCalled(t, d, "all 2 ports")
	atMost(t, "one flow", rungCalled(t, d, "one flow").Center, goodputOf(40))
	// On a busy machine the streams can start so far apart that no second has all of them. The ladder reports that.
	if loop := rungCalled(t, d, "loopback of").Center; loop == nil && !notSummed(d, "loopback of") ||
		loop != nil && *loop <= 0 {
		t.Errorf("the loopback: %+v\n%+v", rungCalled(t, d, "loopback of"), d.Warnings)
	}
}

// notSummed reports whether a rung says that its loads were not added up.
func notSummed(d ladder.Document, name string) bool {
	return slices.ContainsFunc(d.Warnings, func(w ladder.RungWarning) bool {
		return w.Code == "no-sum" && strings.HasPrefix(d.Rungs[w.Rung].Name, name)
	})
}

// Whichever of its rungs a ladder of a network is killed on, and when it fails, the hosts are as they were once it was
// looked after.
func TestALadderOfANetworkKilled(t *testing.T) {
	t.Parallel()
	h, before, begin := ladderOfTwo(t)
	// On the first of its rungs, and on one that comes after another.
	for _, until := range []string{`(?m)loopback`, `(?m)^1/\d+ `} {
		killed := begin(2, "198.18.8.1", "198.18.8.2")
		clients := h.begun(killed, "iperf3", until)
		h.stopped(killed, syscall.SIGKILL)
		if len(h.running()) < 2 { // a server, and its client
			t.Errorf("killed at %s: nothing was left to be mended", until)
		}
		if out, err := h.command("restore").CombinedOutput(); err != nil ||
			!strings.Contains(string(out), "headroom ladder --resume") {
			t.Errorf("restore: %v\n%s", err, out)
		}
		h.asBefore("killed at "+until, before)
		clients.release()
	}

	// The first address can be listened on, and the second is nobody's.
	out, err := begin(2, "198.18.8.1", "198.18.8.9").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "iperf3 can't listen on 198.18.8.9") {
		t.Errorf("%v\n%s", err, out)
	}
	h.asBefore("failed", before)
}
