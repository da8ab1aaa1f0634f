//go:build system

package cli

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/sockperf"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// slowHosts are two hosts whose link carries requests at a known pace: a bucket of eight frames (tc-tbf(8)), which is
// empty once eight requests were sent, so that a request waits for as long as its frame has bits at the link's rate.
// What a busy machine misses is made up for from the bucket. Answers come back unhindered.
func slowHosts(t *testing.T, mbit int) twoHosts {
	t.Helper()
	sshtest.Tool(t, "sockperf", "/usr/bin/sockperf", "/usr/local/bin/sockperf")
	h := twoNamespaces(t)
	h.mbit = mbit
	h.must("tc", "-n", h.client, "qdisc", "add", "dev", "headroom0", "root", "tbf", "rate", fmt.Sprintf("%dmbit", mbit),
		"burst", fmt.Sprint(8*datagram(1400)), "latency", "50ms")
	return h
}

// datagram is how many bytes a message has in a frame: with the headers of UDP, IPv4 and Ethernet.
func datagram(message int) int { return message + 8 + 20 + 14 }

// segment is the same of TCP with time stamps.
func segment(message int) int { return message + 32 + 20 + 14 }

// each is the time that the link takes for a frame of so many bytes, in seconds.
func (h twoHosts) each(bytes int) float64 { return float64(8*bytes) / float64(h.mbit) / 1e6 }

// No more answers come than the link carries requests, over UDP and TCP, one at a time and together; what is sent
// faster than that is said to be unanswered.
func TestNetTimesAnswersOverALinkOfAKnownDelay(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 1)
	// The port was used a moment ago, by TCP: whoever closes a connection first keeps its port for a minute.
	h.must("ip", "netns", "exec", h.server, sshtest.Tool(t, "python3"), "-c", fmt.Sprintf(`import socket
server = socket.create_server((%[1]q, 5201))
client = socket.create_connection((%[1]q, 5201))
server.accept()[0].close()
client.recv(1)
client.close()
`, serverAddress))
	out, err := exec.Command("ip", "netns", "exec", h.server, "ss", "-Htan", "state", "time-wait", "sport", "=",
		":5201").CombinedOutput()
	if err != nil || len(out) == 0 {
		t.Fatalf("no port of the server waits: %v %s", err, out)
	}
	d := h.asked(3, 1000)
	for i, frame := range []int{datagram(1400), segment(1400)} {
		c, want := d.Cells[i], h.each(frame)
		rate, p50, mean := c.Metrics[lab.RequestRate], c.Metrics[lab.Latency(lab.Request, "p50")],
			c.Metrics[lab.Latency(lab.Request, "mean")]
		if p50.Unit != "s" || p50.Center <= 0 || rate.Unit != "1/s" || rate.Center <= 0 || rate.Center > 1.1/want {
			t.Errorf("%s: %+v answers a second of %g, in %+v", c.Job, rate, 1/want, p50)
		}
		// How much longer the next request is in coming, the machine says.
		if one := mean.Center * rate.Center; mean.Center <= 0 || one > 1.1 {
			t.Errorf("%s: one at a time, the mean answer takes %g s, and %g come a second", c.Job,
				mean.Center, rate.Center)
		}
	}
	load, most := d.Cells[2], 1/h.each(datagram(1400))
	if rate, lost := load.Metrics[lab.RequestRate].Center, load.Metrics[lab.RequestsLost].Center; rate <= 0 ||
		rate > 1.25*most || lost <= 0 || lost >= 1 {
		t.Errorf("%.1f answered a second, %.3f lost", rate, lost)
	}
	if !warned(load.Warnings, "unanswered") {
		t.Errorf("%+v", load.Warnings)
	}
	h.checkNothingLeft()
}

