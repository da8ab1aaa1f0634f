// Package iperf3 parses the output of iperf3 with --json or --json-stream: tests between a client and a server, as
// either of them saw it.
//
// Values that are not printed are absent, never zero. Versions from 3.1 on are supported. Sources: iperf_api.c of
// iperf3, and its release notes for differences of older versions.
package iperf3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Result is one test.
type Result struct {
	Version string
	// Cookie is the same in the output of the client and the server of one test; empty if unknown.
	Cookie string
	// Client and Server are the addresses of the test's first connection; empty if none was made.
	Client, Server string
	// AtServer is set if the server printed the result.
	AtServer bool
	Start    time.Time
	Protocol string // "TCP", "UDP", "SCTP"
	Streams  int
	// Block is how many bytes each write had, Seconds is the requested time of the test, Omit is how many seconds
	// before that did not count.
	Block         int64
	Seconds, Omit float64
	// Rate in B/s that each stream was limited to; 0 means no limit.
	Rate float64
	// Congestion control of the sender and of the receiver; empty if unknown.
	SenderCongestion string
	// Forward is the data sent by the client, Reverse the data sent by the server; nil if there are none.
	Forward, Reverse *Flow
	// ClientCPU and ServerCPU are the CPU time of the two iperf3 processes as a share of one CPU, without the time of
	// interrupts that the kernel handled for them; negative if unknown.
	ClientCPU, ServerCPU float64
	// Failed is the error of iperf3; empty if there is none. Before 3.14 its exit status was 0 even after an error.
	Failed string
}

// Flow is all streams of one direction together.
type Flow struct {
	// Bytes that arrived, in Seconds: goodput. Sent is the number of bytes passed to the kernel on the other side.
	Bytes   int64
	Seconds float64
	Sent    int64
	// Arrived and Handed are the same, including the time that did not count.
	Arrived, Handed int64
	// Unconfirmed is set if Bytes are the bytes sent, because the number that arrived is unknown.
	Unconfirmed bool
	// Retransmits of all streams; negative if the sender's kernel does not report them.
	Retransmits int64
	// RTT is the mean of all streams, in seconds; 0 if unknown.
	RTT float64
	// Jitter in seconds, negative if unknown, Lost and Packets; only for UDP.
	Jitter        float64
	Lost, Packets int64
	// Intervals of about a second, as seen by the receiver if it reported them (--get-server-output). Otherwise they
	// are the data that the client passed to the kernel: with buffers of megabytes that is ahead of the data that
	// arrived.
	Intervals []ReportInterval
}

// Rate returns the goodput in B/s; 0 if nothing was measured.
func (f *Flow) Rate() float64 {
	if f.Seconds <= 0 {
		return 0
	}
	return float64(f.Bytes) / f.Seconds
}

// ReportInterval is the part of a test that one line of a report is about, in seconds from its start.
type ReportInterval struct {
	From, To float64
	Bytes    int64
	// Omitted is set for an interval before the time that counts.
	Omitted bool
}

// ParseError returns the error that a client or a server printed, from its document or from a plain line: "iperf3:
// error - unable to start listener…".
func ParseError(text []byte) (string, error) {
	var d document
	if begin := bytes.IndexByte(text, '{'); begin >= 0 && json.Unmarshal(withoutNaN(text[begin:]), &d) == nil &&
		d.Error != "" {
		return strings.TrimPrefix(d.Error, "error - "), nil
	}
	if _, printed, found := strings.Cut(string(text), "error - "); found {
		return strings.TrimSpace(printed), nil
	}
	return "", errors.New("it says nothing of an error")
}

// withoutNaN writes null for numbers that some versions print as nan, which is not JSON (esnet/iperf#613, #826). It
// never changes a string, since strings have no colon before a bare word:
//
//	"lost_percent":	-nan,
//	"lost_percent":	nan,
func withoutNaN(text []byte) []byte {
	if !bytes.Contains(text, []byte("nan")) {
		return text
	}
	return regexp.MustCompile(`:\s*-?nan\b`).ReplaceAll(text, []byte(":null"))
}

// document is the output of one end. Some fields of its start occur once for each stream; they are not read.
type document struct {
	line      int
	Start     start      `json:"start"`
	Intervals []interval `json:"intervals"`
	End       end        `json:"end"`
	Error     string     `json:"error"`
	// Server is the server's document, if the client requested it and the server was started with --json.
	Server *struct {
		Intervals []interval `json:"intervals"`
		End       struct {
			Streams []stream `json:"streams"`
		} `json:"end"`
	} `json:"server_output_json"`
}

type start struct {
	Version   string `json:"version"`
	Cookie    string `json:"cookie"`
	Connected []struct {
		LocalHost  string `json:"local_host"`
		RemoteHost string `json:"remote_host"`
	} `json:"connected"`
	Timestamp struct {
		Seconds      int64 `json:"timesecs"`
		Milliseconds int64 `json:"timemillisecs"`
	} `json:"timestamp"`
	// Accepted is present at a server.
	Accepted *struct{} `json:"accepted_connection"`
	Test     *test     `json:"test_start"`
}

