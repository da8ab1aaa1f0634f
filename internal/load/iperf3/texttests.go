package iperf3

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// pasted returns the test after all its lines were read.
func (t *printed) pasted() Pasted {
	r := Pasted{Tool: "iperf3", Line: t.line, Prompt: t.prompt, Command: t.command, Options: t.options}
	r.Version, r.Cookie, r.AtServer, r.Start, r.Failed = t.version, t.cookie, t.role == "S", t.start, t.failed
	r.SenderCongestion, r.Streams, r.Block, r.Seconds, r.Omit = t.congestion, t.streams, t.block, t.seconds, t.omit
	r.ClientCPU, r.ServerCPU = -1, -1
	t.known(&r)
	if t.cpu != nil {
		r.ClientCPU, r.ServerCPU = t.cpu["local"], t.cpu["remote"]
		if r.AtServer {
			r.ClientCPU, r.ServerCPU = -1, t.cpu["local"]
		}
	}
	if t.two {
		r.Tool = "iperf2"
		t.summarise()
	}
	t.reverse = t.reverse || t.options["reverse"] != "" && !t.two || t.serverSends()
	var faults []string
	for _, forward := range []bool{true, false} {
		f, fault := t.flow(forward)
		if fault != "" {
			faults = append(faults, fault)
		}
		if forward {
			r.Forward = f
		} else {
			r.Reverse = f
		}
	}
	if n := max(len(t.streamsOf(true)), len(t.streamsOf(false))); r.Streams == 0 {
		r.Streams = n
	}
	if len(faults) > 0 && r.Failed == "" {
		r.Failed = strings.Join(faults, "; ")
	}
	if r.Forward == nil && r.Reverse == nil && r.Failed == "" {
		r.Failed = "it ended before the test did"
	}
	return r
}

// known fills in values from the connections and the command.
func (t *printed) known(r *Pasted) {
	r.Server = cmp.Or(t.host, t.options["client"])
	if len(t.connections) > 0 {
		c := t.connections[0]
		r.Client, r.Server = c.local, c.remote
		if r.AtServer {
			r.Client, r.Server = r.Server, r.Client
		}
	}
	switch {
	case t.protocol != "":
		r.Protocol = t.protocol
	case t.options["sctp"] != "":
		r.Protocol = "SCTP"
	case t.udp || t.options["udp"] != "":
		r.Protocol = "UDP"
	case len(t.rows) > 0:
		r.Protocol = "TCP" // its lines count no datagrams
	}
	for _, in := range t.rows {
		if in.omitted {
			r.Omit = max(r.Omit, math.Round(in.to))
		}
	}
	r.Streams = cmp.Or(r.Streams, int(amount(t.options["parallel"], 0)))
	r.Block = cmp.Or(r.Block, int64(amount(t.options["length"], 1024)))
	r.Seconds = cmp.Or(r.Seconds, parsedNumber(t.options["time"]))
	r.Omit = cmp.Or(r.Omit, parsedNumber(t.options["omit"]))
	r.SenderCongestion = cmp.Or(r.SenderCongestion, t.options["congestion"])
	_, limited := t.options["bitrate"]
	switch {
	case t.two: // its k, m and g differ by version
	case limited || t.rate > 0:
		r.Rate = cmp.Or(t.rate, amount(t.options["bitrate"], 1000)/8)
	case len(t.command) > 0 && r.Protocol == "UDP":
		r.Rate = defaultUDPRate
	}
}

// defaultUDPRate is iperf3's default, in B/s (UDP_RATE in iperf.h).
const defaultUDPRate = 1 << 20 / 8

// finished reports whether each stream of iperf 2 has its summary.
func (t *printed) finished() bool {
	return !slices.ContainsFunc(t.connections, func(c connection) bool {
		return !slices.ContainsFunc(t.rows, func(r row) bool { return strings.TrimPrefix(r.id, "*") == c.id })
	})
}

// summarise finds the rows of iperf 2 that summarise the test: the last of a stream, if it begins at 0. It also sets
// the roles of all rows in iperf3's notation.
func (t *printed) summarise() {
	both := map[string]bool{}
	for i, r := range t.rows {
		if !strings.Contains(r.id, "SUM") {
			t.rows[i].role = t.roleOf(r)
			both[t.rows[i].role] = true
		}
	}
	var kept []row
	for i, r := range t.rows {
		if sum := strings.Contains(r.id, "SUM"); sum && len(both) > 1 || strings.HasPrefix(r.id, "FD") {
			continue // of both directions
		} else if sum {
			r.id = "SUM"
			for role := range both {
				r.role = role
			}
		}
		later := slices.ContainsFunc(t.rows[i+1:], func(o row) bool {
			return o.id == t.rows[i].id && o.report == r.report
		})
		if r.from == 0 && !later {
			r.end = "sender"
			if strings.HasPrefix(r.role, "RX") || r.report {
				r.end = "receiver"
			}
		}
		kept = append(kept, r)
	}
	t.rows = kept
}

