package lab

import (
	"slices"
	"strings"
)

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
