//go:build system

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// twoHosts are two network namespaces with a link between them, each reached over ssh by a server of its own. The link
// has a known rate in both directions, given to it by the kernel's token bucket (tc-tbf(8)).
type twoHosts struct {
	fixture
	// client and server are the namespaces, and config is how ssh reaches them.
	client, server, config string
	// programs come first on the PATH of both hosts.
	programs string
	// mbit is the link's rate, bytes of Ethernet frames included.
	mbit int
}

// clientAddress and serverAddress are those of the two ends, in the range for benchmarks (RFC 2544).
const (
	clientAddress = "198.18.7.1"
	serverAddress = "198.18.7.2"
)

func newTwoHosts(t *testing.T, mbit int) twoHosts {
	t.Helper()
	h := twoNamespaces(t)
	h.mbit = mbit
	for _, ns := range []string{h.client, h.server} {
		h.must("tc", "-n", ns, "qdisc", "add", "dev", "headroom0", "root", "tbf", "rate", fmt.Sprintf("%dmbit", mbit),
			"burst", "64kb", "latency", "50ms")
	}
	return h
}

// twoNamespaces with a link that has no limit of its own.
func twoNamespaces(t *testing.T) twoHosts {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "tc", "iperf3"} {
		sshtest.Tool(t, tool, "/usr/sbin/"+tool, "/sbin/"+tool)
	}
	// Several tests of one process run side by side.
	own := rand.Uint32()
	client, server := fmt.Sprintf("headroom-a-%08x", own), fmt.Sprintf("headroom-b-%08x", own)
	h := twoHosts{fixture: newFixture(t), client: client, server: server}
	for _, ns := range []string{client, server} {
		h.must("ip", "netns", "add", ns)
		t.Cleanup(func() { h.must("ip", "netns", "delete", ns) })
	}
	h.must("ip", "-n", client, "link", "add", "headroom0", "type", "veth", "peer", "name", "headroom0", "netns", server)
	for ns, address := range map[string]string{client: clientAddress, server: serverAddress} {
		h.must("ip", "-n", ns, "address", "add", address+"/30", "dev", "headroom0")
		h.must("ip", "-n", ns, "link", "set", "headroom0", "up")
		h.must("ip", "-n", ns, "link", "set", "lo", "up")
	}
	sshd := sshtest.Start(t)
	config := filepath.Join(t.TempDir(), "config")
	text := sshd.Through("net-a", "ip", "netns", "exec", client) + sshd.Through("net-b", "ip", "netns", "exec", server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.config, h.programs = config, sshd.Programs
	return h
}

func (h twoHosts) command(args ...string) *exec.Cmd {
	cmd := h.fixture.command(args...)
	cmd.Env = append(os.Environ(), config.Variable(config.SSHConfig)+"="+h.config)
	return cmd
}

func (h twoHosts) must(argv ...string) {
	h.t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// prints is what a command prints.
func (h twoHosts) prints(argv ...string) string {
	h.t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		h.t.Fatalf("%v: %v", argv, err)
	}
	return string(out)
}

// net is a command on the two hosts, with a suite that says what is measured.
func (h twoHosts) net(jobs string, args ...string) *exec.Cmd {
	h.t.Helper()
	text := "version: 1\nname: link\nrepetitions: 1\njobs:\n" + jobs
	if err := os.WriteFile(h.suite, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return h.command(append([]string{"net", h.suite, "--on", "client=ssh://net-a", "--on", "server=ssh://net-b",
		"--address", serverAddress}, args...)...)
}

// goodput that the link's rate leaves for TCP in bit/s: of a frame of 1514 bytes, 14 are Ethernet's, and 66 in all are
// no data (IPv4, TCP with time stamps).
func (h twoHosts) goodput() float64 { return float64(h.mbit) * 1e6 * 1448 / 1514 }

// goodputOf is what a rate in Mbit/s leaves for TCP, in bit/s.
func goodputOf(mbit int) float64 { return twoHosts{mbit: mbit}.goodput() }

// atMost says of a rate over a whole test what holds on any machine: there is one, and it is not beyond what a limit
// lets through, but for what was in its bucket. How near it comes, tests with the tag bench say.
func atMost(t *testing.T, what string, got *float64, limit float64) {
	t.Helper()
	if got == nil || *got <= 0 {
		t.Errorf("%s was not measured", what)
		return
	}
	t.Logf("%s: %.1f Mbit/s, no more than %.1f come through", what, *got/1e6, limit/1e6)
	if *got > 1.25*limit {
		t.Errorf("%s: %.1f Mbit/s, and no more than %.1f come through", what, *got/1e6, limit/1e6)
	}
}

// document of a run, as --json prints it.
type netDocument struct {
	ID      string
	Network []lab.NetworkPair
	Targets []struct{ Role, Target string }
	// Warnings of the run as a whole.
	Warnings []lab.Warning
	Cells    []netCell
}

type netCell struct {
	Job, Role string
	Levels    map[string]string
	Metrics   map[string]netMetric
	Warnings  []struct{ Code, Text string }
}

type netMetric struct {
	Unit   string
	Center float64
}

func (h twoHosts) measured(cmd *exec.Cmd) netDocument {
	h.t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, &stderr)
	}
	var d netDocument
	if err := json.Unmarshal(out, &d); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return d
}

