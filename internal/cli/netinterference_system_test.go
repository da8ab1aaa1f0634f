//go:build system

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/store"
)

// port is one address of the server, with the rate that the network lets through to it.
type port struct {
	address string
	mbit    int
}

// newPorts are two hosts whose server has ports of known rates, and all of them together another one. The kernel's
// hierarchical token bucket (tc-htb(8)) on the client holds what goes to the server to them.
func newPorts(t *testing.T, together int, ports ...port) twoHosts {
	t.Helper()
	h := twoNamespaces(t)
	tc := func(args ...string) { h.must(append([]string{"tc", "-n", h.client}, args...)...) }
	tc("qdisc", "add", "dev", "headroom0", "root", "handle", "1:", "htb")
	rate := func(mbit int) []string {
		return []string{"htb", "rate", fmt.Sprintf("%dmbit", mbit), "ceil", fmt.Sprintf("%dmbit", mbit), "burst",
			"16kb", "cburst", "16kb"}
	}
	tc(append([]string{"class", "add", "dev", "headroom0", "parent", "1:", "classid", "1:1"}, rate(together)...)...)
	for i, p := range ports {
		h.must("ip", "-n", h.server, "address", "add", p.address+"/32", "dev", "headroom0")
		h.must("ip", "-n", h.client, "route", "add", p.address+"/32", "dev", "headroom0")
		class := fmt.Sprintf("1:%d", 10+i)
		// What a class is sure of comes out of the parent's rate: with more than that, the parent would not bind.
		own := rate(p.mbit)
		own[2] = fmt.Sprintf("%dkbit", min(p.mbit, together)*1000/(2*len(ports)))
		tc(append([]string{"class", "add", "dev", "headroom0", "parent", "1:1", "classid", class}, own...)...)
		tc("qdisc", "add", "dev", "headroom0", "parent", class, "handle", fmt.Sprintf("%d:", 10+i), "pfifo", "limit",
			"100")
		tc("filter", "add", "dev", "headroom0", "protocol", "ip", "parent", "1:", "prio", "1", "u32", "match", "ip",
			"dst", p.address+"/32", "flowid", class)
	}
	return h
}

func (h twoHosts) interference(args ...string) interference.Document {
	h.t.Helper()
	all := append([]string{"net", "interference", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--json"},
		args...)
	return documentOf[interference.Document](h, h.command(all...))
}

// documentOf is what a command prints as JSON.
func documentOf[D any](h twoHosts, cmd *exec.Cmd) (d D) {
	h.t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(out, &d); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return d
}

// Two ports of 20 Mbit/s that have 20 together: each alone has no more than its own, and how both together do is judged
// by nothing but what was measured. What both do together is counted over whole seconds of both, and a slow machine may
// start them too far apart for that. That the shared ceiling is named, a test with the tag bench asks, and one with
// machines that follow a script.
func TestInterferenceOfASharedCeiling(t *testing.T) {
	t.Parallel()
	h := newPorts(t, 20, port{"198.18.8.1", 20}, port{"198.18.8.2", 20})
	d := h.interference("--group", "data=198.18.8.1", "--group", "backup=198.18.8.2", "--passes", "2", "--alpha", "0.5",
		"--set", "time=6s", "--set", "omit=0s", "--set", "parallel=2")
	for _, g := range d.Groups {
		atMost(t, g.Name+" alone", g.Alone.Value, goodputOf(20))
	}
	if len(d.Combinations) != 1 || !slices.Equal(d.Combinations[0].Groups, []int{0, 1}) || d.Answer.Verdict == "" {
		t.Errorf("%+v, %+v", d.Combinations, d.Answer)
	}
	t.Log(d.Answer.Text)
	h.checkNothingLeft()
	again := documentOf[interference.Document](h, h.command("net", "interference", "--resume", "last", "--json"))
	if again.Answer != d.Answer {
		t.Errorf("shown again: %q, not %q", again.Answer.Text, d.Answer.Text)
	}
	out, err := h.command("net", "interference", "--resume", "last").Output()
	if err != nil || !strings.Contains(string(out), "with backup") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A link is measured beside a storage that fio reads from, and with it. That it loses nothing, as the two share no
// ceiling, a test with the tag bench asks. What is stopped goes on and measures nothing twice; what is killed leaves
// nothing, once it was looked after.
func TestInterferenceBesideStorage(t *testing.T) {
	t.Parallel()
	h := newPorts(t, 100, port{"198.18.8.1", 20})
	folder := filepath.Join(inMemory(t), "data") // which no busy disk slows down
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	begin := func(by os.Signal, until string) (int, hold) {
		t.Helper()
		cmd := h.command("net", "interference", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--group",
			"backup=198.18.8.1", "--group", "data="+folder,
			"--passes", "2", "--set", "time=2s", "--set", "omit=0s", "--size", "16m", "--set-fio", "rate=4m", "--seed",
			"3")
		clients := h.begun(cmd, "iperf3", until)
		return h.stopped(cmd, by), clients
	}
	_, clients := begin(syscall.SIGKILL, `combinations`)
	if out, err := h.command("restore").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "headroom net interference --resume") {
		t.Errorf("restore: %v\n%s", err, out)
	}
	h.checkNothingLeft()
	clients.release()
	code, clients := begin(syscall.SIGINT, `(?m)^2/6 `)
	if code != 130 {
		t.Errorf("stopped: %d", code)
	}
	clients.release()
	h.checkNothingLeft()
	d := documentOf[interference.Document](h, h.command("net", "interference", "--resume", "last", "--json"))
	atMost(t, "backup alone", d.Groups[0].Alone.Value, goodputOf(20))
	atMost(t, "data alone", d.Groups[1].Alone.Value, 8*4<<20)
	if d.Groups[0].Kind != "network" || d.Groups[1].Kind != "storage" || d.Answer.Verdict == "" {
		t.Errorf("%+v", d)
	}
	b, err := store.Open(h.store).Find(d.Run)
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
	if len(counts) != 11 { // each alone: a pair or fio, its group and all; both: two, two and all
		t.Errorf("%d cells: %v", len(counts), counts)
	}
	for cell, n := range counts {
		if n != 2 {
			t.Errorf("%s was measured %d times", cell, n)
		}
	}
	h.checkNothingLeft()
	h.must("rmdir", folder) // which nothing is left in
}

// What is typed wrong is reported with the way out.
func TestInterferenceRefusals(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	for _, c := range []struct {
		args, words string
	}{
		{"--group a=10.0.0.1", "between 2 to 8 groups, and --group names 1"},
		{"--group 10.0.0.1 --group b=10.0.0.2", "has no name"},
		{"--group a=10.0.0.1 --group a=10.0.0.2", "the name of another group"},
		{"--group a=10.0.0.1 --group b=disk", "neither an address nor a whole path"},
		{"--group a=10.0.0.1 --group b=/a,/b", "more than one device or directory"},
		{"--group a=10.0.0.1 --group all=10.0.0.2", "stands for something else"},
		{"--group a=10.0.0.1 --group b=10.0.0.2 --passes 1", "too few"},
	} {
		cmd := v.command(append([]string{"net", "interference"}, strings.Fields(c.args)...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), c.words) {
			t.Errorf("%s: %v\n%s", c.args, err, out)
		}
	}
}
