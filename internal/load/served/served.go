// Package served lists the load generators that have a server at the other end: their names and argument vectors.
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

// End is the part that a client and its server share: the address under test, and a port on it.
type End struct {
	Address string
	Port    int
	// Unbound is set if the server's program is too old for an option with the address to listen on.
	Unbound bool
}

// Listening is the kind of port that a server listens on.
type Listening int

// RDMA is a port of the RDMA connection manager, separate from TCP's ports.
const (
	TCP Listening = iota
	UDP
	RDMA
)

// Port is the port of the first pair: iperf3's default.
const Port = iperf3.Port

// Generator is a load generator with a server at the other end. Functions get the options of a test as params.
type Generator struct {
	// Engine is its name in runs, and Key the name of its options in suite files.
	Engine, Key string
	// Program returns the program that a test starts; Install is how to install it.
	Program func(params map[string]string) string
	Install string
	// Options are the options that a job can set. Fault returns what is wrong with the options of one test: message is
	// empty if they are valid.
	Options func() map[string]option.Option
	Fault   func(params map[string]string) (message, hint string)
	// TestTime returns how long a test runs, and Title describes it in a few words.
	TestTime func(params map[string]string) time.Duration
	Title    func(params map[string]string) string
	// Client and Server return argument vectors. A server listens only on the end's address, and ends after longest.
	Client func(params map[string]string, at End) []string
	Server func(params map[string]string, at End, longest time.Duration) []string
	// Listens returns the kind of port that the server listens on.
	Listens func(params map[string]string) Listening
	// ErrorText returns the error that a server or client printed; empty if there is none.
	ErrorText func(text []byte) string
}

// Generators returns all of them.
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
			ErrorText: func([]byte) string { return "" }, // its errors are not marked
		},
	}
}

// Of returns the generator of an engine.
func Of(engine string) (Generator, bool) {
	all := Generators()
	i := slices.IndexFunc(all, func(g Generator) bool { return g.Engine == engine })
	if i < 0 {
		return Generator{}, false
	}
	return all[i], true
}

// Longest returns how long a server can listen for a test of this length: a minute more, while it waits for its client.
func Longest(test time.Duration) time.Duration { return test + time.Minute }

func always(program string) func(map[string]string) string {
	return func(map[string]string) string { return program }
}

// errorText adapts a parser of errors to one that returns an empty text.
func errorText(parse func([]byte) (string, error)) func([]byte) string {
	return func(text []byte) string {
		s, err := parse(text)
		if err != nil {
			return ""
		}
		return s
	}
}
