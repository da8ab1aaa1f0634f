package iperf3

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

const (
	// busy is the share of a core above which a thread of iperf3 is nearly saturated.
	busy = 0.95
	// defaultUDP is the rate in B/s of each UDP stream without a requested rate. Source: UDP_RATE in iperf3's iperf.h.
	defaultUDP = 1024 * 1024 / 8
	// rateShare is the part of a requested rate from which the rate counts as reached, as with fio.
	rateShare = 0.98
	// lostShare is the share of lost UDP packets above which the path, or an end, is too slow for the rate. Losing the
	// first packets of a test can be normal, and is below that.
	lostShare = 0.01
	// resentShare is the share of TCP segments above which losses limit the rate: at a round trip of 1 ms to some 600
	// Mbit/s a stream (Mathis et al., 1997: 1.22 segments per round trip, over the root of the share).
	resentShare = 5e-4
	// segment is the payload of a TCP segment over Ethernet without jumbo frames. Larger ones make the share larger.
	segment = 1448
	// shortest is the time in seconds below which a TCP stream may still be opening its window: some ten round trips,
	// of 100 ms on long paths.
	shortest = 1.0
)

// Warnings are the reasons to distrust a test.
func (r Result) Warnings() []lab.Warning {
	var list []lab.Warning
	warn := func(code, text string, taints ...string) {
		list = append(list, lab.Warning{Code: code, Text: text, Taints: taints})
	}
	if r.Failed != "" {
		code := "errors"
		if r.Forward == nil && r.Reverse == nil {
			code = "no-result"
		}
		warn(code, "iperf3 says: "+r.Failed, "*")
	}
	threads := 1
	if r.threaded() {
		threads = max(1, r.Streams)
		if r.Forward != nil && r.Reverse != nil {
			threads *= 2
		}
	}
	for _, end := range []struct {
		name  string
		share float64
	}{{"client", r.ClientCPU}, {"server", r.ServerCPU}} {
		if end.share < busy*float64(threads) {
			continue
		}
		has, advice := "one thread", "use more streams (--parallel)"
		if threads > 1 {
			has = fmt.Sprintf("%d threads", threads)
		}
		if !r.threaded() {
			advice = "start as many pairs of processes as it takes, or use 3.16 and newer, where each stream has a " +
				"thread"
		}
		warn("generator-bound",
			fmt.Sprintf("the %s's iperf3 used %.0f%% of a core, and has %s: this is its limit, not the network's; %s",
				end.name, 100*end.share, has, advice), "*")
	}
	for _, direction := range []string{lab.Send, lab.Receive} {
		if f := r.flows()[direction]; f != nil {
			list = append(list, r.flowWarnings(direction, f)...)
		}
	}
	return list
}

// flowWarnings are the reasons to distrust the results of one direction.
func (r Result) flowWarnings(direction string, f *Flow) []lab.Warning {
	if f.Sent > 0 && f.Bytes == 0 {
		return []lab.Warning{{Code: "no-result", Taints: []string{"*"}, Text: fmt.Sprintf("nothing arrived in %s: the "+
			"%s that were sent are in buffers, or lost; test for ten seconds or more", unit.Latency(f.Seconds),
			unit.Bytes(float64(f.Sent)))}}
	}
	var list []lab.Warning
	rate := []string{lab.Bitrate(direction)}
	warn := func(code string, taints []string, format string, args ...any) {
		list = append(list, lab.Warning{Code: code, Taints: taints, Text: fmt.Sprintf(format, args...)})
	}
	if f.Seconds > 0 && f.Seconds < shortest {
		warn("short-run", []string{"*"}, "measured for %s only, while connections may still speed up; test for ten "+
			"seconds or more", unit.Latency(f.Seconds))
	}
	streams := float64(max(1, r.Streams))
	asked, udp := r.Rate*streams, r.Protocol == "UDP"
	if of := f.Rate() / streams; udp && r.Rate == 0 && of >= rateShare*defaultUDP && of*rateShare <= defaultUDP {
		asked = defaultUDP * streams // older versions don't report it
	}
	if asked > 0 && f.Rate() >= rateShare*asked {
		why := "iperf3 held itself to the %s a stream that were asked for (--bitrate), and the network kept up"
		if udp && math.Round(asked/streams) == defaultUDP {
			why = "iperf3 sends UDP at %s a stream unless --bitrate says otherwise, and the network kept up"
		}
		warn("rate-limited", rate, why+": this is the setting, not the limit; raise it until that fails",
			unit.Bitrate(8*asked/streams))
	}
	if lost := float64(f.Lost) / float64(f.Packets); f.Packets > 0 && lost >= lostShare {
		list = append(list, lab.Warning{Code: "packets-lost", Taints: []string{direction + ".*"}, Text: fmt.Sprintf(
			"%s of the UDP packets were lost (%d of %d): the bitrate is what arrived; send less (--bitrate) until they "+
				"arrive, and look at drops of the ports and of the receiver's socket (netstat -su)", unit.Percent(lost),
			f.Lost, f.Packets)})
	}
	if resent := float64(f.Retransmits) * segment / float64(f.Sent); f.Sent > 0 && resent >= resentShare {
		list = append(list, lab.Warning{Code: "retransmits", Taints: rate, Text: fmt.Sprintf("%d segments were sent "+
			"again, %s of all: packets are lost on the way, which slows TCP down; look at drops and errors of the ports "+
			"on the way (ethtool -S), at flow control and at the MTU", f.Retransmits, unit.Percent(resent))})
	}
	return list
}

// threaded reports whether each stream has a separate thread. Source: the release notes of 3.16.
func (r Result) threaded() bool {
	major, minor, _ := strings.Cut(r.Version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (a > 3 || a == 3 && b >= 16)
}
