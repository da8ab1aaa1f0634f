// Package served lists the load generators that have a server at the other end: what each is called, and its argument
// vectors.
package served

import (
	"slices"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/load/option"
	"github.com/headroom/headroom/internal/load/perftest"
	"github.com/headroom/headroom/internal/load/sockperf"
)

// End is what a client and its server share: the address under test, and a port of it.
type End struct {
	Address string
	Port    int
	// Unbound says that the server's program is too old to take an address to listen on.
	Unbound bool
}

// Listening is what a server listens with.
type Listening int

// RDMA is a port of the RDMA connection manager, which is none of TCP's.
const (
	TCP Listening = iota
	UDP
	RDMA
)

// Port is that of the first pair: iperf3's own.
const Port = iperf3.Port

// Generator is a load generator with a server at the other end. What depends on the options of a test gets them as
// params.
type Generator struct {
	// Engine is its name in runs, and Key that of its options in suite files.
	Engine, Key string
	// Program that a test starts, and how to install it.
	Program func(params map[string]string) string
	Install string
	// Options that a job can set, and what is wrong with those of one test: message is empty when nothing is.
	Options func() map[string]option.Option
	Fault   func(params map[string]string) (message, hint string)
	// TestTime is how long a test runs, and Title what it does in a few words.
	TestTime func(params map[string]string) time.Duration
	Title    func(params map[string]string) string
	// Client and Server are the argument vectors. A server listens on the end's address and nowhere else, and ends by
	// itself after so long.
	Client func(params map[string]string, at End) []string
	Server func(params map[string]string, at End, longest time.Duration) []string
	// Listens is how the server does.
	Listens func(params map[string]string) Listening
	// ErrorText is what a server or client says went wrong; empty where it says nothing of that.
	ErrorText func(text []byte) string
}

// Generators are all of them.
func Generators() []Generator {
	return []Generator{
		{
			Engine: lab.EngineIperf3, Key: "iperf3", Program: always("iperf3"),
			Install: "apt install iperf3 (Debian, Ubuntu), dnf install iperf3 (Fedora, RHEL), zypper install iperf " +
				"(SUSE), pacman -S iperf3 (Arch), apk add iperf3 (Alpine)",
			Options: iperf3.Options, Fault: iperf3.Fault, TestTime: iperf3.TestTime, Title: iperf3.Title,
			Client: func(params map[string]string, at End) []string {
				return iperf3.Client(params, at.Address, at.Port)
			},
			Server: func(_ map[string]string, at End, longest time.Duration) []string {
				return iperf3.Server(at.Address, at.Port, longest)
			},
			Listens:   func(map[string]string) Listening { return TCP }, // it begins with a connection in any case
			ErrorText: errorText(iperf3.ParseError),
		},
		{
			Engine: lab.EngineSockperf, Key: "sockperf", Program: always("sockperf"),
			Install: "apt install sockperf (Debian, Ubuntu), dnf install sockperf (Fedora); others build it from " +
				"https://github.com/Mellanox/sockperf",
			Options: sockperf.Options, Fault: sockperf.Fault, TestTime: sockperf.TestTime, Title: sockperf.Title,
			Client: func(params map[string]string, at End) []string {
				return sockperf.Client(params, at.Address, at.Port)
			},
			Server: func(params map[string]string, at End, longest time.Duration) []string {
				return sockperf.Server(params, at.Address, at.Port, longest)
			},
			Listens: func(params map[string]string) Listening {
				if params["protocol"] == "tcp" {
					return TCP
				}
				return UDP
			},
			ErrorText: errorText(sockperf.ParseError),
		},
		{
			Engine: lab.EnginePerftest, Key: "rdma", Program: perftest.Program,
			Install: "apt install perftest iproute2 (Debian, Ubuntu), dnf install perftest iproute (Fedora, RHEL)",
			Options: perftest.Options, Fault: perftest.Fault, TestTime: perftest.TestTime, Title: perftest.Title,
			Client: func(params map[string]string, at End) []string {
				return perftest.Client(params, at.Address, at.Port)
			},
			Server: func(params map[string]string, at End, longest time.Duration) []string {
				argv := perftest.Server(params, at.Port, longest)
				if !at.Unbound {
					argv = append(argv, perftest.Bind, at.Address)
				}
				return argv
			},
			Listens:   func(map[string]string) Listening { return RDMA },
			ErrorText: func([]byte) string { return "" }, // it has no mark for what is an error
		},
	}
}

// Of is the generator of an engine.
func Of(engine string) (Generator, bool) {
	all := Generators()
	i := slices.IndexFunc(all, func(g Generator) bool { return g.Engine == engine })
	if i < 0 {
		return Generator{}, false
	}
	return all[i], true
}

// Longest is how long a server may listen for a test that takes so long: it waits for its client as long as that takes.
func Longest(test time.Duration) time.Duration { return test + time.Minute }

func always(program string) func(map[string]string) string {
	return func(map[string]string) string { return program }
}

// errorText is a parser of errors whose answer may be empty.
func errorText(parse func([]byte) (string, error)) func([]byte) string {
	return func(text []byte) string {
		s, err := parse(text)
		if err != nil {
			return ""
		}
		return s
	}
}
