package sockperf

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/load/option"
	"github.com/headroom/headroom/internal/unit"
)

// The modes, sockperf's subcommands: PingPong sends a request when the one before was answered, UnderLoad sends them at
// a rate whatever comes back, and Throughput wants no answers.
const (
	PingPong   = "ping-pong"
	UnderLoad  = "under-load"
	Throughput = "throughput"
)

// Options are those of sockperf's client that a job can set, by their long names. "mode" is the subcommand, "protocol"
// stands for --tcp. Source: sockperf --help of 3.7.
func Options() map[string]option.Option {
	return map[string]option.Option{
		"mode":     {Kind: option.Text, Words: []string{PingPong, UnderLoad, Throughput}},
		"protocol": {Kind: option.Text, Words: []string{"tcp", "udp"}},
		"time":     {Kind: option.Duration}, "msg-size": {Kind: option.Number},
		"mps":   {Kind: option.Number, Words: []string{"max"}},
		"burst": {Kind: option.Number}, "reply-every": {Kind: option.Number}, "buffer-size": {Kind: option.Number},
		"nonblocked": {Kind: option.Toggle},
	}
}

// Mode of a job.
func Mode(params map[string]string) string {
	if params["mode"] == "" {
		return PingPong
	}
	return params["mode"]
}

// Fault says what is wrong with the options of one test; empty when nothing is.
func Fault(params map[string]string) (message, hint string) {
	size, _ := strconv.Atoi(params["msg-size"])
	seconds := wanted(params)
	switch mode := Mode(params); {
	case mode == UnderLoad && params["mps"] == "":
		return "sockperf sends 10000 messages a second under load where no rate is given",
			"add mps: 10000, or mps: max for as many as it can"
	case mode != UnderLoad && params["reply-every"] != "":
		return "reply-every is for under-load: " + mode + " has no use for it", "delete it, or add mode: under-load"
	case size > 0 && size < minMessage || size > maxMessage:
		return "a message has from 14 to 65507 bytes", "change msg-size"
	case seconds < 1:
		return "sockperf does not count the first 0.4 s and the last 0.05 s", "make time at least 1s"
	}
	return "", ""
}

// The sizes that a message can have: sockperf's header, and what fits into a UDP datagram. Source: defs.h,
// MIN_PAYLOAD_SIZE and MAX_PAYLOAD_SIZE.
const (
	minMessage = 14
	maxMessage = 65507
)

// defaultTime is headroom's: sockperf's own is one second, of which it counts half.
const defaultTime = 10 * time.Second

func wanted(params map[string]string) float64 {
	if d, err := unit.ParseDuration(params["time"]); err == nil && d > 0 {
		return d.Seconds()
	}
	return defaultTime.Seconds()
}

// Ramp is how long a client is there before what counts: it measures its clock for 0.1 s, waits 2 s between its first
// messages and the test, and leaves out 0.4 s of that (client.cpp).
const Ramp = 2500 * time.Millisecond

// TestTime is how long a test with these options runs, what does not count included.
func TestTime(params map[string]string) time.Duration {
	return time.Duration(wanted(params)*float64(time.Second)) + Ramp
}

// LogName is the file, in the folder where the client runs, that gets the times of every request and its answer.
const LogName = "requests.csv"

// Client is the argument vector of a client. Answers are timed over the whole way there and back (--full-rtt); by
// itself sockperf prints half of that. Under load every message is a request, unless the job says otherwise: by itself
// sockperf has one of a hundred answered.
func Client(params map[string]string, address string, port int) []string {
	mode := Mode(params)
	argv := []string{"sockperf", mode, "--ip", address, "--port", strconv.Itoa(port), "--time",
		strconv.Itoa(int(math.Ceil(wanted(params))))}
	if mode != Throughput {
		argv = append(argv, "--full-rtt", "--full-log", LogName)
	}
	if mode == UnderLoad && params["reply-every"] == "" {
		argv = append(argv, "--reply-every", "1")
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		switch {
		case name == "mode", name == "time":
		case name == "protocol":
			if value == "tcp" {
				argv = append(argv, "--tcp")
			}
		case Options()[name].Kind == option.Toggle:
			if value == "1" {
				argv = append(argv, "--"+name)
			}
		default:
			argv = append(argv, "--"+name, value)
		}
	}
	return argv
}

// Server is the argument vector of a server for one test. It listens on the address under test and nowhere else. By
// itself it would go on for ever: headroom ends it with the test, and timeout ends it after so long, whatever becomes
// of whoever started it.
func Server(params map[string]string, address string, port int, longest time.Duration) []string {
	argv := []string{"timeout", "-k", "5", strconv.Itoa(int(longest.Seconds())), "sockperf", "server", "--ip", address,
		"--port", strconv.Itoa(port)}
	if params["protocol"] == "tcp" {
		// A port of TCP that another test has used is still waiting for what may be on its way (TIME_WAIT). With this
		// option it can be listened on, unless somebody listens there; two servers of UDP could share a port by it.
		argv = append(argv, "--tcp", "--uc-reuseaddr")
	}
	return argv
}

// Title says in a few words what a test does: "udp ping-pong", "tcp under-load mps 10000 msg-size 100".
func Title(params map[string]string) string {
	words := []string{params["protocol"], Mode(params)}
	if words[0] == "" {
		words[0] = "udp"
	}
	for _, name := range []string{"mps", "msg-size", "burst", "reply-every", "buffer-size"} {
		if params[name] != "" {
			words = append(words, name+" "+params[name])
		}
	}
	if params["nonblocked"] == "1" {
		words = append(words, "nonblocked")
	}
	return strings.Join(words, " ")
}
