package lab

import (
	"slices"
	"strings"
)

// MetricText describes a kind of metrics for people. A quantity that is measured in several directions or has several
// parts is one kind: its name contains the placeholders DIRECTION and PART.
type MetricText struct {
	Name       string
	What       string
	Directions []string
	Parts      []string
}

// MetricTexts returns the kinds of metrics that headroom itself knows, those of storage first. A suite can define
// others.
func MetricTexts() []MetricText {
	parts := []string{"mean", "min", "max"}
	for _, q := range Quantiles() {
		parts = append(parts, q.Name)
	}
	moving := slices.DeleteFunc(Directions(), func(d string) bool { return d == Sync })
	network := []string{Send, Receive}
	of := func(name, what string) MetricText { return MetricText{Name: name, What: what} }
	in := func(directions []string, quantity, what string) MetricText {
		return MetricText{Name: "DIRECTION." + quantity, What: what, Directions: directions}
	}
	return []MetricText{
		in(Directions(), "iops", "I/O operations completed a second; sync counts flushes"),
		in(moving, "bandwidth", "bytes read, written or trimmed a second: IOPS times the block size"),
		{"DIRECTION.latency.PART",
			"time from the submission of an operation to its completion, as fio's clat; of sync " +
				"the time of a flush, of request the time until the answer is back", append(Directions(), Request),
			parts},
		in(moving, "submit_latency.mean", "mean time that handing an operation to the kernel takes, as fio's slat"),
		of("cpu.user",
			"CPU time that the load generator spends in user mode, as a share of one core, all jobs added up"),
		of("cpu.system", "CPU time that the kernel spends for the load generator, as a share of one core, all jobs "+
			"added up"),
		of(CPUPerIO, "CPU time of the load generator for each operation"),
		of(HostCPUPerIO, "CPU time of the whole machine, or of the host of a guest, for each operation"),
		of(EnergyPerIO,
			"energy that the processors of the machine, or of the host of a guest, take for each operation"),
		of("elapsed", "how long the load or command ran"),
		of(Downtime, "how long a guest stood still while it was moved to another host"),

		in(network, "bitrate", "bits that arrive a second, without headers (goodput)"),
		in(network, "retransmits", "TCP segments that were sent again"),
		in(network, "rtt", "mean round-trip time as TCP measures it"),
		in(network, "jitter", "variation of the time that UDP packets take"),
		in(network, "lost", "share of the UDP packets that did not arrive"),
		in(network, "rate", "messages a second"),
		of(RequestRate, "requests answered a second"),
		of(RequestsLost, "share of the requests without an answer"),
		of(ClientCPU, "CPU time of the network's load generator on the client, as a share of one core"),
		of(ServerCPU, "CPU time of the network's load generator on the server, as a share of one core"),

		of(EventStall, "longest time during an event without any completed operation"),
		of(EventRecovery, "time from an event until the rate is back and stays"),
		of(EventDip, "how far the rate fell after an event, as a share of the rate before"),
		of(StartSkew, "time between the first and the last start of loads on several targets"),
		of(StartUncertainty, "how far "+StartSkew+" may be wrong, since clocks are known only so well"),
		of(FirstDone, "time from the first start on several targets until the first of them ended"),
		of(LastDone, "time from the first start on several targets until the last of them ended"),
		of(CommonSeconds, "time in which the loads of all targets ran; sums over targets are of this time"),
	}
}

// Names returns the names of all metrics of the kind: "read.latency.p99".
func (t MetricText) Names() []string {
	var names []string
	for _, d := range orNone(t.Directions) {
		for _, part := range orNone(t.Parts) {
			names = append(names, strings.NewReplacer("DIRECTION", d, "PART", part).Replace(t.Name))
		}
	}
	return names
}

// orNone returns the list, or one empty string if the list is empty.
func orNone(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// Info returns the properties that all metrics of the kind share.
func (t MetricText) Info() MetricInfo { return Metric(t.Names()[0]) }

// Combined describes how the values of repetitions become the number that reports show.
func (t MetricText) Combined() string {
	text := "the median of the repetitions; the interval covers the true median"
	if len(t.Parts) > 0 {
		text += "; percentiles cover the operations of all repetitions together, where their distribution was " +
			"kept, and their interval is computed from the percentile of each repetition"
	}
	return text
}

// FindMetrics returns the kinds that match a name, in any case: "read.iops", "DIRECTION.iops". If no metric has exactly
// that name, part of one suffices: "iops", "p99", "latency".
func FindMetrics(name string) []MetricText {
	name = strings.ToLower(name)
	var exact, inside []MetricText
	for _, t := range MetricTexts() {
		names := append(t.Names(), strings.ToLower(t.Name))
		area, _, _ := strings.Cut(t.Name, ".")
		holds := func(n string) bool { return name != "" && strings.Contains("."+n+".", "."+name+".") }
		switch {
		case slices.Contains(names, name):
			exact = append(exact, t)
		case name == area || slices.Contains(t.Directions, name): // an area or a direction alone does not name a metric
		case slices.ContainsFunc(names, holds):
			inside = append(inside, t)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return inside
}
