package iperf3

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// row is a line with a rate.
type row struct {
	id, role string
	from, to float64
	// rate in B/s.
	rate float64
	// again counts the segments that were retransmitted; negative if not printed.
	again int64
	// jitter in seconds; negative if not printed. packets is 0 if the number of lost packets is unknown.
	jitter        float64
	lost, packets int64
	omitted       bool
	// end is "sender" or "receiver" in a summary, and "both" if the rate is the sender's and the losses are the
	// receiver's; empty in an interval.
	end string
	// report is set for counts of iperf 2's server.
	report bool
}

func (p *textParser) row(m []string) {
	r := row{id: m[1], from: parsedNumber(m[4]), to: parsedNumber(m[5]), again: -1}
	if m[2] != "" {
		r.role = m[2] + "-" + m[3]
	}
	base, bits := 1024.0, 1.0
	if m[8] == "bits" {
		base, bits = 1000, 8
	}
	r.rate = parsedNumber(m[6]) / bits
	for range strings.Index(" KMGT", m[7]) {
		r.rate *= base
	}
	rest := m[9]
	r.omitted = strings.Contains(rest, "(omitted)")
	r.end = endPattern().FindString(rest)
	loss := lossRest().FindStringSubmatch(rest)
	if loss != nil && loss[1] == "" && !strings.Contains(loss[0], "%") {
		loss = nil // writes and their errors
	}
	if loss != nil {
		r.jitter, r.lost = parsedNumber(loss[1])/1000, parsedInt(loss[2])
		if r.packets = parsedInt(loss[3]); loss[2] == "Unknown" {
			r.packets = 0
		}
		if loss[1] == "" {
			r.jitter = -1
		}
	}
	t := p.test()
	r.report = t.report != "" && t.report == r.id
	if t.restarts(r) {
		p.end()
		t = p.test()
	}
	t.udp = t.udp || loss != nil || strings.Contains(rest, " pps")
	if decimals := m[5][1+strings.LastIndexAny(m[5], ".,"):]; len(t.connections) == 0 && len(decimals) != 2 {
		t.two = true // iperf3 prints hundredths of a second
	}
	again := sentAgainRest().FindStringSubmatch(rest)
	if t.two {
		again = enhancedRest().FindStringSubmatch(rest)
	}
	if again != nil && !t.udp {
		r.again = parsedInt(again[1])
	}
	if t.summary && r.end == "" && loss != nil && !t.two {
		r.end = "both"
	}
	t.parted, t.report = false, ""
	if before, ok := t.last[r.stream()]; ok && r.end == "" && before.from == r.from && before.omitted == r.omitted &&
		!(t.two && r.from == 0) && p.crossed == 0 {
		p.crossed = p.number
	}
	if r.end == "" {
		t.last[r.stream()] = r
	} else {
		t.ends[r.stream()+r.end] = true
	}
	t.rows = append(t.rows, r)
}

// stream identifies a stream, and which end counted it.
func (r row) stream() string { return fmt.Sprint(r.id, r.role, r.report) }

// restarts reports whether a row is of another test, although no line before it shows that.
func (t *printed) restarts(next row) bool {
	before, ok := t.last[next.stream()]
	switch {
	case t.two: // a sum is as long as the intervals before it
		return ok && len(t.connections) == 0 && next.from == 0 && (before.from == 0 || next.to < before.to)
	case next.end != "":
		return t.ends[next.stream()+next.end]
	case t.summary:
		return false
	}
	return len(t.ends) > 0 || ok && before.omitted == next.omitted && before.from > 0 && next.from == 0
}

func parsedTime(s string) time.Time {
	t, err := time.Parse(time.RFC1123, s)
	if err != nil { // the 31st of November
		return time.Time{}
	}
	return t.UTC()
}

func parsedNumber(s string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	if err != nil { // nothing, or "Unknown"
		return 0
	}
	return v
}

func parsedInt(s string) int64 { return int64(parsedNumber(s)) }
