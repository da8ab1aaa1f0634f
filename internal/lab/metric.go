package lab

import (
	"slices"
	"strconv"
	"strings"
)

// Unit is a base unit. Metrics are kept in base units only.
type Unit string

// The base units.
const (
	PerSecond      Unit = "1/s"
	BytesPerSecond Unit = "B/s"
	BitsPerSecond  Unit = "bit/s" // of networks, whose links are rated in bits
	Seconds        Unit = "s"
	Share          Unit = "1"    // a fraction: CPU share, cache hit share
	PerOperation   Unit = "s/op" // CPU seconds per operation
	JoulesPerOp    Unit = "J/op" // energy per operation
	Count          Unit = "count"
)

// Costs of an operation: CPU time of the load's own process, CPU time of the whole machine that it runs on (for a
// guest, its host), and energy of that machine's processors.
const (
	CPUPerIO     = "cpu.per_io"
	HostCPUPerIO = "host_cpu.per_io"
	EnergyPerIO  = "energy.per_io"
)

// How simultaneous the loads of several targets were that were started together, in seconds: the time between the first
// and the last start and its uncertainty, the times from the first start to the first and the last end, and how long
// all were running.
const (
	togetherPrefix   = "together."
	StartSkew        = togetherPrefix + "apart"
	StartUncertainty = togetherPrefix + "unsure"
	FirstDone        = togetherPrefix + "first_done"
	LastDone         = togetherPrefix + "last_done"
	CommonSeconds    = togetherPrefix + "seconds"
)

// Effects of an event on a load: the longest time without any operation and the time until the rate recovered, both in
// seconds, and the depth of the lowest step below the usual rate, as a share of that rate.
const (
	EventStall    = "event.stall"
	EventRecovery = "event.recovery"
	EventDip      = "event.dip"
)

// Downtime is how many seconds a guest was stopped while it was moved to another host.
const Downtime = "downtime"

// Better is the direction in which a metric improves.
type Better string

// The two ways.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Directions of storage I/O, as fio names them. Sync is for fsync and fdatasync. Mixed is for fio's
// unified_rw_reporting=mixed, which does not distinguish reads from writes.
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

// Request is used in place of a direction for requests and their answers: its latency is the round-trip time.
// RequestRate is answers a second, RequestsLost the share of requests without an answer. SendRate and ReceiveRate are
// messages a second in one direction.
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

// Directions returns the directions of storage in the order in which they are shown.
func Directions() []string { return []string{Read, Write, Trim, Sync, Mixed} }

// Quantiles returns the latency quantiles that become metrics, with their names: "read.latency.p99".
func Quantiles() []Quantile {
	return []Quantile{{"p50", 0.50}, {"p90", 0.90}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}
}

// Quantile is a named share of a distribution.
type Quantile struct {
	Name string
	Q    float64
}

