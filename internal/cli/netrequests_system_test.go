//go:build system

package cli

import (
	"bytes"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"headroom/internal/lab"
	"headroom/internal/load/sockperf"
	"headroom/internal/target/sshtest"
)

// slowHosts are two hosts whose link carries requests at a known pace: a bucket of eight frames (tc-tbf(8)), which is empty once eight requests were
// sent, so that a request waits for as long as its frame has bits at the link's rate. What a busy machine misses is made up for from the bucket. Answers come
// back unhindered.
func slowHosts(t *testing.T, mbit int) twoHosts {
	t.Helper()
	sshtest.Tool(t, "sockperf", "/usr/bin/sockperf", "/usr/local/bin/sockperf")
	h := twoNamespaces(t)
	h.mbit = mbit
	h.must("tc", "-n", h.client, "qdisc", "add", "dev", "headroom0", "root", "tbf", "rate", fmt.Sprintf("%dmbit", mbit), "burst", fmt.Sprint(8*datagram(1400)), "latency", "50ms")
	return h
}

// datagram is how many bytes a message has in a frame: with the headers of UDP, IPv4 and Ethernet.
func datagram(message int) int { return message + 8 + 20 + 14 }

// segment is the same of TCP with time stamps.
func segment(message int) int { return message + 32 + 20 + 14 }

// each is the time that the link takes for a frame of so many bytes, in seconds.
func (h twoHosts) each(bytes int) float64 { return float64(8*bytes) / float64(h.mbit) / 1e6 }

// How long an answer takes is what the link makes a request wait, over UDP and TCP, one at a time and together; what is sent faster than the link can
// carry is said to be unanswered.
func TestNetTimesAnswersOverALinkOfAKnownDelay(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 2)
	// The port was used a moment ago, by TCP.
	h.measured(h.net("  - {name: before, iperf3: {reverse: 1, time: 1s}}\n", "--json"))
	out, err := exec.Command("ip", "netns", "exec", h.server, "ss", "-Htan", "state", "time-wait", "sport", "=", ":5201").CombinedOutput()
	if err != nil || len(out) == 0 {
		t.Fatalf("no port of the server waits: %v %s", err, out)
	}
	d := h.measured(h.net(`  - {name: udp, sockperf: {msg-size: 1400, time: 5s}}
  - {name: tcp, sockperf: {protocol: tcp, msg-size: 1400, time: 5s}}
  - {name: load, sockperf: {mode: under-load, mps: 1000, msg-size: 1400, time: 5s}}
`, "--json"))
	for i, frame := range []int{datagram(1400), segment(1400)} {
		c, want := d.Cells[i], h.each(frame)
		rate, p50, mean := c.Metrics[lab.RequestRate], c.Metrics[lab.Latency(lab.Request, "p50")], c.Metrics[lab.Latency(lab.Request, "mean")]
		t.Logf("figure: a message of 1400 bytes over %s waits %.3f ms for a link of %d Mbit/s; answers took %.3f ms (median), %.3f ms (mean), %.1f came a second",
			c.Job, 1e3*want, h.mbit, 1e3*p50.Center, 1e3*mean.Center, rate.Center)
		if p50.Unit != "s" || p50.Center < 0.97*want || p50.Center > 1.05*want {
			t.Errorf("%s: the median answer took %+v, and the link makes it wait %g s", c.Job, p50, want)
		}
		if rate.Unit != "1/s" || rate.Center > 1.03/want || rate.Center < 0.9/want {
			t.Errorf("%s: %+v answers a second of %g", c.Job, rate, 1/want)
		}
		if one := mean.Center * rate.Center; one < 0.95 || one > 1.05 {
			t.Errorf("%s: one at a time, the mean answer takes %g s and %g come a second", c.Job, mean.Center, rate.Center)
		}
	}
	load, most := d.Cells[2], 1/h.each(datagram(1400))
	rate, lost := load.Metrics[lab.RequestRate].Center, load.Metrics[lab.RequestsLost].Center
	t.Logf("figure: of 1000 requests a second the link carries %.1f: %.1f were answered, %.1f%% were not", most, rate, 100*lost)
	if rate < 0.9*most || rate > 1.05*most || lost < 0.95*(1-most/1000) || lost > 1.05*(1-most/1000) {
		t.Errorf("%.1f answered a second, %.3f lost", rate, lost)
	}
	if !warned(load.Warnings, "unanswered") {
		t.Errorf("%+v", load.Warnings)
	}
	h.nothingLeft()
}

func warned(all []struct{ Code, Text string }, code string) bool {
	for _, w := range all {
		if w.Code == code {
			return true
		}
	}
	return false
}

// The answers of several pairs are added up over the seconds in which all were asking.
func TestNetAddsUpAnswers(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 4)
	const pairs = 3
	d := h.measured(h.net("  - {name: udp, sockperf: {msg-size: 1400, time: 10s}}\n", "--pairs", fmt.Sprint(pairs), "--json"))
	if len(d.Cells) != pairs+1 {
		t.Fatalf("%d cells", len(d.Cells))
	}
	all, most := d.Cells[pairs], 1/h.each(datagram(1400))
	rate, p50 := all.Metrics[lab.RequestRate].Center, all.Metrics[lab.Latency(lab.Request, "p50")].Center
	t.Logf("figure: %d pairs over a link that carries %.1f requests a second: %.1f over the %.0f seconds of all, the median answer took %.2f ms",
		pairs, most, rate, all.Metrics[lab.TogetherSeconds].Center, 1e3*p50)
	if rate < 0.9*most || rate > 1.03*most || p50 < 0.9*pairs/most || p50 > 1.1*pairs/most {
		t.Errorf("%.1f a second, %.2f ms: %+v", rate, 1e3*p50, all.Warnings)
	}
	h.nothingLeft()
}