// asked are requests of 1400 bytes over UDP and TCP, one at a time, and so many a second.
func (h twoHosts) asked(seconds, each int) netDocument {
	h.t.Helper()
	d := h.measured(h.net(fmt.Sprintf(`  - {name: udp, sockperf: {msg-size: 1400, time: %[1]ds}}
  - {name: tcp, sockperf: {protocol: tcp, msg-size: 1400, time: %[1]ds}}
  - {name: load, sockperf: {mode: under-load, mps: %[2]d, msg-size: 1400, time: %[1]ds}}
`, seconds, each), "--json"))
	if len(d.Cells) != 3 {
		h.t.Fatalf("%d cells", len(d.Cells))
	}
	return d
}

func warned(all []struct{ Code, Text string }, code string) bool {
	for _, w := range all {
		if w.Code == code {
			return true
		}
	}
	return false
}

// The answers of several pairs are added up over the seconds in which all were asking. Where a machine takes too long
// to start one of them there are none, and a warning says so.
func TestNetAddsUpAnswers(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 2)
	all, most := h.askedTogether(3, 8), 1/h.each(datagram(1400))
	rate := all.Metrics[lab.RequestRate].Center
	if summed := rate > 0 && all.Metrics[lab.CommonSeconds].Center > 0; summed == warned(all.Warnings, "no-sum") ||
		rate > 1.25*most {
		t.Errorf("%.1f a second of %.1f: %+v", rate, most, all)
	}
	h.checkNothingLeft()
}

// askedTogether is what pairs come to that ask over UDP, each one at a time.
func (h twoHosts) askedTogether(pairs, seconds int) netCell {
	h.t.Helper()
	d := h.measured(h.net(fmt.Sprintf("  - {name: udp, sockperf: {msg-size: 1400, time: %ds}}\n", seconds), "--pairs",
		fmt.Sprint(pairs), "--json"))
	if len(d.Cells) != pairs+1 {
		h.t.Fatalf("%d cells", len(d.Cells))
	}
	return d.Cells[pairs]
}

// sent are the packets that the client's end of the link has carried.
func (h twoHosts) sent() int {
	h.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", h.client, "cat",
		"/sys/class/net/headroom0/statistics/tx_packets").Output()
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
	h := slowHosts(t, 1)
	// One whose end comes before the link is down says nothing of it: the test was too late, and is made again.
	out := ""
	for range 20 {
		clearStore(t, h.store)
		cmd := h.net("  - {name: udp, sockperf: {msg-size: 1400, time: 5s}}\n", "--json")
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		ended := make(chan error, 1)
		begun := h.sent()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- cmd.Wait() }()
		// The link carries some 87 requests of this size a second, and mostly one is on its way: this is well into the
		// test, and long before its end.
		await(t, "requests are sent, or all is over", func() bool { return h.sent() >= begun+100 || len(ended) > 0 })
		h.must("ip", "-n", h.server, "link", "set", "headroom0", "down")
		time.Sleep(300 * time.Millisecond)
		h.must("ip", "-n", h.server, "link", "set", "headroom0", "up")
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if out = stdout.String(); strings.Contains(out, `"ended-early"`) {
			break
		}
	}
	if !strings.Contains(out, `"ended-early"`) || !strings.Contains(out, "a datagram was lost, for which") {
		t.Error(out)
	}
	h.checkNothingLeft()
}

