//go:build system

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// twoLinks are two hosts with two links of 40 Mbit/s between them.
func twoLinks(t *testing.T) twoHosts {
	t.Helper()
	h := newTwoHosts(t, 40)
	h.second()
	for _, ns := range []string{h.client, h.server} {
		h.must("tc", "-n", ns, "qdisc", "add", "dev", "headroom1", "root", "tbf", "rate", "40mbit", "burst",
			"64kb", "latency", "50ms")
	}
	return h
}

// overBothLinks is a file for an ablation of three settings over eight pairs and both links: the first has the second
// link of the client carry 10 Mbit/s in place of 40.
func (h twoHosts) overBothLinks() string {
	h.t.Helper()
	file := filepath.Join(filepath.Dir(h.suite), "links.yaml")
	for name, text := range map[string]string{
		h.suite: "version: 1\nname: link\nrepetitions: 1\njobs:\n  - {name: send, iperf3: {time: 6s}}\n",
		file: `version: 1
experiment: ablate
suite: ` + h.suite + `
on: [client=ssh://net-a, server=ssh://net-b]
address: [` + serverAddress + `, 198.18.9.2]
net_pairs: 8
settings:
  - client:exec:second-link=10Mbit
  - server:sysctl:net.ipv4.tcp_rmem=4096 131072 6000000
  - nic:under-test/mtu=1400
commands: # unique, since equal commands of another test process are locked as the same setting
  second-link:
    apply: [tc, qdisc, change, dev, headroom1, root, tbf, rate, "{level}", burst, 64kb, latency, 50ms]
    verify: [sh, -c, "tc qdisc show dev headroom1 | grep -o 'rate [^ ]*' | cut -d ' ' -f 2 # in ` + h.client + `"]
    undo: [tc, qdisc, change, dev, headroom1, root, tbf, rate, "{old}", burst, 64kb, latency, 50ms]
`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	return file
}

// An ablation over eight pairs and two addresses: whatever moment it is killed at, restore puts back both adapters of
// both ends. The port whose link is slow carries no more than that lets through, and all that eight pairs printed is
// kept. What their sums come to, tests with the tag bench say.
func TestAnAblationOverEightPairsAndTwoAddresses(t *testing.T) {
	t.Parallel()
	h := twoLinks(t)
	file := h.overBothLinks()
	state := func() string {
		t.Helper()
		var all strings.Builder
		for _, ns := range []string{h.client, h.server} {
			all.WriteString(h.prints("ip", "netns", "exec", ns, "sh", "-c",
				"cat /sys/class/net/headroom?/mtu /proc/sys/net/ipv4/tcp_rmem; tc qdisc show"))
		}
		return all.String()
	}
	before := state()
	killed := h.command("ablate", file, "--blocks", "1", "--alone", "--seed", "1")
	clients := h.begun(killed, "iperf3", `(?m)^set nic:under-test/mtu=1400`)
	h.stopped(killed, syscall.SIGKILL)
	clients.release()
	if now := state(); strings.Count(now, "1400") != 4 {
		t.Errorf("the MTU is not that of both adapters at both ends:\n%s", now)
	}
	if out, err := h.command("restore").CombinedOutput(); err != nil {
		t.Errorf("restore: %v\n%s", err, out)
	}
	if now := state(); now != before {
		t.Fatalf("before\n%s\nafter\n%s", before, now)
	}
	h.checkNothingLeft()
	// Loads that can't be added up count as failed; why they are is asked below.
	if out, err := h.command("ablate", "--resume", "last").CombinedOutput(); err != nil &&
		!strings.Contains(string(out), "of 5 loads failed") {
		t.Fatalf("%v\n%s", err, out)
	}
	d := documentOf[ablation.Document](h, h.command("ablate", "--show", "last", "--json"))
	b, err := store.Open(h.store).Find(d.Run)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rep, err := range b.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		slow := strings.HasSuffix(rep.Cell, "@"+ablation.AloneArm(1))
		// the pairs of a busy machine may start so far apart that no second is sure to be of all: then that is
		// reported, and nothing is added up
		if rep.Failed() {
			if !slices.ContainsFunc(rep.Warnings, func(w lab.Warning) bool { return w.Code == "no-sum" }) {
				t.Errorf("%s: %v", rep.Cell, rep.Warnings)
			}
			continue
		}
		if rep.Values[lab.Bitrate(lab.Send)] <= 0 {
			t.Errorf("%s: %v, %v", rep.Cell, rep.Values, rep.Warnings)
		}
		var meant []string
		for _, p := range rep.Ports {
			if p.Expected {
				meant = append(meant, p.End+" "+p.Port)
			}
			// What is in the bucket, and what comes after the test's own time, is not of its rate.
			if most := 1.5 * 10e6 / 8 * rep.Took; slow && p.End == "client" && p.Port == "headroom1" &&
				float64(p.Sent.Bytes) > most {
				t.Errorf("%s: %d B went over the slow link, and no more than %.0f come through", rep.Cell, p.Sent.Bytes,
					most)
			}
		}
		if want := []string{"client headroom0", "client headroom1", "server headroom0",
			"server headroom1"}; !slices.Equal(meant, want) {
			t.Errorf("%s: ports %v", rep.Cell, meant)
		}
		if len(rep.Raw) < 8 {
			t.Errorf("%s keeps what %d of eight pairs printed", rep.Cell, len(rep.Raw))
		}
	}
	if arms := 5; n != arms || len(d.Settings) != 3 {
		t.Errorf("%d tests, %d settings", n, len(d.Settings))
	}
	for _, s := range d.Settings {
		if s.Alone == nil || !(s.Alone.Ratio > 0) {
			continue // one of the two was not added up
		}
		t.Logf("%s=%s alone: %+.0f%%", s.Factor, s.Level, 100*(s.Alone.Ratio-1))
	}
	if now := state(); now != before {
		t.Errorf("before\n%s\nafter\n%s", before, now)
	}
	h.checkNothingLeft()
}
