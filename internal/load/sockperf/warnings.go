package sockperf

import (
	"fmt"
	"strconv"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

const (
	// uncountedSeconds is the part of a test that sockperf ignores, in seconds: 0.4 at its beginning and 0.05 at its
	// end (defs.h, TEST_START_WARMUP_MSEC and TEST_END_COOLDOWN_MSEC).
	uncountedSeconds = 0.45
	// stallSeconds is how many seconds before its requested time a test must have ended to count as stuck: more than
	// the wait for a retransmitted segment.
	stallSeconds = 0.5
	// enough is the share of the requested rate that must have been sent.
	enough = 0.95
)

// Warnings are the reasons to distrust a test with these params.
func (r Result) Warnings(params map[string]string) []lab.Warning {
	var list []lab.Warning
	warn := func(code, text string, taints ...string) {
		list = append(list, lab.Warning{Code: code, Text: text, Taints: taints})
	}
	if r.Failed != "" {
		warn("no-result", "sockperf says: "+r.Failed, "*")
		return list
	}
	mode := Mode(params)
	if mode == Throughput {
		if params["protocol"] != "tcp" {
			list = append(list, lab.Warning{Code: "only-sent", Taints: []string{lab.SendRate},
				Text: "sockperf counts what it sent, but not what arrived: over UDP the rest was lost; " +
					"take protocol: tcp, or iperf3 with protocol: udp"})
		}
		return list
	}
	latency := lab.Request + ".latency.*"
	asked, err := strconv.ParseFloat(params["mps"], 64)
	pace := 0.0 // seconds between two requests
	if err == nil && asked > 0 {
		pace = 1 / asked
	}
	if stuck := r.Total.Seconds - uncountedSeconds - r.Valid.Seconds; stuck > stallSeconds+2*pace {
		text := fmt.Sprintf("answers came for %.1f s of the %.1f s of the test: the rate and the times are "+
			"of that part alone", r.Valid.Seconds, r.Total.Seconds)
		if mode == PingPong && params["protocol"] != "tcp" {
			text += "; a datagram was lost, for which sockperf's ping-pong waits until the test ends, and it counts " +
				"none as dropped; take protocol: tcp, or mode: under-load"
		}
		warn("ended-early", text, "*")
	}
	unanswered := func(text string, taints ...string) {
		list = append(list, lab.Warning{Code: "unanswered", Text: text, Taints: taints})
	}
	if r.Dropped > 0 {
		unanswered(fmt.Sprintf("%d of %d requests (%s) had no answer: the times are of the others, and the slowest "+
			"are missing; send fewer a second, or look where they were dropped",
			r.Dropped, r.Dropped+r.Valid.Received, unit.Percent(r.lost())), latency)
	}
	if r.Disordered > 0 {
		unanswered(fmt.Sprintf("%d answers came after that of a later request, and sockperf left them out",
			r.Disordered), latency, lab.RequestRate)
	}
	if r.Duplicated > 0 {
		unanswered(fmt.Sprintf("%d answers came twice", r.Duplicated), lab.RequestRate)
	}
	if pace > 0 && r.Valid.Seconds > 0 {
		if sent := float64(r.Valid.Sent) / r.Valid.Seconds; sent < enough*asked {
			warn("rate-not-reached",
				fmt.Sprintf("%s requests a second were asked for, and %s sent: the client or the way could do no "+
					"more, so that requests waited before they were sent; ask for less",
					unit.IOPS(asked), unit.IOPS(sent)), latency)
		}
	}
	return list
}