// test is the client's request.
type test struct {
	Protocol      string  `json:"protocol"`
	Streams       int     `json:"num_streams"`
	Block         int64   `json:"blksize"`
	Omit          float64 `json:"omit"`
	Duration      float64 `json:"duration"`
	Reverse       int     `json:"reverse"`
	TargetBitrate float64 `json:"target_bitrate"`
}

type interval struct {
	Sum        sum  `json:"sum"`
	SumReverse *sum `json:"sum_bidir_reverse"`
}

// sum of streams, in an interval or in the whole test. At the end, the seconds of the received data are the sender's,
// so only start and end are correct.
type sum struct {
	Start       float64  `json:"start"`
	End         float64  `json:"end"`
	Bytes       int64    `json:"bytes"`
	Retransmits *int64   `json:"retransmits"`
	Jitter      *float64 `json:"jitter_ms"`
	Lost        *int64   `json:"lost_packets"`
	Packets     *int64   `json:"packets"`
	Omitted     bool     `json:"omitted"`
	Sender      *bool    `json:"sender"`
}

// stream is one connection at the end of a test.
type stream struct {
	Sender *struct {
		MeanRTT float64 `json:"mean_rtt"` // microseconds
		Sender  *bool   `json:"sender"`
	} `json:"sender"`
}

type end struct {
	Streams         []stream `json:"streams"`
	Sum             *sum     `json:"sum"`
	Sent            *sum     `json:"sum_sent"`
	Received        *sum     `json:"sum_received"`
	SentReverse     *sum     `json:"sum_sent_bidir_reverse"`
	ReceivedReverse *sum     `json:"sum_received_bidir_reverse"`
	SumReverse      *sum     `json:"sum_bidir_reverse"`
	CPU             *struct {
		Host   float64 `json:"host_total"`
		Remote float64 `json:"remote_total"`
	} `json:"cpu_utilization_percent"`
	SenderCongestion string `json:"sender_tcp_congestion"`
}

func (d *document) result() (Result, error) {
	trimmed := d.Start.Version == "" && (d.trimmed() != nil || d.Error != "")
	if !trimmed && !strings.HasPrefix(d.Start.Version, "iperf 3") {
		return Result{}, fmt.Errorf("expected a document of iperf3, found one of %q", d.Start.Version)
	}
	r := Result{Version: strings.TrimPrefix(d.Start.Version, "iperf "), Cookie: d.Start.Cookie, Failed: d.Error,
		ClientCPU: -1, ServerCPU: -1, SenderCongestion: d.End.SenderCongestion}
	server := d.Start.Accepted != nil
	r.AtServer = server
	if c := d.Start.Connected; len(c) > 0 {
		r.Client, r.Server = c[0].LocalHost, c[0].RemoteHost
		if server {
			r.Client, r.Server = r.Server, r.Client
		}
	}
	if t := d.Start.Timestamp; t.Milliseconds > 0 {
		r.Start = time.UnixMilli(t.Milliseconds).UTC()
	} else if t.Seconds > 0 {
		r.Start = time.Unix(t.Seconds, 0).UTC()
	}
	switch cpu := d.End.CPU; {
	case cpu != nil && server: // which prints 0 for the client
		r.ServerCPU = cpu.Host / 100
	case cpu != nil:
		r.ClientCPU, r.ServerCPU = cpu.Host/100, cpu.Remote/100
	}
	t := d.Start.Test
	if t == nil {
		t = d.trimmed()
	}
	if t == nil {
		if r.Failed == "" {
			r.Failed = "it ended before the test began"
		}
		return r, nil
	}
	r.Protocol, r.Streams, r.Block, r.Seconds, r.Omit, r.Rate = t.Protocol, t.Streams, t.Block, t.Duration,
		t.Omit, t.TargetBitrate/8
	if d.End.Received == nil && d.End.Sum == nil && r.Failed == "" {
		r.Failed = "it ended before the test did"
	}
	first := d.flow(d.End.Sent, d.End.Received, d.End.Sum, t.Reverse == 0, func(i interval) *sum { return &i.Sum })
	if t.Reverse != 0 {
		r.Reverse = first
	} else {
		r.Forward = first
	}
	if e := d.End; e.ReceivedReverse != nil || e.SumReverse != nil { // older versions don't report bidir in their start
		r.Reverse = d.flow(e.SentReverse, e.ReceivedReverse, e.SumReverse, false, func(i interval) *sum {
			return i.SumReverse
		})
	}
	return r, nil
}