// What is stopped or killed leaves no listener, and a server ends by itself where nobody ends it. What is in the way is
// said.
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
	stopped := h.net("  - {name: udp, sockperf: {time: 600s}}\n")
	h.goesOn(h.begun(stopped, "sockperf", `1 test`), "sockperf")
	await(t, "something listens on port 5201", sees)
	if code := h.stopped(stopped, syscall.SIGINT); code != 130 {
		t.Errorf("stopped: %d", code)
	}
	h.checkNothingLeft()
	if sees() {
		t.Error("something listens still")
	}
	killed := h.net("  - {name: udp, sockperf: {time: 600s}}\n")
	h.goesOn(h.begun(killed, "sockperf", `1 test`), "sockperf")
	h.stopped(killed, syscall.SIGKILL)
	if out, err := h.command("restore").CombinedOutput(); err != nil ||
		!bytes.Contains(out, []byte("headroom net --resume")) {
		t.Errorf("restore: %v\n%s", err, out)
	}
	h.checkNothingLeft()
	if sees() {
		t.Error("something listens still")
	}
	alone := func(longest time.Duration) *exec.Cmd {
		t.Helper()
		cmd := exec.Command("ip",
			append([]string{"netns", "exec", h.server}, sockperf.Server(nil, serverAddress, 5201, longest)...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	// With nobody to end it, as after a crash of this machine.
	if err := alone(3 * time.Second).Wait(); err == nil || sees() {
		t.Errorf("a server left alone: %v, it listens still: %v", err, sees())
	}
	other := alone(time.Hour)
	await(t, "the other server listens", sees)
	out, err := h.net("  - {name: udp, sockperf: {time: 1s}}\n").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("something listens on port 5201 of the server already")) {
		t.Errorf("%v\n%s", err, out)
	}
	if err := other.Process.Signal(syscall.SIGTERM); err != nil { // timeout passes it on
		t.Fatal(err)
	}
	_ = other.Wait()
	elsewhere := h.command("net", h.suite, "--on", "client=ssh://net-a", "--on", "server=ssh://net-b",
		"--address", "198.18.7.9")
	if out, err := elsewhere.CombinedOutput(); err == nil ||
		!bytes.Contains(out, []byte("sockperf can't listen on 198.18.7.9, port 5201")) ||
		!bytes.Contains(out, []byte("Cannot assign requested address")) {
		t.Errorf("%v\n%s", err, out)
	}
	h.checkNothingLeft()
}

// An event happens during requests as during any load: for as long as the link is down nothing is answered, and TCP
// needs a while more to try again.
func TestNetEventUponRequests(t *testing.T) {
	t.Parallel()
	h := slowHosts(t, 1)
	one, rep := h.downUponRequests(19, early, 4)
	if one.At <= 0 || one.Undone <= one.At || one.Uncertainty <= 0 {
		t.Errorf("%+v", one)
	}
	// From when the link surely was down, to when it was to come up again. One request was on its way, whose answer may
	// have been read a while after it had come.
	down, up := one.At+one.Took+one.Uncertainty, one.Undone-one.Uncertainty
	if stall := rep.Values[lab.EventStall]; stall < (up-down)/2 {
		t.Errorf("nothing was answered for %.2f s of %.2f: %+v", stall, up-down, rep.Warnings)
	}
	// By its own rates the requests stopped when the event is said to have been.
	quiet, answered := 0, 0.0
	for i, rate := range rep.Events.Rate.Values {
		if from := float64(i) * rep.Events.Rate.Interval; from > down && from+rep.Events.Rate.Interval < up {
			quiet++
			answered += rate * rep.Events.Rate.Interval
		}
	}
	if answered > 1.01 {
		t.Errorf("%.1f requests were answered from %.1f to %.1f s, while the link was down", answered, down, up)
	}
	if quiet == 0 && up-down > 1 {
		t.Errorf("no step of the rates lies in the event: %+v", one)
	}
	h.checkNothingLeft()
}

// downUponRequests takes the link down for a while under requests over TCP.
func (h twoHosts) downUponRequests(seconds, at, down int) (lab.Occurrence, lab.Repetition) {
	h.t.Helper()
	d := h.measured(h.net(fmt.Sprintf("  - {name: tcp, sockperf: {protocol: tcp, msg-size: 1400, time: %ds}}\n",
		seconds), "--json", "--event-on", "client",
		"--event", fmt.Sprintf("%ds: ip link set headroom0 down", at), "--undo", "ip link set headroom0 up",
		"--event-for", fmt.Sprintf("%ds", down)))
	var rep lab.Repetition
	for one, err := range h.onlyRun().Repetitions() {
		if rep = one; err != nil {
			h.t.Fatal(err)
		}
	}
	if rep.Events == nil || len(rep.Events.Each) != 1 {
		h.t.Fatalf("%+v, %+v", rep.Events, d.Cells[0].Warnings)
	}
	return rep.Events.Each[0], rep
}
