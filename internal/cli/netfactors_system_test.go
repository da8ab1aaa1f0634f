//go:build system

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// roundTrip is that of a link with a delay.
const roundTrip = 100 * time.Millisecond

// farBuffer is the largest send buffer on the hosts of such a link, so that it is always that which holds a test back
// and not the process that carries packets.
const farBuffer = "4096 16384 524288"

// newFarHosts are two hosts whose link takes a while: what one end sends comes out of the other half a round trip
// later, by a process that holds both ends of it (Documentation/networking/tuntap.rst). No kernel module for delays is
// needed.
func newFarHosts(t *testing.T) twoHosts {
	t.Helper()
	h := twoNamespaces(t)
	h.must("ip", "-n", h.client, "link", "delete", "headroom0")
	var ends [2]*os.File
	for i, ns := range []string{h.client, h.server} {
		ends[i] = tunnelIn(t, ns)
		address := []string{clientAddress, serverAddress}[i]
		h.must("ip", "-n", ns, "address", "add", address+"/30", "dev", "headroom0")
		h.must("ip", "-n", ns, "link", "set", "headroom0", "up")
		h.must("ip", "netns", "exec", ns, "sh", "-c", `echo "$1" >/proc/sys/net/ipv4/tcp_wmem`, "sh", farBuffer)
	}
	var carriers sync.WaitGroup
	for i := range ends {
		carriers.Go(func() { carry(ends[i], ends[1-i]) })
	}
	t.Cleanup(func() {
		for _, e := range ends {
			_ = e.Close()
		}
		carriers.Wait()
	})
	return h
}

// tunnelIn makes an end of a tunnel in a network namespace.
func tunnelIn(t *testing.T, ns string) *os.File {
	t.Helper()
	type made struct {
		file *os.File
		err  error
	}
	done := make(chan made)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its namespace with it
		space, err := os.Open("/run/netns/" + ns)
		if err == nil {
			defer space.Close()
			err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET)
		}
		var fd int
		if err == nil {
			fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
		var request *unix.Ifreq
		if err == nil {
			request, err = unix.NewIfreq("headroom0")
		}
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		done <- made{os.NewFile(uintptr(fd), "tunnel"), err}
	}()
	m := <-done
	if m.err != nil {
		t.Skipf("no tunnel can be made: %v", m.err)
	}
	return m.file
}

