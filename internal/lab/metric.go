package lab

import "strings"

// Unit is a base unit. Metrics are kept in these and nothing else.
type Unit string

// The base units.
const (
	PerSecond      Unit = "1/s"
	BytesPerSecond Unit = "B/s"
	Seconds        Unit = "s"
	Share          Unit = "1"    // a part of one: CPU share, cache hit share
	PerOperation   Unit = "s/op" // CPU seconds an operation
	Count          Unit = "count"
)

// Better says which way a metric improves.
type Better string

// The two ways.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Directions of storage I/O, as fio names them. Sync is the latency of fsync and fdatasync; Mixed stands for
// fio's unified_rw_reporting=mixed, where reads and writes cannot be told apart any more.
const (
	Read  = "read"
	Write = "write"
	Trim  = "trim"
	Sync  = "sync"
	Mixed = "mixed"
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

// MetricInfo is what is known of a metric from its name alone.
type MetricInfo struct {
	Unit   Unit
	Better Better
}

// Metric describes a metric by its name, "direction.quantity[.part]":
//
//	read.iops, write.bandwidth, read.latency.mean, sync.latency.p99, read.submit_latency.mean,
//	cpu.user, cpu.system (shares of one core, summed over jobs), cpu.per_io, elapsed
//
// An unknown name is a count that should be high, so that a metric newer than this program still shows.
func Metric(name string) MetricInfo {
	switch {
	case strings.HasSuffix(name, ".iops"):
		return MetricInfo{PerSecond, Higher}
	case strings.HasSuffix(name, ".bandwidth"):
		return MetricInfo{BytesPerSecond, Higher}
	case strings.Contains(name, "latency."), name == "elapsed":
		return MetricInfo{Seconds, Lower}
	case name == "cpu.per_io":
		return MetricInfo{PerOperation, Lower}
	case strings.HasPrefix(name, "cpu."):
		return MetricInfo{Share, Lower}
	default:
		return MetricInfo{Count, Higher}
	}
}

// IOPS is the name of a direction's rate of operations. With Bandwidth and Latency no name is spelt by hand.
func IOPS(direction string) string { return direction + ".iops" }

// Bandwidth is the name of a direction's bandwidth.
func Bandwidth(direction string) string { return direction + ".bandwidth" }

// Latency is the name of a direction's latency; part is "mean", "min", "max" or the name of a quantile.
func Latency(direction, part string) string { return direction + ".latency." + part }
