package perftest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/load/option"
	"github.com/headroom/headroom/internal/unit"
)

// tests are the programs of perftest that a job can use; their names describe them.
func tests() []string {
	return []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat"}
}

// Options are the options that a job can set, by their long names; "test" is the program. Source: perftest's --help of
// 4.5.
func Options() map[string]option.Option {
	return map[string]option.Option{
		"test": {Kind: option.Text, Words: tests()}, "duration": {Kind: option.Duration},
		"iters": {Kind: option.Number}, "size": {Kind: option.Number},
		"qp": {Kind: option.Number}, "tx-depth": {Kind: option.Number},
		"mtu": {Kind: option.Text, Words: []string{"256", "512", "1024", "2048", "4096"}},
	}
}

// Program returns the program that a job starts.
func Program(params map[string]string) string {
	if params["test"] == "" {
		return "ib_write_bw"
	}
	return params["test"]
}

// timesAnswers reports whether a job measures the latency of single operations, one at a time.
func timesAnswers(params map[string]string) bool { return strings.HasSuffix(Program(params), "_lat") }

// Fault returns what is wrong with the options of one test; empty if they are valid.
func Fault(params map[string]string) (message, hint string) {
	for _, name := range []string{"qp", "tx-depth"} {
		if timesAnswers(params) && params[name] != "" {
			return Program(params) + " has one operation on its way, and no " + name, "delete it"
		}
	}
	iters, _ := strconv.Atoi(params["iters"])
	d, _ := unit.ParseDuration(params["duration"])
	switch {
	case params["duration"] != "" && params["iters"] != "":
		return "duration and iters contradict each other", "delete one of the two"
	case params["iters"] != "" && iters < minIterations:
		return "perftest makes 5 iterations and more", "raise iters"
	case params["duration"] != "" && d <= 2*margin:
		return "perftest leaves out 2 s at either end", "make duration more than 4s"
	}
	return "", ""
}

const (
	minIterations = 5
	// margin is the time that a test with a duration ignores at its beginning and at its end (--margin).
	margin = 2 * time.Second
	// Defaults of a test. A rate is measured for a duration. Latencies are measured for a number of iterations, because
	// a test of latency with a duration prints no percentiles.
	defaultDuration   = 14 * time.Second
	defaultIterations = 20000
	// defaultTestTime is the assumed time of a test with a number of iterations. The real time is unknown.
	defaultTestTime = 10 * time.Second
	// setUpTime is the additional time of a client, for connecting and registering memory.
	setUpTime = 2 * time.Second
)

// TestTime returns how long a test with these options runs, including the time that does not count.
func TestTime(params map[string]string) time.Duration {
	if d, ok := byTime(params); ok {
		return d + setUpTime
	}
	return defaultTestTime + setUpTime
}

func byTime(params map[string]string) (time.Duration, bool) {
	if d, err := unit.ParseDuration(params["duration"]); err == nil && d > 0 {
		return d, true
	}
	return defaultDuration, params["iters"] == "" && !timesAnswers(params)
}

// shared are the arguments that must be equal at both ends. They connect through the RDMA connection manager
// (--rdma_cm): it finds the device and the GID index for an address, and needs no other port.
func shared(params map[string]string, port int) []string {
	argv := []string{Program(params), "--rdma_cm", "--port", strconv.Itoa(port)}
	if d, ok := byTime(params); ok {
		argv = append(argv, "--duration", strconv.Itoa(int(d.Seconds())))
	} else if params["iters"] == "" {
		argv = append(argv, "--iters", strconv.Itoa(defaultIterations))
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name != "test" && name != "duration" {
			argv = append(argv, "--"+name, params[name])
		}
	}
	return argv
}

// Client returns the argument vector of a client.
func Client(params map[string]string, address string, port int) []string {
	return append(shared(params, port), address)
}

// Server returns the argument vector of a server for one test. It listens no longer than longest, even if the process
// that started it has ended: timeout ends it. With Bind and an address it listens only there.
func Server(params map[string]string, port int, longest time.Duration) []string {
	return append([]string{"timeout", "-k", "5", strconv.Itoa(int(longest.Seconds()))}, shared(params, port)...)
}

// Bind is the option that names the address to listen on. Versions before 23.07 have none: their --source_ip is another
// option of the same name, for raw Ethernet (perftest #210), and with it a server of 4.5 still listens on 0.0.0.0
// (tested).
const Bind = "--bind_source_ip"

// Title describes a test in a few words: "ib_write_bw size 65536 qp 4".
func Title(params map[string]string) string {
	words := []string{Program(params)}
	for _, name := range []string{"size", "qp", "tx-depth", "mtu", "iters"} {
		if params[name] != "" {
			words = append(words, name+" "+params[name])
		}
	}
	return strings.Join(words, " ")
}
