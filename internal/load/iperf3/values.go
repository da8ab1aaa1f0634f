package iperf3

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// flows returns the directions in which something was measured.
func (r Result) flows() map[string]*Flow {
	flows := map[string]*Flow{}
	if r.Forward != nil {
		flows[lab.Send] = r.Forward
	}
	if r.Reverse != nil {
		flows[lab.Receive] = r.Reverse
	}
	return flows
}

// Values returns the values of the test by metric, in base units. For UDP, the rate sent says nothing about the rate
// that arrived.
func (r Result) Values() map[string]float64 {
	values := map[string]float64{}
	for direction, f := range r.flows() {
		if !f.Unconfirmed || r.Protocol != "UDP" {
			values[lab.Bitrate(direction)] = 8 * f.Rate()
		}
		if f.Retransmits >= 0 {
			values[lab.Retransmits(direction)] = float64(f.Retransmits)
		}
		if f.RTT > 0 {
			values[direction+".rtt"] = f.RTT
		}
		if f.Packets > 0 {
			values[direction+".lost"] = float64(f.Lost) / float64(f.Packets)
			if f.Jitter >= 0 {
				values[direction+".jitter"] = f.Jitter
			}
		}
	}
	if len(values) == 0 {
		return values
	}
	for name, share := range map[string]float64{lab.ClientCPU: r.ClientCPU, lab.ServerCPU: r.ServerCPU} {
		if share >= 0 {
			values[name] = share
		}
	}
	return values
}

// Unconfirmed returns warnings about rates of sent data if the arrived data are unknown.
func (r Result) Unconfirmed() (list []lab.Warning) {
	for _, direction := range []string{lab.Send, lab.Receive} {
		f := r.flows()[direction]
		if f == nil || !f.Unconfirmed {
			continue
		}
		text := "the rate is what was sent, and what arrived is not printed here"
		if r.Protocol == "UDP" {
			text = "datagrams were sent at " + unit.Bitrate(8*f.Rate()) + ", and how many arrived is not printed " +
				"here: there is no rate"
		}
		list = append(list, lab.Warning{Code: "only-sent", Text: text + "; import what the receiver's side printed",
			Taints: []string{lab.Bitrate(direction)}})
	}
	return list
}

// Ran returns how many seconds counted.
func (r Result) Ran() float64 {
	seconds := 0.0
	for _, f := range r.flows() {
		seconds = max(seconds, f.Seconds)
	}
	return seconds
}

// Series returns the bitrates by the second.
func (r Result) Series() []lab.Series {
	var all []lab.Series
	for _, direction := range []string{lab.Send, lab.Receive} {
		if f := r.flows()[direction]; f != nil {
			if s, ok := bitrates(direction, f.Intervals); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// bitrates returns the bitrate over the time that counts, in even steps of the usual interval: on a busy machine
// intervals are a little longer or shorter, and there may be a very short one at either end. The bytes of an interval
// are assumed to have arrived evenly.
func bitrates(direction string, intervals []ReportInterval) (lab.Series, bool) {
	counted := slices.DeleteFunc(slices.Clone(intervals), func(in ReportInterval) bool { return in.Omitted })
	step := stepOf(usual(counted))
	if step <= 0 {
		return lab.Series{}, false
	}
	s := lab.Series{Metric: lab.Bitrate(direction), Interval: step}
	for from := counted[0].From; from+0.9*step <= counted[len(counted)-1].To; from += step {
		bytes, seconds := 0.0, 0.0
		for _, in := range counted {
			if both := min(in.To, from+step) - max(in.From, from); both > 0 {
				bytes += float64(in.Bytes) * both / (in.To - in.From)
				seconds += both
			}
		}
		if seconds < step/2 {
			return lab.Series{}, false // no interval covers this step
		}
		s.Values = append(s.Values, 8*bytes/seconds)
	}
	return s, len(s.Values) > 0
}

// stepOf returns the requested interval, derived from the usual one: a client on an overloaded machine reports after
// 1.1 s or 1.6 s instead of one, and seldom sooner. If these were steps themselves, the series of several clients could
// not be added up.
func stepOf(usual float64) float64 {
	if usual > 0.9 {
		return max(1, math.Floor(usual+0.05))
	}
	return math.Round(10*usual) / 10
}

// usual returns the typical length of intervals: half of the time is in intervals that are no longer.
func usual(intervals []ReportInterval) float64 {
	var lengths []float64
	whole, sum := 0.0, 0.0
	for _, in := range intervals {
		lengths, whole = append(lengths, in.To-in.From), whole+in.To-in.From
	}
	slices.Sort(lengths)
	for _, length := range lengths {
		if sum += length; sum >= whole/2 {
			return length
		}
	}
	return 0
}
