package ingest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/load/iperf3"
)

// iperf3JSON reads what iperf3's client prints with --json or --json-stream. It begins so:
//
//	{
//		"start":	{
//			"connected":	[{
//
// or so:
//
//	{"event":"start","data":{"connected":[{"socket":5,"local_host":"192.0.2.1",…
func iperf3JSON() Importer {
	return Importer{
		Name:  "iperf3",
		Title: "iperf3's JSON, as its client prints it",
		Sniff: func(_ string, head []byte) bool { return iperf3.Is(head) },
		read:  readIperf3,
	}
}

func readIperf3(f file, d *draft) error {
	r, err := iperf3.Parse(f.data)
	if err != nil {
		return err
	}
	m := measurement{job: iperf3Job(r), engine: lab.EngineIperf3, host: r.Client, params: iperf3Params(r), facts: []lab.Fact{{Key: "iperf3.version", Value: r.Version, Source: f.name}}}
	m.repetition = lab.Repetition{Start: r.Start, Values: map[string]float64{}, Warnings: r.Warnings()}
	for _, way := range []struct {
		direction string
		flow      *iperf3.Flow
	}{{lab.Send, r.Forward}, {lab.Receive, r.Reverse}} {
		if way.flow == nil {
			continue
		}
		m.repetition.Seconds = max(m.repetition.Seconds, way.flow.Seconds)
		addFlow(m.repetition.Values, way.direction, *way.flow)
		if s, ok := bitrates(way.direction, way.flow.Intervals); ok {
			m.repetition.Series = append(m.repetition.Series, s)
		}
	}
	if len(m.repetition.Values) > 0 {
		for name, share := range map[string]float64{"cpu.client": r.ClientCPU, "cpu.server": r.ServerCPU} {
			if share >= 0 {
				m.repetition.Values[name] = share
			}
		}
	}
	if !r.Start.IsZero() {
		m.ended = r.Start.Add(time.Duration((r.Omit + m.repetition.Seconds) * float64(time.Second)))
	}
	return d.add(m)
}

// iperf3Job names a test: "tcp", "tcp-p8" with eight streams, "udp-reverse".
func iperf3Job(r iperf3.Result) string {
	name := strings.ToLower(r.Protocol)
	switch {
	case name == "":
		return "network"
	case r.Forward != nil && r.Reverse != nil:
		name += "-bidir"
	case r.Reverse != nil:
		name += "-reverse"
	}
	if r.Streams > 1 {
		name += "-p" + strconv.Itoa(r.Streams)
	}
	return name
}

// iperf3Params are the options that the test was started with, by their long names.
func iperf3Params(r iperf3.Result) map[string]string {
	params := map[string]string{}
	set := func(name, value string, said bool) {
		if said {
			params[name] = value
		}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	set("protocol", strings.ToLower(r.Protocol), r.Protocol != "")
	set("server", r.Server, r.Server != "")
	set("parallel", strconv.Itoa(r.Streams), r.Streams > 0)
	set("length", strconv.FormatInt(r.Block, 10), r.Block > 0)
	set("time", number(r.Seconds), r.Seconds > 0)
	set("omit", number(r.Omit), r.Omit > 0)
	set("bitrate", number(8*r.Rate), r.Rate > 0)
	set("bidir", "1", r.Forward != nil && r.Reverse != nil)
	set("reverse", "1", r.Forward == nil && r.Reverse != nil)
	set("congestion", r.SenderCongestion, r.SenderCongestion != "")
	return params
}

func addFlow(values map[string]float64, direction string, f iperf3.Flow) {
	values[lab.Bitrate(direction)] = 8 * f.Rate()
	if f.Retransmits >= 0 {
		values[direction+".retransmits"] = float64(f.Retransmits)
	}
	if f.RTT > 0 {
		values[direction+".rtt"] = f.RTT
	}
	if f.Packets > 0 {
		values[direction+".lost"] = float64(f.Lost) / float64(f.Packets)
		values[direction+".jitter"] = f.Jitter
	}
}

// bitrates over the time that counts; false where the intervals are not even, but for the last one, which is left out where it is short.
func bitrates(direction string, intervals []iperf3.Interval) (lab.Series, bool) {
	s := lab.Series{Metric: lab.Bitrate(direction)}
	for i, in := range intervals {
		seconds := in.To - in.From
		if in.Omitted {
			continue
		}
		if s.Interval == 0 {
			s.Interval = math.Round(10*seconds) / 10
		}
		if math.Abs(seconds-s.Interval) > 0.1*s.Interval {
			if i == len(intervals)-1 {
				break
			}
			return lab.Series{}, false
		}
		s.Values = append(s.Values, 8*float64(in.Bytes)/seconds)
	}
	return s, s.Interval > 0 && len(s.Values) > 0
}