// running are the processes of all runs, on either host.
func (h twoHosts) running() []string {
	h.t.Helper()
	rows, err := store.Open(h.store).List()
	if err != nil {
		h.t.Fatal(err)
	}
	var all []string
	for _, r := range rows {
		all = append(all, processesOf(h.t, r.ID)...)
	}
	return all
}

// checkNothingLeft says that nothing listens or runs on either host, and no folder of a job is there.
func (h twoHosts) checkNothingLeft() {
	h.t.Helper()
	if left := h.running(); len(left) > 0 {
		h.t.Errorf("still running: %v", left)
	}
	rows, err := store.Open(h.store).List()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range rows {
		folders, err := filepath.Glob("/dev/shm/headroom-*/" + r.ID + "*")
		if err != nil || len(folders) != 0 {
			h.t.Errorf("folders of jobs are left: %v, %v", folders, err)
		}
	}
}

const bothWays = `  - {name: send, iperf3: {time: 2s, omit: 1s}}
  - {name: receive, iperf3: {time: 2s, omit: 1s, reverse: 1}}
`

// What goes through a link of a known rate is measured in either direction, and is no more than that. The second that
// is left out counts where the two ends do not begin to count together.
func TestNetMeasuresALinkOfAKnownRate(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 40)
	d := h.measured(h.net(bothWays, "--json"))
	if want := []lab.NetworkPair{{Client: experiment.ClientRole, Server: experiment.ServerRole, Address: serverAddress,
		Port: 5201}}; !slices.Equal(d.Network, want) {
		t.Errorf("%+v", d.Network)
	}
	if len(d.Targets) != 2 || d.Targets[0].Role+d.Targets[1].Role != experiment.ClientRole+experiment.ServerRole ||
		!strings.HasPrefix(d.Targets[1].Target, "ssh://") {
		t.Errorf("%+v", d.Targets)
	}
	for i, metric := range []string{lab.Bitrate(lab.Send), lab.Bitrate(lab.Receive)} {
		m := d.Cells[i].Metrics[metric]
		if m.Unit != "bit/s" {
			t.Errorf("%s: %+v", metric, m)
		}
		atMost(t, metric, &m.Center, 3*h.goodput()/2)
	}
	h.checkNothingLeft()
	// In the words of the table, the ends of it, whose names a page hides.
	out, err := h.command("report", d.ID, "--serials").Output()
	if err != nil || !strings.Contains(string(out), "link from ssh://net-a to ssh://net-b at "+serverAddress) {
		t.Errorf("%v\n%s", err, out)
	}
}

// Many pairs that share a link are added up over the seconds in which all were running. Where a machine takes too long
// to start one of them there are none, and a warning says so.
func TestNetAddsUpManyPairs(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 40)
	d := h.manyPairs(8, 20)
	all := d.Cells[8].Metrics
	if summed := all[lab.Bitrate(lab.Send)].Center > 0 && all[lab.CommonSeconds].Center > 0; summed ==
		warned(d.Cells[8].Warnings, "no-sum") {
		t.Errorf("%+v", d.Cells[8])
	}
	for _, c := range d.Cells[:8] {
		if c.Metrics[lab.Bitrate(lab.Send)].Center <= 0 {
			t.Errorf("%+v", c)
		}
	}
	h.checkNothingLeft()
}

// manyPairs send side by side for some seconds; the last cell is that of all.
func (h twoHosts) manyPairs(pairs, seconds int) netDocument {
	h.t.Helper()
	d := h.measured(h.net(fmt.Sprintf("  - {name: send, iperf3: {time: %ds, omit: 1s}}\n", seconds), "--pairs",
		fmt.Sprint(pairs), "--json"))
	if len(d.Network) != pairs || len(d.Targets) != 2 || len(d.Cells) != pairs+1 {
		h.t.Fatalf("%d pairs, %d targets, %d cells", len(d.Network), len(d.Targets), len(d.Cells))
	}
	return d
}