// roleOf returns the role of a row of iperf 2: a star marks the direction opposite to a stream's usual one, and so does
// "(reverse)" in the line of its connection. A connection to the port on which a client listens comes from the server.
func (t *printed) roleOf(r row) string {
	sends := t.role != "S"
	i := slices.IndexFunc(t.connections, func(c connection) bool { return c.id == strings.TrimPrefix(r.id, "*") })
	reversed := i >= 0 && t.connections[i].reversed
	back := i >= 0 && t.role == "C" && t.port != "" && t.connections[i].localPort == t.port
	if strings.HasPrefix(r.id, "*") || reversed || back {
		sends = !sends
	}
	if sends {
		return "TX-" + cmp.Or(t.role, "C")
	}
	return "RX-" + cmp.Or(t.role, "C")
}

// serverSends reports whether a server's summary is of data that it sent. Old versions print the other end's summary
// with zeros.
func (t *printed) serverSends() bool {
	sent, received := 0.0, 0.0
	for _, r := range t.rows {
		switch {
		case t.role != "S":
		case r.role != "":
			return false
		case r.end == "sender":
			sent = max(sent, r.rate)
		case r.end != "":
			received = max(received, r.rate+float64(r.packets))
		}
	}
	return t.role == "S" && t.sends || sent > 0 && received == 0
}

// goes reports whether a row is of data that the client sent.
func (t *printed) goes(r row) bool {
	if r.role == "" {
		return !t.reverse
	}
	return r.role == "TX-C" || r.role == "RX-S"
}

