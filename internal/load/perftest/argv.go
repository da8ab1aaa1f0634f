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

// tests are the programs of perftest that a job can have: what they do is in their names.
func tests() []string {
	return []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat"}
}

// Options are those that a job can set, by their long names; "test" is the program. Source: perftest's --help of 4.5.
func Options() map[string]option.Option {
	return map[string]option.Option{
		"test": {Kind: option.Text, Words: tests()}, "duration": {Kind: option.Duration},
		"iters": {Kind: option.Number}, "size": {Kind: option.Number},
		"qp": {Kind: option.Number}, "tx-depth": {Kind: option.Number},
		"mtu": {Kind: option.Text, Words: []string{"256", "512", "1024", "2048", "4096"}},
	}
}

// Program that a job starts.
func Program(params map[string]string) string {
	if params["test"] == "" {
		return "ib_write_bw"
	}
	return params["test"]
}

// timesAnswers says that a job measures how long something takes, one at a time.
func timesAnswers(params map[string]string) bool { return strings.HasSuffix(Program(params), "_lat") }

// Fault says what is wrong with the options of one test; empty when nothing is.
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
	// margin is what a test by time leaves out at its beginning and at its end (--margin).
	margin = 2 * time.Second
	// What a test does where its job does not say: a rate is measured for so long, and answers are timed so often, for
	// a test of answers by time prints no percentiles.
	defaultDuration   = 14 * time.Second
	defaultIterations = 20000
	// defaultTestTime is how long a test takes whose number of iterations is given. Nobody knows.
	defaultTestTime = 10 * time.Second
	// setUpTime is what a client takes beside its test, to connect and to take in memory.
	setUpTime = 2 * time.Second
)

// TestTime is how long a test with these options runs, what does not count included.
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

// shared are the arguments that both ends must have alike. They meet through the RDMA connection manager (--rdma_cm):
// it finds the device and the index of its GID for an address, and there is no other port to listen on.
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

// Client is the argument vector of a client.
func Client(params map[string]string, address string, port int) []string {
	return append(shared(params, port), address)
}

// Server is the argument vector of a server for one test. It listens no longer than so long, whatever becomes of
// whoever started it: timeout ends it. Bind and an address have it listen there alone.
func Server(params map[string]string, port int, longest time.Duration) []string {
	return append([]string{"timeout", "-k", "5", strconv.Itoa(int(longest.Seconds()))}, shared(params, port)...)
}

// Bind is the option that names the address to listen on. Versions before 23.07 have none: their --source_ip is another
// option of the same name, for raw Ethernet (perftest #210), and with it a server of 4.5 listens on 0.0.0.0 all the
// same (tried).
const Bind = "--bind_source_ip"

// Title says in a few words what a test does: "ib_write_bw size 65536 qp 4".
func Title(params map[string]string) string {
	words := []string{Program(params)}
	for _, name := range []string{"size", "qp", "tx-depth", "mtu", "iters"} {
		if params[name] != "" {
			words = append(words, name+" "+params[name])
		}
	}
	return strings.Join(words, " ")
}
