package sockperf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/lab"
)

// Log has the requests that count and were answered, in the order in which they were sent.
type Log []Request

// Request is when a request was sent and answered, in seconds by the client's clock, which starts with its process or
// up to 0.2 s later: sockperf first measures how fast the processor's counter runs (ticks.cpp).
type Request struct{ Sent, Answered float64 }

// ParseLog parses the file named by --full-log. Its end is marked, so that a part is not mistaken for the whole:
//
//	packet, txTime(sec), rxTime(sec), rtt(usec)
//	0, 2.466495753, 2.466603934, 108.181
//	1579, 3.954026816, 3.954071512, 44.696
//	------------------------------
func ParseLog(text []byte) (Log, error) {
	_, text, found := bytes.Cut(text, []byte("packet, txTime(sec), rxTime(sec), "))
	if !found {
		return nil, errors.New("the log has no requests")
	}
	_, text, _ = bytes.Cut(text, []byte("\n"))
	var log Log
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("---")) {
			return log, nil
		}
		fields := bytes.Split(bytes.TrimSpace(line), []byte(", "))
		if len(fields) != 4 {
			break
		}
		sent, err := strconv.ParseFloat(string(fields[1]), 64)
		answered, err2 := strconv.ParseFloat(string(fields[2]), 64)
		if err != nil || err2 != nil || !(sent >= 0 && answered >= sent && answered < math.MaxInt32) {
			return nil, fmt.Errorf("the log says of request %d: %q", len(log), line)
		}
		log = append(log, Request{sent, answered})
	}
	return nil, fmt.Errorf("the log is cut off after %d requests", len(log))
}

// Begins returns when the first request was sent, in seconds by the client's clock.
func (l Log) Begins() float64 { return l[0].Sent }

// Ends returns when the last answer came.
func (l Log) Ends() float64 {
	last := 0.0
	for _, r := range l {
		last = max(last, r.Answered)
	}
	return last
}

// Rates returns the requests answered per second, in steps of this many seconds from the first request on. An
// incomplete step is omitted.
func (l Log) Rates(step float64) lab.Series {
	s := lab.Series{Metric: lab.RequestRate, Interval: step}
	if len(l) == 0 {
		return s
	}
	begin := l.Begins()
	s.Values = make([]float64, min(maxSteps, int((l.Ends()-begin)/step+1e-6)))
	for _, r := range l {
		if i := int((r.Answered - begin) / step); i < len(s.Values) {
			s.Values[i] += 1 / step
		}
	}
	return s
}

// maxSteps is a week in tenths of a second, so that a corrupt log can't fill the memory.
const maxSteps = 7 * 86400 * 10

// Latency returns the distribution of response times, in bins that are at most 1/64 wide, like fio's: each time is
// counted at the lower end of its bin.
func (l Log) Latency() lab.Histogram {
	counts := map[int64]uint64{}
	for _, r := range l {
		counts[bin(int64(math.Round((r.Answered-r.Sent)*1e9)))]++
	}
	var h lab.Histogram
	for ns := range counts {
		h.Nanoseconds = append(h.Nanoseconds, ns)
	}
	slices.Sort(h.Nanoseconds)
	for _, ns := range h.Nanoseconds {
		h.Counts = append(h.Counts, counts[ns])
	}
	return h
}

// bin keeps the seven highest bits.
func bin(ns int64) int64 {
	drop := max(0, bits.Len64(uint64(ns))-7)
	return ns >> drop << drop
}
