package lab

import (
	"slices"
	"strings"
)

// Unit is a base unit. Metrics are kept in these and nothing else.
type Unit string

// The base units.
const (
	PerSecond      Unit = "1/s"
	BytesPerSecond Unit = "B/s"
	BitsPerSecond  Unit = "bit/s" // of networks, whose links are rated so
	Seconds        Unit = "s"
	Share          Unit = "1"    // a part of one: CPU share, cache hit share
	PerOperation   Unit = "s/op" // CPU seconds an operation
	JoulesPerOp    Unit = "J/op" // energy an operation
	Count          Unit = "count"
)

// What an operation costs: CPU time of the load's own process, CPU time of the whole machine that it runs on (of a
// guest the one that the guest runs on), and energy of that machine's processors.
const (
	CPUPerIO     = "cpu.per_io"
	HostCPUPerIO = "host_cpu.per_io"
	EnergyPerIO  = "energy.per_io"
)

// How the loads of several targets that were started together kept together, in seconds: how far apart the first and
// the last of them started and how far that may be wrong, when the first and the last was done after the first start,
// and how long all were running.
const (
	togetherPrefix   = "together."
	StartSkew        = togetherPrefix + "apart"
	StartUncertainty = togetherPrefix + "unsure"
	FirstDone        = togetherPrefix + "first_done"
	LastDone         = togetherPrefix + "last_done"
	CommonSeconds    = togetherPrefix + "seconds"
)

// What an event did to the load that it happened during: the longest time without anything, the time until the rate was
// back, both in seconds, and by what share the lowest step lay below what was usual.
const (
	EventStall    = "event.stall"
	EventRecovery = "event.recovery"
	EventDip      = "event.dip"
)

// Downtime is how many seconds a guest stood still while it was moved to another host.
const Downtime = "downtime"

// Better says which way a metric improves.
type Better string

// The two ways.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Directions of storage I/O, as fio names them. Sync is the latency of fsync and fdatasync; Mixed stands for
// fio's unified_rw_reporting=mixed, where reads and writes cannot be distinguished any more.
const (
	Read  = "read"
	Write = "write"
	Trim  = "trim"
	Sync  = "sync"
	Mixed = "mixed"
)

// Directions of a network, as the client of a test sees them.
const (
	Send    = "send"
	Receive = "receive"
)

// Request is the direction of requests and their answers, which is none: their latency is the time from the one to the
// other, there and back. RequestRate are the answers a second, RequestsLost the share of requests without one. SendRate
// and ReceiveRate are messages a second in one direction.
const (
	Request      = "request"
	RequestRate  = "request.rate"
	RequestsLost = "request.lost"
	SendRate     = "send.rate"
	ReceiveRate  = "receive.rate"
)

// CPU time of a network's load generator on either end, as a share of one core.
const (
	ClientCPU = "cpu.client"
	ServerCPU = "cpu.server"
)

// Directions in the order in which they are shown.
func Directions() []string { return []string{Read, Write, Trim, Sync, Mixed} }

// Quantiles are the latency quantiles that become metrics, with the names they carry: "read.latency.p99".
func Quantiles() []Quantile {
	return []Quantile{{"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}
}

// Quantile is a named share of a distribution.
type Quantile struct {
	Name string
	Q    float64
}

// MetricInfo is what is known of a metric: from its name alone, or because the suite that names it says so.
type MetricInfo struct {
	Unit   Unit   `json:"unit"`
	Better Better `json:"better"`
	// Decides marks the metrics of a cell's own that comparisons decide on.
	Decides bool `json:"decides,omitempty"`
}

// Metric describes a metric by its name, "direction.quantity[.part]":
//
//	read.iops, write.bandwidth, read.latency.mean, sync.latency.p99, read.submit_latency.mean,
//	downtime (of a guest that was moved, in seconds),
//	together.apart, together.first_done, … (seconds), event.stall, event.recovery (seconds), event.dip (a share),
//	send.bitrate, receive.bitrate (what arrived), send.retransmits, send.rtt, send.jitter, send.lost (a share),
//	request.rate (answers a second), request.latency.p99 (there and back), request.lost (a share), send.rate, receive.rate (messages a second),
//	cpu.client, cpu.server (of a network's load generator, shares of one core),
//	cpu.user, cpu.system (shares of one core, summed over jobs), cpu.per_io, host_cpu.per_io, energy.per_io, elapsed
//
// An unknown name is a count that should be high, so that a metric newer than this program still shows.
func Metric(name string) MetricInfo {
	switch {
	case strings.HasSuffix(name, ".iops"), name == RequestRate, name == SendRate, name == ReceiveRate:
		return MetricInfo{Unit: PerSecond, Better: Higher}
	case strings.HasSuffix(name, ".bandwidth"):
		return MetricInfo{Unit: BytesPerSecond, Better: Higher}
	case strings.HasSuffix(name, ".bitrate"):
		return MetricInfo{Unit: BitsPerSecond, Better: Higher}
	case strings.HasSuffix(name, ".retransmits"):
		return MetricInfo{Unit: Count, Better: Lower}
	case strings.HasSuffix(name, ".lost"):
		return MetricInfo{Unit: Share, Better: Lower}
	case strings.HasSuffix(name, ".rtt"), strings.HasSuffix(name, ".jitter"):
		return MetricInfo{Unit: Seconds, Better: Lower}
	case strings.Contains(name, "latency."), name == "elapsed", name == Downtime:
		return MetricInfo{Unit: Seconds, Better: Lower}
	case name == CPUPerIO, name == HostCPUPerIO:
		return MetricInfo{Unit: PerOperation, Better: Lower}
	case name == EnergyPerIO:
		return MetricInfo{Unit: JoulesPerOp, Better: Lower}
	case name == EventDip:
		return MetricInfo{Unit: Share, Better: Lower}
	case strings.HasPrefix(name, togetherPrefix), strings.HasPrefix(name, "event."):
		return MetricInfo{Unit: Seconds, Better: Lower}
	case strings.HasPrefix(name, "cpu."):
		return MetricInfo{Unit: Share, Better: Lower}
	default:
		return MetricInfo{Unit: Count, Better: Higher}
	}
}

// IOPS is the name of a direction's rate of operations. With Bandwidth and Latency no name is spelt by hand.
func IOPS(direction string) string { return direction + ".iops" }

// Bandwidth is the name of a direction's bandwidth.
func Bandwidth(direction string) string { return direction + ".bandwidth" }

// Bitrate is the name of a network direction's goodput.
func Bitrate(direction string) string { return direction + ".bitrate" }

// Retransmits is the name of how many segments of a network direction were sent again.
func Retransmits(direction string) string { return direction + ".retransmits" }

// Latency is the name of a direction's latency; part is "mean", "min", "max" or the name of a quantile.
func Latency(direction, part string) string { return direction + ".latency." + part }

// CutMetric takes a metric name apart: "read.latency.p99.9" is the direction read, the quantity latency and the part
// p99.9. A name that starts with no direction ("cpu.user") has an empty one.
func CutMetric(name string) (direction, quantity, part string) {
	head, rest, found := strings.Cut(name, ".")
	if !found || !slices.Contains(Directions(), head) {
		head, rest = "", name
	}
	quantity, part, _ = strings.Cut(rest, ".")
	return head, quantity, part
}