// streamsOf returns the IDs of the streams of one direction.
func (t *printed) streamsOf(forward bool) (ids []string) {
	for _, r := range t.rows {
		if r.id != "SUM" && t.goes(r) == forward && !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// flow returns the results of one direction; nil if nothing was measured.
func (t *printed) flow(forward bool) (f *Flow, fault string) {
	sends := forward == (t.role != "S")
	received, arrives, fault := t.total(forward, "receiver")
	both, mixed, _ := t.total(forward, "both")
	sent, left, _ := t.total(forward, "sender")
	// An end that was interrupted does not know what the other one counted.
	if arrives && (t.role == "S" && sends || t.failed != "" && received.rate == 0 && sent.rate > 0) {
		arrives = false
	}
	f = &Flow{Retransmits: -1, Intervals: t.intervals(forward)}
	of := received
	switch {
	case fault != "":
		return nil, fault
	case arrives:
	case mixed && t.role == "S" && sends:
		of, f.Unconfirmed = both, true
	case mixed:
		of = both
		if both.packets > 0 {
			of.rate *= float64(max(0, both.packets-both.lost)) / float64(both.packets)
		}
		if t.role == "S" && both.rate == 0 { // a server does not know what was sent; it has counted what arrived
			of.rate = float64(counted(f.Intervals)) / max(1e-9, both.to-both.from)
		}
	case left:
		of, f.Unconfirmed = sent, true
	default:
		return nil, ""
	}
	if f.Seconds = of.to - of.from; !(f.Seconds > 0) {
		return nil, "it measured for less than 0.01 s"
	}
	f.Bytes, f.Sent = int64(math.Round(of.rate*f.Seconds)), int64(math.Round(sent.rate*(sent.to-sent.from)))
	f.Arrived, f.Handed = f.Bytes, max(f.Bytes, f.Sent)
	if left && sent.again >= 0 {
		f.Retransmits = sent.again
	}
	if of.packets > 0 && !f.Unconfirmed {
		f.Packets, f.Lost, f.Jitter = of.packets, of.lost, of.jitter
	}
	return f, ""
}

// total returns the summary of all streams of a direction according to one end: the line [SUM], or the sum of all lines
// of streams if none is missing, as iperf 2's server prints them.
func (t *printed) total(forward bool, end string) (all row, found bool, fault string) {
	var rows []row
	for _, r := range t.rows {
		if t.goes(r) != forward || r.end != end {
			continue
		}
		if r.id == "SUM" {
			return r, true, ""
		}
		rows = append(rows, r)
	}
	expected := max(len(t.streamsOf(forward)), int(amount(t.options["parallel"], 0)), t.streams)
	if len(t.streamsOf(!forward)) == 0 {
		expected = max(expected, len(t.connections))
	}
	for i, r := range rows {
		if i == 0 {
			all = r
			continue
		}
		all.rate, all.to, all.jitter = all.rate+r.rate, max(all.to, r.to), all.jitter+r.jitter
		all.again, all.lost, all.packets = all.again+r.again, all.lost+r.lost, all.packets+r.packets
	}
	switch {
	case len(rows) == 0:
		return all, false, ""
	case len(rows) != expected:
		return all, false, "the line [SUM] with the rate of all streams is missing"
	}
	all.jitter /= float64(len(rows))
	return all, true, ""
}

// intervals returns the intervals of one direction, of all streams together.
func (t *printed) intervals(forward bool) (list []ReportInterval) {
	id := "SUM"
	if streams := t.streamsOf(forward); len(streams) == 1 {
		id = streams[0]
	}
	for _, r := range t.rows {
		if r.id == id && r.end == "" && t.goes(r) == forward && r.to > r.from {
			list = append(list, ReportInterval{From: r.from, To: r.to,
				Bytes:   int64(math.Round(r.rate * (r.to - r.from))),
				Omitted: r.omitted})
		}
	}
	return list
}

// optionsOf returns the options of a call of iperf3 or iperf 2 by their long names, and its role ("client" or "server")
// as "role". Options that only affect where, how often and in which form results are printed are omitted. Source:
// iperf3(1), iperf(1).
//
//	iperf3 -c 192.0.2.24 -P20 -t360
//	iperf -s -u -i 1
func optionsOf(command []string) map[string]string {
	short := map[byte]string{'c': "client", 'P': "parallel", 't': "time", 'l': "length", 'b': "bitrate", 'O': "omit",
		'w': "window", 'C': "congestion", 'M': "set-mss", 'n': "bytes", 'k': "blockcount", 'i': "", 'f': "", 'p': "",
		'B': "", 'A': "", 'S': "tos", 'T': "", 'X': "", 'L': "", 'F': "", 'I': ""}
	toggles := map[byte]string{'s': "server", 'u': "udp", 'R': "reverse", 'Z': "zerocopy", 'N': "no-delay",
		'd': "dualtest", 'r': "tradeoff", 'V': "", 'J': "", 'e': "", 'D': "", '1': "", '4': "", '6': ""}
	printing := []string{"interval", "format", "port", "bind", "verbose", "json", "json-stream", "title", "logfile",
		"get-server-output", "timestamps", "forceflush", "one-off", "daemon", "connect-timeout", "enhanced"}
	options := map[string]string{}
	set := func(name, value string) {
		switch {
		case name == "" || slices.Contains(printing, name) || strings.Contains(value, "$"):
		case name == "client" || name == "server":
			options["role"], options[name] = name, value
		default:
			options[name] = value
		}
	}
	for i := 1; i < len(command); i++ {
		word := command[i]
		value := func() string {
			if i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
				i++
				return command[i]
			}
			return "1"
		}
		if long, isLong := strings.CutPrefix(word, "--"); isLong {
			name, given, found := strings.Cut(long, "=")
			if !found {
				given = value()
			}
			set(name, given)
			continue
		}
		for k := 1; k < len(word) && word[0] == '-'; k++ {
			if name, ok := short[word[k]]; ok {
				if k+1 < len(word) {
					set(name, word[k+1:])
				} else {
					set(name, value())
				}
				break
			}
			set(toggles[word[k]], "1")
		}
	}
	return options
}

// LoadOptions are the options of a pasted command that affect the load and that results do not show otherwise.
func LoadOptions() []string {
	return []string{"window", "set-mss", "no-delay", "zerocopy", "bytes", "blockcount", "tos", "dscp", "bitrate",
		"dualtest", "tradeoff", "skip-rx-copy", "fq-rate", "mptcp", "gsro"}
}

// amount parses a number with a K, M, G or T of 1000 or 1024, as iperf3 takes it; 0 for other text.
func amount(s string, base float64) float64 {
	s, _, _ = strings.Cut(s, "/") // removes bursts
	digits := strings.TrimRight(s, "kKmMgGtT")
	v := parsedNumber(digits)
	if len(s) == len(digits)+1 {
		for range 1 + strings.Index("kmgt", strings.ToLower(s[len(digits):])) {
			v *= base
		}
	}
	return v
}
