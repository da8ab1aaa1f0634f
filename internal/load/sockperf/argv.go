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

// The modes, sockperf's subcommands: PingPong sends a request after the previous one was answered, UnderLoad sends them
// at a fixed rate, and Throughput expects no answers.
const (
	PingPong   = "ping-pong"
	UnderLoad  = "under-load"
	Throughput = "throughput"
)

// Options are the options of sockperf's client that a job can set, by their long names. "mode" is the subcommand,
// "protocol" selects --tcp. Source: sockperf --help of 3.7.
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

// Mode returns the mode of a job.
func Mode(params map[string]string) string {
	if params["mode"] == "" {
		return PingPong
	}
	return params["mode"]
}

// Fault returns what is wrong with the options of one test; empty if they are valid.
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

// The sizes that a message can have: at least sockperf's header, and at most a UDP datagram. Source: defs.h,
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

// Ramp is how long a client runs before the time that counts: it measures its clock for 0.1 s, waits 2 s between its
// first messages and the test, and ignores the first 0.4 s of the test (client.cpp).
const Ramp = 2500 * time.Millisecond

// TestTime returns how long a test with these options runs, including the time that does not count.
func TestTime(params map[string]string) time.Duration {
	return time.Duration(wanted(params)*float64(time.Second)) + Ramp
}

// LogName is the file, in the client's working directory, for the times of every request and its answer.
const LogName = "requests.csv"

// Client returns the argument vector of a client. Latencies are for the whole round trip (--full-rtt); by default
// sockperf prints half of it. Under load every message is a request, unless the job sets another number: by default
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

// Server returns the argument vector of a server for one test. It listens only on the address under test. Such a server
// runs forever: headroom ends it with the test, and timeout ends it after longest, even if the process that started it
// has ended.
func Server(params map[string]string, address string, port int, longest time.Duration) []string {
	argv := []string{"timeout", "-k", "5", strconv.Itoa(int(longest.Seconds())), "sockperf", "server", "--ip", address,
		"--port", strconv.Itoa(port)}
	if params["protocol"] == "tcp" {
		// A TCP port that another test has used is still reserved for packets in flight (TIME_WAIT). With this option
		// it can be listened on, unless another process listens on it. With UDP the option would let two servers share
		// a port.
		argv = append(argv, "--tcp", "--uc-reuseaddr")
	}
	return argv
}

// Title describes a test in a few words: "udp ping-pong", "tcp under-load mps 10000 msg-size 100".
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