// begun starts a command and lets it come to a client, of a program, before which its standard error has said something
// and all else holds that is asked for. The client waits until it is ended or released.
func (h twoHosts) begun(cmd *exec.Cmd, program, until string, also ...func() bool) hold {
	h.t.Helper()
	clients := holdCalls(h.t, h.programs, program, networkClients, 1)
	name := filepath.Join(h.t.TempDir(), "stderr")
	stderr, err := os.Create(name)
	if err != nil {
		h.t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test fails
	wanted := regexp.MustCompile(until)
	await(h.t, "a client, and "+until, func() bool {
		rows, err := store.Open(h.store).List()
		if err != nil || len(rows) == 0 || clients.waiting(rows[0].ID) == 0 {
			return false
		}
		text, err := os.ReadFile(name)
		if err != nil {
			h.t.Fatal(err)
		}
		if wanted.Match(text) && !slices.ContainsFunc(also, func(so func() bool) bool { return !so() }) {
			return true
		}
		clients.to(clients.calls() + 1)
		return false
	})
	return clients
}

// stopped ends a command by a signal, and returns its exit code.
func (h twoHosts) stopped(cmd *exec.Cmd, by os.Signal) int {
	h.t.Helper()
	if err := cmd.Process.Signal(by); err != nil {
		h.t.Fatal(err)
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// goesOn releases a client that was held, and waits until it and its server are there.
func (h twoHosts) goesOn(clients hold, program string) {
	h.t.Helper()
	clients.release()
	await(h.t, "a client and a server", func() bool {
		n := 0
		for _, cwd := range h.running() {
			name, err := os.ReadFile(filepath.Join(filepath.Dir(cwd), "comm"))
			line, err2 := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline"))
			if err == nil && err2 == nil && strings.TrimSpace(string(name)) == program &&
				!bytes.HasPrefix(line, []byte("/bin/sh\x00")) {
				n++
			}
		}
		return n > 1
	})
}

// before has the client's host do something before each of its clients of iperf3 begins to send, as somebody else.
func (h twoHosts) before(argv ...string) (stop func()) {
	h.t.Helper()
	name := filepath.Join(h.programs, "iperf3")
	real, err := exec.LookPath("iperf3")
	if err != nil {
		h.t.Fatal(err)
	}
	writeProgram(h.t, name, fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n%s) %s >&2 ;;\nesac\nexec %s \"$@\"\n", networkClients,
		lab.ShellQuote(argv), real))
	return func() {
		if err := os.Remove(name); err != nil {
			h.t.Error(err)
		}
	}
}

// listens waits until somebody listens on a port of the server, in hexadecimal digits.
func (h twoHosts) listens(port string) {
	h.t.Helper()
	await(h.t, "somebody listens on "+port, func() bool {
		out, err := exec.Command("ip", "netns", "exec", h.server, "cat", "/proc/net/tcp", "/proc/net/tcp6").Output()
		return err == nil && strings.Contains(string(out), ":"+port+" ")
	})
}

// What is stopped goes on, and measures nothing twice; what is killed leaves no listener, once it was looked after.
func TestNetStoppedAndKilled(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 40)
	stopped := h.net(bothWays)
	clients := h.begun(stopped, "iperf3", `(?m)^1/2 `)
	if code := h.stopped(stopped, syscall.SIGINT); code != 130 {
		t.Errorf("stopped: %d", code)
	}
	h.checkNothingLeft()
	clients.release()
	if out, err := h.command("run", "--resume", "last").CombinedOutput(); err == nil ||
		!bytes.Contains(out, []byte("headroom net --resume")) {
		t.Errorf("resumed as a run of storage: %v\n%s", err, out)
	}
	d := h.measured(h.command("net", "--resume", "last", "--json"))
	for _, c := range d.Cells {
		if len(c.Metrics) == 0 {
			t.Errorf("%s was not measured", c.Job)
		}
	}
	reps := 0
	for _, err := range h.onlyRun().Repetitions() {
		if reps++; err != nil {
			t.Error(err)
		}
	}
	if reps != 2 {
		t.Errorf("%d repetitions of two", reps)
	}
	killed := h.net("  - {name: send, iperf3: {time: 600s}}\n")
	h.goesOn(h.begun(killed, "iperf3", `1 test; about`), "iperf3")
	h.stopped(killed, syscall.SIGKILL)
	out, err := h.command("restore").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("headroom net --resume")) {
		t.Errorf("restore: %v\n%s", err, out)
	}
	h.checkNothingLeft()
}

// Whatever is in the way is reported with the way out, and nothing is left.
func TestNetRefusals(t *testing.T) {
	t.Parallel()
	h := newTwoHosts(t, 40)
	one := "  - {name: send, iperf3: {time: 1s}}\n"
	ns := h.server
	other := exec.Command("ip", "netns", "exec", ns, "iperf3", "--server", "--port", "5201")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	h.listens("1451")
	refused := func(cmd *exec.Cmd, code int, words ...string) {
		t.Helper()
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != code {
			t.Errorf("%v, not exit code %d\n%s", err, code, out)
		}
		for _, w := range words {
			if !strings.Contains(string(out), w) {
				t.Errorf("no %q in\n%s", w, out)
			}
		}
	}
	refused(h.net(one), 1, "something listens on port 5201 of the server already", "ssh://net-b", "--port 5301")
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	elsewhere := h.net(one)
	elsewhere.Args = append(elsewhere.Args, "--address", "198.18.7.9")
	elsewhere.Args = slices.Delete(elsewhere.Args, slices.Index(elsewhere.Args, "--address"),
		slices.Index(elsewhere.Args, "--address")+2)
	refused(elsewhere, 1, "iperf3 can't listen on 198.18.7.9, port 5201", "Cannot assign requested address", "timeout")
	nameless := h.command("net", h.suite, "--on", "client=ssh://net-a", "--on", "server=ssh://net-b")
	refused(nameless, 2, "the address of ssh://net-b for the load is unknown", "--address")
	refused(h.command("run", "network", h.place), 2, "headroom net network")
	refused(h.command("net", "quick"), 2, "the suite quick measures no network")
	h.checkNothingLeft()
}