// sent are the packets that the client's end of the link has carried.
func (h twoHosts) sent() int {
	h.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", h.client, "cat", "/sys/class/net/headroom0/statistics/tx_packets").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// A datagram that is lost ends a ping-pong over UDP, though sockperf counts none as dropped.
func TestNetSaysThatAPingPongStoodStill(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 2)
	cmd := h.net("  - {name: udp, sockperf: {time: 8s}}\n", "--json")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	h.begun(cmd, `1 test`)
	// The link carries some 2400 requests of this size a second: this is well into the test, and long before its end.
	for end := time.Now().Add(2 * time.Minute); h.sent() < 4000; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is sent")
		}
	}
	h.must("ip", "-n", h.server, "link", "set", "headroom0", "down")
	time.Sleep(300 * time.Millisecond)
	h.must("ip", "-n", h.server, "link", "set", "headroom0", "up")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if out := stdout.String(); !strings.Contains(out, `"ended-early"`) || !strings.Contains(out, "a datagram was lost, for which") {
		t.Error(out)
	}
	h.nothingLeft()
}

// What is stopped or killed leaves no listener, and a server ends by itself where nobody ends it. What is in the way is said.
func TestNetRequestsStoppedAndKilled(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 2)
	sees := func() bool {
		out, err := exec.Command("ip", "netns", "exec", h.server, "cat", "/proc/net/udp").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(out), ":1451 ")
	}
	stopped := h.net("  - {name: udp, sockperf: {time: 60s}}\n")
	h.begun(stopped, `1 test`)
	listens := func() {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !sees(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nothing listens on port 5201")
			}
		}
	}
	listens()
	if code := h.stopped(stopped, syscall.SIGINT); code != 130 {
		t.Errorf("stopped: %d", code)
	}
	h.nothingLeft()
	if sees() {
		t.Error("something listens still")
	}
	killed := h.net("  - {name: udp, sockperf: {time: 60s}}\n")
	h.begun(killed, `1 test`)
	h.stopped(killed, syscall.SIGKILL)
	if out, err := h.command("restore").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("headroom net --resume")) {
		t.Errorf("restore: %v\n%s", err, out)
	}
	h.nothingLeft()
	if sees() {
		t.Error("something listens still")
	}
	alone := func(longest time.Duration) *exec.Cmd {
		t.Helper()
		cmd := exec.Command("ip", append([]string{"netns", "exec", h.server}, sockperf.Server(nil, serverAddress, 5201, longest)...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		listens()
		return cmd
	}
	// With nobody to end it, as after a crash of this machine.
	if err := alone(3 * time.Second).Wait(); err == nil || sees() {
		t.Errorf("a server left alone: %v, it listens still: %v", err, sees())
	}
	other := alone(time.Minute)
	out, err := h.net("  - {name: udp, sockperf: {time: 1s}}\n").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("something listens on port 5201 of the server already")) {
		t.Errorf("%v\n%s", err, out)
	}
	if err := other.Process.Signal(syscall.SIGTERM); err != nil { // timeout passes it on
		t.Fatal(err)
	}
	_ = other.Wait()
	elsewhere := h.command("net", h.suite, "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--address", "198.18.7.9")
	if out, err := elsewhere.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("sockperf can't listen on 198.18.7.9, port 5201")) || !bytes.Contains(out, []byte("Cannot assign requested address")) {
		t.Errorf("%v\n%s", err, out)
	}
	h.nothingLeft()
}

// An event comes upon requests as upon any load: for as long as the link is down nothing is answered, and TCP needs a while more to try again.
func TestNetEventUponRequests(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 2)
	const at, down = 8.0, 2.0
	d := h.measured(h.net("  - {name: tcp, sockperf: {protocol: tcp, msg-size: 1400, time: 24s}}\n", "--json", "--event-on", "client",
		"--event", fmt.Sprintf("%.0fs: ip link set headroom0 down", at), "--undo", "ip link set headroom0 up", "--event-for", fmt.Sprintf("%.0fs", down)))
	var rep lab.Repetition
	for one, err := range h.only().Repetitions() {
		if rep = one; err != nil {
			t.Fatal(err)
		}
	}
	if rep.Upsets == nil || len(rep.Upsets.Each) != 1 {
		t.Fatalf("%+v, %+v", rep.Upsets, d.Cells[0].Warnings)
	}
	one, stall := rep.Upsets.Each[0], rep.Values[lab.UpsetStall]
	t.Logf("figure: a link was down for %.1f s, %.2f s into a test (give or take %.2f s): nothing was answered for %.2f s", one.Undone-one.At, one.At, one.Unsure, stall)
	if math.Abs(one.At-at) > 2 || one.Unsure <= 0 || one.Unsure > 1 {
		t.Errorf("the event was %.2f s into the test, give or take %.2f s, and was to be at %.0f s", one.At, one.Unsure, at)
	}
	if stall < one.Undone-one.At-0.2 || stall > 8 {
		t.Errorf("nothing was answered for %.2f s: %+v", stall, rep.Warnings)
	}
	// By its own rates the requests stopped when the event is said to have been.
	quiet := 0
	for i, rate := range rep.Upsets.Rate.Values {
		if from := float64(i) * rep.Upsets.Rate.Interval; from > one.At+one.Unsure+0.2 && from < one.Undone-one.Unsure-0.2 {
			if quiet++; rate != 0 {
				t.Errorf("%.1f requests a second were answered at %.1f s, while the link was down", rate, from)
			}
		}
	}
	if quiet == 0 {
		t.Error("no step of the rates lies in the event")
	}
	h.nothingLeft()
}