// trimmed returns the parameters of a test from the end of its document, if the start was cut out; nil if that does not
// show who sent.
func (d *document) trimmed() *test {
	sent := d.End.Sent
	if sent == nil || d.End.Received == nil || d.End.ReceivedReverse == nil && sent.Sender == nil {
		return nil
	}
	t := &test{}
	if d.End.ReceivedReverse == nil && !*sent.Sender {
		t.Reverse = 1
	}
	switch {
	case sent.Retransmits != nil:
		t.Protocol = "TCP"
	case d.End.Received.Packets != nil:
		t.Protocol = "UDP"
	}
	return t
}

// flow returns one direction; nil if nothing was measured. Mixed is for UDP in versions before 3.11, which print the
// bytes of the sender with the losses of the receiver.
func (d *document) flow(sent, received, mixed *sum, forward bool, of func(interval) *sum) *Flow {
	if received == nil {
		received = mixed
	}
	sends := forward == (d.Start.Accepted == nil) // whether the end that printed this sent
	// A server does not know what its client received, and an end that was interrupted does not know what the other one
	// did.
	unconfirmed := sends && (!forward || d.Error != "" && received != nil && received.Bytes == 0 && sent != nil &&
		sent.Bytes > 0)
	if unconfirmed && sent != nil {
		received = sent
	}
	if received == nil || received.End <= received.Start {
		return nil
	}
	f := &Flow{Bytes: received.Bytes, Seconds: received.End - received.Start, Retransmits: -1, Unconfirmed: unconfirmed}
	if sent != nil {
		f.Sent = sent.Bytes
		// A sender whose kernel does not report it prints 2^32-2 or -1.
		if n := sent.Retransmits; n != nil && *n >= 0 && *n < 1<<32-2 {
			f.Retransmits = *n
		}
	}
	if p := received.Packets; p != nil && *p > 0 && !unconfirmed {
		f.Packets = *p
		if received.Lost != nil {
			f.Lost = *received.Lost
		}
		if f.Jitter = -1; received.Jitter != nil {
			f.Jitter = *received.Jitter / 1000
		}
		switch {
		case received == mixed && forward && !sends:
			// 0, since a server does not know what was sent; it has counted what arrived
			f.Bytes = counted(intervals(d.Intervals, of))
		case received == mixed: // esnet/iperf#1174
			f.Sent = received.Bytes
			f.Bytes = int64(float64(f.Sent) * float64(max(0, f.Packets-f.Lost)) / float64(f.Packets))
		}
	}
	before, arrived := d.omitted(forward, of)
	f.Arrived, f.Handed = f.Bytes+arrived, max(f.Sent, f.Bytes)+before
	switch {
	case sends:
		f.RTT = meanRTT(d.End.Streams)
	case d.Server != nil:
		f.RTT = meanRTT(d.Server.End.Streams)
	}
	if forward && d.Server != nil {
		f.Intervals = intervals(d.Server.Intervals, func(i interval) *sum {
			if i.Sum.Sender != nil && *i.Sum.Sender {
				return nil
			}
			return &i.Sum
		})
	}
	if len(f.Intervals) == 0 {
		f.Intervals = intervals(d.Intervals, of)
	}
	return f
}

// meanRTT returns the mean over the streams that sent, according to one end's kernel; 0 if unknown. For a socket that
// sends no data the kernel only knows the RTT of the handshake.
func meanRTT(streams []stream) float64 {
	sum, n := 0.0, 0.0
	for _, s := range streams {
		if s.Sender != nil && s.Sender.MeanRTT > 0 && (s.Sender.Sender == nil || *s.Sender.Sender) {
			sum += s.Sender.MeanRTT / 1e6
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// counted returns the bytes of the intervals that count.
func counted(of []ReportInterval) (all int64) {
	for _, i := range of {
		if !i.Omitted {
			all += i.Bytes
		}
	}
	return all
}

// omitted returns the bytes passed to the kernel and the bytes that arrived before the time that counts, as seen by the
// two ends. A number that one end does not report is taken from the other.
func (d *document) omitted(forward bool, of func(interval) *sum) (handed, arrived int64) {
	add := func(list []interval, of func(interval) *sum) (all int64) {
		for _, i := range intervals(list, of) {
			if i.Omitted {
				all += i.Bytes
			}
		}
		return all
	}
	client := add(d.Intervals, of)
	server := client
	if d.Server != nil {
		server = add(d.Server.Intervals, func(i interval) *sum {
			for _, s := range []*sum{&i.Sum, i.SumReverse} {
				if s != nil && s.Sender != nil && *s.Sender != forward {
					return s
				}
			}
			return nil
		})
	}
	if forward {
		return max(client, server), server
	}
	return max(client, server), client
}

func intervals(of []interval, sumOf func(interval) *sum) []ReportInterval {
	var all []ReportInterval
	for _, i := range of {
		if s := sumOf(i); s != nil && s.End > s.Start {
			all = append(all, ReportInterval{From: s.Start, To: s.End, Bytes: s.Bytes, Omitted: s.Omitted})
		}
	}
	return all
}
