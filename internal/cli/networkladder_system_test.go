//go:build system

package cli

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"headroom/internal/ladder"
	"headroom/internal/store"
)

// climbed is a ladder of some ports, to the server.
func (h twoHosts) climbed(args ...string) ladder.Document {
	h.t.Helper()
	all := append([]string{"ladder", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--json", "--set", "time=4s", "--set", "parallel=2", "--passes", "3", "--direction", "send"}, args...)
	return documentOf[ladder.Document](h, h.command(all...))
}

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

// Two ports of 60 Mbit/s and one of 30, of which all have 75 together: the rates of the rungs are those that were planted, and each rung that is held back is named. One flow may be slower than its port.
func TestALadderOfANetworkNamesWhatIsPlanted(t *testing.T) {
	h := newPorts(t, 75, port{"198.18.8.1", 60}, port{"198.18.8.2", 60}, port{"198.18.8.3", 30})
	d := h.climbed("--group", "data=198.18.8.1,198.18.8.2", "--address", "198.18.8.3", "--pairs", "2")
	for name, mbit := range map[string]int{"198.18.8.1": 60, "198.18.8.2": 60, "198.18.8.3": 30, "data (2 ports)": 75, "all 3 ports": 75} {
		within(t, name, rungCalled(t, d, name).Center, goodputOf(mbit))
	}
	t.Logf("figure: %s", d.Answer.Text)
	for name, reached := range map[string]float64{"198.18.8.3": 0.5, "data (2 ports)": 0.625, "all 3 ports": 0.5} {
		c := rungCalled(t, d, name)
		if c.Reached == nil || c.Reached.Value < 0.95*reached || c.Reached.Value > 1.05*reached || c.Verdict != ladder.Short {
			t.Errorf("%s: %s, %+v", name, c.Verdict, c.Reached)
		}
	}
	for _, name := range []string{"198.18.8.1", "198.18.8.2"} {
		if c := rungCalled(t, d, name); c.Verdict == ladder.Short {
			t.Errorf("%s: %+v", name, c.Reached)
		}
	}
	for _, w := range d.Warnings {
		if slices.Contains(portsChecked, w.Code) {
			t.Errorf("%s of %+v: %s", w.Code, d.Rungs[w.Rung].Name, w.Text)
		}
	}
	if d.Answer.Rung == nil || d.Rungs[*d.Answer.Rung].Name != "198.18.8.3" {
		t.Errorf("%+v", d.Answer)
	}
	if c := rungCalled(t, d, "one flow"); c.Center == nil || *c.Center > 1.03*goodputOf(60) {
		t.Errorf("one flow: %+v", c)
	}
	if c := rungCalled(t, d, "loopback of"); c.Center == nil || *c.Center < 1e9 {
		t.Errorf("the loopback: %+v", c)
	}
	h.nothingLeft()
}

// setUp is how both hosts are set up: their adapters, addresses, routes and queues, and who listens. Addresses of links are left out, because the kernel
// makes those by itself, and takes a second for it.
func (h twoHosts) setUp() string {
	h.t.Helper()
	var all strings.Builder
	for _, ns := range []string{h.client, h.server} {
		for _, show := range [][]string{
			{"ip", "-n", ns, "-oneline", "link", "show"}, {"ip", "-n", ns, "-oneline", "address", "show", "scope", "global"},
			{"ip", "-4", "-n", ns, "route", "show", "table", "all"}, {"ip", "-n", ns, "rule", "show"}, {"tc", "-n", ns, "class", "show", "dev", "headroom0"},
		} {
			out, err := exec.Command(show[0], show[1:]...).Output()
			if err != nil {
				h.t.Fatalf("%v: %v", show, err)
			}
			all.Write(out)
		}
		// The state 0A is that of a listener; every other socket may still be closing.
		out, err := exec.Command("ip", "netns", "exec", ns, "awk", "$4 == \"0A\" { print FILENAME, $2 }", "/proc/net/tcp", "/proc/net/tcp6").Output()
		if err != nil {
			h.t.Fatal(err)
		}
		all.Write(out)
	}
	return all.String()
}

// What a ladder of a network does, whichever of its rungs it is stopped or killed on, and when it fails, leaves the hosts as they were; what was stopped goes on, and
// measures nothing twice.
func TestALadderOfANetworkStoppedAndKilled(t *testing.T) {
	t.Parallel()
	h := newPorts(t, 75, port{"198.18.8.1", 60}, port{"198.18.8.2", 60})
	before := h.setUp()
	if !strings.Contains(before, "198.18.8.2/32") || !strings.Contains(before, "htb") || strings.Contains(before, "/proc/net/tcp") {
		t.Fatalf("the hosts are not set up, or somebody listens on them:\n%s", before)
	}
	asBefore := func(when string) {
		t.Helper()
		h.nothingLeft()
		if after := h.setUp(); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", when, before, after)
		}
	}
	begin := func(seconds string, addresses ...string) *exec.Cmd {
		args := []string{"ladder", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--set", "time=" + seconds, "--set", "parallel=2", "--passes", "2", "--direction", "send", "--seed", "4"}
		for _, a := range addresses {
			args = append(args, "--address", a)
		}
		return h.command(args...)
	}
	both := []string{"198.18.8.1", "198.18.8.2"}

	stopped := begin("1s", both...)
	h.begun(stopped, `(?m)^2/\d+ `)
	if code := h.stopped(stopped, syscall.SIGINT); code != 130 {
		t.Errorf("stopped: %d", code)
	}
	asBefore("stopped")
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
	asBefore("succeeded")

	// On the first of its rungs, and on one that comes after others.
	for _, until := range []string{`(?m)loopback`, `(?m)^2/\d+ `} {
		killed := begin("2s", both...)
		h.begun(killed, until)
		h.stopped(killed, syscall.SIGKILL)
		if len(h.running()) == 0 {
			t.Errorf("killed at %s: nothing was left to be mended", until)
		}
		if out, err := h.command("restore").CombinedOutput(); err != nil || !strings.Contains(string(out), "headroom ladder --resume") {
			t.Errorf("restore: %v\n%s", err, out)
		}
		asBefore("killed at " + until)
	}

	// The first address can be listened on, and the second is nobody's.
	out, err := begin("1s", "198.18.8.1", "198.18.8.9").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "iperf3 can't listen on 198.18.8.9") {
		t.Errorf("%v\n%s", err, out)
	}
	asBefore("failed")
}