// MetricInfo describes a metric, either derived from its name or as its suite defines it.
type MetricInfo struct {
	Unit   Unit   `json:"unit"`
	Better Better `json:"better"`
	// Decides marks the suite's own metrics that comparisons decide on.
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
// An unknown name is a count of which more is better, so that metrics newer than this program are still shown.
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

// IOPS returns the name of a direction's rate of operations. IOPS, Bandwidth and Latency exist so that no name is spelt
// by hand.
func IOPS(direction string) string { return direction + ".iops" }

// Bandwidth returns the name of a direction's bandwidth.
func Bandwidth(direction string) string { return direction + ".bandwidth" }

// Bitrate returns the name of a network direction's goodput.
func Bitrate(direction string) string { return direction + ".bitrate" }

// Retransmits returns the name of the count of retransmitted segments of a network direction.
func Retransmits(direction string) string { return direction + ".retransmits" }

// Latency returns the name of a direction's latency. part is "mean", "min", "max" or the name of a quantile.
func Latency(direction, part string) string { return direction + ".latency." + part }

// CutMetric splits a metric name: "read.latency.p99.9" is the direction read, the quantity latency and the part p99.9.
// For a name that does not start with a direction of [Directions] ("cpu.user", "request.latency.p99") the direction is
// empty.
func CutMetric(name string) (direction, quantity, part string) {
	head, rest, found := strings.Cut(name, ".")
	if !found || !slices.Contains(Directions(), head) {
		head, rest = "", name
	}
	quantity, part, _ = strings.Cut(rest, ".")
	return head, quantity, part
}

// Primary returns the metrics of a cell that answer the question for which it was run. Comparisons decide on these, and
// these must be precise enough. params are the load generator's parameters, measured the available metrics.
//
// For a network they are the bits that arrive in each direction, and the requests answered a second. If the load limits
// the rate of requests (mps) the latency of answers replaces their rate.
//
// For storage it is the IOPS of each direction. If the load itself sets the pace (rate, rate_iops, thinktime) IOPS are
// a setting and not a result, so it is the mean latency. Bandwidth is IOPS times the block size and adds no
// information; it is used if a tool printed nothing else, as is the mean latency after it. Flushes follow the writes
// that they belong to: they count only if nothing else was measured.
func Primary[V any](params map[string]string, measured map[string]V) []string {
	var names []string
	for _, direction := range Directions() {
		if direction == Sync {
			continue
		}
		candidates := []string{IOPS(direction), Bandwidth(direction), Latency(direction, "mean")}
		if paced(params, direction) {
			candidates = []string{Latency(direction, "mean"), IOPS(direction), Bandwidth(direction)}
		}
		names = append(names, firstMeasured(measured, candidates)...)
	}
	for _, direction := range []string{Send, Receive} {
		names = append(names, firstMeasured(measured, []string{Bitrate(direction), direction + ".rate"})...)
	}
	requests := []string{RequestRate, Latency(Request, "mean")}
	if limits(params["mps"]) {
		requests = []string{Latency(Request, "mean"), RequestRate}
	}
	names = append(names, firstMeasured(measured, requests)...)
	if len(names) == 0 {
		names = firstMeasured(measured, []string{IOPS(Sync), Latency(Sync, "mean"), "elapsed"})
	}
	return names
}

func firstMeasured[V any](measured map[string]V, candidates []string) []string {
	for _, name := range candidates {
		if _, ok := measured[name]; ok {
			return []string{name}
		}
	}
	return nil
}

// paced reports whether the load limits itself in a direction. fio takes one value for all, or one for each of reads,
// writes and trims, where an empty one is no limit.
func paced(params map[string]string, direction string) bool {
	if limits(params["thinktime"]) {
		return true
	}
	for _, name := range []string{"rate", "rate_iops"} {
		each := strings.Split(params[name], ",")
		i := slices.Index([]string{Read, Write, Trim}, direction)
		if len(each) == 1 {
			i = 0
		}
		if i < 0 && limits(params[name]) || i >= 0 && i < len(each) && limits(each[i]) {
			return true
		}
	}
	return false
}

// limits reports whether a value sets a limit: 0 is no limit, in any unit.
func limits(value string) bool { return strings.ContainsAny(value, "123456789") }

// FlushDominates is the share of time spent in flushes from which a load of synced writes measures flushes more than
// writes.
const FlushDominates = 0.5

// FlushShare returns the share of time that a load of synced writes (fsync or fdatasync, fio's options) spends in
// flushes, computed from the mean latencies of both. It is unknown if the load does not flush, or a latency is missing.
func FlushShare(params map[string]string, value func(metric string) (float64, bool)) (share float64, known bool) {
	every := 0.0 // writes for each flush
	for _, option := range []string{"fsync", "fdatasync"} {
		if n, err := strconv.Atoi(params[option]); err == nil && n > 0 && (every == 0 || float64(n) < every) {
			every = float64(n)
		}
	}
	flush, flushed := value(Latency(Sync, "mean"))
	write, written := value(Latency(Write, "mean"))
	submit, _ := value(Write + ".submit_latency.mean")
	if every == 0 || !flushed || !written || !(flush > 0) {
		return 0, false
	}
	return flush / (flush + every*(write+submit)), true
}
