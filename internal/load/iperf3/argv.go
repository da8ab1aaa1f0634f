package iperf3

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

// Options are the options of iperf3's client that a job can set, by their long names. A job does not choose which end
// is the server, where it runs, or the output format. "protocol" is not an option of iperf3: it selects --udp. Source:
// iperf3(1).
func Options() map[string]option.Option {
	return map[string]option.Option{
		"protocol": {Kind: option.Text, Words: []string{"tcp", "udp"}}, "time": {Kind: option.Duration},
		"omit":     {Kind: option.Duration, Zero: true},
		"parallel": {Kind: option.Number}, "length": {Kind: option.Size}, "window": {Kind: option.Size},
		"bitrate": {Kind: option.Size}, "set-mss": {Kind: option.Number},
		"congestion": {Kind: option.Text}, "dscp": {Kind: option.Text}, "reverse": {Kind: option.Toggle},
		"bidir":    {Kind: option.Toggle},
		"no-delay": {Kind: option.Toggle}, "zerocopy": {Kind: option.Toggle},
	}
}

// defaultTime is iperf3's default.
const defaultTime = 10 * time.Second

// TestTime returns how long a test with these options runs, including the time that does not count.
func TestTime(params map[string]string) time.Duration {
	run := defaultTime
	if d, err := unit.ParseDuration(params["time"]); err == nil && d > 0 {
		run = d
	}
	omit, _ := unit.ParseDuration(params["omit"])
	return run + omit
}

// Payload returns the minimum payload of a test's packets, in bytes, as far as its options determine it; 0 if packets
// are as large as possible.
func Payload(params map[string]string) int64 {
	var least int64
	for _, name := range []string{"set-mss", "length"} {
		small := name == "set-mss" || params["protocol"] == "udp" || params["no-delay"] == "1"
		n, err := unit.ParseBytes(params[name])
		if err == nil && n > 0 && small && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// Flows returns the number of streams of a test.
func Flows(params map[string]string) int64 {
	if n, err := strconv.ParseInt(params["parallel"], 10, 64); err == nil && n > 0 {
		return n
	}
	return 1
}

// Port is iperf3's default.
const Port = 5201

// Fault returns what is wrong with the options of one test; empty if they are valid.
func Fault(params map[string]string) (message, hint string) {
	switch {
	case params["reverse"] == "1" && params["bidir"] == "1":
		return "reverse and bidir contradict each other", "delete one of the two"
	case params["protocol"] == "udp" && params["bitrate"] == "":
		return "iperf3 sends 1 Mbit/s of UDP where no bitrate is given",
			"add bitrate: 1g, or bitrate: 0 for as much as it can"
	}
	return "", ""
}

// Client returns the argument vector of a client.
func Client(params map[string]string, address string, port int) []string {
	argv := []string{"iperf3", "--client", address, "--port", strconv.Itoa(port), "--json", "--get-server-output",
		"--connect-timeout", "5000"}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		switch {
		case name == "protocol":
			if value == "udp" {
				argv = append(argv, "--udp")
			}
		case Options()[name].Kind == option.Toggle:
			if value == "1" {
				argv = append(argv, "--"+name)
			}
		case Options()[name].Kind == option.Duration:
			if d, err := unit.ParseDuration(value); err == nil {
				argv = append(argv, "--"+name, strconv.Itoa(int(math.Ceil(d.Seconds())))) // it reads whole seconds
			}
		default:
			argv = append(argv, "--"+name, value)
		}
	}
	return argv
}

// Server returns the argument vector of a server for one test. It listens only on the address under test, and no longer
// than longest, even if the process that started it has ended: timeout ends it, with options that busybox supports,
// too.
func Server(address string, port int, longest time.Duration) []string {
	return []string{"timeout", "-k", "5", strconv.Itoa(int(longest.Seconds())),
		"iperf3", "--server", "--one-off", "--bind", address, "--port", strconv.Itoa(port), "--json"}
}

// Finely returns a client's or a server's argument vector with this interval; iperf3's minimum is a tenth of a second.
func Finely(argv []string, interval time.Duration) []string {
	return append(slices.Clone(argv), "--interval", strconv.FormatFloat(interval.Seconds(), 'g', -1, 64))
}

// Title describes a test in a few words: "tcp x8", "tcp reverse".
func Title(params map[string]string) string {
	words := []string{params["protocol"]}
	if words[0] == "" {
		words[0] = "tcp"
	}
	for _, toggle := range []string{"reverse", "bidir", "zerocopy"} {
		if params[toggle] == "1" {
			words = append(words, toggle)
		}
	}
	for _, name := range []string{"length", "window", "bitrate", "congestion"} {
		if params[name] != "" {
			words = append(words, name+" "+params[name])
		}
	}
	if n := params["parallel"]; n != "" && n != "1" {
		words = append(words, "x"+n)
	}
	return strings.Join(words, " ")
}