// carry takes packets from one end to the other, each half a round trip late.
func carry(from, to *os.File) {
	type packet struct {
		due  time.Time
		data []byte
	}
	way := make(chan packet, 1<<16)
	go func() {
		defer close(way)
		for {
			data := make([]byte, 1<<16)
			n, err := from.Read(data)
			if err != nil {
				return
			}
			way <- packet{time.Now().Add(roundTrip / 2), bytes.Clone(data[:n])}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		_, _ = to.Write(p.data)
	}
}

// experiment is one between the two hosts.
func (h twoHosts) experiment(verb string, args ...string) *exec.Cmd {
	h.t.Helper()
	text := "version: 1\nname: link\nrepetitions: 1\njobs:\n  - {name: send, iperf3: {time: 1s, omit: 1s, " +
		"congestion: reno}}\n"
	if err := os.WriteFile(h.suite, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return h.command(append([]string{verb, h.suite, "--on", "client=ssh://net-a", "--on", "server=ssh://net-b",
		"--address", serverAddress}, args...)...)
}

// A link with a delay carries no more than a window in a round trip, so that a small send buffer holds it back. That
// the larger one is found to be better, a test with the tag bench asks.
func TestASweepOfTheWindowThatHoldsALinkBack(t *testing.T) {
	t.Parallel()
	h := newFarHosts(t)
	before := h.setUp()
	c := h.sweptBuffers(2, 1, 65536, 524288)
	for i, l := range c.Levels {
		bytes := []int{65536, 524288}[i]
		_, most := window(bytes)
		// the second that is left out counts where the two ends do not begin to count together
		atMost(t, l.Level, l.Value, 2*most)
	}
	if after := h.setUp(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	h.checkNothingLeft()
}

// buffer is a send buffer as the kernel is asked for it.
func buffer(bytes int) string { return fmt.Sprintf("4096 16384 %d", bytes) }

// window is what a send buffer lets through in bit/s: half of it in a round trip at least, and at most all of it, with
// what is handed over at once and may go beyond the limit.
func window(bytes int) (least, most float64) {
	return 4 * float64(bytes) / roundTrip.Seconds(), 8 * float64(bytes+65536) / roundTrip.Seconds()
}

// sweptBuffers measures send buffers of the client in so many blocks, each for some seconds.
func (h twoHosts) sweptBuffers(blocks, seconds int, buffers ...int) sweep.Cell {
	h.t.Helper()
	var levels []string
	for _, b := range buffers {
		levels = append(levels, buffer(b))
	}
	d := documentOf[sweep.Document](h,
		h.experiment("sweep", "--json", "--factor", "client:sysctl:net.ipv4.tcp_wmem="+strings.Join(levels, ","),
			"--blocks", fmt.Sprint(blocks), "--set", fmt.Sprintf("time=%ds", seconds)))
	if len(d.Cells) != 1 || d.Cells[0].Metric != "send.bitrate" || len(d.Cells[0].Levels) != len(buffers) {
		h.t.Fatalf("%+v", d.Cells)
	}
	return d.Cells[0]
}

// What is varied on one end and on both is priced; and whatever moment it is killed at, restore puts back both ends.
func TestAnAblationOfANetworkIsPutBackOnBothEnds(t *testing.T) {
	t.Parallel()
	h := newFarHosts(t)
	sysctls := func() string {
		t.Helper()
		var all string
		for _, ns := range []string{h.client, h.server} {
			out, err := exec.Command("ip", "netns", "exec", ns, "cat", "/proc/sys/net/ipv4/tcp_wmem",
				"/proc/sys/net/ipv4/tcp_rmem").Output()
			if err != nil {
				t.Fatal(err)
			}
			all += string(out)
		}
		return all
	}
	before, set := h.setUp(), sysctls()
	settings := []string{"--setting", "client:sysctl:net.ipv4.tcp_wmem=" + buffer(16384), "--setting",
		"nic:under-test/mtu=1400", "--setting", "server:sysctl:net.ipv4.tcp_rmem=4096 131072 6000000"}
	for _, until := range []string{`(?m)^set client:sysctl`, `(?m)^set server:sysctl`} {
		killed := h.experiment("ablate", append(settings, "--alone", "--blocks", "1", "--seed", "1")...)
		clients := h.begun(killed, "iperf3", until, func() bool { return sysctls() != set })
		h.stopped(killed, syscall.SIGKILL)
		if sysctls() == set {
			t.Error("what was changed is put back without headroom")
		}
		if out, err := h.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if after := h.setUp(); after != before || sysctls() != set {
			t.Fatalf("before\n%s%s\nafter\n%s%s", before, set, after, sysctls())
		}
		h.checkNothingLeft()
		clients.release()
	}
	if out, err := h.command("net", "--resume", "last").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "headroom ablate --resume") {
		t.Errorf("resumed as a test of a network: %v\n%s", err, out)
	}
	if out, err := h.command("ablate", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := documentOf[ablation.Document](h, h.command("ablate", "--show", "last", "--json"))
	if len(d.Settings) != 3 {
		t.Errorf("%+v", d.Settings)
	}
	for _, s := range d.Settings {
		t.Logf("%s=%s alone: %+.0f%%, %s", s.Factor, s.Level, 100*(s.Alone.Ratio-1), s.Verdict)
	}
	// With a small part of the buffer no test can be faster than its window lets it be. That without it tests are, a
	// test with the tag bench asks.
	b, err := store.Open(h.store).Find(d.Run)
	if err != nil {
		t.Fatal(err)
	}
	_, most := window(16384)
	small := 0
	for rep, err := range b.Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		set := slices.ContainsFunc(rep.Did, func(did string) bool {
			return strings.HasPrefix(did, "set client:sysctl:net.ipv4.tcp_wmem="+buffer(16384))
		})
		if !strings.HasSuffix(rep.Cell, "@"+ablation.AloneArm(1)) {
			continue
		}
		small++
		if rate := rep.Values[lab.Bitrate(lab.Send)]; !set || rate > 1.25*most {
			t.Errorf("%.1f Mbit/s with the small buffer, and %.1f go through it: %q", rate/1e6, most/1e6, rep.Did)
		}
	}
	if small == 0 {
		t.Error("nothing was measured with the small buffer alone")
	}
	if after := h.setUp(); after != before || sysctls() != set {
		t.Errorf("before\n%s%s\nafter\n%s%s", before, set, after, sysctls())
	}
	h.checkNothingLeft()
}

// The queueing discipline of an adapter, of one queue and of several, and a set of sysctls are set for their arm and
// put back, also after a kill.
func TestDisciplinesAndBundlesArePutBack(t *testing.T) {
	t.Parallel()
	h := twoNamespaces(t)
	h.must("ip", "-n", h.client, "link", "delete", "headroom0")
	h.must("ip", "-n", h.client, "link", "add", "headroom0", "numtxqueues", "3", "numrxqueues", "3", "type", "veth",
		"peer", "name", "headroom0", "netns", h.server)
	for ns, address := range map[string]string{h.client: clientAddress, h.server: serverAddress} {
		h.must("ip", "-n", ns, "address", "add", address+"/30", "dev", "headroom0")
		h.must("ip", "-n", ns, "link", "set", "headroom0", "up")
	}
	disciplines := func(ns string) string {
		t.Helper()
		out, err := exec.Command("tc", "-n", ns, "qdisc", "show", "dev", "headroom0").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := disciplines(h.client) + disciplines(h.server)
	args := []string{"--factor", "qdisc:under-test=pfifo,bfifo", "--blocks", "1", "--set", "bitrate=20m",
		"--set", "congestion=cubic"}
	killed := h.experiment("sweep", args...)
	clients := h.begun(killed, "iperf3", `(?m)^set qdisc:under-test`)
	h.stopped(killed, syscall.SIGKILL)
	clients.release()
	for _, ns := range []string{h.client, h.server} {
		if now := disciplines(ns); !strings.Contains(now, "fifo") {
			t.Errorf("nothing was set: %s", now)
		}
	}
	if out, err := h.command("restore").CombinedOutput(); err != nil {
		t.Errorf("restore: %v\n%s", err, out)
	}
	if after := disciplines(h.client) + disciplines(h.server); after != before {
		t.Fatalf("before\n%s\nafter\n%s", before, after)
	}
	if out, err := h.experiment("sweep", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if after := disciplines(h.client) + disciplines(h.server); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	// What somebody has set up is left alone.
	h.must("tc", "-n", h.server, "qdisc", "add", "dev", "headroom0", "root", "tbf", "rate", "200mbit", "burst",
		"64kb", "latency", "50ms")
	if out, err := h.experiment("sweep", args...).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "has the discipline tbf with options set by another program") {
		t.Errorf("%v\n%s", err, out)
	}
	h.checkNothingLeft()
}

// A namespace has not all of a bundle: the rest is set and put back, and what is missing is named.
func TestABundleLeavesOutWhatTheKernelHasNot(t *testing.T) {
	t.Parallel()
	h := twoNamespaces(t)
	sysctls := func() (all string) {
		t.Helper()
		for _, ns := range []string{h.client, h.server} {
			out, err := exec.Command("ip", "netns", "exec", ns, "sh", "-c",
				"cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem /proc/sys/net/ipv4/tcp_mtu_probing").Output()
			if err != nil {
				t.Fatal(err)
			}
			all += string(out)
		}
		return all
	}
	before := sysctls()
	killed := h.experiment("sweep", "--factor", "bundle:esnet=found,10g", "--blocks", "1", "--set", "bitrate=20m")
	clients := h.begun(killed, "iperf3", `(?m)^set bundle:esnet`, func() bool {
		return strings.Contains(sysctls(), "134217728")
	})
	h.stopped(killed, syscall.SIGKILL)
	clients.release()
	if now := sysctls(); !strings.Contains(now, "134217728") {
		t.Errorf("nothing was set: %s", now)
	}
	if out, err := h.command("restore").CombinedOutput(); err != nil {
		t.Errorf("restore: %v\n%s", err, out)
	}
	if now := sysctls(); now != before {
		t.Errorf("before\n%s\nafter\n%s", before, now)
	}
	if out, err := h.command("sweep", "--resume", "last").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	d := documentOf[netDocument](h, h.command("show", "last", "--json"))
	var printed []string
	for _, w := range d.Warnings {
		if w.Code == "bundle-incomplete" {
			printed = append(printed, w.Text)
		}
	}
	if len(printed) != 2 || !strings.Contains(printed[0], "bundle:esnet without sysctl:net.core.") ||
		!strings.Contains(printed[0], "at the client") || strings.Contains(printed[0], "tcp_rmem") {
		t.Errorf("%q", printed)
	}
	if now := sysctls(); now != before {
		t.Errorf("before\n%s\nafter\n%s", before, now)
	}
	h.checkNothingLeft()
}

// The load generators of both ends run where an arm puts them, and nowhere else.
func TestLoadGeneratorsRunWhereTheyArePut(t *testing.T) {
	t.Parallel()
	if runtime.NumCPU() < 2 {
		t.Skip("there is one CPU")
	}
	h := twoNamespaces(t)
	targettest.Exclusive(t, "cpus") // which another test may take off line
	cmd := h.experiment("sweep", "--factor", "pin:cpus=1,0", "--blocks", "1", "--set", "bitrate=20m", "--seed", "1")
	clients := h.begun(cmd, "iperf3", `each visited`)
	where, ends := map[string]bool{}, 0
	for _, cwd := range h.running() {
		status, err := os.ReadFile(filepath.Join(filepath.Dir(cwd), "status"))
		name, err2 := os.ReadFile(filepath.Join(filepath.Dir(cwd), "comm"))
		if err != nil || err2 != nil || strings.TrimSpace(string(name)) != "iperf3" {
			continue // of the shells around it
		}
		_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		cpus, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		where[cpus] = true
		ends++
	}
	clients.release()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if len(where) != 1 || !where["0"] && !where["1"] || ends != 2 {
		t.Errorf("%d of them ran on %v", ends, where)
	}
	commands := map[string]bool{}
	for rep, err := range h.onlyRun().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		commands[strings.Join(rep.Command[:4], " ")] = true
		if _, ok := rep.Values[lab.Bitrate(lab.Send)]; !ok {
			t.Errorf("%s: %v", rep.Cell, rep.Warnings)
		}
	}
	if !commands["taskset -c 0 iperf3"] || !commands["taskset -c 1 iperf3"] || len(commands) != 2 {
		t.Errorf("%v", commands)
	}
	// The adapter of a namespace hangs on no node.
	if out, err := h.experiment("sweep", "--factor", "pin:node=nic,other").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "does not tell which node") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := h.experiment("sweep", "--factor", "pin:cpus=0,4000").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "pin:cpus=4000 is not available") {
		t.Errorf("%v\n%s", err, out)
	}
	h.checkNothingLeft()
}
